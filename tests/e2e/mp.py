"""Shared ground of the whole-line tests: runs programs bare, counted or recorded, and reads results.

A test file ends with `mp.main()`. It finds the build in $MP_BUILD and the sources in $MP_SRC.
"""
import collections
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SRC = pathlib.Path(os.environ.get("MP_SRC", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("MP_BUILD", SRC / "build/release"))
LIBRARY = BUILD / "libmemory_profiler.so"
CLI = BUILD / "memory-profiler-cli"
PROGRAMS = BUILD / "tests/programs"
TRUTH = BUILD / "tests/truth/libmp_truth_count.so"

TIMEOUT_S = 60
COUNTS = ("allocations", "reallocations", "frees", "bytes_allocated")
IS_ROOT = os.geteuid() == 0


def program(name):
    return str(PROGRAMS / name)


def clean_environment():
    """The same for every run: nothing of the caller's leaks in, nothing is left to chance."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PERL_HASH_SEED": "0",
        "PERL_PERTURB_KEYS": "0",
    }


class Result:
    """What a run left: code as in subprocess (-N: ended by signal N), output, files."""

    def __init__(self, code, stdout, stderr):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.recordings = []
        self.log = ""

    @property
    def recording(self):
        if len(self.recordings) != 1:
            raise AssertionError(f"expected one recording, found {self.recordings}\n{self.log}")
        return self.recordings[0]

    def behaviour(self):
        return self.code, self.stdout


class Hang(AssertionError):
    pass


def no_core_dump():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def where_it_hangs(pid):
    """Stacks of a process that did not end in time, for the report."""
    if not shutil.which("gdb"):
        return "(no gdb to look at it)"
    command = ["gdb", "-p", str(pid), "-batch", "-nx", "-iex", "set debuginfod enabled off",
               "-ex", "thread apply all bt 20"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=60).stdout[-6000:]
    except subprocess.TimeoutExpired:
        return "(gdb did not end either)"


def run(argv, env=None, cwd=None, stdin=None, timeout=TIMEOUT_S, setup=None, pass_fds=()):
    """Runs argv to its end in its own process group. setup runs in the child before exec."""
    def prepare():
        no_core_dump()
        if setup:
            setup()

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Files, not pipes: a pipe would wait for every child that still holds it.
        child = subprocess.Popen(
            [str(a) for a in argv], env=env, cwd=cwd, stdout=out, stderr=err,
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            preexec_fn=prepare, start_new_session=True, pass_fds=pass_fds)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            story = where_it_hangs(child.pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise Hang(f"{argv} did not end within {timeout} s\n{story}") from None
        out.seek(0)
        err.seek(0)
        return Result(code, out.read(), err.read())


def wait_for(look, timeout=TIMEOUT_S, pause_s=0.05):
    """What look() gives as soon as that is something; it is asked again and again."""
    end = time.monotonic() + timeout
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"nothing came within {timeout} s")
        time.sleep(pause_s)


def is_written(f):
    """Nobody writes this recording any more, or its program still runs."""
    try:
        fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        header = os.pread(f.fileno(), 128, 0)
        if len(header) < 128:
            return False
        (pid,) = struct.unpack_from("<I", header, 84)
        return os.path.exists(f"/proc/{pid}/exe")


def wait_until_written(*paths):
    """The writer outlives the program a little. It holds a lock on the file until it has finished."""
    for path in paths:
        with open(path, "rb") as f:
            wait_for(lambda f=f: is_written(f))


def find_writer(recording):
    """The process that writes the recording, or None."""
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (process.name.isdigit() and (process / "comm").read_text() == "mem-prof\n" and
                    any(os.readlink(fd) == str(recording) for fd in (process / "fd").iterdir())):
                return int(process.name)
    return None


def thread_states(pid):
    """The status of each thread of a process, as text."""
    return [(task / "status").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def info(*paths):
    """What `info --json` says of each file; it must accept all of them."""
    done = subprocess.run([CLI, "info", "--json", *map(str, paths)], capture_output=True,
                          text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"info --json {paths[0]}: exit {done.returncode}: {done.stderr}")
    found, at = [], 0
    text = done.stdout.strip()
    decoder = json.JSONDecoder()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found += value if isinstance(value, list) else [value]
        while at < len(text) and text[at] in " \r\n\t,":
            at += 1
    if len(found) != len(paths):
        raise AssertionError(f"info of {len(paths)} files gave {len(found)} objects")
    return found[0] if len(paths) == 1 else found


def as_list(path):
    """The arguments of a command: a recording, or the pieces of one."""
    return [str(p) for p in path] if isinstance(path, (list, tuple)) else [str(path)]


def events(path, *kinds):
    """The events of a recording (or of a list of pieces) in order, as `dump` prints them: dicts with the kind in "e".

    Stacks are resolved: "stack" is the list of frames, innermost first. With kinds only these are
    read, without their stacks, which is much faster.
    """
    wanted = re.compile('\\{ *"e": *"(%s)"' % "|".join(kinds or ["[^\"]*"]))
    found, stacks = [], {}
    with subprocess.Popen([CLI, "dump", *as_list(path)], stdout=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout:
            if not wanted.match(line):
                continue
            event = json.loads(line)
            if event["e"] == "stack":
                stacks[event["id"]] = event["frames"]
            elif event["e"] != "module":
                if "stack" in event:
                    event["stack"] = stacks.get(event["stack"], [])
                found.append(event)
    if dump.returncode != 0:
        raise AssertionError(f"dump {path}: exit {dump.returncode}")
    return found


def allocations(path):
    return events(path, "alloc")


def live_sizes(path):
    """Sizes of the blocks that nobody had freed at the end."""
    live = {}
    for e in events(path):
        if e["e"] in ("free", "realloc_untracked"):
            live.pop(e["addr"], None)
        elif e["e"] == "realloc":
            live.pop(e["old"], None)
        if e["e"] in ("alloc", "realloc"):
            live[e["addr"]] = e["size"]
    return list(live.values())


def calls_by_thread(path):
    """{tid: {"allocations": n, "reallocations": n, "frees": n}}"""
    names = {b"alloc": "allocations", b"realloc": "reallocations", b"free": "frees"}
    dump = subprocess.run([CLI, "dump", str(path)], stdout=subprocess.PIPE, check=True, timeout=300)
    # A pattern, not a JSON parser: there may be a million lines.
    pairs = re.findall(rb'^\{ *"e": *"(alloc|realloc|free)",[^{}]*?"tid": *(\d+)', dump.stdout, re.M)
    found = {}
    for (kind, tid), n in collections.Counter(pairs).items():
        found.setdefault(int(tid), dict.fromkeys(names.values(), 0))[names[kind]] = n
    return found


def read_totals(path):
    """The totals that libmp_truth_count.so left in a file (struct totals in tests/truth/count.c)."""
    magic, allocations, reallocations, frees, total_bytes, _ = struct.unpack(
        "<6Q", pathlib.Path(path).read_bytes())
    if magic != 0x31544e554f435054:
        raise AssertionError(f"{path} holds no totals")
    return dict(zip(COUNTS, (allocations, reallocations, frees, total_bytes)))


def checksum(data):
    """docs/FORMAT.md 1.3, of less than 1024 bytes"""
    mask = (1 << 64) - 1
    h = 0x9e3779b97f4a7c15 ^ len(data)
    data += bytes(-len(data) % 8)
    for (word,) in struct.iter_unpack("<Q", data):
        h ^= word * 0xff51afd7ed558ccd & mask
        h = ((h << 29 | h >> 35) & mask) * 0xc4ceb9fe1a85ec53 & mask
    h ^= h >> 32
    h = h * 0x9e3779b97f4a7c15 & mask
    return (h ^ h >> 32) & 0xffffffff


def with_version(recording, target, major, minor):
    """A copy whose header says another version of the format, and is sound."""
    data = bytearray(pathlib.Path(recording).read_bytes())
    struct.pack_into("<HH", data, 8, major, minor)
    struct.pack_into("<I", data, 124, checksum(bytes(data[:124])))
    target.write_bytes(data)
    return target


class TestCase(unittest.TestCase):
    """A test with a folder of its own (self.dir) that is gone afterwards."""

    maxDiff = 4000

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mp-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        # Two paths of one length: programs that look at their environment see no difference.
        self.library = self.dir / "recorder" / LIBRARY.name
        self.truth = self.dir / "counter_" / LIBRARY.name
        for link, target in ((self.library, LIBRARY), (self.truth, TRUTH)):
            link.parent.mkdir()
            link.symlink_to(target)
        self.n_runs = 0

    def open_to_all(self, name):
        """A copy of a test program that any user may run; so may the recorder be loaded. The build
        folder need not be reachable for them."""
        self.library.unlink()
        shutil.copy(LIBRARY, self.library)
        os.chmod(self.library, 0o755)
        os.chmod(self.library.parent, 0o755)
        return self.copy_for_all(program(name))

    def copy_for_all(self, path):
        os.chmod(self.dir, 0o755)
        copy = pathlib.Path(shutil.copy(path, self.dir))
        os.chmod(copy, 0o755)
        return copy

    # -- running ---------------------------------------------------------------------------------

    def bare(self, argv, env=None, **how):
        return run(argv, {**clean_environment(), **(env or {})}, cwd=how.pop("cwd", self.dir), **how)

    def recorder_environment(self, folder, **options):
        """Environment that records into folder; options are MEMORY_PROFILER_<name>=value."""
        env = clean_environment()
        env["LD_PRELOAD"] = str(self.library)
        env["MEMORY_PROFILER_OUTPUT"] = f"{folder}/%p_%n.dat"
        env["MEMORY_PROFILER_LOG"] = "warn"
        env["MEMORY_PROFILER_LOGFILE"] = f"{folder}/log.%p"
        for name, value in options.items():
            if value is None:
                env.pop("MEMORY_PROFILER_" + name, None)
            else:
                env["MEMORY_PROFILER_" + name] = str(value)
        return env

    def new_folder(self):
        self.n_runs += 1
        folder = self.dir / f"run{self.n_runs:03}"
        folder.mkdir()
        return folder

    def record(self, argv, env=None, folder=None, options=None, **how):
        """Runs argv under the recorder; the result knows its recordings, its log and its folder."""
        folder = folder or self.new_folder()
        full = {**self.recorder_environment(folder, **(options or {})), **(env or {})}
        result = run(argv, full, cwd=how.pop("cwd", self.dir), **how)
        return self.collect(result, folder)

    def collect(self, result, folder):
        result.folder = folder
        result.recordings = sorted(folder.glob("*.dat"))
        wait_until_written(*result.recordings)
        result.log = "".join(p.read_text(errors="replace") for p in sorted(folder.glob("log.*")))
        return result

    def counted(self, argv, env=None, **how):
        """Runs argv under the counting library. Returns (result, totals)."""
        folder = self.new_folder()
        full = self.recorder_environment(folder)
        full["LD_PRELOAD"] = str(self.truth)
        full["MP_TRUTH_OUT"] = f"{folder}/totals"
        result = run(argv, {**full, **(env or {})}, cwd=how.pop("cwd", self.dir), **how)
        return result, read_totals(folder / "totals")

    def both(self, folder):
        """Environment with the counter in front of the recorder: both see one and the same run."""
        return {"LD_PRELOAD": f"{self.truth}:{self.library}", "MP_TRUTH_OUT": f"{folder}/totals"}

    # -- judging ---------------------------------------------------------------------------------

    def assert_same_behaviour(self, seen, expected):
        self.assertEqual(expected.code, seen.code,
                         f"exit status differs from the bare run\n{seen.stderr}\n{seen.log}")
        self.assertEqual(expected.stdout, seen.stdout, "output differs from the bare run")
        self.assertEqual(expected.stderr, seen.stderr, "stderr differs from the bare run")

    def assert_nothing_lost(self, facts):
        for key in ("lost_events", "unknown_frees", "duplicate_allocations"):
            self.assertEqual(0, facts[key], f"{key} in {facts.get('executable')}")

    def assert_exact(self, argv, at_least=100, env=None, options=None, **how):
        """Bare, counted and recorded runs agree in behaviour, and the last two in every count."""
        expected = self.bare(argv, env=env, **how)
        counted, totals = self.counted(argv, env=env, **how)
        self.assert_same_behaviour(counted, expected)
        # The recorder's environment has the counter's variable, so that both are equally big.
        folder = self.new_folder()
        full = {"MP_TRUTH_OUT": f"{folder}/totals", **(env or {})}
        seen = self.record(argv, env=full, folder=folder, options=options, **how)
        self.assert_same_behaviour(seen, expected)
        facts = info(seen.recording)
        self.assertGreaterEqual(totals["allocations"], at_least, "the test is too small to tell")
        self.assertEqual(totals, {key: facts[key] for key in COUNTS})
        self.assert_nothing_lost(facts)
        self.assertTrue(facts["complete"])
        self.assertEqual(totals["allocations"] - totals["frees"], facts["live_count"])
        return seen, facts

    def assert_exact_in_one_run(self, argv, at_least=100, env=None, **how):
        """For programs that never do quite the same twice: the counter runs with the recorder."""
        expected = self.bare(argv, env=env, **how)
        folder = self.new_folder()
        seen = self.record(argv, env={**self.both(folder), **(env or {})}, folder=folder, **how)
        self.assert_same_behaviour(seen, expected)
        return self.assert_equals_counter(seen, at_least)

    def assert_equals_counter(self, seen, at_least):
        totals = read_totals(seen.folder / "totals")
        facts = info(seen.recording)
        self.assertGreaterEqual(totals["allocations"], at_least, "the test is too small to tell")
        self.assertEqual(totals, {key: facts[key] for key in COUNTS})
        self.assert_nothing_lost(facts)
        self.assertTrue(facts["complete"])
        return seen, facts


def become_nobody():
    """For setup of run(): what root may do, others may not."""
    if IS_ROOT:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def needs_root(reason):
    return unittest.skipUnless(IS_ROOT, f"needs root: {reason}")


def require(what, is_there):
    """tools/install-deps.sh installs all that tests need: what is missing fails them. A test that
    quietly does not run proves nothing. MP_MAY_SKIP=1 skips, where something cannot be had."""
    if is_there:
        return
    if os.environ.get("MP_MAY_SKIP") == "1":
        raise unittest.SkipTest(f"{what} is missing")
    raise AssertionError(f"{what} is missing; tools/install-deps.sh build test brings it")


def find_tool(name):
    path = clean_environment()["PATH"] + ":" + os.environ.get("PATH", "")
    return shutil.which(name, path=path)


def needs_tool(name):
    """For a test or a class of tests."""
    def guard(test):
        run = test.setUp if isinstance(test, type) else test

        @functools.wraps(run)
        def guarded(self, *args):
            require(name, find_tool(name))
            return run(self, *args)

        if not isinstance(test, type):
            return guarded
        test.setUp = guarded
        return test
    return guard


def main(**needed):
    """needed: name of a program that all tests of the file need = where it is, or None."""
    for path in (LIBRARY, CLI, TRUTH):
        if not path.exists():
            sys.exit(f"{path} is not built")
    for name, path in needed.items():
        try:
            require(name, path)
        except unittest.SkipTest as e:
            print(e)
            sys.exit(77)
    unittest.main(verbosity=2)

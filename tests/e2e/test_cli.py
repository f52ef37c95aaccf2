#!/usr/bin/env python3
"""The command line itself: usage, bad input, damaged recordings, and `run` as an invisible parent."""
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

import mp

REQUIRED = """version complete pid executable cmdline arch started_at duration_ns threads allocations
    reallocations frees bytes_allocated live_count live_bytes peak_bytes peak_at_ns unknown_frees
    untracked_frees duplicate_allocations stacks deepest_stack truncated_stacks guessed_stacks
    lost_events damaged_bytes modules file_bytes events event_bytes bytes_per_event embedded_files
    notes ended recorder""".split()


def cli(*args, **how):
    how.setdefault("timeout", 60)
    return subprocess.run([mp.CLI, *map(str, args)], capture_output=True, check=False,
                          env=how.pop("env", mp.clean_environment()), **how)


class Usage(mp.TestCase):
    def test_wrong_usage_is_2_and_says_what_to_do(self):
        for args in ([], ["nonsense"], ["--nonsense"], ["info"], ["info", "--jsn", "x"], ["dump"],
                     ["repack", "a"], ["cache"], ["cache", "x"], ["run"], ["run", "-o"],
                     ["run", "--", ], ["run", "-x", "ls"]):
            done = cli(*args)
            self.assertEqual(2, done.returncode, args)
            self.assertEqual(b"", done.stdout, args)
            self.assertIn(b"help", done.stderr.lower(), args)

    def test_help_and_version(self):
        done = cli("--help")
        self.assertEqual(0, done.returncode)
        for command in ("run", "info", "dump", "cache"):
            self.assertRegex(done.stdout.decode(), rf"(?m)^  {command} ")
            self.assertEqual(0, cli(command, "--help").returncode)
        self.assertRegex(cli("--version").stdout.decode(), r"^memory-profiler-cli \d+\.\d+")

    def test_help_on_a_command(self):
        self.assertEqual(cli("run", "--help").stdout, cli("help", "run").stdout)  # no manual beside it
        done = cli("help", "nonsense")
        self.assertEqual(2, done.returncode)
        self.assertIn(b"nonsense", done.stderr)

    @mp.needs_tool("man")
    def test_help_on_a_command_is_its_manual_where_installed(self):
        (self.dir / "bin").mkdir()
        (self.dir / "share/man/man1").mkdir(parents=True)
        program = shutil.copy(mp.CLI, self.dir / "bin")
        for page in ("run", "export"):
            shutil.copy(mp.SRC / f"docs/man/memory-profiler-cli-{page}.1", self.dir / "share/man/man1")
        for command, title in (("run", b"MEMORY-PROFILER-CLI-RUN(1)"), ("export-replay", b"MEMORY-PROFILER-CLI-EXPORT(1)")):
            done = subprocess.run([program, "help", command], capture_output=True, check=False,
                                  env=mp.clean_environment(), timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(title, done.stdout)

    def test_manual_pages_are_fresh_and_name_every_option(self):
        man = mp.SRC / "docs/man"
        done = subprocess.run([sys.executable, man / "make_man.py", "--check"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stdout)
        listed = cli("--help").stdout.decode().split("\nCommands:\n")[1].split("\n\n")[0]
        commands = re.findall(r"(?m)^  ([a-z-]+) ", listed)
        self.assertGreater(len(commands), 10)
        for command in commands:
            page = man / f"memory-profiler-cli-{re.sub('^export-.*', 'export', command)}.1.md"
            options = cli(command, "--help").stdout.decode().split("\nOptions:\n")[1]
            for option in re.findall(r"(?m)^  .{4}(--[a-z-]+)", options.split("\n\n")[0]):
                self.assertIn(f"**{option}**", page.read_text(), command)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([mp.CLI, "--help"], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn(b"No space left", done.stderr)


class BadFiles(mp.TestCase):
    def check_refused(self, path, words, command="info"):
        done = cli(command, path)
        self.assertEqual(1, done.returncode, (path, done))
        self.assertTrue(done.stderr.startswith(b"memory-profiler-cli: " + bytes(path)), done.stderr)
        self.assertEqual(1, done.stderr.count(b"\n"), done.stderr)
        self.assertIn(words.encode(), done.stderr)

    def test_foreign_files_are_named_and_explained(self):
        samples = {
            "empty": (b"", "is empty"),
            "gzip": (b"\x1f\x8b\x08" + bytes(20), "gzip"),
            "zstd": (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
            "xz": (b"\xfd7zXZ\0" + bytes(20), "xz"),
            "elf": (b"\x7fELF\x02\x01\x01" + bytes(60), "program or library"),
            "heaptrack": (b"v 10500 3\nx 8 /bin/ls\n", "heaptrack"),
            "bytehound": (b"\x01\x00\x20\x00\x00\xf3" + bytes(64), "bytehound"),
            "text": (b"hello\n" * 100, "right file"),
            "cut": (b"\x89MPROF\n\x1a\x01\0\0\0", "ends inside its header"),
        }
        for name, (content, words) in samples.items():
            path = self.dir / name
            path.write_bytes(content)
            self.check_refused(path, words)
            self.check_refused(path, words, "dump")

    def test_other_versions_are_refused_everywhere(self):
        """Their bytes mean something else: to guess would be to show wrong figures."""
        recording = self.record([mp.program("known_blocks")]).recording
        self.assertEqual(0, cli("report", recording).returncode)  # its store is there now
        kept = pathlib.Path(f"{recording}.store").read_bytes()
        target = self.dir / "target"
        for major, minor, remedy in ((1, 1, "record again"), (1, 0, "record again"),
                                     (9, 3, "newer memory-profiler-cli")):
            other = mp.with_version(recording, self.dir / "other.dat", major, minor)
            pathlib.Path(f"{other}.store").write_bytes(kept)
            for command in (("info",), ("dump",), ("report",), ("report", "--json"),
                            ("analyze-size",), ("extract", "-o", target),
                            ("export", "--format=json", "-o", target), ("strip", "-o", target),
                            ("squeeze", "-o", target), ("postprocess", "-o", target),
                            ("repack", "-o", target)):
                done = cli(*command, other)
                self.assertEqual((1, b""), (done.returncode, done.stdout), command)
                text = done.stderr.decode()
                self.assertTrue(text.startswith(f"memory-profiler-cli: {other}: "), text)
                self.assertIn(f"format {major}.{minor}", text, command)
                self.assertIn("this program reads format 4", text, command)
                self.assertIn(remedy, text, command)
                self.assertEqual(1, text.count("\n"), text)
                self.assertFalse(target.exists(), command)

    def test_what_is_no_file(self):
        self.check_refused(self.dir, "is a directory")
        self.check_refused(self.dir / "missing", "No such file")
        self.check_refused(pathlib.Path("/dev/null"), "not a regular file")
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        self.check_refused(fifo, "not a regular file")

    def test_no_permission(self):
        path = self.dir / "secret"
        path.write_bytes(b"x")
        path.chmod(0)
        for command in ("info", "dump", "report", "analyze-size"):
            done = mp.run([self.copy_for_all(mp.CLI), command, path], mp.clean_environment(),
                          setup=mp.become_nobody)
            self.assertEqual((1, b""), (done.code, done.stdout), done.stderr)
            self.assertIn(bytes(path) + b": ", done.stderr)
            self.assertIn(b"Permission denied", done.stderr)

    def test_a_bad_file_does_not_hide_the_good_ones(self):
        good = self.record([mp.program("demo")]).recording
        done = cli("info", "--json", self.dir / "missing", good, self.dir, good)
        self.assertEqual(1, done.returncode)
        facts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([str(good)] * 2, [f["file"] for f in facts])
        self.assertEqual(2, done.stderr.count(b"\n"))


class SameFile(mp.TestCase):
    def test_the_output_may_not_be_the_recording(self):
        recording = self.record([mp.program("demo")]).recording
        before = recording.read_bytes()
        other = self.dir / "link.dat"
        other.symlink_to(recording)
        for command in ("squeeze", "strip", "repack", "postprocess", "export"):
            for output in (recording, other):
                extra = ["-f", "json"] if command == "export" else []
                done = cli(command, *extra, "-o", output, recording)
                self.assertEqual(2, done.returncode, command)
                self.assertIn(b"the output is the recording itself", done.stderr, command)
        self.assertEqual(before, recording.read_bytes())


class Info(mp.TestCase):
    def test_json_has_every_field(self):
        seen = self.record([mp.program("demo"), "two words", "\udcff\x1b[2J"])
        facts = mp.info(seen.recording)
        self.assertEqual([], [key for key in REQUIRED if key not in facts])
        self.assertTrue(facts["complete"])
        self.assertEqual("exit", facts["ended"])
        self.assertEqual(mp.program("demo"), facts["executable"])
        self.assertEqual(["two words", "\ufffd\x1b[2J"], facts["cmdline"][1:])
        self.assertRegex(facts["started_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        self.assertGreater(facts["duration_ns"], 0)
        self.assertLessEqual(facts["peak_at_ns"], facts["duration_ns"])
        self.assertEqual(seen.recording.stat().st_size, facts["file_bytes"])
        self.assertEqual("4.2", facts["version"])

    def test_binaries_that_could_not_be_written_are_missed(self):
        limit = 560 << 10  # the few events have room (half a MiB), the names of libc have not
        seen = self.record([mp.program("known_blocks")],
                           setup=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        facts = mp.info(seen.recording)
        self.assertEqual(0, facts["lost_events"])
        self.assertLess(facts["embedded_files"], facts["modules"])
        self.assertRegex(cli("info", seen.recording).stdout.decode(),
                         r"(?m)^  Complete +all events, but not all binaries: .*File too large")

    def test_run_info_and_report_count_the_same_allocations(self):
        done = cli("run", "-o", "app.dat", mp.program("demo"), cwd=self.dir)
        facts = mp.info(self.dir / "app.dat")
        self.assertGreater(facts["reallocations"], 0)
        n = f"{facts['allocations'] + facts['reallocations']:,}".replace(",", " ")
        self.assertIn(f", {n} allocations, ", done.stderr.decode())
        self.assertRegex(cli("info", self.dir / "app.dat").stdout.decode(),
                         rf"(?m)^  Allocations +{n}, {facts['reallocations']} of them by realloc$")
        self.assertIn(f" by {n} allocations", cli("report", self.dir / "app.dat").stdout.decode())

    def test_text_shows_the_numbers_and_nothing_that_steers_a_terminal(self):
        seen = self.record([mp.program("demo"), "\x1b]0;title\x07"])
        facts = mp.info(seen.recording)
        text = cli("info", seen.recording).stdout
        self.assertNotIn(b"\x1b", text)
        self.assertNotIn(b"\x07", text)
        text = text.decode()
        self.assertRegex(text, r"(?m)^  Complete +yes$")
        for key in ("reallocations", "frees", "peak_bytes"):
            self.assertIn(f"{facts[key]:,}".replace(",", " "), text)

    def test_the_recorder_tells_of_itself(self):
        seen = self.record([mp.program("demo")])
        own = mp.info(seen.recording)["recorder"]
        for key in ("writer_cpu_ns", "recorder_bytes", "n_blocks", "n_path_walks", "n_known_stacks",
                    "n_fresh_frames", "n_walks", "n_rule_misses"):
            self.assertGreater(own[key], 0, key)
        self.assertEqual(0, own["n_waits"])
        text = cli("info", seen.recording).stdout.decode()
        heading, *lines = re.search(r"(?m)^  Recorder\n(?:    .*\n)+", text)[0].splitlines()
        self.assertEqual("  Recorder", heading)
        self.assertEqual(["Writer", "Memory", "Blocks", "Stacks taken", "Rules read", "Times"],
                         [line[4:19].strip() for line in lines])

    def test_a_recording_that_is_being_written(self):
        folder = self.new_folder()
        env = self.recorder_environment(folder)
        with subprocess.Popen([mp.program("waits_for_input")], env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            child.stdin.write(b"100\n")
            child.stdin.flush()
            child.stdout.readline()
            child.stdout.readline()
            (path,) = folder.glob("*.dat")
            facts = mp.info(path)
            self.assertFalse(facts["complete"])
            self.assertEqual("killed or still running", facts["ended"])
            self.assertGreater(facts["allocations"], 0)
            self.assertEqual(0, facts["damaged_bytes"])
            child.stdin.close()
            child.wait(30)
        self.assertTrue(mp.info(path)["complete"])

    def test_every_look_at_a_busy_recording_shows_one_moment(self):
        folder = self.new_folder()
        logs = self.dir / "logs"
        logs.mkdir()
        env = self.recorder_environment(folder, WRITE_BINARIES_TO_OUTPUT=0)
        looks = 0
        with subprocess.Popen([mp.program("stress_pairs"), logs, "4000000", "8"], env=env,
                              stdout=subprocess.DEVNULL) as child:
            while child.poll() is None:
                for path in folder.glob("*.dat"):
                    if path.stat().st_size < 4096:
                        continue
                    facts = mp.info(path)
                    self.assert_nothing_lost(facts)
                    self.assertEqual((0, 0), (facts["lost_blocks"], facts["damaged_bytes"]))
                    looks += not facts["complete"]
        self.assertGreater(looks, 0)

    def test_a_recording_has_a_status_from_its_first_page_on(self):
        env = self.recorder_environment(self.dir, OUTPUT=str(self.dir / "x.dat"), WRITE_BINARIES_TO_OUTPUT=0)
        looks = 0
        for _ in range(20):
            (self.dir / "x.dat").unlink(missing_ok=True)
            with subprocess.Popen(["/bin/ls", "/"], env=env, stdout=subprocess.DEVNULL) as child:
                while child.poll() is None:
                    path = self.dir / "x.dat"
                    page = path.read_bytes()[:4096] if path.exists() else b""
                    if len(page) == 4096:
                        looks += 1
                        self.assertTrue(any(page[1024:2048]), "no status")
            mp.wait_until_written(self.dir / "x.dat")
        self.assertGreater(looks, 20)

    def test_dump_and_info_agree(self):
        path = self.record([mp.program("demo")]).recording
        facts, events = mp.info(path), mp.events(path)
        self.assertEqual(facts["allocations"], sum(e["e"] == "alloc" for e in events))
        self.assertEqual(facts["reallocations"], sum(e["e"] == "realloc" for e in events))
        self.assertEqual(facts["frees"], sum(e["e"] == "free" for e in events))
        self.assertEqual(facts["bytes_allocated"],
                         sum(e["size"] for e in events if e["e"] in ("alloc", "realloc")))
        self.assertEqual(facts["live_count"], len(mp.live_sizes(path)))
        self.assertEqual(facts["live_bytes"], sum(mp.live_sizes(path)))


class Damage(mp.TestCase):
    """A recording that was hurt gives what is left of it, or a clear error; never a crash."""

    def judge(self, path):
        done = cli("info", "--json", path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        if done.returncode:
            self.assertTrue(done.stderr.startswith(b"memory-profiler-cli: " + bytes(path)),
                            done.stderr)
            return None
        return json.loads(done.stdout)

    def setUp(self):
        super().setUp()
        self.random = random.Random(20261115)
        seen = self.record([mp.program("demo")])
        self.content = seen.recording.read_bytes()
        self.path = self.dir / "hurt.dat"

    def test_flipped_bytes(self):
        noticed = 0
        for _ in range(120):
            hurt = bytearray(self.content)
            for _ in range(self.random.choice((1, 1, 4, 64))):
                hurt[self.random.randrange(len(hurt))] ^= 1 << self.random.randrange(8)
            self.path.write_bytes(hurt)
            facts = self.judge(self.path)
            noticed += facts is None or facts["damaged_bytes"] > 0
        self.assertGreater(noticed, 20)

    def test_overwritten_ranges_are_reported_with_their_offset(self):
        for _ in range(40):
            hurt = bytearray(self.content)
            at = self.random.randrange(4096, len(hurt) - 8192)
            hurt[at:at + 8192] = self.random.randbytes(8192)
            self.path.write_bytes(hurt)
            facts = self.judge(self.path)
            if facts["damaged_bytes"]:
                self.assertFalse(facts["complete"])
                self.assertTrue(any(note.startswith("offset ") for note in facts["notes"]))

    def test_cut_files(self):
        for _ in range(60):
            self.path.write_bytes(self.content[:self.random.randrange(len(self.content))])
            facts = self.judge(self.path)
            if facts:
                self.assertFalse(facts["complete"])
                if self.path.stat().st_size > 4096:  # of the chunks, not of the first page
                    self.assertGreater(facts["damaged_bytes"], 0)
                self.assertLessEqual(facts["damaged_bytes"], len(self.content))

    def test_a_damaged_recording_can_be_dumped(self):
        hurt = bytearray(self.content)
        at = len(hurt) // 2
        hurt[at:at + 100000] = bytes(len(hurt[at:at + 100000]))
        self.path.write_bytes(hurt)
        done = cli("dump", self.path)
        self.assertEqual(0, done.returncode)
        kinds = [json.loads(line)["e"] for line in done.stdout.splitlines()]
        self.assertIn("damage", kinds)


class Run(mp.TestCase):
    def run_cli(self, *args, **how):
        how.setdefault("cwd", self.dir)
        return cli("run", *args, **how)

    def python(self, script):
        """A command that runs a Python script; it lives in a file, so that no quoting matters."""
        path = self.dir / "script.py"
        path.write_text(script)
        return [sys.executable, str(path)]

    def test_the_recording_is_named_at_the_end(self):
        done = self.run_cli("-o", "app.dat", "--", mp.program("demo"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, rb"app\.dat \(.*process \d+, [\d ]+ allocations, peak ")
        self.assertIn(b"memory-profiler-cli report app.dat", done.stderr)
        self.assertTrue(mp.info(self.dir / "app.dat")["complete"])

    def test_without_a_name_the_default_is_used(self):
        done = self.run_cli(mp.program("demo"))
        (path,) = self.dir.glob("memory-profiling_demo_*.dat")
        self.assertIn(path.name.encode(), done.stderr)

    def test_the_environment_names_it_unless_an_option_does(self):
        env = {**mp.clean_environment(), "MEMORY_PROFILER_OUTPUT": "from_env_%p.dat"}
        self.run_cli(mp.program("demo"), env=env)
        self.assertEqual(1, len(list(self.dir.glob("from_env_*.dat"))))
        self.run_cli("-o", "other.dat", mp.program("demo"), env=env)
        self.assertTrue((self.dir / "other.dat").exists())
        self.assertEqual(1, len(list(self.dir.glob("from_env_*.dat"))))

    def test_odd_folder_names(self):
        folder = self.dir / "100% of a'b"
        folder.mkdir()
        done = self.run_cli("-o", "app.dat", mp.program("demo"), cwd=folder)
        self.assertTrue((folder / "app.dat").exists(), done.stderr)
        self.assertIn(b"report app.dat", done.stderr)

    def test_the_program_sees_its_own_output_and_arguments(self):
        done = self.run_cli("sh", "-c", 'printf "%s|" "$@"; cat; exit 3', "sh", "-o", "a b", "--",
                            input=b"from stdin")
        self.assertEqual(b"-o|a b|--|from stdin", done.stdout)
        self.assertEqual(3, done.returncode)

    def test_an_earlier_recording_is_kept(self):
        for _ in range(2):
            done = self.run_cli("-o", "app.dat", mp.program("demo"))
            self.assertEqual(0, done.returncode)
        self.assertTrue((self.dir / "app.dat.old").exists())
        self.assertEqual(1, done.stderr.count(b"process "), "only the new one is of this run")

    def test_tracked_children_are_listed(self):
        env = {**mp.clean_environment(), "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
        done = self.run_cli("-o", "p_%p.dat", "--", "sh", "-c", "ls >/dev/null; true", env=env)
        self.assertEqual(0, done.returncode)
        self.assertGreaterEqual(done.stderr.count(b"process "), 2, done.stderr)

    def test_a_program_that_becomes_another_is_noticed(self):
        env = {**mp.clean_environment(), "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "0"}
        done = self.run_cli("-o", "e_%p.dat", "env", "ls", env=env)
        self.assertIn(b"went on as another program", done.stderr)
        self.assertIn(b"--children", done.stderr)
        env = {**mp.clean_environment(), "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
        done = self.run_cli("-o", "e_%p_%n.dat", "env", "ls", env=env)
        self.assertNotIn(b"went on as", done.stderr)
        self.assertEqual(2, done.stderr.count(b"process "), done.stderr)
        done = self.run_cli("-o", "u.dat", "env", "-u", "LD_PRELOAD", "ls")
        self.assertIn(b"which has no recording", done.stderr, "children are recorded already")
        self.assertNotIn(b"--children", done.stderr)

    def test_death_by_a_signal_is_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT):
            done = self.run_cli("sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(-number, done.returncode)
            self.assertIn(b"recorded", done.stderr)

    def test_signals_reach_the_program_once(self):
        script = self.python(
            "import signal, sys, time\n"
            "seen = []\n"
            "numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,\n"
            "           signal.SIGWINCH, signal.SIGRTMIN + 3]\n"
            "for n in numbers: signal.signal(n, lambda n, f: seen.append(int(n)))\n"
            "print('ready', flush=True)\n"
            "end = time.time() + 20\n"
            "while len(seen) < len(numbers) and time.time() < end: time.sleep(0.01)\n"
            "time.sleep(0.2)\n"
            "print(sorted(seen) == sorted(map(int, numbers)), seen)\n")
        with subprocess.Popen([mp.CLI, "run", *script], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as child:
            self.assertEqual("ready\n", child.stdout.readline())
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                           signal.SIGWINCH, signal.SIGRTMIN + 3):
                child.send_signal(number)
                time.sleep(0.05)
            self.assertRegex(child.stdout.read(), r"^True ")
            self.assertEqual(0, child.wait(30))

    # What a program counts until a signal stops it: signals in the order of their arrival. Those that
    # the system queues wait to be taken: python would call a handler once for several of them.
    COUNTING = (
        "import os, signal, sys, time\n"
        "numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGCONT,\n"
        "           signal.SIGRTMIN + 3]\n"
        "seen = []\n"
        "for n in numbers: signal.signal(n, lambda n, f: seen.append(int(n)))\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, numbers[-1:])\n"
        "def take(s):\n"
        "    seen.extend(i.si_signo for i in [signal.sigtimedwait(numbers[-1:], s)] if i)\n"
        "if 'leave' in sys.argv: os.setpgid(0, 0)\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    end = time.time() + 20\n"
        "    while len(seen) < int(line) and time.time() < end: take(0.05)\n"
        "    take(0.1)\n"
        "    text = str(seen)\n"
        "    seen.clear()\n"
        "    print(text, flush=True)\n")
    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGCONT,
               signal.SIGRTMIN + 3)

    def counting(self, *arguments):
        child = subprocess.Popen(
            [mp.CLI, "run", *self.python(self.COUNTING), *arguments], cwd=self.dir,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            process_group=0, env={**mp.clean_environment(), "MEMORY_PROFILER_REGISTER_SIGUSR1": "0"})
        self.addCleanup(child.kill)
        self.assertEqual("ready\n", child.stdout.readline())
        return child

    def count(self, child, n):
        child.stdin.write(f"{n}\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    def test_signals_to_the_whole_group_reach_the_program_once(self):
        with self.counting() as child:
            for _ in range(5):
                for number in self.NUMBERS:
                    os.killpg(child.pid, number)
                    self.assertEqual(f"[{int(number)}]", self.count(child, 1))
                    child.send_signal(number)  # and one that is for it alone
                    self.assertEqual(f"[{int(number)}]", self.count(child, 1))
            for _ in range(3):
                os.killpg(child.pid, signal.SIGRTMIN + 3)
            self.assertEqual(str([signal.SIGRTMIN + 3] * 3), self.count(child, 3))
            child.stdin.close()
            self.assertEqual(0, child.wait(30))

    def test_signals_to_the_group_reach_a_program_that_left_it(self):
        with self.counting("leave") as child:
            for number in self.NUMBERS:
                os.killpg(child.pid, number)
                self.assertEqual(f"[{int(number)}]", self.count(child, 1))
            child.stdin.close()
            self.assertEqual(0, child.wait(30))

    def test_a_group_that_is_killed_leaves_nobody(self):
        with self.counting() as child:
            members = [int(stat.parent.name) for stat in pathlib.Path("/proc").glob("[0-9]*/stat")
                       if stat_group(stat) == child.pid]
            self.assertGreaterEqual(len(members), 2)
            os.killpg(child.pid, signal.SIGKILL)
            self.assertEqual(-signal.SIGKILL, child.wait(30))
            self.assert_gone(members)

    def test_killed_alone_it_leaves_only_the_program(self):
        with self.counting() as child:
            os.kill(child.pid, signal.SIGKILL)
            self.assertEqual(-signal.SIGKILL, child.wait(30))
            child.stdin.close()
            self.assertEqual("", child.stdout.read(), "somebody else would hold the pipe open")
            self.assert_gone([int(stat.parent.name)
                              for stat in pathlib.Path("/proc").glob("[0-9]*/stat")
                              if stat_group(stat) == child.pid])

    def assert_gone(self, pids):
        end = time.monotonic() + 20
        while any(is_alive(pid) for pid in pids):
            self.assertLess(time.monotonic(), end, pids)
            time.sleep(0.01)

    def test_control_c_on_a_terminal_reaches_the_program_once(self):
        script = self.python(
            "import signal, time\n"
            "seen = []\n"
            "signal.signal(signal.SIGINT, lambda n, f: seen.append(n))\n"
            "print('ready', flush=True)\n"
            "end = time.time() + 20\n"
            "while not seen and time.time() < end: time.sleep(0.01)\n"
            "time.sleep(0.3)\n"
            "print('interrupts:', len(seen), flush=True)\n")
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execv(mp.CLI, [str(mp.CLI), "run", *script])
        text = b""
        while not re.search(rb"interrupts: \d+\r\n", text):
            text += os.read(fd, 4096)
            if text.endswith(b"ready\r\n"):
                os.write(fd, b"\x03")
        status = os.waitpid(pid, 0)[1]
        os.close(fd)
        self.assertIn(b"interrupts: 1\r\n", text)
        self.assertEqual(0, status)

    def test_the_job_stops_and_continues_with_the_program(self):
        script = self.python(
            "import os, signal, time\n"
            "print(os.getpid(), flush=True)\n"
            "os.kill(os.getpid(), signal.SIGSTOP)\n"
            "print('continued', flush=True)\n")
        with subprocess.Popen([mp.CLI, "run", *script], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as child:
            child.stdout.readline()
            pid, status = os.waitpid(child.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            os.kill(child.pid, signal.SIGCONT)
            self.assertEqual("continued\n", child.stdout.readline())
            self.assertEqual(0, child.wait(30))

    def test_what_ld_preload_held_stays(self):
        other = self.dir / "libother.so"
        other.symlink_to(next(pathlib.Path("/lib").glob("*/libm.so.6")))
        env = {**mp.clean_environment(), "LD_PRELOAD": str(other),
               "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}  # else the recorder takes itself out
        done = self.run_cli("sh", "-c", "echo $LD_PRELOAD; true", env=env)
        self.assertEqual(0, done.returncode)
        self.assertTrue(done.stdout.strip().endswith(bytes(other)), done.stdout)


def stat_fields(path):
    """State, parent, group ... of /proc/PID/stat; none when it is gone."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def stat_group(path):
    return int((stat_fields(path) or [0, 0, 0])[2])


def is_alive(pid):
    return (stat_fields(pathlib.Path(f"/proc/{pid}/stat")) or "Z")[0] not in "ZX"


class Refused(mp.TestCase):
    def refused(self, command, code, *words):
        done = cli("run", "-o", self.dir / "x.dat", "--", command, cwd=self.dir)
        self.assertEqual(code, done.returncode, done.stderr)
        for word in words:
            self.assertIn(word.encode(), done.stderr)
        self.assertFalse((self.dir / "x.dat").exists())

    def executable(self, name, content, mode=0o755):
        path = self.dir / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def elf(self, **change):
        """A header of our own kind without program headers: a static program, near enough."""
        head = bytearray(pathlib.Path(mp.CLI).read_bytes()[:64])
        struct.pack_into("<HH", head, 54, 56, 0)  # e_phentsize, e_phnum
        for offset, value in change.items():
            head[int(offset[1:])] = value
        return bytes(head)

    def test_not_found(self):
        self.refused("no-such-command-here", 127, "not found")
        self.refused("./no/such/file", 127, "No such file")

    def test_not_executable(self):
        self.refused(self.executable("data", b"hello", 0o644), 126, "not an executable")
        self.refused(self.dir, 126, "not an executable")

    def test_static_programs(self):
        self.refused(self.executable("static", self.elf()), 1, "statically linked", "dynamically")

    def test_other_machines(self):
        self.refused(self.executable("word", self.elf(_4=1)), 1, "another CPU or word size")
        self.refused(self.executable("cpu", self.elf(_18=0xb7 ^ 0xff)), 1, "another CPU")

    def test_scripts_are_followed_to_their_interpreter(self):
        self.executable("static", self.elf())
        script = self.executable("script", f"#! {self.dir}/static -x\n".encode())
        self.refused(script, 1, "script", "statically linked")
        nested = self.executable("nested", f"#!{script}\n".encode())
        self.refused(nested, 1, "statically linked")
        lost = self.executable("lost", b"#!/no/such/interpreter\n")
        self.refused(lost, 126, "interpreter", "/no/such/interpreter")
        loop = self.executable("loop", f"#!{self.dir}/loop\n".encode())
        self.refused(loop, 1, "too deep")

    def test_scripts_that_work(self):
        for content in (b"#!/bin/sh\nexit 5\n", b"exit 5\n"):  # the second as shells do it
            script = self.executable("script", content)
            self.assertEqual(5, cli("run", script, cwd=self.dir).returncode)

    @mp.needs_root("files that belong to others")
    def test_programs_that_change_the_user(self):
        content = pathlib.Path("/bin/ls").read_bytes()
        path = self.executable("setuid", content)
        os.chown(path, 12345, 54321)
        path.chmod(0o4755)
        self.refused(path, 1, "set-user-ID")
        path.chmod(0o2755)
        self.refused(path, 1, "set-group-ID")
        os.chown(path, 0, 0)
        path.chmod(0o4755 | stat.S_ISGID)
        self.assertEqual(0, cli("run", path, cwd=self.dir).returncode)  # it changes nothing

    def test_nowhere_to_write(self):
        done = cli("run", "-o", "/proc/no/such/x.dat", "true")
        self.assertEqual(1, done.returncode)
        self.assertIn(b"cannot be made", done.stderr)
        done = cli("run", "-o", self.dir, "true")
        self.assertEqual(1, done.returncode)
        self.assertIn(b"is a directory", done.stderr)
        self.assertEqual(1, cli("run", "-o", "", "true").returncode)

    def test_the_library_is_missing(self):
        lonely = self.dir / "memory-profiler-cli"
        lonely.write_bytes(pathlib.Path(mp.CLI).read_bytes())
        lonely.chmod(0o755)
        done = subprocess.run([lonely, "run", "true"], capture_output=True, check=False,
                              cwd=self.dir)
        if done.returncode == 0:
            self.skipTest("the library is installed on this machine")
        self.assertEqual(1, done.returncode)
        self.assertIn(b"libmemory_profiler.so", done.stderr)


if __name__ == "__main__":
    mp.main()

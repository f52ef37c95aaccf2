#!/usr/bin/env python3
"""The release archive in roots of other distributions, with older and newer glibc: `make test-roots`.

usage: test_roots.py ARCHIVE FOLDER [SUITE]...
Makes a root of each Debian suite with debootstrap (as root; FOLDER keeps them for the next time),
unpacks the archive in it, and records, reports and receives there. What cannot be had is said and
skipped; fails when something that could be had does not work, or when nothing could be had.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

# None of them has glibc 2.17: lint checks the versions of symbols that the recorder needs.
SUITES = ("bullseye", "bookworm", "trixie", "sid")
N_KEYS = 5000
PROGRAM = f'my %h; $h{{"key$_"}} = "x" x ($_ % 300) for 1 .. {N_KEYS}; print scalar(keys %h), "\\n"'


def run(*argv, check=True):
    done = subprocess.run(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=1800)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def make_root(suite, root):
    """False: the suite cannot be had."""
    if (root / "made").exists():
        return True
    shutil.rmtree(root, ignore_errors=True)
    done = subprocess.run(["debootstrap", "--variant=minbase", "--merged-usr", suite, root], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    if done.returncode:
        print(f"{suite}: skipped, debootstrap cannot make it: {done.stdout.strip()[-200:]}")
        return False
    (root / "made").touch()
    return True


class Root:
    """The root with /proc, as a context."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        run("mount", "-t", "proc", "proc", self.path / "proc")
        return self

    def __exit__(self, *_):
        run("umount", "-l", self.path / "proc")

    def run(self, *argv, **options):
        return run("chroot", self.path, "/usr/bin/env", "-C", "/mp", *argv, **options)


def require(condition, what, text):
    if not condition:
        raise AssertionError(f"{what}:\n{text[-3000:]}")


def judge(root):
    """Everything that a user does, with the programs of the archive."""
    text = root.run("./memory-profiler-cli", "run", "-o", "/mp/run.dat", "perl", "-e", PROGRAM)
    require(f"{N_KEYS}\n" in text, "run", text)
    text = root.run("env", "LD_PRELOAD=/mp/libmemory_profiler.so", "MEMORY_PROFILER_LOG=info",
                    "MEMORY_PROFILER_OUTPUT=/mp/preload.dat",
                    "MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS=1", "perl", "-e", PROGRAM)
    require("recording to" in text and "ERR" not in text, "preload", text)
    facts = [json.loads(root.run("./memory-profiler-cli", "info", "--json", f"{name}.dat"))
             for name in ("run", "preload")]
    for f in facts:
        require(f["complete"] and not f["lost_events"] and f["allocations"] > 2 * N_KEYS, "info", str(f))
    require(abs(facts[0]["allocations"] - facts[1]["allocations"]) < 100, "the same program", str(facts))
    text = root.run("./memory-profiler-cli", "report", "run.dat")
    require("Perl_" in text or "perl" in text, "report", text)
    served = root.run("sh", "-c", """
        MEMORY_PROFILER_ENABLE_SERVER=1 MEMORY_PROFILER_BASE_SERVER_PORT=8731 MEMORY_PROFILER_OUTPUT=/mp/local.dat \
            LD_PRELOAD=/mp/libmemory_profiler.so perl -e 'sleep 3' &
        sleep 1
        ./memory-profiler-gather -o /mp/received localhost:8731 || ./memory-profiler-gather -o /mp/received 127.0.0.1:8731
        wait""")
    require("is complete" in served, "gather", served)


def main(argv):
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    archive, folder = pathlib.Path(argv[1]), pathlib.Path(argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)  # debootstrap wants to enter it
    n_good = 0
    for suite in argv[3:] or SUITES:
        path = folder / suite
        if not make_root(suite, path):
            continue
        shutil.rmtree(path / "mp", ignore_errors=True)
        (path / "mp/received").mkdir(parents=True)
        run("tar", "-C", path / "mp", "-xf", archive)
        with Root(path) as root:
            glibc = re.search(r"[\d.]+$", root.run("ldd", "--version").splitlines()[0])[0]
            judge(root)
        print(f"{suite}: ok, glibc {glibc}", flush=True)
        n_good += 1
    return 0 if n_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))

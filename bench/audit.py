#!/usr/bin/env python3
"""Runs real programs under an audit build of the recorder, which walks every stack in full as well.

usage: audit.py BUILD [--stacks N] [--only NAME]... [--make]
BUILD is a build folder configured with -Daudit=true (`make audit`); --make builds it first. Each
program runs again and again until N stacks (10 million) have been compared. Exit status 1 when a
stack differed, when a recording lost something, or when a program gives nothing to compare.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
RUN_LIMIT_S = 900
MAX_EMPTY_RUNS = 3

# Mostly what runs without JavaScript below it (libuv's threads and loop): stacks that end in code
# without unwind information are not of the kind that is compared.
NODE_SCRIPT = r"""
const zlib = require('zlib'), fs = require('fs');
let left = 300, n = 0;
function work() {
  const text = JSON.stringify(Array.from({length: 200}, (_, i) => ({i, s: 's' + i * left})));
  const f = new Function('a', `let s = ${left}; for (const x of a) s += x * ${left}; return s;`);
  for (let k = 0; k < 300; k++) n += f([1, 2, 3, k]) & 1;
  n += (text.match(/s\d+7/g) || []).length;
  zlib.gzip(text, (_, packed) => zlib.gunzip(packed, (_, back) => { n += back.length; }));
}
function next(_, names) {
  if (names) n += names.length;
  if (left-- <= 0) return;
  if (left % 8 == 0) work();
  fs.readdir(process.argv[2], next);
}
for (let i = 0; i < 4; i++) next();
"""
N_NAMES = 2000


def make_repository(folder):
    """A clone of this repository, or where that is none, a repository of its files."""
    git = ["git", "-c", "user.name=audit", "-c", "user.email=audit@example.org"]
    repository = folder / "repository"
    if (SOURCE / ".git").exists():
        subprocess.run([*git, "clone", "-q", "--no-hardlinks", SOURCE, repository], check=True)
    else:
        repository.mkdir()
        for name in ("src", "tests", "docs", "bench"):
            shutil.copytree(SOURCE / name, repository / name)
        subprocess.run([*git, "init", "-q"], cwd=repository, check=True)
        for name in ("src", "tests", "docs", "bench"):
            subprocess.run([*git, "add", name], cwd=repository, check=True)
            subprocess.run([*git, "commit", "-q", "-m", name], cwd=repository, check=True)
    return repository


def programs(build, folder):
    """name -> (environment, commands of one round)"""
    repository = make_repository(folder)
    node = folder / "node.js"
    node.write_text(NODE_SCRIPT)
    names = folder / "names"
    names.mkdir()
    for i in range(N_NAMES):
        (names / f"name{i}").touch()
    git = ["/usr/bin/git", "-C", repository]
    return {
        "python3": ({"PYTHONMALLOC": "malloc"},
                    [["/usr/bin/python3", HERE / "programs/nested.py", "1"]]),
        "clang": ({}, [["/usr/bin/clang++", "-std=c++17", "-O2", "-c", "-o", "/dev/null",
                        HERE / "programs/exceptions.cpp"]]),
        "git": ({}, [[*git, "log", "-p", "--stat", "-M", "-C"], [*git, "fsck", "--full"],
                     [*git, "gc", "--aggressive", "--prune=now", "--quiet"],
                     [*git, "blame", "-w", "-M", "src/record/capture.c"],
                     [*git, "grep", "-n", "-E", "stack(_[a-z]+)+"]]),
        "node": ({}, [["/usr/bin/node", node, names]]),
        "exceptions": ({}, [[build / "bench/exceptions"]]),
    }


class Audit:
    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.n_runs = 0

    def run(self, env, argv):
        """One command; returns the facts of all recordings that it and its children made."""
        self.n_runs += 1
        out = self.folder / f"run{self.n_runs}"
        out.mkdir()
        full = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1",
                "LD_PRELOAD": str(self.build / "libmemory_profiler.so"),
                "MEMORY_PROFILER_OUTPUT": f"{out}/%p_%n.dat",
                "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1", **env}
        done = subprocess.run(list(map(str, argv)), env=full, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=RUN_LIMIT_S, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, argv))}: exit {done.returncode}: "
                     f"{done.stderr.decode(errors='replace')[-1000:]}")
        facts = []
        for recording in sorted(out.iterdir()):
            text = subprocess.run([self.build / "memory-profiler-cli", "info", "--json", recording],
                                  check=True, text=True, stdout=subprocess.PIPE).stdout
            facts.append(json.loads(text))
            if facts[-1]["recorder"]["n_differing"]:
                kept = pathlib.Path(tempfile.gettempdir(), f"audit-differs-{recording.name}")
                shutil.copy(recording, kept)
                print(f"  {' '.join(facts[-1]['cmdline'])[:80]}: stacks differ, see {kept}",
                      flush=True)
        shutil.rmtree(out)
        return facts


def audit_program(audit, name, env, commands, n_wanted):
    """Prints one row; False when something is wrong."""
    n_compared = n_differing = n_other = n_lost = n_files = n_rounds = 0
    start = time.monotonic()
    while n_compared < n_wanted:
        before = n_compared
        for argv in commands:
            for facts in audit.run(env, argv):
                recorder = facts["recorder"]
                n_compared += recorder["n_audited"]
                n_differing += recorder["n_differing"]
                n_other += recorder["n_walks"]
                n_lost += facts["lost_events"]
                n_files += 1
        n_rounds += 1
        if n_compared == before and n_rounds >= MAX_EMPTY_RUNS:
            print(f"{name:12} nothing to compare: is {audit.build} an audit build?")
            return False
    print(f"{name:12}{n_compared:>14,}{n_differing:>11,}{n_other:>14,}{n_lost:>8,}{n_rounds:>8}"
          f"{n_files:>12}{time.monotonic() - start:>9.0f} s", flush=True)
    return n_differing == 0 and n_lost == 0


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--stacks", type=int, default=10_000_000, metavar="N",
                        help="stacks to compare in each program (10 million)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program only")
    parser.add_argument("--make", action="store_true", help="build BUILD first")
    args = parser.parse_args(argv[1:])
    if args.make:
        subprocess.run(["make", "-s", "-C", SOURCE, "DEPS=skip", "audit-build"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "MAKEFLAGS": ""})
    build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="audit-", dir=build))
    ok = True
    try:
        audit = Audit(build, folder)
        chosen = {name: what for name, what in programs(build, folder).items()
                  if not args.only or name in args.only}
        if not chosen:
            sys.exit(f"audit.py: no program is called {' or '.join(args.only)}")
        print(f"{'program':12}{'compared':>14}{'differing':>11}{'full walks':>14}{'lost':>8}"
              f"{'rounds':>8}{'processes':>12}")
        for name, (env, commands) in chosen.items():
            if not pathlib.Path(commands[0][0]).exists():
                print(f"{name:12} {commands[0][0]} is not installed")
                ok = False
                continue
            ok = audit_program(audit, name, env, commands, args.stacks) and ok
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))

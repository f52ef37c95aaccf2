#!/usr/bin/env python3
"""What opening a recording costs: our report against heaptrack_print, and how it grows.

usage: ingest.py BUILD [-n RUNS] [--millions N]
bench/README.md says what the numbers mean. The machine must be otherwise idle.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MAX_RSS_MIB = 512
MIN_RATIO = 3.0
MAX_SECOND_S = 1.0
FACTOR_LIMIT_PER_MILLION = 135000  # what makes `factor` call the allocator a million times


class Run:
    """One command: wall time, processor time and greatest resident memory, with its children."""

    def __init__(self, argv, env=None, limit_bytes=None):
        def limit():
            if limit_bytes:
                resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

        began = time.monotonic()
        process = subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})},
                                   preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        self.wall_s = time.monotonic() - began
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_mib = usage.ru_maxrss / 1024
        self.is_ok = status == 0


def best(runs):
    return min(runs, key=lambda r: r.wall_s)


class Bench:
    def __init__(self, build, folder, n_runs):
        self.cli = build / "memory-profiler-cli"
        self.library = build / "libmemory_profiler.so"
        self.programs = build / "bench"
        self.folder = folder
        self.n_runs = n_runs

    def record(self, name, argv, env=None):
        """Our recording of a program, and the number of its events."""
        path = self.folder / f"{name}.dat"
        run = Run(argv, {"LD_PRELOAD": str(self.library), "MEMORY_PROFILER_OUTPUT": str(path),
                         **(env or {})})
        if not run.is_ok or not path.exists():
            sys.exit(f"{name} could not be recorded")
        info = json.loads(subprocess.run([self.cli, "info", "--json", path], check=True,
                                         stdout=subprocess.PIPE).stdout)
        return path, info["events"]

    def forget(self, path):
        for kept in self.folder.glob(path.name + ".*"):
            kept.unlink()

    def first(self, path, *options, **how):
        self.forget(path)
        return Run([self.cli, "report", *options, path], **how)

    def against_heaptrack(self, name, argv, env=None):
        """Both reports on the same program, in turn."""
        path, n_events = self.record(name, argv, env)
        theirs_path = self.folder / f"heaptrack.{name}"
        Run(["heaptrack", "-o", theirs_path, *argv], env)
        theirs_path = next(self.folder.glob(f"heaptrack.{name}.*"), None)
        if not theirs_path:
            print(f"{name:12} heaptrack made no recording")
            return
        ours, theirs = [], []
        for _ in range(self.n_runs):
            theirs.append(Run(["heaptrack_print", theirs_path]))
            ours.append(self.first(path))
        ours, theirs = best(ours), best(theirs)
        second = best([Run([self.cli, "report", path]) for _ in range(self.n_runs)])
        ratio = theirs.wall_s / ours.wall_s
        print(f"{name:12} {n_events / 1e6:8.1f} {n_events / theirs.wall_s / 1e6:10.1f} "
              f"{n_events / ours.wall_s / 1e6:8.1f} {ratio:7.2f} {'ok' if ratio >= MIN_RATIO else 'MISS':5}"
              f"{theirs.rss_mib:9.0f} {ours.rss_mib:9.0f} {second.wall_s:9.3f}", flush=True)
        path.unlink()
        self.forget(path)
        theirs_path.unlink()

    def growth(self, millions):
        """The same program, ten times as long: time grows ten times, memory does not."""
        path, n_events = self.record(f"churn_{millions}", [self.programs / "churn", millions])
        for what, options, how in (("figures only", (), {}),
                                   ("with rows", ("--size-min=0",), {}),
                                   ("address space of 1.5 GiB", (),
                                    {"limit_bytes": 1536 << 20})):
            run = self.first(path, *options, **how)
            again = Run([self.cli, "report", *options, path])
            kept = sum(f.stat().st_size for f in self.folder.glob(path.name + ".*"))
            verdict = "ok" if run.is_ok and run.rss_mib <= MAX_RSS_MIB and \
                again.wall_s <= MAX_SECOND_S else "MISS"
            print(f"{n_events / 1e6:8.1f} {path.stat().st_size / 2**20:9.0f} {what:26} "
                  f"{run.wall_s:8.2f} {n_events / run.wall_s / 1e6:8.1f} {run.rss_mib:9.0f} "
                  f"{kept / 2**20:9.0f} {again.wall_s:9.3f} {verdict}", flush=True)
        path.unlink()
        self.forget(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-n", type=int, default=3, metavar="RUNS", help="best of so many (3)")
    parser.add_argument("--millions", type=int, default=300, help="events of the largest recording")
    parser.add_argument("--folder", help="where recordings go (needs some GB; default /var/tmp)")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mp-bench-", dir=args.folder or "/var/tmp"))
    bench = Bench(args.build.resolve(), folder, args.n)
    source = HERE / "programs"
    try:
        print("report against heaptrack_print (ratio: their time by ours)\n")
        print(f"{'program':12} {'M events':>8} {'M/s theirs':>10} {'M/s ours':>8} {'ratio':>7} "
              f"     {'MiB theirs':>9} {'MiB ours':>9} {'second s':>9}")
        for name in ("exceptions", "reallocs", "threads", "factor"):
            bench.against_heaptrack(name, [bench.programs / name])
        bench.against_heaptrack("perl", ["/usr/bin/perl", source / "hashes.pl"])
        bench.against_heaptrack("python3", ["/usr/bin/python3", source / "nested.py", "30"],
                                {"PYTHONMALLOC": "malloc"})
        # heaptrack's own analysis dies of churn, the program of the next table; of this one it does not
        bench.against_heaptrack(f"factor_{args.millions}M", [bench.programs / "factor",
                                                            args.millions * FACTOR_LIMIT_PER_MILLION])
        print("\ngrowth (one report; second: the next one)\n")
        print(f"{'M events':>8} {'file MiB':>9} {'':26} {'first s':>8} {'M/s':>8} {'RSS MiB':>9} "
              f"{'kept MiB':>9} {'second s':>9}")
        for millions in (args.millions // 10, args.millions):
            bench.growth(millions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

#!/usr/bin/env python3
"""Memory of the recorder over a long run: resident memory of programs bare and recorded, sampled.

usage: memory.py BUILD [--millions N] [--only NAME]...
Each program makes N million events (500). Fails when recording adds more than 24 MiB and 1 MiB per
thread, or when the second half of the run needs more than the first (by more than 1 MiB), or when
an event is missing. The recordings (3 GiB each) lie in BUILD meanwhile.
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

MAX_MIB = 24
MAX_MIB_PER_THREAD = 1
MAX_GROWTH_MIB = 1
SAMPLE_S = 0.02
START_SHARE = 0.1  # of the run: the program itself fills its caches meanwhile


def programs(build, millions):
    """name -> (command, threads)"""
    return {
        "deep_stack_1": ([build / "bench/deep_stack", "1", str(millions)], 1),
        "deep_stack_100": ([build / "bench/deep_stack", "100", str(millions)], 1),
        "threads_8": ([build / "bench/threads", "8", str(millions)], 9),
    }


def resident_mib(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/statm").read_text()
    except OSError:
        return None
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def watch(argv, env):
    """Runs it; returns resident MiB over time."""
    with subprocess.Popen(list(map(str, argv)), env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as child:
        samples = []
        while child.poll() is None:
            value = resident_mib(child.pid)
            if value:
                samples.append(value)
            time.sleep(SAMPLE_S)
    if child.returncode:
        sys.exit(f"memory.py: {argv[0]} failed: {child.returncode}")
    return samples


def part(samples, lo, hi):
    n = len(samples)
    return samples[int(lo * n):max(int(hi * n), int(lo * n) + 1)]


def measure(build, folder, name, argv, n_threads):
    """Prints one row; False when a limit is broken."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    bare = watch(argv, env)
    recording = folder / "recording"
    began = time.monotonic()
    seen = watch(argv, env | {"LD_PRELOAD": str(build / "libmemory_profiler.so"),
                              "MEMORY_PROFILER_OUTPUT": str(recording)})
    elapsed_s = time.monotonic() - began
    facts = json.loads(subprocess.run(
        [build / "memory-profiler-cli", "info", "--json", recording], check=True, text=True,
        stdout=subprocess.PIPE).stdout)
    recording.unlink()
    added = max(seen) - max(bare)
    growth = max(part(seen, 0.5, 1)) - max(part(seen, START_SHARE, 0.5))
    limit = MAX_MIB + MAX_MIB_PER_THREAD * n_threads
    ok = added <= limit and growth <= MAX_GROWTH_MIB and facts["complete"]
    ok = ok and not facts["lost_events"]
    quarters = "".join(f"{max(part(seen, q / 4, (q + 1) / 4)):8.1f}" for q in range(4))
    print(f"{name:16}{facts['events']:>14,}{elapsed_s:7.0f} s{max(bare):9.1f}{quarters}{added:9.1f}"
          f" <= {limit}{facts['lost_events']:6}{facts['recorder']['n_waits']:8,}  "
          f"{'ok' if ok else 'MISS'}", flush=True)
    return ok


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--millions", type=int, default=500, metavar="N", help="events (500)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program only")
    args = parser.parse_args(argv[1:])
    build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="memory-", dir=build))
    ok = True
    try:
        print(f"{'resident MiB':16}{'events':>14}{'time':>9}{'bare':>9}"
              f"{'1st':>8}{'2nd':>8}{'3rd':>8}{'4th':>8}{'added':>9}{'':6}{'lost':>6}{'waits':>8}")
        for name, (command, n_threads) in programs(build, args.millions).items():
            if not args.only or name in args.only:
                ok = measure(build, folder, name, command, n_threads) and ok
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))

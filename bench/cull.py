#!/usr/bin/env python3
"""What culling saves: a program that allocates a million blocks per second, 999 of 1000 short-lived.

usage: cull.py BUILD [--rate BLOCKS_PER_S] [--seconds N] [--threads N] [--heaptrack-seconds N]
Runs bench/lifetimes bare, recorded, and recorded with culling, all at the same time, since each takes a
small part of a CPU only; then heaptrack for a shorter time (0: not at all). bench/README.md says what
the columns mean. Fails when an allocation is missing, or the file or the memory grows with culling.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

MAX_KIB_PER_S = 100
MAX_GROWTH_MIB = 2
SAMPLE_S = 0.5
OURS = {"recorded": {}, "culled": {"MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS": "1"}}


@dataclasses.dataclass
class Run:
    process: subprocess.Popen
    file: pathlib.Path
    memory: list = dataclasses.field(default_factory=list)  # MiB
    size: list = dataclasses.field(default_factory=list)  # (seconds, bytes)
    cpu_s: float = 0

    def sample(self, now_s):
        try:
            pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except OSError:
            return
        if pages:
            self.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2 ** 20)
        if self.file.exists():
            self.size.append((now_s, self.file.stat().st_size))


def start(build, folder, way, args):
    file = folder / f"{way}.dat"
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    if way in OURS:
        env |= {"LD_PRELOAD": str(build / "libmemory_profiler.so"),
                "MEMORY_PROFILER_OUTPUT": str(file), **OURS[way]}
    return Run(subprocess.Popen([build / "bench/lifetimes", str(args.rate), str(args.seconds),
                                 str(args.threads)], env=env, stdout=subprocess.PIPE, text=True), file)


def wait(runs):
    """Samples until all have ended."""
    began_s = time.monotonic()
    left = dict(runs)
    while left:
        for way, run in list(left.items()):
            pid, status, usage = os.wait4(run.process.pid, os.WNOHANG)
            if pid:
                if status:
                    sys.exit(f"cull.py: {way} failed, status {status:#x}")
                run.cpu_s = usage.ru_utime + usage.ru_stime
                del left[way]
            else:
                run.sample(time.monotonic() - began_s)
        time.sleep(SAMPLE_S)


def part(values, lo, hi):
    return values[int(lo * len(values)):max(int(hi * len(values)), int(lo * len(values)) + 1)]


def judge(build, way, run, bare):
    """Prints a line; what is wrong, as text."""
    n, n_bytes, n_live = map(int, run.process.stdout.read().split())
    run.process.stdout.close()
    if way == "bare":
        print(f"{way:10} {run.cpu_s:8.2f}", flush=True)
        return []
    facts = json.loads(subprocess.run([build / "memory-profiler-cli", "info", "--json", run.file],
                                      check=True, text=True, stdout=subprocess.PIPE).stdout)
    writer_s = facts["recorder"]["writer_cpu_ns"] / 1e9
    grew = max(part(run.memory, 0.5, 1)) - max(part(run.memory, 0.25, 0.5))
    second = part(run.size, 0.5, 1)
    speed = (second[-1][1] - second[0][1]) / max(second[-1][0] - second[0][0], 1) / 1024
    print(f"{way:10} {run.cpu_s:8.2f} {writer_s:8.2f} {run.cpu_s + writer_s - bare.cpu_s:8.2f}"
          f" {run.file.stat().st_size / 2 ** 20:9.1f} {speed:9.1f} {max(run.memory):8.1f} {grew:+8.2f}", flush=True)
    wrong = []
    extra = facts["allocations"] - n  # stdio's buffer, and what starting a thread takes
    if not 0 <= extra <= 100 or facts["lost_events"] or facts["unknown_frees"]:
        wrong.append(f"{way}: {extra} allocations too many, {facts['lost_events']} lost")
    if not 0 <= facts["bytes_allocated"] - n_bytes < 1e6 or facts["live_count"] - n_live > 100:
        wrong.append(f"{way}: bytes or live blocks are not those of the program")
    if way == "culled" and (speed > MAX_KIB_PER_S or grew > MAX_GROWTH_MIB):
        wrong.append(f"{way}: grows by {speed:.1f} KiB/s on disk, by {grew:.2f} MiB in memory")
    return wrong


def heaptrack(build, folder, args):
    if not args.heaptrack_seconds or not shutil.which("heaptrack"):
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.monotonic()
    subprocess.run(["heaptrack", "-o", folder / "heaptrack", build / "bench/lifetimes", str(args.rate),
                    str(args.heaptrack_seconds), str(args.threads)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elapsed_s = time.monotonic() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(f.stat().st_size for f in folder.glob("heaptrack*"))
    print(f"\nheaptrack, {args.heaptrack_seconds} s of the program: {elapsed_s:.1f} s, CPU {cpu_s:.2f} s,"
          f" file {size / 2 ** 20:.1f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rate", type=int, default=1000000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--heaptrack-seconds", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cull-", dir=args.build) as name:
        folder = pathlib.Path(name)
        runs = {way: start(args.build, folder, way, args) for way in ("bare", "culled", "recorded")}
        wait(runs)
        print(f"{args.rate} blocks per second for {args.seconds} s, {args.threads} threads\n"
              "             CPU s  writer s   over s  file MiB  KiB/s, 2.  RSS MiB    grows")
        wrong = [w for way, run in runs.items() for w in judge(args.build, way, run, runs["bare"])]
        for run in runs.values():
            run.file.unlink(missing_ok=True)
        heaptrack(args.build, folder, args)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

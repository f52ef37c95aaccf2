#!/usr/bin/env python3
"""What questions to the server cost on a large recording, against heaptrack_print's fixed report.

usage: query.py BUILD [--millions N]
Records a program with N million allocations (100), serves the recording, and asks. The first answer to
each question is timed apart (cold); then others of the same kind that the server has not answered before,
so that what it keeps of answers does not count. The machine must be otherwise idle.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ALLOCATIONS_PER_LIMIT = 3.706  # of the program `factor`: so many for each number
MAX_RSS_MIB = 512


class Server:
    def __init__(self, cli, recording):
        self.process = subprocess.Popen([cli, "server", "-p", "0", recording], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.url = None
        while not self.url:
            found = re.search(r"http://\S+", self.process.stdout.readline())
            self.url = found.group().rstrip("/") if found else None

    def get(self, path):
        """Seconds until the whole answer was there."""
        began = time.monotonic()
        with urllib.request.urlopen(self.url + path, timeout=600) as answer:
            answer.read()
        return time.monotonic() - began

    def wait_until_loaded(self):
        began = time.monotonic()
        while True:
            with urllib.request.urlopen(self.url + "/list") as answer:
                state = json.load(answer)[0]
            if state["state"] == "failed":
                sys.exit(f"the recording cannot be served: {state}")
            if state["state"] == "ready":
                return time.monotonic() - began
            time.sleep(0.2)

    def peak_rss_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def questions(large):
    """(name, paths: the first cold, the others warm, most seconds cold, most warm)"""
    cold, warm, page = (1.5, 0.3, 1.0) if large else (0.05, 0.05, 0.05)
    data, v1 = "/data/last", "/api/v1/last"
    return [
        ("allocation_groups", [f"{data}/allocation_groups?count={n}&sort_by=all.size&order=dsc"
                               for n in (20, 21, 22)], cold, warm),
        ("flame graph data", [f"{v1}/flamegraph?cost={c}" for c in ("bytes", "leaked", "peak")],
         cold, warm),
        ("tree", [f"{data}/tree"], cold, warm),
        ("page, by size", [f"{data}/allocations?size_min={n}&count=20" for n in (17, 18, 1000)],
         page, page),
        ("page, by lifetime and time", [
            f"{data}/allocations?lifetime_min={n}ms&from=20%25&to=60%25&count=20"
            for n in (1, 2, 3)], page, page),
        ("page, by function", [f"{data}/allocations?function_regex=factor.*&skip={n}&count=20"
                               for n in (0, 1000, 2000)], page, page),
        ("page, every row looked at", [
            f"{data}/allocations?lifetime_min={n}us&lifetime_max=1s&address_min=1&count=20"
            for n in (50, 60, 70)], page, page),
        ("timeline", [f"{data}/timeline"], cold, warm),
        ("timeline by package", [f"{v1}/timeline?by=package&buckets={n}" for n in (240, 241, 242)],
         10.0 if large else 0.2, 10.0 if large else 0.2),
    ]


def ask(server, large, theirs_s):
    for name, paths, most_cold_s, most_warm_s in questions(large):
        times = [server.get(p) for p in paths]
        warm = min(times[1:]) if len(times) > 1 else None
        verdict = "ok" if times[0] <= most_cold_s and (warm is None or warm <= most_warm_s) \
            else "MISS"
        print(f"  {name:28} {times[0]:8.3f} {warm if warm is not None else float('nan'):8.3f} "
              f"{times[0] / theirs_s:8.3f} {verdict}", flush=True)


def run(build, folder, millions):
    cli = build / "memory-profiler-cli"
    factor = [str(build / "bench/factor"), str(int(millions * 1e6 / ALLOCATIONS_PER_LIMIT))]
    recording = folder / f"{millions}.dat"
    subprocess.run(factor, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "LD_PRELOAD": str(build / "libmemory_profiler.so"),
                        "MEMORY_PROFILER_OUTPUT": str(recording)})
    subprocess.run(["heaptrack", "-o", folder / "theirs", *factor], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = time.monotonic()
    subprocess.run(["heaptrack_print", next(folder.glob("theirs*"))], check=True,
                   stdout=subprocess.DEVNULL)
    theirs_s = time.monotonic() - began
    server = Server(cli, recording)
    try:
        loaded_s = server.wait_until_loaded()
        print(f"\n{millions} million allocations: heaptrack_print {theirs_s:.2f} s, first loading "
              f"{loaded_s:.2f} s\n  {'question':28} {'cold s':>8} {'warm s':>8} {'by theirs':>8}")
        ask(server, millions >= 10, theirs_s)
        rss = server.peak_rss_mib()
        print(f"  greatest resident memory {rss:.0f} MiB {'ok' if rss <= MAX_RSS_MIB else 'MISS'}")
    finally:
        server.stop()
    for file in folder.glob("*"):
        file.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--millions", type=int, default=100)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mp-bench-", dir="/var/tmp"))
    try:
        for millions in (1, args.millions):
            run(args.build.resolve(), folder, millions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

#!/usr/bin/env python3
"""How far a server lags behind a program that it follows while the program runs.

usage: live.py BUILD [--rate ALLOCATIONS_PER_S] [--seconds N]
Prints the lag over time: the time of the question less the time of the newest event in the answer.
bench/README.md says what the numbers mean.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition, what):
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"live.py: waited in vain for {what}")
        time.sleep(0.05)


def ask(url):
    """(seconds behind, allocations so far); None while the recording is being loaded."""
    try:
        with urllib.request.urlopen(url + "api/v1/last/summary", timeout=300) as answer:
            s = json.load(answer)
    except urllib.error.HTTPError as e:
        if e.code == 503:
            return None
        raise
    newest_ns = s["start_ns"] + s["duration_ns"]
    return time.time() - newest_ns / 1e9, s["allocations"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rate", type=int, default=2000000)
    parser.add_argument("--seconds", type=int, default=120)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mp-live-") as folder:
        recording = pathlib.Path(folder) / "live.dat"
        target = subprocess.Popen(
            [args.build / "bench/steady", str(args.rate), str(args.seconds)],
            env={**os.environ, "LD_PRELOAD": str(args.build / "libmemory_profiler.so"),
                 "MEMORY_PROFILER_OUTPUT": str(recording)}, stdout=subprocess.PIPE, text=True)
        wait_for(recording.exists, "the recording")
        time.sleep(1)
        server = subprocess.Popen([args.build / "memory-profiler-cli", "server", "-p", "0",
                                   recording], stdout=subprocess.PIPE, text=True)
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        start = time.monotonic()
        lags = []
        print(f"# {args.rate} allocations/s wanted; seconds since the start, lag in seconds, "
              "allocations in the answer, server's CPU seconds")
        try:
            while target.poll() is None:
                seen = ask(url)
                if seen and target.poll() is None:
                    lags.append(seen[0])
                    print(f"{time.monotonic() - start:6.1f} {seen[0]:6.2f} {seen[1]:12d} "
                          f"{cpu_s(server.pid):7.1f}", flush=True)
                time.sleep(1)
            print("#", target.stdout.read().strip())
            used = cpu_s(server.pid)
        finally:
            target.kill()
            server.terminate()
            server.wait()
        if not lags:
            sys.exit("live.py: no answer while the program ran")
        print(f"lag: median {statistics.median(lags):.2f} s, greatest {max(lags):.2f} s, "
              f"at the end {lags[-1]:.2f} s; server {used:.1f} CPU s")


if __name__ == "__main__":
    main()

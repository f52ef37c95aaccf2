#!/usr/bin/env python3
"""Recordings that are large in one way each: what they cost to open, and how soon questions are answered.

usage: scale.py BUILD [--only SHAPE]... [--part X] [--budget MIB] [--no-peer] [--paths WORD] [--keep FOLDER]
Shapes (programs/shapes.c): live (22 M blocks alive), stacks (2 M different stacks), events20 and events
(20 M and 200 M events of 4 threads), threads (1 000 threads), day (24 bursts with pauses of 2 s).
--part 0.01 makes a hundredth of each. --paths asks only paths that contain the word. bench/README.md says
what the columns mean. The exit code is 1 when a report or a server did not finish within the budget.
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
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))
from mp_cgroup import Cgroup  # noqa: E402  (after the path to it)

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.05
LIMIT_S = 3600
COLD_S, WARM_S, FILTERED_S, ESTIMATE_S = 1.0, 0.1, 10.0, 0.3
HEAPTRACK_INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"

# name -> arguments of programs/shapes.c for the whole size: (shape, N that --part makes smaller, M)
SHAPES = {
    "live": ("live", 22_000_000, None),
    "stacks": ("stacks", 1 << 20, None),
    "events20": ("events", 20_000_000, None),
    "events": ("events", 200_000_000, None),
    "threads": ("threads", 1000, 1000),
    "day": ("day", 400_000, 2000),
}

# What the pages of the GUI ask first, without and with conditions, below /api/v1/last/ unless they
# begin with a slash. Seconds at most: cold, warm.
FIRST = [
    "summary", "findings", "health", "samples", "threads",
    "timeline?by=package&series=bytes&top=7&buckets=240&round=true",
    "timeline?buckets=1000&round=true", "timeline?buckets=1000",
    "groups?by=blame&sort_by=leaked_bytes&order=dsc&count=8",
    "groups?by=stack&sort_by=leaked_bytes&count=100",
    "groups?by=stack&sort_by=leaked_bytes&count=100&graph=120",
    "peak", "groups?by=thread&count=500", "thread_matrix", "groups?by=size&count=100",
    "sizes?cost=bytes&top=5", "lifetimes", "fragmentation?at=50%25", "maps",
    "flamegraph?min_share=0.001", "tree?depth=1&min_share=0", "allocations?count=100",
    "chains?count=100", "growth?from=20%25&to=80%25&by=function&count=100",
    "/data/last/timeline", "/data/last/regions", "/data/last/allocation_groups?count=20",
]
FILTERED = [
    "timeline?buckets=1000&size_min=100", "peak?size_min=64", "summary?size_min=100",
    "tree?from=20%25&to=60%25&min_share=0.001", "groups?by=stack&size_min=64&count=100&graph=120",
    "sizes?lifetime_min=1ms", "flamegraph?min_share=0.001&thread=1",
    "timeline?buckets=1000&lifetime=only_leaked",
]
EXPORTS = ["/data/last/export/dhat", "/data/last/export/collapsed?size_min=64"]


# ---- memory ----

def resident_mib(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(n) for n in re.findall(r"(?:RssAnon|RssFile|RssShmem):\s+(\d+)", text)) / 1024


class Watched:
    """A process inside the cgroup if there is one; samples its memory until it ends."""

    def __init__(self, argv, cgroup, **options):
        self.cgroup = cgroup
        self.peak_mib = 0
        self.began = time.monotonic()

        def enter():
            if cgroup:
                cgroup.procs.write_text("0")
        self.process = subprocess.Popen(list(map(str, argv)), preexec_fn=enter, **options)
        self.is_over = False
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def sample(self):
        while not self.is_over:
            now = self.cgroup.used_mib() if self.cgroup else resident_mib(self.process.pid)
            self.peak_mib = max(self.peak_mib, now)
            time.sleep(SAMPLE_S)

    def wait(self):
        """Returns (exit status, CPU s, wall s)."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.is_over = True
        self.sampler.join()
        return (self.process.returncode, usage.ru_utime + usage.ru_stime,
                time.monotonic() - self.began)

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


# ---- what is measured ----

def mib(path):
    return path.stat().st_size / 2 ** 20 if path.exists() else 0


def record(build, argv, recording):
    subprocess.run(list(map(str, argv)), check=True,
                   env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(build / "libmemory_profiler.so"),
                        "MEMORY_PROFILER_OUTPUT": str(recording)})


def forget(recording):
    for end in (".store", ".symbols"):
        pathlib.Path(str(recording) + end).unlink(missing_ok=True)


def measure_report(args, recording, cgroup):
    """A first report, as a user types it. Returns its CPU seconds, None when it did not finish."""
    forget(recording)
    run = Watched([args.build / "memory-profiler-cli", "report", *args.memory, recording], cgroup,
                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ)
    code, cpu_s, wall_s = run.wait()
    if code:
        print(f"  report: MISS, ended with {code}: {run.process.stderr.read()[-300:]!r}")
        return None
    print(f"  report, cold     {cpu_s:8.2f} s CPU {wall_s:8.2f} s wall  peak {run.peak_mib:5.0f} MiB"
          f"  store {mib(pathlib.Path(str(recording) + '.store')):6.0f} MiB")
    return cpu_s


def measure_peer(argv, folder):
    """heaptrack's interpreter and printer on the same program."""
    raw = folder / "raw"
    done = subprocess.run(["heaptrack", "--raw", "-o", raw, *map(str, argv)], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = sorted(folder.glob("raw*"))
    if done.returncode or not found:
        print("  heaptrack: did not record this")
        return None
    unpack = "zstd -dc" if found[0].suffix == ".zst" else "gzip -dc"
    before = os.times()
    subprocess.run(f"{unpack} '{found[0]}' | {HEAPTRACK_INTERPRET} | gzip -1 > '{folder}/theirs.gz' && "
                   f"heaptrack_print '{folder}/theirs.gz' > /dev/null", shell=True, check=False,
                   stderr=subprocess.DEVNULL)
    after = os.times()
    for file in [*found, folder / "theirs.gz"]:
        file.unlink(missing_ok=True)
    cpu_s = after.children_user + after.children_system - before.children_user - \
        before.children_system
    print(f"  heaptrack interpret + print {cpu_s:8.2f} s CPU")
    return cpu_s


def ask(url, path):
    """(seconds, bytes, HTTP status) of one request."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(url + path, timeout=LIMIT_S) as answer:
            return time.monotonic() - began, len(answer.read()), answer.status
    except urllib.error.HTTPError as e:
        return time.monotonic() - began, 0, e.code
    except OSError:
        return time.monotonic() - began, 0, 0


def ask_paths(server, url, paths, most_cold_s, most_warm_s, takes_estimate=False):
    for path in paths:
        full = path if path.startswith("/") else "/api/v1/last/" + path
        cpu_before = server.cpu_s()
        first_s, _, status = ask(url, full + "&first=200") if takes_estimate else (0, 0, 200)
        cold_s, n_bytes, status = ask(url, full) if status else (0, 0, 0)
        if status == 0:
            print(f"    {path}: MISS, no answer")
            return False
        cold_s += first_s
        cpu_s = server.cpu_s() - cpu_before
        warm_s = min(ask(url, full)[0] for _ in range(2))
        is_ok = (status == 200 and cpu_s <= most_cold_s and warm_s <= most_warm_s
                 and first_s <= ESTIMATE_S)
        print(f"    {path:66}{cpu_s:8.2f}{cold_s:8.2f}{warm_s:8.3f}{n_bytes / 1024:10.0f}"
              f"{f'{first_s:8.2f}' if takes_estimate else '':8} "
              f"{'ok' if is_ok else f'MISS {status}'}", flush=True)
    return True


def measure_server(args, recording, cgroup):
    forget(recording)
    argv = [args.build / "memory-profiler-cli", "server", "-p", "0", *args.memory, recording]
    server = Watched(argv, cgroup, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                     env=os.environ)
    url = re.search(r"http://\S+", server.process.stdout.readline()).group().rstrip("/")
    threading.Thread(target=server.process.stdout.read, daemon=True).start()
    try:
        state = "loading"
        while state == "loading":
            time.sleep(0.2)
            with urllib.request.urlopen(url + "/list") as answer:
                state = json.load(answer)[0]["state"]
        loaded_s = time.monotonic() - server.began
        print(f"  server, loading  {server.cpu_s():8.2f} s CPU {loaded_s:8.2f} s wall  peak "
              f"{server.peak_mib:5.0f} MiB  store {mib(pathlib.Path(str(recording) + '.store')):6.0f}"
              f" MiB  {state}")
        print(f"    {'path':66}{'CPU s':>8}{'cold s':>8}{'warm s':>8}{'KiB':>10}{'first s':>8}")
        wanted = [[p for p in paths if not args.paths or args.paths in p]
                  for paths in (FIRST, FILTERED, EXPORTS)]
        is_ok = (state == "ready" and ask_paths(server, url, wanted[0], COLD_S, WARM_S)
                 and ask_paths(server, url, wanted[1], FILTERED_S, FILTERED_S, True)
                 and ask_paths(server, url, wanted[2], LIMIT_S, LIMIT_S))
        print(f"  server, peak memory {server.peak_mib:.0f} MiB")
        return is_ok
    except (urllib.error.URLError, ConnectionError):
        print("  server: MISS, ended early")
        return False
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGINT)
            server.process.wait()
        server.is_over = True


def measure_shape(args, name, folder, cgroup):
    """True when all of it finished. Sets args.per_event[name]."""
    shape, n, m = SHAPES[name]
    argv = [args.build / "bench/shapes", shape, max(int(n * args.part), 1), *([m] if m else [])]
    recording = folder / f"{name}-{args.part}.dat"
    if not recording.exists():
        record(args.build, argv, recording)
    info = json.loads(subprocess.run([args.build / "memory-profiler-cli", "info", "--json", recording],
                                     check=True, text=True, stdout=subprocess.PIPE).stdout)
    print(f"\n{name}: {info['events']:,} events, recording {mib(recording):.0f} MiB", flush=True)
    report_s = measure_report(args, recording, cgroup)
    if report_s:
        args.per_event[name] = report_s / info["events"]
    is_ok = measure_server(args, recording, cgroup)
    if not args.no_peer and shutil.which("heaptrack"):
        peer_s = measure_peer(argv, folder)
        if peer_s and report_s:
            print(f"  report / heaptrack {report_s / peer_s:.2f} "
                  f"{'ok' if report_s <= peer_s else 'MISS'}")
    forget(recording)
    if not args.keep:
        recording.unlink()
    return is_ok and report_s is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", action="append", metavar="SHAPE", choices=SHAPES)
    parser.add_argument("--part", type=float, default=1.0, help="of the size of each shape (1)")
    parser.add_argument("--budget", type=int, default=512, metavar="MIB", help="(512)")
    parser.add_argument("--no-peer", action="store_true", help="without heaptrack")
    parser.add_argument("--paths", metavar="WORD", help="only paths with this word")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="keep recordings there, and use those that are there")
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.per_event = {}
    args.memory = []
    cgroup = Cgroup.create(args.budget << 20)
    print(f"memory: {'a cgroup of' if cgroup else 'sampled, no cgroup can be made; wanted'} "
          f"{args.budget} MiB; peak = anonymous and mapped bytes")
    folder = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="scale-", dir="/var/tmp"))
    folder.mkdir(exist_ok=True)
    try:
        results = [measure_shape(args, name, folder, cgroup)
                   for name in SHAPES if not args.only or name in args.only]
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
        if cgroup:
            cgroup.remove()
    few, many = args.per_event.get("events20"), args.per_event.get("events")
    if few and many:
        print(f"\nCPU of a report per event: {1e9 * few:.0f} ns with few, {1e9 * many:.0f} ns with many, "
              f"ratio {many / few:.2f} {'ok' if many <= 2 * few else 'MISS'}")
    return 0 if all(results) else 1


sys.exit(main())

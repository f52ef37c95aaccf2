#!/usr/bin/env python3
"""What recording costs: programs bare, under heaptrack and under us, interleaved, best of N.

usage: record.py BUILD [-n RUNS] [--only NAME]... [--json FILE] [--library FILE]
       record.py --show FILE...   tables from what --json wrote (later files add to earlier ones)
bench/README.md says what the numbers mean. The machine must be otherwise idle.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEAPTRACK = "/usr/bin/heaptrack"
HEAPTRACK_LIBRARY = "/usr/lib/heaptrack/libheaptrack_preload.so"

# Targets: see README.md.
BUSY_ALLOCATIONS_PER_S = 1_000_000
MAX_RATIO_BUSY = {"ours": 0.20, "ours_like": 0.12}
MAX_RATIO = {"ours": 0.30, "ours_like": 0.30}
MAX_BYTES_PER_EVENT = {"jq": 6.0, "python3": 6.0}
MAX_STARTUP_MS = 5.0
STARTUP_RUNS = 20
RUN_LIMIT_S = 300


def max_rss_mib(n_threads):
    return 24.0 + n_threads


WAYS = {
    "bare": "bare",
    "heaptrack": "heaptrack, the command",
    "heaptrack_raw": "heaptrack --raw",
    "heaptrack_library": "heaptrack, library alone",
    "ours": "ours, everything on",
    "ours_like": "ours, like for like",
}
OURS = ("ours", "ours_like")
JUDGES = {"heaptrack": "command", "heaptrack_raw": "--raw", "heaptrack_library": "library alone"}


@dataclasses.dataclass
class Program:
    name: str
    argv: list
    env: dict = dataclasses.field(default_factory=dict)
    n_threads: int = 1
    times: int = 1  # so many times as many runs: what is measured is small beside the program itself
    startup: bool = False  # too short for ratios: report milliseconds


@dataclasses.dataclass
class Cost:
    """One run."""
    wall_ns: int
    cpu_ns: int
    rss_kib: int
    file_bytes: int = 0


def make_json(path):
    """The input of jq: 40 000 records, some 8 MB, the same every time."""
    r = random.Random(1)
    records = [{"id": i, "name": f"user{r.randrange(5000)}", "score": r.random(),
                "tags": [f"t{r.randrange(50)}" for _ in range(r.randrange(6))],
                "home": {"city": f"city{r.randrange(300)}", "zip": r.randrange(100000)}}
               for i in range(40000)]
    path.write_text(json.dumps(records))


def programs(build, folder):
    own = build / "bench"
    source = HERE / "programs"
    records = folder / "records.json"
    make_json(records)
    query = ('group_by(.home.city) | map({city: .[0].home.city, n: length, best: (map(.score) | max),'
             ' tags: (map(.tags[]) | unique | join(","))}) | sort_by(-.n) | .[:5]')
    return [
        Program("jq", ["/usr/bin/jq", "-c", query, records]),
        Program("python3", ["/usr/bin/python3", source / "nested.py"], {"PYTHONMALLOC": "malloc"}),
        Program("sqlite3", ["/usr/bin/sqlite3", ":memory:", f".read {source / 'queries.sql'}"]),
        Program("perl", ["/usr/bin/perl", source / "hashes.pl", "20"], times=3),
        Program("deep_stack_100", [own / "deep_stack", "100", "8"]),
        Program("deep_stack_1", [own / "deep_stack", "1", "16"]),
        Program("factor", [own / "factor"]),
        Program("threads_2", [own / "threads", "2", "16"], n_threads=3),
        Program("threads_8", [own / "threads", "8", "16"], n_threads=9),
        Program("reallocs", [own / "reallocs"]),
        Program("exceptions", [own / "exceptions"], times=3),
        Program("true", ["/bin/true"], startup=True),
    ]


class Bench:
    def __init__(self, build, library, folder):
        self.launcher = build / "bench/bench_launch"
        self.cli = build / "memory-profiler-cli"
        self.folder = folder
        # A copy: a build that is under way must not change what is measured.
        self.library = folder / "libmemory_profiler.so"
        shutil.copy(library, self.library)

    def environment(self, program):
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0",
                **program.env}

    def run(self, program, way, keep=False):
        """One run. Its output files are gone afterwards, unless they are to be kept."""
        out = self.folder / "out"
        out.mkdir()
        env = self.environment(program)
        argv = program.argv
        if way == "heaptrack":
            argv = [HEAPTRACK, "-o", out / "recording", *argv]
        elif way == "heaptrack_raw":
            argv = [HEAPTRACK, "--raw", "-o", out / "recording", *argv]
        elif way == "heaptrack_library":
            env |= {"LD_PRELOAD": HEAPTRACK_LIBRARY, "DUMP_HEAPTRACK_OUTPUT": out / "recording"}
        elif way in OURS:
            env |= {"LD_PRELOAD": self.library, "MEMORY_PROFILER_OUTPUT": out / "recording"}
        if way == "ours_like":
            env["MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE"] = "0"
        # bench_launch takes the environment by env(1), so that it is not preloaded itself.
        result = self.folder / "result"
        words = [f"{k}={v}" for k, v in env.items()]
        with subprocess.Popen([self.launcher, result, "/usr/bin/env", "-i", *words, *map(str, argv)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, start_new_session=True) as child:
            try:
                errors = child.communicate(timeout=RUN_LIMIT_S)[1]
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                raise SystemExit(f"{program.name} ({way}) did not end in {RUN_LIMIT_S} s") from None
        if child.returncode:
            raise SystemExit(f"bench_launch failed: {errors.decode(errors='replace')}")
        wall_ns, cpu_us, rss_kib, status = map(int, result.read_text().split())
        if status:
            raise SystemExit(f"{program.name} ({way}) failed, status {status:#x}: "
                             f"{errors.decode(errors='replace')[-500:]}")
        size = sum(f.stat().st_size for f in out.iterdir())
        if not keep:
            shutil.rmtree(out)
        return Cost(wall_ns, cpu_us * 1000, rss_kib, size)

    def facts(self, program, way):
        """A run whose recording is looked at: what `info --json` says."""
        self.run(program, way, keep=True)
        out = self.folder / "out"
        found = sorted(out.iterdir())
        if len(found) != 1:
            raise SystemExit(f"{program.name}: expected one recording, found {found}")
        text = subprocess.run([self.cli, "info", "--json", found[0]], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        shutil.rmtree(out)
        return json.loads(text)


def machine_ticks():
    """(CPU time all processes have used, in clock ticks)"""
    user, nice, system = map(int, pathlib.Path("/proc/stat").read_text().split()[1:4])
    return user + nice + system


@dataclasses.dataclass
class Measured:
    program: Program
    facts: dict
    runs: dict  # way -> list of Cost
    others_percent: float  # CPU that other processes used meanwhile, of all CPUs

    def best(self, way, what):
        return min(getattr(c, what) for c in self.runs[way])

    def over(self, way, what):
        return self.best(way, what) - self.best("bare", what)

    def ratio(self, way, judge, what="wall_ns"):
        """Our overhead as a share of heaptrack's; None when that is too small to divide by."""
        theirs = self.over(judge, what)
        if theirs < 0.02 * self.best("bare", what) or theirs < 5e6:
            return None
        return self.over(way, what) / theirs

    def bytes_per_event(self, way):
        return self.best(way, "file_bytes") / self.facts["events"]

    @property
    def events_per_s(self):
        return self.facts["events"] / (self.best("bare", "wall_ns") / 1e9)

    @property
    def busy(self):
        n = self.facts["allocations"] + self.facts["reallocations"]
        return n / (self.best("bare", "wall_ns") / 1e9) > BUSY_ALLOCATIONS_PER_S

    @property
    def rss_added_mib(self):
        return max(self.over(way, "rss_kib") for way in OURS) / 1024

    def limit(self, way):
        return (MAX_RATIO_BUSY if self.busy else MAX_RATIO)[way]


def measure(bench, program, n_runs):
    facts = bench.facts(program, "ours")  # also the warm-up of our own way
    like = bench.facts(program, "ours_like")
    facts["bytes_per_event_like"] = like["bytes_per_event"]
    for way in ("bare", *JUDGES):
        bench.run(program, way)
    runs = {way: [] for way in WAYS}
    order, turns = list(WAYS), random.Random(1)
    before = machine_ticks()
    wall_ns = own_ns = 0
    for _ in range(STARTUP_RUNS if program.startup else n_runs * program.times):
        turns.shuffle(order)  # what a run leaves to the kernel must not always fall on the same next one
        for way in order:
            cost = bench.run(program, way)
            runs[way].append(cost)
            wall_ns += cost.wall_ns
            own_ns += cost.cpu_ns
    used_ns = (machine_ticks() - before) * 1e9 / os.sysconf("SC_CLK_TCK")
    others = max(0.0, used_ns - own_ns) / (wall_ns * os.cpu_count())
    return Measured(program, facts, runs, 100 * others)


def verdict(value, limit):
    if value is None:
        return "-"
    return f"{value:.2f} {'ok' if value <= limit else 'MISS'}"


def show(m):
    events = m.facts["events"]
    bare_s = m.best("bare", "wall_ns") / 1e9
    spread = max(c.wall_ns for c in m.runs["bare"]) / m.best("bare", "wall_ns") - 1
    print(f"\n{m.program.name}: {events:,} events, {m.events_per_s / 1e6:.2f} M/s bare,"
          f" {m.facts['stacks']:,} stacks up to {m.facts['deepest_stack']} deep, "
          f"{m.facts['threads']} threads; bare runs differ by {100 * spread:.0f} %,"
          f" others used {m.others_percent:.0f} % of the CPUs")
    print(f"  {'':26}{'wall s':>9}{'over':>9}{'CPU s':>9}{'over':>9}{'ns/event':>10}"
          f"{'B/event':>9}{'file MiB':>10}{'RSS MiB':>9}{'added':>8}")
    for way, label in WAYS.items():
        row = f"  {label:26}{m.best(way, 'wall_ns') / 1e9:9.3f}"
        row += f"{m.over(way, 'wall_ns') / 1e9:9.3f}" if way != "bare" else f"{'':9}"
        row += f"{m.best(way, 'cpu_ns') / 1e9:9.3f}"
        row += f"{m.over(way, 'cpu_ns') / 1e9:9.3f}" if way != "bare" else f"{'':9}"
        if way == "bare":
            row += f"{'':29}"
        else:
            per_event = {"ours": m.facts["bytes_per_event"],
                         "ours_like": m.facts["bytes_per_event_like"]}.get(
                             way, m.bytes_per_event(way))
            row += f"{m.over(way, 'wall_ns') / events:10.1f}{per_event:9.2f}"
            row += f"{m.best(way, 'file_bytes') / 2 ** 20:10.1f}"
        if way in ("heaptrack", "heaptrack_raw"):
            row += f"{'-':>9}{'-':>8}"  # of several processes; see the library alone
        else:
            row += f"{m.best(way, 'rss_kib') / 1024:9.1f}"
            if way != "bare":
                row += f"{m.over(way, 'rss_kib') / 1024:8.1f}"
        print(row)
    for judge in JUDGES:
        parts = [f"{WAYS[way].split(', ')[1]} {verdict(m.ratio(way, judge), m.limit(way))}"
                 f" (<= {m.limit(way):.2f})" for way in OURS]
        cpu = [m.ratio(way, judge, "cpu_ns") for way in OURS]
        cpu = " / ".join("-" if c is None else f"{c:.2f}" for c in cpu)
        print(f"  of {WAYS[judge]}: wall {', '.join(parts)}; CPU {cpu}")
    recorder = m.facts["recorder"]
    print(f"  recorder: {recorder['n_path_walks']:,} path walks, {recorder['n_known_stacks']:,} known,"
          f" {recorder['n_fresh_frames']:,} fresh frames, {recorder['n_walks']:,} walks,"
          f" {recorder['n_slow_walks']:,} slow, {recorder['n_rule_misses']:,} rules built,"
          f" {recorder['n_waits']:,} waits, writer {recorder['writer_cpu_ns'] / 1e9:.3f} s,"
          f" lost {m.facts['lost_events']:,}")
    sys.stdout.flush()


def show_startup(m):
    print(f"\n{m.program.name}: start-up and end, best of {STARTUP_RUNS}")
    for way, label in WAYS.items():
        over = m.over(way, "wall_ns") / 1e6
        note = ""
        if way in OURS:
            note = f"   {'ok' if over <= MAX_STARTUP_MS else 'MISS'} (<= {MAX_STARTUP_MS:.0f} ms)"
        print(f"  {label:26}{m.best(way, 'wall_ns') / 1e6:9.2f} ms{over:9.2f} ms more"
              f"{m.over(way, 'cpu_ns') / 1e6:9.2f} ms CPU more{note}")
    sys.stdout.flush()


def summary_row(m):
    """Cells of a program in the closing table."""
    cells = [m.program.name, f"{m.events_per_s / 1e6:.2f}"]
    for judge in JUDGES:
        cells += [verdict(m.ratio(way, judge), m.limit(way)) for way in OURS]
    for way in OURS:
        cpu = m.ratio(way, "heaptrack", "cpu_ns")
        cells.append("-" if cpu is None else f"{cpu:.2f}")
    size, limit = m.facts["bytes_per_event"], MAX_BYTES_PER_EVENT.get(m.program.name)
    mark = "" if limit is None else " ok" if size <= limit else " MISS"
    cells.append(f"{size:.2f}{mark}")
    mark = "ok" if m.rss_added_mib <= max_rss_mib(m.program.n_threads) else "MISS"
    return cells + [f"{m.rss_added_mib:.1f} {mark}"]


def summarize(measured):
    """Closing table."""
    head = ["program", "M events/s"]
    for short in JUDGES.values():
        head += [f"{short}: all on", "like for like"]
    head += ["CPU: all on", "like", "B/event", "RSS added MiB"]
    rows = [summary_row(m) for m in measured if not m.program.startup]
    print("\nsummary: our wall overhead over bare as a share of heaptrack's, in three ways to run it;"
          " CPU: of the command's")
    widths = [max(map(len, column)) + 2 for column in zip(head, *rows)]
    for cells in [head, *rows]:
        print("".join(f"{c:>{w}}" if i else f"  {c:{w}}" for i, (c, w) in
                      enumerate(zip(cells, widths))))
    others = sum("MISS" in c for row in rows for c in row[2 + 2 * len(JUDGES):])
    others += sum(m.over(way, "wall_ns") / 1e6 > MAX_STARTUP_MS
                  for m in measured if m.program.startup for way in OURS)
    missed = [f"{sum('MISS' in c for row in rows for c in row[2 + 2 * i:4 + 2 * i])} of the"
              f" {2 * len(rows)} ratios to {short}" for i, short in enumerate(JUDGES.values())]
    print(f"\ntargets missed: {', '.join(missed)}; {others} others")
    noisy = [m.program.name for m in measured if m.others_percent > 5]
    if noisy:
        print("the machine was not idle: others used more than 5 % of the CPUs during "
              + ", ".join(noisy))


def save(path, version, measured):
    path.write_text(json.dumps({
        "heaptrack": version, "machine": platform.machine(), "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "programs": {m.program.name: {
            "n_threads": m.program.n_threads, "startup": m.program.startup, "facts": m.facts,
            "others_percent": m.others_percent,
            "runs": {way: [dataclasses.asdict(c) for c in costs] for way, costs in m.runs.items()},
        } for m in measured}}, indent=1) + "\n")


def load(paths):
    found = {}
    for path in paths:
        for name, p in json.loads(pathlib.Path(path).read_text())["programs"].items():
            program = Program(name, [], n_threads=p["n_threads"], startup=p["startup"])
            runs = {way: [Cost(**c) for c in costs] for way, costs in p["runs"].items()}
            if name in found:
                for way, costs in found[name].runs.items():
                    runs[way] += costs
            found[name] = Measured(program, p["facts"], runs, p["others_percent"])
    return list(found.values())


def show_all(measured):
    for m in measured:
        (show_startup if m.program.startup else show)(m)


def run_all(args):
    build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=build))
    try:
        bench = Bench(build, args.library or build / "libmemory_profiler.so", folder)
        chosen = [p for p in programs(build, folder) if not args.only or p.name in args.only]
        if not chosen:
            sys.exit(f"record.py: no program is called {' or '.join(args.only)}")
        measured = []
        for program in chosen:
            measured.append(measure(bench, program, args.n))
            show_all(measured[-1:])
        return measured
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("-n", type=int, default=5, metavar="RUNS", help="runs of each kind (5)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program only")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--library", type=pathlib.Path, metavar="FILE",
                        help="recorder to measure (BUILD/libmemory_profiler.so)")
    parser.add_argument("--show", nargs="+", metavar="FILE", help="tables of what --json wrote")
    args = parser.parse_args(argv[1:])
    if args.show:
        measured = load(args.show)
        show_all(measured)
        summarize(measured)
        return 0
    if not args.build:
        parser.error("which build folder?")
    for path in (HEAPTRACK, HEAPTRACK_LIBRARY, args.build / "bench/bench_launch"):
        if not pathlib.Path(path).exists():
            sys.exit(f"record.py: {path} is missing (make bench installs and builds what is needed)")
    version = subprocess.run([HEAPTRACK, "--version"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    counter_ns = subprocess.run([args.build / "bench/bench_counter"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
    print(f"{version} of Debian: the command runs heaptrack_interpret and zstd beside the program, as"
          " users run it;\n--raw runs zstd only; the library alone writes text into a file."
          f" {platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()},"
          f" best of {args.n}.\nReading the CPU's counter, as each recorded event does, takes"
          f" {counter_ns} ns here.", flush=True)
    measured = run_all(args)
    summarize(measured)
    if args.json:
        save(args.json, version, measured)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

#!/usr/bin/env python3
"""What recording costs where a JIT compiler made the code, and how many stacks are cut.

usage: jit.py BUILD [-n RUNS] [--only NAME]... [--cut-runs N]
Programs whose interpreter or compiler is not on the machine are left out, and named.
--cut-runs N runs each program N times under us and prints the largest share of cut stacks.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import record

SOURCE = record.HERE / "programs/jit"
WASM = record.HERE.parent / "build/release/rust/wasm/release/wasm"  # make test-rust builds it
MAX_RATIO = 0.30
JAVA = {
    "java_interpreter": ["-Xint"],
    "java_c1": ["-XX:TieredStopAtLevel=1"],
    "java_c2": ["-XX:-TieredCompilation"],
    "java_one_cache": ["-XX:-SegmentedCodeCache"],
}


def build_inputs(folder):
    """Compiles what the machine has a compiler for."""
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, SOURCE / "Deflate.java"], check=True)
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", folder / "cgo", "."], cwd=SOURCE / "cgo", check=True)
    if shutil.which("clang"):
        subprocess.run(["clang", "-O1", "-emit-llvm", "-c", "-o", folder / "blocks.bc",
                        SOURCE / "blocks.c"], check=True)


def programs(folder):
    """(program, what it needs)"""
    def program(name, needs, argv, n_threads=1):
        return record.Program(name, [shutil.which(argv[0]) or argv[0], *argv[1:]],
                              n_threads=n_threads), needs
    found = [
        program("node", "node", ["node", SOURCE / "parse.js"], 6),
        program("luajit", "luajit", ["luajit", SOURCE / "ffi.lua", "3000000"]),
        program("luajit_joff", "luajit", ["luajit", "-joff", SOURCE / "ffi.lua", "1000000"]),
        program("cgo", "go", [str(folder / "cgo"), "1000000"], 5),
        program("lli", "lli", ["lli", folder / "blocks.bc"]),
    ]
    wasm = program("wasmtime", str(WASM), [WASM, "work", "none", "1000000"], 2)
    wasm[0].env["WASM_ALLOCATOR"] = "libc"
    found.append(wasm)
    for name, options in JAVA.items():
        argv = ["java", "-XX:+UseSerialGC", *options, "-cp", folder, "Deflate", "100000"]
        found.append(program(name, "javac", argv, 12))
    return found


def cut_shares(facts):
    """{reason: share of the events in percent}"""
    return {why: 100 * n / facts["events"] for why, n in facts["truncated_stacks"].items()}


def describe_cuts(facts):
    shares = [f"{why} {share:.2f} %" for why, share in sorted(cut_shares(facts).items())]
    guessed = 100 * facts["guessed_stacks"] / facts["events"]
    return (", ".join(shares) or "none") + f"; guessed {guessed:.1f} %"


def show_runs(bench, program, n_runs):
    worst = [sum(cut_shares(bench.facts(program, "ours")).values()) for _ in range(n_runs)]
    print(f"  {program.name:18} {n_runs} runs: cut at most {max(worst):.2f} %, at least"
          f" {min(worst):.2f} %", flush=True)


def measure(bench, program, n_runs):
    """Interleaved, so that what else the machine does falls on all ways alike."""
    facts = bench.facts(program, "ours")
    runs = {way: [] for way in ("bare", "heaptrack", "ours")}
    for _ in range(n_runs):
        for way, costs in runs.items():
            costs.append(bench.run(program, way))
    return record.Measured(program, facts, runs, 0)


def show_cost(bench, program, n_runs):
    m = measure(bench, program, n_runs)
    cpu_ns = m.over("ours", "cpu_ns") / m.facts["events"]
    ratios = []
    for what in ("wall_ns", "cpu_ns"):
        ratio = m.ratio("ours", "heaptrack", what)
        ratios.append("-" if ratio is None else f"{ratio:.2f}")
    mark = "-" if ratios[0] == "-" else "ok" if float(ratios[0]) <= MAX_RATIO else "MISS"
    print(f"  {program.name:18}{m.facts['events']:>12,}{cpu_ns:>11.0f}{ratios[0]:>8} {mark:5}"
          f"{ratios[1]:>8}   {describe_cuts(m.facts)}", flush=True)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-n", type=int, default=5, metavar="RUNS", help="runs of each kind (5)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program only")
    parser.add_argument("--cut-runs", type=int, default=0, metavar="N")
    parser.add_argument("--library", type=pathlib.Path, metavar="FILE",
                        help="recorder to measure (BUILD/libmemory_profiler.so)")
    args = parser.parse_args(argv[1:])
    build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=build))
    try:
        bench = record.Bench(build, args.library or build / "libmemory_profiler.so", folder)
        build_inputs(folder)
        if not args.cut_runs:
            print(f"  {'':18}{'events':>12}{'CPU ns/ev':>11}{'wall, of heaptrack':>20}{'CPU':>5}"
                  "   cut stacks")
        for program, needs in programs(folder):
            if args.only and program.name not in args.only:
                continue
            if not shutil.which(needs):
                print(f"  {program.name:18}left out: {needs} is not on this machine")
            elif args.cut_runs:
                show_runs(bench, program, args.cut_runs)
            else:
                show_cost(bench, program, args.n)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

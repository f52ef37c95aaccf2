#!/usr/bin/env python3
"""What recording costs where an allocator is linked into the program: one Rust program on each.

usage: allocators.py BUILD [-n RUNS]
The target: on each allocator at most what it costs on the C library's, bare and recorded compared.
heaptrack cannot record functions with a prefix: there it has nothing to compare with.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import record

N_ROUNDS = 1_000_000
# name: what the linker needs behind the program
ALLOCATORS = {
    "libc": [],
    "jemalloc": ["libjemalloc.a", "-lstdc++", "-lm"],
    "tcmalloc": ["libtcmalloc_minimal.a", "-lstdc++", "-lm"],
    "mimalloc": ["-lmimalloc"],
}


def static_library(folder, name):
    """The path of a static library of Debian's. jemalloc's names get the prefix that Rust crates give."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if name != "libjemalloc.a":
        return path
    names = subprocess.run(["nm", "--defined-only", "-g", path], capture_output=True, text=True,
                           check=True).stdout
    defined = sorted({line.split()[2] for line in names.splitlines() if len(line.split()) == 3})
    (folder / "renamed").write_text("".join(f"{n} _rjem_{n}\n" for n in defined))
    subprocess.run(["objcopy", f"--redefine-syms={folder / 'renamed'}", path, folder / name], check=True)
    return str(folder / name)


def build(folder, name, libraries):
    """The program on this allocator."""
    program = folder / name
    found = [static_library(folder, x) if x.endswith(".a") else x for x in libraries]
    subprocess.run(["rustc", "-O", "-g", "--cfg", name, "--check-cfg",
                    "cfg(jemalloc, tcmalloc, mimalloc, libc)", record.HERE / "programs/allocators.rs",
                    *[option for x in found for option in ("-C", f"link-arg={x}")], "-o", program],
                   check=True)
    return program


def measure(bench, program, n_runs):
    """Interleaved, so that what else the machine does falls on all ways alike."""
    facts = bench.facts(program, "ours")
    ways = ("bare", "ours") + (("heaptrack_raw",) if program.name == "libc" else ())
    runs = {way: [] for way in ways}
    for _ in range(n_runs):
        for way, costs in runs.items():
            costs.append(bench.run(program, way))
    return record.Measured(program, facts, runs, 0)


def show(name, n_threads, m, of_libc):
    """A line of the table. Returns our CPU time per event."""
    ours_ns = m.over("ours", "cpu_ns") / m.facts["events"]
    wall_ns = m.over("ours", "wall_ns") / m.facts["events"]
    ratio = m.ratio("ours", "heaptrack_raw", "cpu_ns") if name == "libc" else None
    share = ours_ns / of_libc if of_libc else 1
    slower = m.best("ours", "cpu_ns") / m.best("bare", "cpu_ns")
    print(f"  {name:10}{n_threads:>8}{m.facts['events']:>12,}{ours_ns:>11.1f}{wall_ns:>12.1f}"
          f"{slower:>10.2f}{share:>12.2f}{'-' if ratio is None else f'{ratio:.2f}':>15}", flush=True)
    return ours_ns


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-n", type=int, default=5, metavar="RUNS", help="runs of each kind (5)")
    args = parser.parse_args(argv[1:])
    built = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=built))
    try:
        bench = record.Bench(built, built / "libmemory_profiler.so", folder)
        print(f"  {'':10}{'threads':>8}{'events':>12}{'CPU ns/ev':>11}{'wall ns/ev':>12}{'CPU, bare':>10}"
              f"{'CPU, libc':>12}{'CPU, heaptrack':>15}")
        of_libc = {}
        for name, libraries in ALLOCATORS.items():
            program = build(folder, name, libraries)
            for n_threads in (1, 4):
                what = record.Program(name, [program, str(N_ROUNDS // n_threads), str(n_threads)],
                                      n_threads=n_threads)
                ours_ns = show(name, n_threads, measure(bench, what, args.n), of_libc.get(n_threads))
                of_libc.setdefault(n_threads, ours_ns)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

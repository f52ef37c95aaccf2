#!/usr/bin/env python3
"""Allocators compiled in many ways: what the recorder redirects agrees with objdump, and works.

usage: test_patching.py   (make test-rust; needs cargo and the crate registry)

Crates have the sources. Each build is disassembled and compared (e2e/detours.py), linked into a program
that counts what it does, and recorded: all blocks are there, or a note says which function is in the way.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import detours  # noqa: E402  (after the path to it)
import mp  # noqa: E402

TARGET = pathlib.Path(os.environ.get("MP_BUILD", HERE.parents[1] / "build/release")) / "rust/patching"
ROUNDS = 300
COMPILERS = {"gcc": "g++", "clang": "clang++"}
LEVELS = ("-O0", "-O1", "-O2", "-O3")
PROTECTION = ("-fcf-protection=none", "-fcf-protection=full")


def crates():
    """{name of a crate: its folder}"""
    manifest = HERE / "sources/Cargo.toml"
    subprocess.run(["cargo", "fetch", "--quiet", "--manifest-path", manifest], check=True)
    text = subprocess.run(["cargo", "metadata", "--format-version", "1", "--manifest-path", manifest],
                          check=True, capture_output=True, text=True).stdout
    return {p["name"]: pathlib.Path(p["manifest_path"]).parent for p in json.loads(text)["packages"]}


class Build:
    """One allocator, compiled in one way, in a program."""

    def __init__(self, name, allocator, prefix, commands, compiler, options, defines=()):
        self.name = name
        self.allocator = allocator  # its name in recordings
        self.program = TARGET / name
        compilers = [compiler, *options]
        self.commands = [*commands, [
            *compilers, "-fno-builtin", f"-DPREFIX={prefix}", *defines, HERE / "sources/drive.c",
            TARGET / f"{name}.o", "-o", self.program, "-lpthread", "-ldl", "-lstdc++", "-latomic"]]

    def run(self):
        if self.program.exists():
            return
        TARGET.mkdir(parents=True, exist_ok=True)
        for command in self.commands:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                                  cwd=TARGET)
            if done.returncode:
                raise SystemExit(f"{self.name}: {command}\n{done.stderr[-3000:]}")


def one_file(source, allocator, prefix, ways, *options, defines=(), is_cpp=False):
    """An allocator that is one file."""
    for compiler, *how in ways:
        name = "-".join([allocator, source.parents[1].name, compiler, *how]).replace("=", "-")
        commands = [[COMPILERS[compiler] if is_cpp else compiler, *how, *options, "-c", source, "-o",
                     TARGET / f"{name}.o"]]
        if "-flto" in how:  # as a unit of its own: the program's calls stay calls
            commands.append([compiler, *how, "-r", "-flinker-output=nolto-rel", TARGET / f"{name}.o", "-o",
                             TARGET / f"{name}.whole.o"])
            commands.append(["mv", TARGET / f"{name}.whole.o", TARGET / f"{name}.o"])
            how = [option for option in how if option != "-flto"]
        yield Build(name, allocator, prefix, commands, compiler, how, defines)


def jemalloc(folder, compiler, level):
    """The crate's jemalloc, configured as the crate does it."""
    name = f"jemalloc-{compiler}{level.replace(' ', '')}"
    work, source = TARGET / f"{name}-build", folder / "jemalloc"
    commands = [
        ["rm", "-rf", work], ["cp", "-r", source, work],
        ["cp", folder / "configure/configure", work],
        ["sh", "-c", f"cd {work} && sh ./configure --quiet --disable-cxx --with-jemalloc-prefix=_rjem_ "
                     f"--with-private-namespace=_rjem_ CC={compiler} CFLAGS='{level}' && "
                     f"touch VERSION && make -s -j2 build_lib_static"],
        ["sh", "-c", f"ld -r -o {name}.o --whole-archive {work}/lib/libjemalloc.a"],
        ["rm", "-rf", work],
    ]
    return Build(name, "jemalloc", "_rjem_", commands, compiler, [level.split()[0]])


def all_builds():
    found = crates()
    mimalloc, rpmalloc = found["libmimalloc-sys"] / "c_src/mimalloc", found["rpmalloc-sys"]
    yield from one_file(mimalloc / "v2/src/static.c", "mimalloc", "mi_",
                        itertools.product(COMPILERS, LEVELS, PROTECTION), "-I", mimalloc / "v2/include")
    yield from one_file(mimalloc / "v2/src/static.c", "mimalloc", "mi_",
                        [("gcc", "-O2", "-flto"), ("gcc", "-O3", "-fno-plt"), ("gcc", "-Os"), ("clang", "-Oz")],
                        "-I", mimalloc / "v2/include")
    yield from one_file(mimalloc / "v3/src/static.c", "mimalloc", "mi_",
                        [("gcc", "-O3"), ("clang", "-O2"), ("gcc", "-O2", "-mavx2")],
                        "-I", mimalloc / "v3/include")
    yield from one_file(rpmalloc / "rpmalloc/rpmalloc/rpmalloc.c", "rpmalloc", "rp",
                        [*itertools.product(COMPILERS, ("-O0", "-O3"), PROTECTION),
                         ("gcc", "-O3", "-flto"), ("gcc", "-Os")],
                        "-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=0", "-DNDEBUG", "-D_GNU_SOURCE")
    yield from one_file(found["snmalloc-sys"] / "snmalloc/src/snmalloc/override/rust.cc", "snmalloc", "sn_",
                        [("gcc", "-O2"), ("gcc", "-O3", "-fcf-protection=full"), ("clang", "-O2")],
                        "-std=c++20", "-mcx16", "-DNDEBUG", "-DSNMALLOC_USE_WAIT_ON_ADDRESS=0",
                        "-DSNMALLOC_RUST_LIBC_API=0", "-I",
                        found["snmalloc-sys"] / "snmalloc/src",
                        defines=("-DIS_SNMALLOC=1",), is_cpp=True)
    for compiler, level in (("gcc", "-O0"), ("gcc", "-O3"), ("clang", "-O3")):
        yield jemalloc(found["tikv-jemalloc-sys"], compiler, level)


class Patching(mp.TestCase):
    def counts(self, build, rounds):
        """What the program counts, what is recorded, and the notes."""
        expected = self.bare([build.program, str(rounds)])
        seen = self.record([build.program, str(rounds)])
        self.assertEqual(9, expected.code, expected.stderr)
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assertEqual([0, 0, 0], [facts[k] for k in ("lost_events", "crossed_blocks", "unknown_frees")])
        # what libc allocates for itself in a call of the allocator (snmalloc's first one in a thread)
        of_libc = [e for e in mp.events(seen.recording, "alloc", "realloc", "free") if not e.get("allocator")]
        for key, kind in zip(mp.COUNTS, ("alloc", "realloc", "free")):
            facts[key] -= sum(e["e"] == kind for e in of_libc)
        facts["bytes_allocated"] -= sum(e.get("size", 0) for e in of_libc)
        return (list(map(int, expected.stdout.split())), [facts[key] for key in mp.COUNTS],
                "\n".join(facts["notes"]))

    def assert_recorded(self, build):
        _, none, _ = self.counts(build, 0)
        wanted, many, notes = self.counts(build, ROUNDS)
        if f"recorded: {build.allocator} " not in notes.replace("not recorded", ""):
            self.assertIn(f"not recorded: {build.allocator} ", notes)
            return False
        self.assertEqual(wanted, [m - n for m, n in zip(many, none)], notes)
        return True

    def test_builds(self):
        n_builds = n_recorded = n_functions = n_refused = 0
        for build in all_builds():
            with self.subTest(build=build.name):
                build.run()
                n, refused, differing = detours.compare(build.program)
                self.assertEqual([], differing)
                self.assertGreaterEqual(n, 4 if build.allocator == "snmalloc" else 9)
                is_recorded = self.assert_recorded(build)
                n_builds += 1
                n_functions += n
                n_refused += refused
                n_recorded += is_recorded
                print(f"{build.name}: {n} functions, {refused} refused,"
                      f" {'recorded' if is_recorded else 'NOT recorded'}", flush=True)
        print(f"{n_builds} builds, {n_recorded} recorded, {n_functions} functions, {n_refused} refused")
        self.assertGreaterEqual(n_builds, 30)
        self.assertGreaterEqual(n_recorded, 30)


if __name__ == "__main__":
    mp.main(cargo=mp.find_tool("cargo"))

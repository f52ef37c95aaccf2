#!/usr/bin/env python3
"""Allocators that are linked into a program: what is recorded equals what the program counts.

Every program runs twice, with no rounds and with many: the difference is what the rounds did, so
that allocations of the C library and of the language's run time cancel out.
"""
import collections
import ctypes
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess

import detours
import mp
from mp_linked import SOURCES, LinkedTestCase, library

ROUNDS = 5000
C_LIBRARIES = ("-C", "link-arg=-lm", "-C", "link-arg=-lc")  # behind jemalloc; older rustc names them before
COUNTS = ("allocations", "reallocations", "frees", "bytes_allocated")


class Allocators(LinkedTestCase):
    def counted_by_program(self, program, rounds):
        expected = self.bare([program, str(rounds)])
        self.assertEqual(9, expected.code)
        return expected, dict(zip(COUNTS, map(int, expected.stdout.split())))

    def recorded(self, program, rounds, options):
        expected, counts = self.counted_by_program(program, rounds)
        seen = self.record([program, str(rounds)], options=options)
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        return facts, counts, seen

    def assert_counts_equal(self, program, note, options=None, rounds=ROUNDS):
        """The recording has what the program counts, and says which allocator it is."""
        none, none_counts, _ = self.recorded(program, 0, options)
        many, many_counts, seen = self.recorded(program, rounds, options)
        self.assertRegex("\n".join(many["notes"]), note)
        self.assertGreater(many_counts["allocations"], rounds)
        self.assertEqual([0, 0], [none["crossed_blocks"], many["crossed_blocks"]])
        self.assertEqual({k: many_counts[k] - none_counts[k] for k in COUNTS},
                         {k: many[k] - none[k] for k in COUNTS})
        return seen

    def test_prefixed_jemalloc_in_c(self):
        for prefix in ("_rjem_", "je_", "jemalloc_"):
            with self.subTest(prefix=prefix):
                program = self.c_program(f"c{prefix}", "-O2", f"-DPREFIX={prefix}", "-DHAS_X=1",
                                         self.prefixed_jemalloc(prefix))
                self.assert_counts_equal(program,
                                         rf"recorded: jemalloc \({prefix}\*\) in the program")

    def test_jemalloc_as_malloc_in_c(self):
        program = self.c_program("c_jemalloc", "-O2", "-DHAS_X=1", library("libjemalloc.a"))
        self.assert_counts_equal(program, "recorded: jemalloc in the program")

    def test_program_at_a_fixed_address(self):
        program = self.c_program("c_fixed", "-O2", "-DPREFIX=_rjem_", "-no-pie",
                                 self.prefixed_jemalloc())
        self.assert_counts_equal(program, "recorded: jemalloc")

    def test_tcmalloc_in_c(self):
        program = self.c_program("c_tcmalloc", "-O2", library("libtcmalloc_minimal.a"))
        self.assert_counts_equal(program, "recorded: tcmalloc in the program")
        program = self.c_program("c_tc", "-O2", "-DPREFIX=tc_", library("libtcmalloc_minimal.a"))
        self.assert_counts_equal(program, "recorded: tcmalloc in the program")

    def test_c_plus_plus_operators(self):
        for name, what in (("jemalloc", library("libjemalloc.a")),
                           ("tcmalloc", library("libtcmalloc_minimal.a")),
                           ("tcmalloc", "-ltcmalloc_minimal"), ("mimalloc", "-lmimalloc"),
                           ("jemalloc", "-ljemalloc")):
            with self.subTest(what=what):
                program = self.build("cpp", "g++", "-O2", "-g", "-std=c++17", "-fno-builtin",
                                     SOURCES / "linked_allocator_cpp.cpp", what, "-lpthread", "-ldl")
                self.assert_counts_equal(program, f"recorded: {name} in ")

    def test_exception_leaves_operator_new(self):
        """What comes after the exception is recorded all the same."""
        program = self.build("cpp_throws", "g++", "-O2", "-g", "-std=c++17", "-fno-builtin",
                             SOURCES / "linked_allocator_cpp.cpp", library("libjemalloc.a"),
                             "-lpthread", "-ldl")
        facts = [mp.info(self.record([program, "5000", *more]).recording) for more in ([], ["fail"])]
        for key in ("allocations", "lost_events"):
            self.assertEqual(facts[0][key], facts[1][key], key)
        # operator new itself allocated the exception
        self.assertEqual([0, 1], [f["unknown_frees"] for f in facts])

    def test_mimalloc_by_its_own_names(self):
        program = self.c_program("c_mi", "-O2", "-DPREFIX=mi_", "-lmimalloc")
        self.assert_counts_equal(program, "recorded: mimalloc in .*libmimalloc")

    @mp.needs_tool("rustc")
    def test_rust_with_prefixed_jemalloc(self):
        program = self.build("rs", "rustc", "-O", "-g", SOURCES / "linked_allocator_rs.rs",
                             "-C", f"link-arg={self.prefixed_jemalloc()}", "-C", "link-arg=-lstdc++",
                             *C_LIBRARIES)
        seen = self.assert_counts_equal(program, r"recorded: jemalloc \(_rjem_\*\) in the program")
        self.assertIn("linked_allocator_rs::work", self.report(seen))

    def rust_compilers(self):
        """Debian's, and a newer one if there is one."""
        return sorted({str(pathlib.Path(found).resolve() if "cargo" not in found else found)
                       for found in (shutil.which("rustc"), shutil.which("rustc", path="/usr/bin")) if found})

    @mp.needs_tool("rustc")
    def test_rust_allocator_that_no_table_knows(self):
        """It is recorded where all calls pass its functions, unless each call goes on to malloc."""
        source = SOURCES / "global_allocator_rs.rs"
        for rustc, (kind, *options) in itertools.product(self.rust_compilers(), (
                ("own",), ("own", "-O"), ("hybrid",), ("passes_on", "-O"))):
            with self.subTest(rustc=rustc, kind=kind, options=options):
                program = self.build("rust", rustc, "--cfg", kind, *options, source)
                none, none_counts, _ = self.recorded(program, 0, None)
                many, counts, seen = self.recorded(program, 2000, None)
                notes = "\n".join(many["notes"])
                if "not recorded: rust" in notes:
                    self.assertEqual(["-O"], options)
                    self.assertIn("has put its functions into their callers; blocks that it takes from malloc"
                                  " are recorded", notes)
                    if kind != "passes_on":
                        continue
                self.assertEqual([0] * 4, [many[k] for k in ("crossed_blocks", "unknown_frees",
                                                             "duplicate_allocations", "lost_events")])
                self.assertEqual({k: counts[k] - none_counts[k] for k in COUNTS},
                                 {k: many[k] - none[k] for k in COUNTS})
                self.assertEqual(["rust"] if kind == "own" else [], [a["name"] for a in many["allocators"]])
                stacks = [e["stack"] for e in mp.events(seen.recording, "alloc", "realloc", "stack")]
                self.assertFalse([f for stack in stacks for f in stack if "libmemory_profiler" in
                                  str(f["module"])])

    def stacks_of_gdb(self, program, names, *argv):
        """The stacks of all calls of these functions that no other of them makes: how often each."""
        out = self.dir / "gdb.out"
        symbols = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
        functions = {at: [int(at, 16), int(size, 16), not re.search("^_Zd|free|dallocx", name)]
                     for at, size, name in re.findall(r"^(\w+) (\w+) [tTwW] (\S+)$", symbols, re.M)
                     if re.fullmatch(names, name)}
        done = self.bare(["gdb", "-nx", "-batch", "-x", pathlib.Path(__file__).parent / "gdb_stacks.py",
                          "--args", program, *argv],
                         env={"MP_GDB_FUNCTIONS": json.dumps([*functions.values()]), "MP_GDB_OUT": str(out)},
                         timeout=300)
        calls = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertTrue(calls, done.stderr)
        return collections.Counter(tuple(map(tuple, places)) for places in calls)

    def assert_stacks_are_those_of_gdb(self, program, names):
        """Each stack that leads through a function work, as often as gdb sees it."""
        symbols = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
        own = [(int(at, 16), int(size, 16))
               for at, size in re.findall(r"^(\w+) (\w+) [tT] \S*work\S*$", symbols, re.M)]

        def is_own(places):
            return any(path == str(program) and start < offset <= start + size
                       for path, offset in places for start, size in own)

        expected = self.stacks_of_gdb(program, names, "60")
        seen = self.record([program, "60"])
        self.assertEqual(9, seen.code)
        found = collections.Counter()
        for e in mp.events(seen.recording, "alloc", "realloc", "free", "stack"):
            if e.get("allocator") == 1:
                found[tuple((os.path.realpath(f["module"]), int(f["offset"], 16))
                            for f in e["stack"])] += 1
        differing = {s: (expected[s], found[s]) for s in {*expected, *found}
                     if is_own(s) and expected[s] != found[s]}
        self.assertEqual({}, differing)
        self.assertGreaterEqual(sum(n for s, n in expected.items() if is_own(s)), 300)

    @mp.needs_tool("gdb")
    @mp.needs_tool("rustc")
    def test_stacks_are_those_of_gdb(self):
        functions = "(malloc|calloc|realloc|free|posix_memalign|memalign|valloc|[mrds]{1,2}allocx)"
        rust = self.build("rs_gdb", "rustc", "-O", "-g", SOURCES / "linked_allocator_rs.rs", "-C",
                          f"link-arg={self.prefixed_jemalloc()}", "-C", "link-arg=-lstdc++", *C_LIBRARIES)
        self.assert_stacks_are_those_of_gdb(rust, "_rjem_" + functions)
        program = self.c_program("c_gdb", "-O2", "-DPREFIX=tc_", library("libtcmalloc_minimal.a"))
        self.assert_stacks_are_those_of_gdb(program, "tc_" + functions)
        for name in ("jemalloc", "tcmalloc_minimal"):
            program = self.build("cpp_gdb", "g++", "-O2", "-g", "-std=c++17", "-fno-builtin",
                                 SOURCES / "linked_allocator_cpp.cpp", library(f"lib{name}.a"),
                                 "-lpthread", "-ldl")
            self.assert_stacks_are_those_of_gdb(program, "_Z(nw|na|dl|da)[mP].*|" + functions)

    def report(self, seen):
        return subprocess.run([mp.CLI, "report", seen.recording], capture_output=True, text=True,
                              check=True).stdout

    def test_stripped_program_with_a_debug_file(self):
        program = self.c_program("c_debug", "-O2", "-DPREFIX=_rjem_", self.prefixed_jemalloc())
        debug = self.here / "c_debug.debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", program], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
        seen = self.assert_counts_equal(program, "recorded: jemalloc")
        self.assertNotIn("no symbols", "\n".join(mp.info(seen.recording)["notes"]))
        debug.rename(self.here / "elsewhere")
        facts = mp.info(self.record([program, "100"]).recording)
        self.assertLess(facts["allocations"], 100)
        self.assertRegex("\n".join(facts["notes"]), r"^recorder: not recorded: jemalloc in the program: the program has no "
                         r"symbols, .* keep them \(strip --strip-debug;")

    def test_stripped_program_with_a_debug_file_of_debuginfod(self):
        """What gdb has downloaded is found where debuginfod clients keep it."""
        program = self.c_program("c_cached", "-O2", "-DPREFIX=_rjem_", self.prefixed_jemalloc())
        debug = self.here / "cached.debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", program], check=True)
        notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        for name, folder in (("DEBUGINFOD_CACHE_PATH", ""), ("XDG_CACHE_HOME", "debuginfod_client"),
                              ("HOME", ".cache/debuginfod_client"), ("HOME", ".debuginfod_client_cache")):
            with self.subTest(name=name, folder=folder):
                base = self.here / "caches" / (name + folder.replace("/", ""))
                cached = base / folder / build_id / "debuginfo"
                cached.parent.mkdir(parents=True)
                shutil.copy(debug, cached)
                counts = [mp.info(self.record([program, "300"], env={name: value}).recording)["allocations"]
                          for value in (str(base), str(self.here))]
                self.assertGreater(counts[0], 300)
                self.assertLess(counts[1], 100)

    def test_switched_off(self):
        program = self.c_program("c_off", "-O2", "-DPREFIX=_rjem_", self.prefixed_jemalloc())
        facts, counts, _ = self.recorded(program, 1000, {"HOOK_STATIC": 0})
        self.assertLess(facts["allocations"], counts["allocations"] / 10)
        self.assertRegex(" ".join(facts["notes"]), "^recorder: not recorded: the program's own allocator ._rjem_malloc.: "
                                                   "MEMORY_PROFILER_HOOK_STATIC=0 switched")

    def test_names_that_the_user_gives(self):
        program = self.c_program("c_user", "-O2", "-DPREFIX=engine_", "-DHAS_X=1",
                                 self.prefixed_jemalloc("engine_"))
        self.assert_counts_equal(program, r"recorded: .* \(engine_\*\) in the program",
                                 {"HOOK_SYMBOLS": "engine_*"})
        plain = self.recorded(program, 1000, {})
        self.assertLess(plain[0]["allocations"], plain[1]["allocations"] / 10)

    def odd_program(self):
        source = self.here / "odd.c"
        source.write_text(r"""
            #include <stdlib.h>
            __asm__(".text\n.globl _rjem_malloc\n.type _rjem_malloc, @function\n_rjem_malloc:\n"
                    "1: dec %rdi\n jns 1b\n xor %eax, %eax\n ret\n.size _rjem_malloc, .-_rjem_malloc\n");
            void *_rjem_malloc(size_t);
            __attribute__((noinline)) void _rjem_free(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
            int main(void) { _rjem_free(_rjem_malloc(100)); return 9; }
        """)
        return source

    def test_family_that_cannot_be_redirected_is_left_alone(self):
        program = self.build("odd", "gcc", "-O2", self.odd_program())
        seen = self.record([program])
        self.assertEqual(9, seen.code)
        notes = " ".join(mp.info(seen.recording)["notes"])
        self.assertRegex(notes, "not recorded: jemalloc .* _rjem_malloc: a jump leads to")

    def test_function_that_cannot_be_redirected_and_that_nobody_calls(self):
        """It does no harm: the family is recorded, unless somebody might call the function."""
        source = self.here / "short.c"
        source.write_text(r"""
            #include <stdlib.h>
            __asm__(".text\n.globl _rjem_valloc\n.type _rjem_valloc, @function\n"
                    "_rjem_valloc: xor %eax, %eax\n ret\n.size _rjem_valloc, .-_rjem_valloc\n"
                    "here: jmp here\n");
            void *_rjem_valloc(size_t);
            __attribute__((noinline)) void *_rjem_malloc(size_t n) {
                return n ? malloc(n) : _rjem_valloc(n);
            }
            __attribute__((noinline)) void _rjem_free(void *p) { __asm__ volatile("" ::: "memory"); free(p); }
            __attribute__((noinline)) void *by_the_way(size_t n) { return n ? _rjem_malloc(1) : _rjem_valloc(n); }
            #if ADDRESS
            void *(*volatile address)(size_t) = _rjem_valloc;
            #endif
            int main(int argc, char **argv) {
                for (int i = 0; i < 50; i++) _rjem_free(_rjem_malloc(100));
                if (CALL && argc > 5) by_the_way((size_t)argc);
            #if ADDRESS
                if (argc > 5) address(1);
            #endif
                return 9;
            }
        """)
        for options, is_recorded in ((["-DCALL=0"], True), (["-DCALL=1"], False),
                                     (["-DCALL=0", "-rdynamic"], False),
                                     (["-DCALL=0", "-DADDRESS=1"], False),
                                     (["-DCALL=0", "-DADDRESS=1", "-no-pie"], False),
                                     (["-DCALL=0", "-no-pie"], True)):
            with self.subTest(options=options):
                program = self.build("short", "gcc", "-O2", "-fno-builtin", "-ffunction-sections",
                                     "-Wl,--gc-sections", *options, source)
                facts = mp.info(self.record([program]).recording)
                self.assertRegex(" ".join(facts["notes"]), r"(?<!not )recorded: jemalloc \(_rjem_\*\) in the"
                                 " program, 2 functions" if is_recorded else
                                 r"not recorded: jemalloc .* _rjem_valloc: it is too short")

    def test_objdump_agrees(self):
        """With what is decided about each function of Debian's allocators."""
        files = [library(name) for name in ("libjemalloc.so", "libtcmalloc.so", "libmimalloc.so")]
        files.append(self.c_program("judged", "-O2", "-DHAS_X=1", library("libjemalloc.a")))
        files.append(self.c_program("judged_tc", "-O2", library("libtcmalloc_minimal.a")))
        for path in files:
            with self.subTest(path=path):
                n_functions, n_refused, differing = detours.compare(path)
                self.assertEqual((0, []), (n_refused, differing))
                self.assertGreater(n_functions, 20)
        program = self.build("odd", "gcc", "-O2", self.odd_program())
        self.assertEqual((2, 2, []), detours.compare(program))

    def test_program_that_must_not_get_new_code(self):
        """W^X, as systemd's MemoryDenyWriteExecute= wants it: the family is refused, and a note says so."""
        PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
        libc = ctypes.CDLL(None)
        program = self.c_program("c_hardened", "-O2", "-DPREFIX=_rjem_", self.prefixed_jemalloc())
        folder = self.dir / "hardened"
        folder.mkdir()
        expected = self.bare([program, "10"])
        done = mp.run([program, "10"], setup=lambda: libc.prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0), env={
            "LD_PRELOAD": str(self.library), "MEMORY_PROFILER_OUTPUT": str(folder / "%p.dat")})
        self.assertEqual(expected.behaviour(), done.behaviour())
        recording, = folder.glob("*.dat")
        notes = " ".join(mp.info(recording)["notes"])
        if libc.prctl(PR_SET_MDWE + 1, 0, 0, 0, 0) < 0:  # a kernel before 6.3
            self.assertRegex(notes, r"(?<!not )recorded: jemalloc")
        else:
            self.assertRegex(notes, r"not recorded: jemalloc .*: the kernel allows no new code in this process")

    def test_changed_code_is_left_alone(self):
        """Somebody else has patched one function already: the family is refused, and a note says so."""
        source, patcher = self.here / "patched.c", self.here / "patcher.c"
        source.write_text(r"""
            #include <stdlib.h>
            __attribute__((noinline)) void *_rjem_malloc(size_t n) {
                __asm__ volatile(".byte 0x66, 0x90, 0x66, 0x90, 0x66, 0x90, 0x66, 0x90");
                return malloc(n);
            }
            __attribute__((noinline)) void _rjem_free(void *p) { free(p); }
            int main(void) { for (int i = 0; i < 50; i++) _rjem_free(_rjem_malloc(100)); return 9; }
        """)
        patcher.write_text(r"""
            #include <stdint.h>
            #include <sys/mman.h>
            extern char _rjem_malloc[] __attribute__((weak));
            __attribute__((constructor)) static void change(void) {
                unsigned char *at = (unsigned char *)_rjem_malloc;
                if (!at) return;
                for (; at[0] != 0x66 || at[1] != 0x90; at++) ;
                void *page = (void *)((uintptr_t)at & ~4095ul);
                mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
                at[0] = 0x90;
                mprotect(page, 8192, PROT_READ | PROT_EXEC);
            }
        """)
        program = self.build("patched", "gcc", "-O2", "-g", "-rdynamic", "-fno-builtin", source)
        changer = self.build("patcher.so", "gcc", "-O2", "-shared", "-fPIC", patcher)
        seen = self.record([program], env={"LD_PRELOAD": f"{self.library} {changer}"})
        self.assertEqual(9, seen.code)
        facts = mp.info(seen.recording)
        self.assertRegex(" ".join(facts["notes"]), "not recorded: jemalloc .* _rjem_malloc: its code in "
                                                   "memory is not the code in the file")
        self.assertGreaterEqual(facts["allocations"], 50)  # by the C library's malloc

    def preloaded(self, name, text, *argv, **env):
        """Records a program on jemalloc with one more library, whose constructor runs first."""
        source = self.here / f"{name}.c"
        source.write_text(text)
        other = self.build(f"{name}.so", "gcc", "-O2", "-shared", "-fPIC", source, "-lpthread")
        program = self.c_program("c_preloaded", "-O2", "-DPREFIX=_rjem_", self.prefixed_jemalloc())
        seen = self.record([program, "10", *argv], env={
            "LD_PRELOAD": f"{self.library} {other}", "REMOVE": str(other), **env})
        self.assertEqual(9, seen.code)
        return "\n".join(mp.info(seen.recording)["notes"])

    def test_program_with_threads_at_the_start(self):
        notes = self.preloaded("early_thread", r"""
            #include <pthread.h>
            #include <unistd.h>
            static void *wait_for_ever(void *x) { for (;;) pause(); return x; }
            __attribute__((constructor)) static void begin(void) {
                pthread_t t;
                pthread_create(&t, 0, wait_for_ever, 0);
            }
        """)
        self.assertIn("allocators inside the program are not looked for: the program had threads "
                      "before the recorder was loaded", notes)

    def test_module_whose_file_is_gone(self):
        notes = self.preloaded("remover", r"""
            #include <stdlib.h>
            #include <unistd.h>
            __attribute__((constructor)) static void begin(void) { unlink(getenv("REMOVE")); }
        """)
        self.assertRegex(notes, "allocators are not looked for in .*/remover.so: its file cannot be read")
        self.assertRegex(notes, "recorded: jemalloc")
        self.assertNotIn("vdso", notes)

    def test_names_that_make_no_sense(self):
        seen = self.record(["true"], options={"HOOK_SYMBOLS": "good_* bad,other=nothing"})
        notes = "\n".join(mp.info(seen.recording)["notes"])
        self.assertIn("MEMORY_PROFILER_HOOK_SYMBOLS: makes no sense, or is too much: "
                      "bad,other=nothing", notes)

    def test_module_with_six_families(self):
        source = self.here / "six.c"
        source.write_text("#include <stdlib.h>\n" + "".join(f"""
            __attribute__((noinline)) void *{p}malloc(size_t n) {{
                __asm__ volatile("nop; nop; nop; nop; nop; nop");
                return malloc(n + {i});
            }}
            __attribute__((noinline)) void {p}free(void *p) {{
                __asm__ volatile("nop; nop; nop; nop; nop; nop");
                free(p); __asm__ volatile("");
            }}""" for i, p in enumerate("stuvwx")) + "int main(void) { int n = 0;" + "".join(
                f"n += {p}malloc(10) != 0;" for p in "stuvwx") + "return n + 3; }")
        program = self.build("six", "gcc", "-O1", "-fno-builtin", source)
        seen = self.record([program], options={"HOOK_SYMBOLS": " ".join(f"{p}*" for p in "stuvwx")})
        self.assertEqual(9, seen.code)
        notes = "\n".join(mp.info(seen.recording)["notes"])
        self.assertEqual(list("stuvwx"), re.findall(r"^recorded: .* \((\w)\*\) in the program", notes,
                                                    re.M))

    def test_compilers_and_options(self):
        """An allocator compiled in many ways; its functions call each other."""
        source = SOURCES / "own_allocator.c"
        for compiler in ("gcc", "clang"):
            mp.require(compiler, mp.find_tool(compiler))
            for option in ("-O0", "-O2", "-Os"):
                for protection in ("none", "full"):
                    with self.subTest(compiler=compiler, option=option, protection=protection):
                        program = self.build("own", compiler, option, "-g", "-fno-builtin",
                                             f"-fcf-protection={protection}", source)
                        expected = self.bare([program])
                        seen = self.record([program])
                        self.assert_same_behaviour(seen, expected)
                        facts = mp.info(seen.recording)
                        notes = " ".join(facts["notes"])
                        self.assertRegex(notes, "recorded: malloc in the program, 4 functions")
                        self.assertEqual(98, facts["reallocations"])

    MIXED = r"""
        #include <stdlib.h>
        void *_rjem_malloc(size_t), *_rjem_realloc(void *, size_t), _rjem_free(void *);
        int main(void) {
            void *block[300];
            for (int i = 0; i < 300; i++)
                block[i] = i % 3 ? _rjem_malloc(1000 + i) : malloc(1000 + i);
            for (int i = 0; i < 300; i += 2)
                block[i] = i % 3 ? _rjem_realloc(block[i], 2000 + i) : realloc(block[i], 2000 + i);
            for (int i = 0; i < 240; i++) {
                if (i % 3) _rjem_free(block[i]); else free(block[i]);
            }
            return 9;
        }
    """

    def mixed(self):
        source = self.here / "mixed.c"
        source.write_text(self.MIXED)
        program = self.build("mixed", "gcc", "-O1", "-g", "-fno-builtin", source,
                             self.prefixed_jemalloc(), "-lpthread", "-lstdc++", "-lm", "-ldl")
        seen = self.record([program])
        self.assertEqual(9, seen.code)
        return seen.recording

    def test_each_block_has_its_allocator(self):
        """Both allocators in turn, call by call; the filters divide the blocks."""
        recording = self.mixed()
        calls = collections.Counter((e["e"], e.get("allocator", 0)) for e in mp.events(recording)
                                    if e["e"] in ("alloc", "free", "realloc"))
        self.assertEqual({("alloc", 1): 200, ("alloc", 0): 100, ("free", 1): 160, ("free", 0): 80,
                          ("realloc", 1): 100, ("realloc", 0): 50}, dict(calls))
        facts = mp.info(recording)
        self.assertEqual([("jemalloc", "_rjem_", "")],
                         [(a["name"], a["prefix"], a["module"]) for a in facts["allocators"]])
        self.assertEqual(0, facts["crossed_blocks"])
        for options, expected in ((["--allocator=^jemalloc$"], (300, 40)), (["--jemalloc=yes"], (300, 40)),
                                  (["--allocator=libc"], (150, 20)), (["--jemalloc=no"], (150, 20)),
                                  (["--allocator=."], (450, 60)), (["--allocator=mimalloc"], (0, 0)),
                                  (["--crossed=yes"], (0, 0))):
            with self.subTest(options=options):
                self.assertEqual(expected, self.rows(recording, *options))

    def rows(self, recording, *options):
        """Allocations that match, and how many of them were never freed, from the rows themselves."""
        out = self.here / "rows.json"
        subprocess.run([mp.CLI, "export", "-f", "json", "-o", out, *options, recording], check=True)
        rows = json.loads(out.read_text())["allocations"]
        return len(rows), sum(not r["released"] for r in rows)

    def test_allocators_survive_rewriting(self):
        recording = self.mixed()
        for command in (["repack"], ["strip", "-t", "0"], ["postprocess"], ["postprocess", "--anonymize=full"]):
            with self.subTest(command=command):
                target = self.here / "copy.dat"
                target.unlink(missing_ok=True)
                subprocess.run([mp.CLI, *command, "-o", target, recording], check=True,
                               capture_output=True)
                self.assertEqual("jemalloc", mp.info(target)["allocators"][0]["name"])
                self.assertEqual((300, 40), self.rows(target, "--jemalloc=yes"))

    def test_block_that_another_allocator_gets_back(self):
        """Two allocators of one kind, so that the wrong one survives the block."""
        source = self.here / "crossing.c"
        source.write_text("#include <stdlib.h>\n" + "".join(f"""
            __attribute__((noinline)) void *{p}malloc(size_t n) {{
                __asm__ volatile("nop; nop; nop; nop; nop; nop");
                return malloc(n + {i});
            }}
            __attribute__((noinline)) void {p}free(void *p) {{
                __asm__ volatile("nop; nop; nop; nop; nop; nop");
                free(p); __asm__ volatile("");
            }}""" for i, p in enumerate("st")) + """
            int main(void) {
                for (int i = 0; i < 10; i++) sfree(smalloc(100));
                for (int i = 0; i < 10; i++) tfree(tmalloc(100));
                for (int i = 0; i < 7; i++) tfree(smalloc(4000 + i));
                for (int i = 0; i < 5; i++) free(smalloc(5000 + i));
                return 9;
            }""")
        program = self.build("crossing", "gcc", "-O1", "-g", "-fno-builtin", source)
        seen = self.record([program], options={"HOOK_SYMBOLS": "s* t*"})
        facts = mp.info(seen.recording)
        self.assertEqual(12, facts["crossed_blocks"])
        self.assertEqual(12, self.rows(seen.recording, "--crossed=yes")[0])
        self.assertIn("12 blocks freed by another allocator", self.report(seen))

    def test_memory_of_the_c_library_inside_a_call_of_an_allocator(self):
        """It is recorded: the C library gives it back when the thread ends, which would be a free of an
        unknown block otherwise."""
        source = self.here / "inner.c"
        source.write_text(r"""
            #include <pthread.h>
            #include <stdlib.h>
            extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
            extern void *__dso_handle;
            static _Thread_local int is_known;
            static void at_end(void *x) { is_known = x != 0; }
            __attribute__((noinline)) void *_rjem_malloc(size_t n) {
                if (!is_known++) __cxa_thread_atexit_impl(at_end, 0, &__dso_handle);
                return malloc(n);
            }
            __attribute__((noinline)) void _rjem_free(void *p) { free(p); __asm__ volatile(""); }
            static void *use(void *x) { for (int i = 0; i < 20; i++) _rjem_free(_rjem_malloc(100)); return x; }
            int main(void) {
                for (int i = 0; i < 10; i++) {
                    pthread_t t;
                    pthread_create(&t, 0, use, 0);
                    pthread_join(t, 0);
                }
                return 9;
            }
        """)
        program = self.build("inner", "gcc", "-O1", "-g", "-fno-builtin", source, "-lpthread")
        facts = mp.info(self.record([program]).recording)
        self.assertEqual([0, 0, 0], [facts[k] for k in ("unknown_frees", "crossed_blocks", "lost_events")])
        inner = [e for e in mp.allocations(self.record([program]).recording) if e["size"] not in (100,)]
        self.assertGreaterEqual(len(inner), 10)

    def test_libraries_that_come_and_go(self):
        """A library with an allocator is loaded and unloaded while eight threads allocate from another
        allocator that is hooked."""
        plugin, host = self.here / "pool.c", self.here / "host.c"
        plugin.write_text(r"""
            #include <stddef.h>
            static _Alignas(16) char heap[1 << 16];
            static size_t used;
            __attribute__((noinline)) void *pool_get(size_t n) { void *p = heap + used; used += (n + 15) & ~15ul; return p; }
            __attribute__((noinline)) void pool_put(void *p) { *(volatile char *)p = 0; }
            void plugin(void) { used = 0; for (int i = 0; i < 100; i++) pool_put(pool_get(333)); }
        """)
        host.write_text(r"""
            #include <dlfcn.h>
            #include <pthread.h>
            #include <stdlib.h>
            #include <unistd.h>
            #include <stdio.h>
            void *_rjem_malloc(size_t), _rjem_free(void *);
            static volatile int stop;
            static _Atomic long n;
            static void *spin(void *x) {
                while (!stop) { for (int i = 0; i < 20; i++, n++) _rjem_free(_rjem_malloc(77)); usleep(50); }
                return x;
            }
            int main(int argc, char **argv) {
                pthread_t t[8];
                for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, spin, 0);
                for (int i = 0; i < 100; i++) {
                    void *h = dlopen(argv[1], RTLD_NOW);
                    ((void (*)(void))dlsym(h, "plugin"))();
                    dlclose(h);
                }
                stop = 1;
                for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
                printf("%ld\n", n);
                return argc + 7;
            }
        """)
        library_path = self.build("pool.so", "gcc", "-O2", "-g", "-shared", "-fPIC", plugin)
        program = self.build("host", "gcc", "-O2", "-g", "-fno-builtin", host,
                             self.prefixed_jemalloc(), "-lpthread", "-lstdc++", "-lm", "-ldl")
        seen = self.record([program, library_path],
                           options={"HOOK_SYMBOLS": "pool_get=malloc pool_put=free"})
        self.assertEqual(9, seen.code)
        notes = [n for n in mp.info(seen.recording)["notes"] if re.search("recorded: .*pool.so", n)]
        self.assertEqual(1, len(notes))
        sizes = collections.Counter(e["size"] for e in mp.allocations(seen.recording))
        self.assertEqual((10000, int(seen.stdout)), (sizes[333], sizes[77]))


if __name__ == "__main__":
    mp.main()

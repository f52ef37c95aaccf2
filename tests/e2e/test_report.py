#!/usr/bin/env python3
"""What `report` says is true: exact figures, right names, and no crash whatever the file.

Figures are known from the sources in tests/programs/known_*; names are compared with addr2line or
with marks in the sources.
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

import mp

LISTS = ("peak", "leaked", "allocations", "temporary", "bytes")


def run_report(path, *args, env=None, **how):
    return subprocess.run([mp.CLI, "report", *map(str, args), str(path)], capture_output=True,
                          text=True, check=False, timeout=120,
                          env={**mp.clean_environment(), **(env or {})}, **how)


def report(path, *args, **how):
    """The JSON of a report that must succeed."""
    done = run_report(path, "--json", *args, **how)
    if done.returncode != 0:
        raise AssertionError(f"report {path}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def sites(found, kind):
    """{name of the innermost frame of the program: site}"""
    named = {}
    for site in found["lists"][kind]["sites"]:
        own = [f for f in site["frames"] if f["class"] == "own"]
        name = own[0]["function"] if own else None
        if name in named:  # several stacks: add up what the tests look at
            for key in ("peak", "leaked", "temporary"):
                for figure in ("count", "bytes"):
                    named[name][key][figure] += site[key][figure]
            named[name]["allocations"] += site["allocations"]
            named[name]["bytes"] += site["bytes"]
        else:
            named[name] = json.loads(json.dumps(site))
    return named


def marked_lines(path):
    """{word: line number} of "// place:<word>" in a source."""
    found = {}
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        mark = re.search(r"// place:(\w+)", line)
        if mark:
            found[mark[1]] = number
    return found


class Figures(mp.TestCase):
    """tests/programs/known_figures.c, known_threads.c"""

    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording

    def test_totals_are_exact(self):
        found = report(self.recording)
        totals = found["totals"]
        self.assertEqual((119, 10, 110), tuple(
            totals[k] for k in ("allocations", "reallocations", "frees")))
        self.assertEqual(239, totals["events"])
        self.assertEqual(235953, totals["bytes"])
        self.assertEqual({"count": 9, "bytes": 218}, totals["leaked"])
        self.assertEqual(85, totals["temporary"]["count"])
        self.assertEqual(50 * 64 + 20 * 48 + 3 * 150 + 2 * 100000 + 5,
                         totals["temporary"]["bytes"])
        self.assertEqual({"count": 4, "longest": 4}, totals["chains"])
        self.assertEqual((16, 130480), (totals["peak"]["count"], totals["peak"]["bytes"]))
        self.assertTrue(found["program"]["complete"])
        self.assertEqual([], found["notices"])
        self.assertEqual([mp.program("known_figures")], found["program"]["command_line"])
        for key in ("allocations", "bytes"):
            self.assertEqual(totals[key] + (totals["reallocations"] if key == "allocations" else 0),
                             found["matching"][key])

    def test_suppressions_take_leaks_out_of_leaked_only(self):
        plain = report(self.recording)
        lines = self.dir / "known.supp"
        lines.write_text("# by intention\nleak:^leaks_on_purpose$\nleak:known_figures*.c\n")
        found = report(self.recording, "--suppressions", lines)
        self.assertEqual({"count": 0, "bytes": 0}, found["totals"]["leaked"])
        for key in ("peak", "temporary", "bytes", "allocations"):
            self.assertEqual(plain["totals"][key], found["totals"][key])
        self.assertRegex(found["notices"][0],
                         r"^218 B of leaks suppressed: .*leak:known_figures\*\.c 218 B")
        built_in = report(self.recording, "-s", "built-in")
        self.assertEqual(plain["totals"], built_in["totals"])
        self.assertEqual([], built_in["notices"])
        lines.write_text("leak\n")
        done = run_report(self.recording, "--suppressions", lines)
        self.assertEqual(2, done.returncode)
        self.assertIn("line 1: 'leak' is no rule", done.stderr)

    def test_peak_is_its_first_moment(self):
        tops = [e for e in mp.allocations(self.recording) if e["size"] == 100000]
        self.assertEqual(2, len(tops))
        self.assertEqual(tops[0]["t"], report(self.recording)["totals"]["peak"]["at_ns"])

    def test_contributions_add_up_to_the_peak(self):
        found = report(self.recording, "--limit", "all")
        peak = found["lists"]["peak"]
        self.assertEqual({"count": 16, "bytes": 130480}, peak["total"])
        self.assertEqual(130480, sum(s["peak"]["bytes"] for s in peak["sites"]))
        self.assertEqual(16, sum(s["peak"]["count"] for s in peak["sites"]))
        self.assertAlmostEqual(1.0, sum(s["share"] for s in peak["sites"]), places=4)
        named = sites(found, "peak")
        self.assertEqual({"burst_top": (1, 100000), "burst_block": (5, 20480),
                          "allocate_base": (10, 10000)},
                         {name: (s["peak"]["count"], s["peak"]["bytes"])
                          for name, s in named.items()})
        self.assertEqual("burst_top", peak["sites"][0]["frames"][0]["function"])

    def test_call_sites_have_their_own_figures(self):
        found = report(self.recording, "--limit", "all")
        leaked = {name: (s["leaked"]["count"], s["leaked"]["bytes"])
                  for name, s in sites(found, "leaked").items()}
        self.assertEqual({"leak_small": (7, 168), "leak_zero": (1, 0), "leak_chain": (1, 50)}, leaked)
        temporary = {name: s["temporary"]["count"]
                     for name, s in sites(found, "temporary").items()}
        self.assertEqual({"make_temporary": 50, "pair_second": 20, "make_chain": 12, "burst_top": 2,
                          "leak_chain": 1}, temporary)
        allocations = {name: s["allocations"] for name, s in sites(found, "allocations").items()}
        self.assertEqual({"allocate_base": 10, "make_temporary": 50, "pair_first": 20,
                          "pair_second": 20, "make_chain": 12, "burst_block": 5, "burst_top": 2,
                          "leak_small": 7, "leak_zero": 1, "leak_chain": 2}, allocations)
        self.assertEqual(235953, sum(s["bytes"] for s in found["lists"]["bytes"]["sites"]))

    def test_lists_are_sorted_and_limited(self):
        found = report(self.recording, "--limit", "3")
        weights = {"peak": lambda s: s["peak"]["bytes"], "leaked": lambda s: s["leaked"]["bytes"],
                   "allocations": lambda s: s["allocations"],
                   "temporary": lambda s: s["temporary"]["count"], "bytes": lambda s: s["bytes"]}
        self.assertEqual(list(LISTS), list(found["lists"]))
        for kind, weight in weights.items():
            figures = [weight(s) for s in found["lists"][kind]["sites"]]
            self.assertEqual(3, len(figures), kind)
            self.assertEqual(sorted(figures, reverse=True), figures, kind)
            whole = [weight(s) for s in report(self.recording, "--limit", "all")
                     ["lists"][kind]["sites"]]
            self.assertEqual(whole[:3], figures, kind)
        one = report(self.recording, "--sort", "leaked")
        self.assertEqual(["leaked"], list(one["lists"]))

    def test_filters_and_time(self):
        found = report(self.recording, "--size-min=100000")
        self.assertEqual(2, found["matching"]["allocations"])
        self.assertEqual({"count": 1, "bytes": 100000},
                         {k: found["matching"]["peak"][k] for k in ("count", "bytes")})
        self.assertEqual({"size_min": "100000"}, found["filter"])
        self.assertEqual(235953, found["totals"]["bytes"])
        peak_ns = found["totals"]["peak"]["at_ns"]
        before = report(self.recording, "--time", f"..{peak_ns - 1}ns", "--limit", "all")
        after = report(self.recording, "--time", f"{peak_ns}ns..", "--limit", "all")
        self.assertEqual(129, before["matching"]["allocations"] + after["matching"]["allocations"])
        self.assertEqual({"burst_top", "leak_small", "leak_zero", "leak_chain"},
                         set(sites(after, "allocations")))
        found = report(self.recording, "--function_regex", "^leak_", "--lifetime=only_leaked")
        self.assertEqual({"count": 9, "bytes": 218}, found["matching"]["leaked"])

    def test_peak_of_rss_between_two_samples_counts(self):
        script = "import time; time.sleep(0.13); a = b'x' * (150 << 20); del a; time.sleep(0.3)"
        recording = self.record(["/usr/bin/python3", "-c", script], options={"WRITE_BINARIES_TO_OUTPUT": 0}).recording
        totals = report(recording)["totals"]
        self.assertGreater(totals["rss_peak_bytes"], 150 << 20)
        self.assertNotIn("at least", run_report(recording).stdout)

    def test_temporary_is_counted_per_thread(self):
        recording = self.record([mp.program("known_threads")]).recording
        found = report(recording, "--limit", "all")
        threads = {t["allocations"]: t for t in found["threads"]}
        for i in range(8):
            thread = threads[5000 + i + 100 + 1]
            self.assertEqual(5000 + i + 1, thread["temporary"])
            self.assertEqual(16 * (i + 1) * (5000 + i + 100) + 1, thread["bytes"])
            self.assertEqual(thread["allocations"], thread["frees"])
        handed = report(recording, "--size-min=777", "--size-max=777")
        self.assertEqual((1, 0), (handed["matching"]["allocations"],
                                  handed["matching"]["temporary"]["count"]))
        self.assertEqual(found["totals"]["temporary"]["count"],
                         sum(t["temporary"] for t in found["threads"]))

    @mp.needs_tool("heaptrack_print")
    def test_totals_agree_with_heaptrack(self):
        """docs/REPORT.md says where the two mean different things."""
        done = mp.run(["heaptrack", "-o", self.dir / "ht", mp.program("known_figures")],
                      mp.clean_environment(), cwd=self.dir)
        self.assertEqual(0, done.code, done.stderr)
        data = next(p for p in self.dir.glob("ht*") if p.suffix in (".gz", ".zst"))
        text = subprocess.run(["heaptrack_print", "-s", "0", str(data)], capture_output=True,
                              text=True, check=True, timeout=60,
                              env=mp.clean_environment()).stdout

        def figure(label):
            return re.search(rf"^{label}: *([0-9.]+)([BKMG]?)", text, re.M).groups()

        totals = report(self.recording)["totals"]
        # heaptrack brings libstdc++ into this program, which gets memory for emergencies at the
        # start and releases it at the end.
        pool, pool_bytes = (1, 72704) if "libstdc++" in text else (0, 0)
        self.assertEqual(str(totals["allocations"] + totals["reallocations"] + pool),
                         figure("calls to allocation functions")[0])
        # heaptrack: no call of any kind in between, also no free. That is pair_second here.
        self.assertEqual(str(totals["temporary"]["count"] - 20 + pool),
                         figure("temporary memory allocations")[0])
        self.assertEqual((f"{(130480 + pool_bytes) / 1000:.2f}", "K"),
                         figure("peak heap memory consumption"))
        self.assertEqual(("218", "B"), figure("total memory leaked"))


class Names(mp.TestCase):
    """Names and lines are those of the source, and those that addr2line gives."""

    def by_size(self, recording, size, *args):
        found = report(recording, f"--size-min={size}", f"--size-max={size}", "--sort=bytes", *args)
        self.assertEqual(1, len(found["lists"]["bytes"]["sites"]), f"allocations of {size} bytes")
        return found["lists"]["bytes"]["sites"][0]["frames"]

    def assert_chain(self, frames, expected, source):
        """expected: (pattern of the function, mark of the line, is it inlined) from the inside."""
        lines = marked_lines(source)
        own = [f for f in frames if f["source"] and f["source"].endswith(source.name)]
        story = [(f["function"], f["line"], f["is_inline"]) for f in own]
        for (pattern, mark, inlined), frame in zip(expected, own):
            self.assertRegex(frame["function"], pattern, story)
            self.assertEqual(lines[mark], frame["line"], story)
            self.assertEqual(inlined, frame["is_inline"], story)
        self.assertGreaterEqual(len(own), len(expected), story)

    def assert_equals_addr2line(self, recording, program):
        """Every frame of the program itself, function, file, line, inlined ones in order."""
        found = report(recording, "--limit", "all", "--sort=allocations")
        groups = {}
        for site in found["lists"]["allocations"]["sites"]:
            run = []
            for frame in site["frames"]:
                if frame["module"] != str(program):
                    run = []
                    continue
                run.append(frame)
                if not frame["is_inline"]:
                    groups[frame["module_offset"]] = run
                    run = []
        self.assertGreater(len(groups), 5)
        for offset, frames in groups.items():
            answer = subprocess.run(
                ["addr2line", "-i", "-f", "-e", str(program), hex(int(offset, 16) - 1)],
                capture_output=True, text=True, check=True).stdout.splitlines()
            expected = []
            for function, place in zip(answer[::2], answer[1::2]):
                file, _, line = place.split(" ")[0].rpartition(":")
                expected.append((function, os.path.realpath(file) if file != "??" else None,
                                 int(line) if line.isdigit() and line != "0" else None))
            seen = [(f["raw_function"] or "??",
                     os.path.realpath(f["source"]) if f["source"] else None, f["line"])
                    for f in frames]
            # A function without a linkage name (a lambda) has the containing symbol's in addr2line.
            for i, (name, *place) in enumerate(expected[:len(seen)]):
                if name.startswith("_Z") and not seen[i][0].startswith("_Z"):
                    expected[i] = (seen[i][0], *place)
            self.assertEqual(expected, seen, f"offset {offset}")

    def test_cpp(self):
        recording = self.record([mp.program("known_names")]).recording
        source = mp.SRC / "tests/programs/known_names.cpp"
        for size, chain in {
            1001: [("^innermost", "innermost", True), ("^middle", "middle", True),
                   (r"^inlined_twice\(\)$", "inlined_twice", False)],
            1400: [(r"double\* make_array<double, 175>\(\)", "make_array", False)],
            1100: [(r"^Point::operator\+\(Point const&\) const$", "operator_plus", False)],
            1500: [(r"^Point::operator\(\)\(unsigned long\) const$", "operator_call", False)],
            1200: [(r"^\(anonymous namespace\)::hidden", "hidden", False)],
            1600: [(r"^Box<std::pair<int, .*string.*> ?>::fill\(unsigned long\)$", "fill", False)],
            1300: [(r"^main::.*operator\(\)", "lambda", True)],
        }.items():
            with self.subTest(size=size):
                frames = self.by_size(recording, size)
                if size == 1300:  # whether the lambda is inlined is the compiler's choice
                    chain = [(chain[0][0], chain[0][1], next(
                        f["is_inline"] for f in frames if f["class"] == "own"))]
                self.assert_chain(frames, chain, source)
                self.assertEqual("main", [f for f in frames if f["class"] == "own"][-1]["function"])
        self.assert_equals_addr2line(recording, mp.program("known_names"))

    def check_rust(self, mangling):
        program = mp.PROGRAMS / f"known_names_rs_{mangling}"
        mp.require("rustc", program.exists())
        recording = self.record([program]).recording
        source = mp.SRC / "tests/programs/known_names.rs"
        for size, chain in {
            2000: [(r"^<known_names(_rs_\w+)?::Square as known_names(_rs_\w+)?::Shape>::outline$",
                    "outline", False)],
            2200: [(r"::generic_make(::<u64>)?$", "generic_make", False)],
            2300: [(r"::main::(\{\{closure\}\}|\{closure#0\})$", "closure", True)],
            2100: [(r"::inlined_make$", "inlined_make", True),
                   (r"::calls_inlined$", "calls_inlined", False)],
        }.items():
            with self.subTest(size=size, mangling=mangling):
                frames = self.by_size(recording, size)
                self.assert_chain(frames, chain, source)
                own = [f for f in frames if f["class"] == "own"]
                self.assertTrue(own[0]["source"].endswith("known_names.rs"),
                                "the first frame of its own is in its own source")
        self.assert_equals_addr2line(recording, program)

    def test_rust_with_legacy_names(self):
        self.check_rust("legacy")

    def test_rust_with_v0_names(self):
        self.check_rust("v0")

    def stripped(self, with_debug_file):
        program = self.dir / "bin" / "known_names"
        program.parent.mkdir()
        shutil.copy(mp.program("known_names"), program)
        debug = self.dir / "debug" / "known_names.debug"
        debug.parent.mkdir()
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", program], check=True)
        if with_debug_file:
            subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
        return program, debug

    def test_stripped_with_separate_debug_file(self):
        program, debug = self.stripped(with_debug_file=True)
        recording = self.record([program]).recording
        source = mp.SRC / "tests/programs/known_names.cpp"
        chain = [("^innermost", "innermost", True), ("^middle", "middle", True),
                 ("^inlined_twice", "inlined_twice", False)]
        # -d FILE, -d FOLDER, and beside the program as .gnu_debuglink says
        for place in (debug, debug.parent):
            self.assert_chain(self.by_size(recording, 1001, "--no-cache", "-d", place), chain, source)
        names = [f["function"] for f in self.by_size(recording, 1001, "--no-cache")]
        self.assertNotIn("inlined_twice()", names)
        shutil.copy(debug, program.parent)
        self.assert_chain(self.by_size(recording, 1001, "--no-cache"), chain, source)

    def test_debug_file_that_is_named_later_is_not_hidden_by_the_cache(self):
        program, debug = self.stripped(with_debug_file=False)
        recording = self.record([program]).recording
        self.assertNotIn("inlined_twice()", [f["function"] for f in self.by_size(recording, 1001)])
        self.assertIn("inlined_twice()",
                      [f["function"] for f in self.by_size(recording, 1001, "-d", debug)])

    def test_no_symbols_at_all(self):
        program, debug = self.stripped(with_debug_file=False)
        debug.unlink()
        recording = self.record([program]).recording
        frames = [f for f in self.by_size(recording, 1001) if f["module"] == str(program)]
        self.assertTrue(frames)
        for frame in frames:
            self.assertIsNone(frame["function"])
            self.assertIsNone(frame["source"])
        text = run_report(recording).stdout
        self.assertRegex(text, r"known_names\+0x[0-9a-f]+")
        self.assertIn("no symbols for", text, "it says what to do about it")

    def plugin(self, options):
        library = self.dir / "libplugin.so"
        shutil.copy(mp.PROGRAMS / "libknown_lib.so", library)
        result = self.record([mp.program("known_plugin"), library], options=options)
        self.assertEqual(0, result.code, result.stderr)
        library.unlink()
        shutil.copy(mp.PROGRAMS / "libknown_lib_later.so", library)
        return [f["function"] for f in self.by_size(result.recording, 3000)], library

    def test_library_replaced_after_recording(self):
        names, _ = self.plugin({})
        self.assertEqual(["inner_as_recorded", "known_lib_call", "main"], names[:3])

    def test_library_replaced_and_not_embedded(self):
        names, _ = self.plugin({"WRITE_BINARIES_TO_OUTPUT": 0})
        self.assertNotIn("inner_as_replaced", names)
        self.assertEqual([None, None, "main"], names[:3])

    def test_code_of_a_jit_compiler(self):
        """Named by the map that the program wrote for perf, if it is still on this machine."""
        result = self.record([mp.program("known_jit")], options={"WRITE_BINARIES_TO_OUTPUT": 0})
        if result.code == 77:
            self.skipTest("no code can be made at run time here")
        perf_map = pathlib.Path("/tmp/perf-%s.map" % result.recording.name.split("_")[0])
        self.addCleanup(lambda: perf_map.unlink(missing_ok=True))
        frame = self.by_size(result.recording, 4000, "--no-cache")[0]
        self.assertEqual("LazyCompile:~madeAtRunTime script.js:7", frame["function"])
        self.assertIsNone(frame["module"])
        os.utime(perf_map, (1, 1))  # older than the recording: of another process
        self.assertIsNone(self.by_size(result.recording, 4000, "--no-cache")[0]["function"])
        perf_map.unlink()
        self.assertIsNone(self.by_size(result.recording, 4000, "--no-cache")[0]["function"])

    def test_map_of_a_jit_compiler_is_embedded_at_the_end(self):
        result = self.record([mp.program("known_jit")])
        if result.code == 77:
            self.skipTest("no code can be made at run time here")
        pathlib.Path("/tmp/perf-%s.map" % result.recording.name.split("_")[0]).unlink()
        self.assertEqual("LazyCompile:~madeAtRunTime script.js:7",
                         self.by_size(result.recording, 4000)[0]["function"])

    def test_jitdump_is_embedded_at_the_end(self):
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        for folder in (elsewhere, self.dir):
            result = self.record([mp.program("known_jit"), "dump", folder])
            next(folder.glob("jit-*.dump")).unlink()
            self.assertEqual(("madeByDump12345", "/js/script.js"), tuple(
                self.by_size(result.recording, 4000)[0][key] for key in ("function", "source")))

    def test_map_of_a_jit_compiler_in_the_recording(self):
        folder = self.new_folder()
        env = self.recorder_environment(folder, INCLUDE_FILE="/tmp/perf-*.map")
        library = env.pop("LD_PRELOAD")
        # the shell and the program it becomes have the same number; the map is there before it starts
        script = ('echo "500000000000 100 madeBefore" > /tmp/perf-$$.map;'
                  f'LD_PRELOAD={library} exec {mp.program("known_jit")} quiet')
        result = self.collect(mp.run(["sh", "-c", script], env, cwd=self.dir), folder)
        if result.code == 77:
            self.skipTest("no code can be made at run time here")
        pathlib.Path("/tmp/perf-%s.map" % result.recording.name.split("_")[0]).unlink()
        self.assertEqual("madeBefore", self.by_size(result.recording, 4000)[0]["function"])

    def test_jitdump_that_the_program_had_mapped(self):
        """Found by the recorded memory map; in the folder of the program; or not at all."""
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        for folder, options in ((elsewhere, {"WRITE_BINARIES_TO_OUTPUT": 0}),
                                (self.dir, {"GATHER_MAPS": 0, "WRITE_BINARIES_TO_OUTPUT": 0})):
            result = self.record([mp.program("known_jit"), "dump", folder], options=options)
            self.assertEqual(0, result.code)
            frame = self.by_size(result.recording, 4000, "--no-cache")[0]
            self.assertEqual(("madeByDump12345", "/js/script.js", 7, None),
                             (frame["function"], frame["source"], frame["line"], frame["module"]))
            next(folder.glob("jit-*.dump")).unlink()
            self.assertIsNone(self.by_size(result.recording, 4000, "--no-cache")[0]["function"])

    def test_postprocessed_recording(self):
        """Names stay right when the recording carries them and no binaries any more."""
        recording = self.record([mp.program("known_names")]).recording
        slim = self.dir / "slim.dat"
        subprocess.run([mp.CLI, "postprocess", recording, "-o", slim], check=True,
                       capture_output=True, env=mp.clean_environment(), timeout=60)
        for size in (1001, 1400, 1100, 1200, 1600, 1300):
            self.assertEqual(self.by_size(recording, size), self.by_size(slim, size))


class Text(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording

    def test_it_fits_on_a_screen(self):
        text = run_report(self.recording).stdout
        self.assertLessEqual(len(text.splitlines()), 40, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        self.assertNotIn("\x1b", text)
        for part in ("127 KiB (130 480 bytes) in 16 blocks", "What stands out", "Most leaked:",
                     "Makes the peak: burst_top holds 97.7 KiB at the peak (", "--sort", "--view"):
            self.assertIn(part, " ".join(text.split()))
        self.assertRegex(text, r"\nMost at the peak: .*\n +76\.6 % +97\.7 KiB +1 block +burst_top  \S*known_figures.c:\d+\n")
        self.assertRegex(text, r"\n  Most allocations +[\d.]+ % by \w+")

    def test_rows_are_sums_by_function(self):
        text = run_report(self.recording).stdout
        found = report(self.recording, "--limit", "all")
        leaked = {}
        for site in found["lists"]["leaked"]["sites"]:
            own = [f for f in site["frames"] if f["class"] == "own"]
            name = own[0]["function"]
            leaked[name] = leaked.get(name, 0) + site["leaked"]["count"]
        rows = re.findall(r"(?m)^ +[<\d.]+ % +\S+ \S+ +(\d+) blocks? +(\w+)  ", text.partition("Most leaked")[2].partition("\n\n")[0])
        self.assertEqual(leaked, {name: int(n) for n, name in rows})

    def test_plain_text_says_what_matters(self):
        text = run_report(self.recording, "--limit", "10").stdout
        self.assertNotIn("\x1b", text)
        for part in ("127 KiB (130 480 bytes) in 16 blocks", "Most at the peak", "Most leaked",
                     "Most allocations", "Most temporary", "Most bytes", "> burst_top",
                     "Makes the peak: burst_top holds 97.7 KiB at the peak (", "runtime frames"):
            self.assertIn(part, " ".join(text.split()))
        self.assertRegex(text, r"> burst_top +\S*tests/programs/known_figures.c:\d+\n")
        self.assertRegex(text, r"\n   76\.6%    97\.7 KiB +1 block +97\.7 KiB each\n")

    def test_one_list_with_all_frames(self):
        text = run_report(self.recording, "--sort", "leaked", "--full").stdout
        self.assertIn("Most leaked", text)
        self.assertNotIn("Most bytes", text)
        self.assertNotIn("runtime frames", text)
        self.assertIn("_start", text)

    def test_nothing_fulfils_the_conditions(self):
        text = run_report(self.recording, "--size-min=1G").stdout
        self.assertIn("Only what matches size_min=1G:\n  0 allocations (0.0% of all)", text)
        self.assertTrue(text.endswith("No allocation fulfils these conditions.\n"), text)

    def test_colours_only_where_wanted(self):
        self.assertIn("\x1b[", run_report(self.recording, "--color=always").stdout)
        self.assertNotIn("\x1b[", run_report(self.recording, "--color=never").stdout)

    def on_terminal(self, columns, env, *args):
        """The report as a terminal of that width gets it."""
        pid, fd = os.forkpty()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.execve(mp.CLI, ["memory-profiler-cli", "report", *args, str(self.recording)],
                      {**mp.clean_environment(), "TERM": "xterm", **env})
        out = b""
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(fd)
        self.assertEqual(0, os.waitpid(pid, 0)[1])
        return out.decode().replace("\r\n", "\n")

    def test_on_a_terminal(self):
        coloured = self.on_terminal(80, {})
        self.assertIn("\x1b[", coloured)
        self.assertNotIn("\x1b[", self.on_terminal(80, {"NO_COLOR": "1"}))
        self.assertNotIn("\x1b[", self.on_terminal(80, {"TERM": "dumb"}))

    def test_width_of_the_terminal(self):
        for columns in (60, 80, 132):
            for line in self.on_terminal(columns, {"NO_COLOR": "1"}).partition("Most leaked")[2].splitlines():
                self.assertLessEqual(len(line), max(columns, 92), line)
            lines = self.on_terminal(columns, {"NO_COLOR": "1"}, "--limit", "10").splitlines()
            frames = [line for line in lines if line.startswith("      ")]
            self.assertGreater(len(frames), 20)
            for line in frames:
                self.assertLessEqual(len(line), columns, line)
            start = lines.index("What stands out") + 1
            story = lines[start:lines.index("", start)]
            self.assertGreater(len(story), 1)
            for line in story:
                self.assertLessEqual(len(line), columns, line)

    def test_control_characters_do_not_reach_the_terminal(self):
        program = self.dir / "x\x1b[31m\ny"
        shutil.copy(mp.program("known_figures"), program)
        recording = self.record([program]).recording
        text = run_report(recording).stdout
        self.assertNotIn("\x1b", text)
        self.assertIn("x\\x1b[31m\\x0ay", text)
        json.loads(run_report(recording, "--json").stdout)

    def test_wrong_usage(self):
        for args, word in ((("--sort", "best"), "peak, leaked"), (("--limit", "x"), "--limit"),
                           (("--limit", "0"), "--limit"), (("--time", "1s"), "FROM..TO"),
                           (("--time", "5..1"), "ends before it begins"),
                           (("--time", "60%..50%"), "ends before it begins"),
                           (("--color", "red"), "always"), (("--size-min=lots",), "size_min"),
                           (("--function-regex=(",), "function_regex"), (("--nonsense",), "nonsense"),
                           (("--time",), "")):
            done = run_report(self.recording, *args)
            self.assertEqual(2, done.returncode, (args, done.stderr))
            self.assertIn(word, done.stderr)
            self.assertEqual("", done.stdout)
        self.assertEqual(2, run_report(self.recording, self.recording).returncode)
        self.assertIn("--negative-function-regex", run_report(self.recording, "--help").stdout)


class Views(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording
        self.facts = report(self.recording)

    def view(self, name, *args):
        done = run_report(self.recording, "--view", name, *args)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[1:])), 100)
        return done.stdout

    def test_sizes_add_up(self):
        text = self.view("sizes")
        rows = re.findall(r"(?m)^  \S.*?B  +(\d[\d ]*?)  +\S+ \S+  +\S+ \S+  ", text)
        total = self.facts["matching"]["allocations"]
        self.assertEqual(total, sum(int(n.replace(" ", "")) for n in rows), text)
        self.assertIn("█", text)
        one = self.view("sizes", "--size-min=100000", "--sort", "bytes")
        self.assertEqual(1, one.count("█" * 24), one)
        self.assertIn("size_min=100000", one)

    def test_timeline_reaches_the_peak_once_at_its_time(self):
        text = self.view("timeline")
        self.assertIn("at most 127 KiB", text)
        chart = [line[12:] for line in text.splitlines() if re.match(r".{10} [┤│]", line)]
        self.assertEqual(10, len(chart))
        self.assertIn("█", chart[0])
        self.assertTrue(any(cell == " " for cell in chart[0]))
        freed = re.findall(r"(?m)^  [\d.]+ \S?s .*", text)
        self.assertEqual(10, len(freed), text)

    def test_callers_begin_at_what_allocates_and_callees_at_the_start(self):
        callers, callees = self.view("callers"), self.view("callees")
        names = [re.split(r"  +", line.strip())[3] for line in callers.splitlines() if " % " in line]
        self.assertEqual("burst_top", names[0])
        self.assertIn("main", names)
        first = next(line for line in callees.splitlines() if " % " in line)
        self.assertIn("start]", first)
        self.assertRegex(first, r"^ +100 %")

    def test_nothing_matches(self):
        for name in ("sizes", "timeline", "callers", "callees"):
            self.assertIn("size_min=1G", self.view(name, "--size-min=1G"))

    def test_wrong_usage(self):
        for args in (("--view", "pie"), ("--view", "sizes", "--json")):
            self.assertEqual(2, run_report(self.recording, *args).returncode)


class Caches(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording
        self.folder = self.recording.parent

    def files(self):
        return {p.name for p in self.folder.iterdir() if not p.name.startswith("log.")}

    def test_second_opening_gives_the_same(self):
        first = run_report(self.recording, "--json").stdout
        kept = self.files()
        self.assertGreater(len(kept), 1, "a store is kept beside the recording")
        self.assertEqual(first, run_report(self.recording, "--json").stdout)
        self.assertEqual(first, run_report(self.recording, "--json", "--no-cache").stdout)
        self.assertEqual(kept, self.files())

    def test_no_cache_leaves_nothing(self):
        before, temporary = self.files(), self.dir / "tmp"
        temporary.mkdir()
        run_report(self.recording, "--no-cache", env={"TMPDIR": str(temporary)})
        self.assertEqual(before, self.files())
        self.assertEqual([], os.listdir(temporary))

    def test_damaged_cache_is_made_anew(self):
        first = run_report(self.recording, "--json").stdout
        for path in self.folder.iterdir():
            if path == self.recording or path.name.startswith("log."):
                continue
            for damage in (b"", b"nonsense" * 1000, path.read_bytes()[:-1]):
                path.write_bytes(damage)
                self.assertEqual(first, run_report(self.recording, "--json").stdout, path)

    def test_other_recording_under_the_same_name(self):
        report(self.recording)
        other = self.record([mp.program("known_threads")]).recording
        shutil.copy(other, self.recording)
        self.assertEqual(report(other, "--no-cache")["totals"], report(self.recording)["totals"])

    def block_beside(self):
        """Nothing can be kept beside the recording, not even by root."""
        (self.folder / (self.recording.name + ".store")).mkdir()

    def test_cache_folder_where_the_recording_cannot_have_it_beside(self):
        self.block_beside()
        cache = self.dir / "cache"
        env = {"XDG_CACHE_HOME": str(cache)}
        first = run_report(self.recording, "--json", env=env)
        self.assertEqual(0, first.returncode, first.stderr)
        self.assertIn(str(cache), first.stderr, "it says where it is kept")
        kept = {p for p in cache.rglob("*") if p.is_file()}
        self.assertEqual({".store", ".symbols"}, {p.suffix for p in kept})
        second = run_report(self.recording, "--json", env=env)
        self.assertEqual((first.stdout, ""), (second.stdout, second.stderr))

    def test_nothing_can_be_kept(self):
        expected = run_report(self.recording, "--json", "--no-cache").stdout
        self.block_beside()
        (self.dir / "file").write_text("no folder")
        done = run_report(self.recording, "--json",
                          env={"XDG_CACHE_HOME": str(self.dir / "file" / "cache")})
        self.assertEqual((0, expected), (done.returncode, done.stdout), done.stderr)
        self.assertIn("cannot be kept", done.stderr)

    def test_recording_in_a_folder_that_cannot_be_written(self):
        cache = self.dir / "cache"
        cache.mkdir()
        cache.chmod(0o777)
        self.recording.chmod(0o644)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        before = self.files()
        argv = [self.copy_for_all(mp.CLI), "report", "--json", self.recording]
        env = {**mp.clean_environment(), "XDG_CACHE_HOME": str(cache)}
        first = mp.run(argv, env, setup=mp.become_nobody)
        self.assertEqual(0, first.code, first.stderr)
        self.assertIn(str(cache).encode(), first.stderr, "it says where it is kept")
        self.assertEqual(before, self.files())
        self.assertEqual({".store", ".symbols"},
                         {p.suffix for p in cache.rglob("*") if p.is_file()})
        second = mp.run(argv, env, setup=mp.become_nobody)
        self.assertEqual((first.stdout, b""), (second.stdout, second.stderr))

    def test_text_of_a_large_recording_needs_no_rows(self):
        """Without conditions the text of a large recording makes no rows, and says what it could not look for;
        JSON and conditions do make them. Of a small recording there are always rows."""
        large = self.record([mp.program("workload"), "2600000", "4"]).recording
        self.assertGreater(mp.info(large)["recorder"]["n_blocks"] << 16, 128 << 20)
        for recording, is_large in ((self.recording, False), (large, True)):
            store = pathlib.Path(f"{recording}.store")
            first = run_report(recording).stdout
            size = store.stat().st_size
            self.assertEqual(is_large, "were not looked for" in first)
            report(recording)
            self.assertEqual(is_large, store.stat().st_size > size)
            second = run_report(recording).stdout
            self.assertNotIn("were not looked for", second)
            if not is_large:
                self.assertEqual(first, second)


class Damage(mp.TestCase):
    """Whatever the file: a correct partial result that says so, or a clear error. Never a crash."""

    def killed(self, with_writer):
        folder = self.new_folder()
        child = subprocess.Popen(
            [mp.program("death"), folder / "counters", "2", "wait", "0"],
            env=self.recorder_environment(folder), cwd=self.dir, stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        child.stdout.readline()
        time.sleep(0.05)
        recording = next(folder.glob("*.dat"))
        if with_writer:
            os.kill(child.pid, signal.SIGSTOP)  # so that it does not start another writer
            os.kill(mp.find_writer(recording), signal.SIGKILL)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
        child.stdout.close()
        return recording

    def test_killed(self):
        recording = self.killed(with_writer=False)
        self.assert_like_info(recording)
        found = report(recording)
        self.assertTrue(found["program"]["complete"])
        self.assertEqual("killed by SIGKILL", found["program"]["ended"])
        self.assertIn("killed by SIGKILL", run_report(recording).stdout)

    def test_killed_with_its_writer(self):
        recording = self.killed(with_writer=True)
        self.assert_like_info(recording)
        found = report(recording)
        self.assertFalse(found["program"]["complete"])
        self.assertRegex(found["notices"][0], "the program was killed or crashed")
        text = run_report(recording).stdout
        self.assertRegex(text.splitlines()[1], "^Note: The recording has no end")

    def assert_like_info(self, recording):
        found = report(recording)
        facts = mp.info(recording)
        for key in ("allocations", "reallocations", "frees"):
            self.assertEqual(facts[key], found["totals"][key])
        self.assertEqual(facts["live_bytes"], found["totals"]["leaked"]["bytes"])
        self.assertEqual(facts["peak_bytes"], found["totals"]["peak"]["bytes"])
        self.assertEqual(facts["peak_bytes"], sum(
            s["peak"]["bytes"] for s in report(recording, "--limit", "all")
            ["lists"]["peak"]["sites"]))

    def test_still_growing(self):
        """Opened five times while the program runs: exactly what it had done, each time."""
        folder = self.new_folder()
        child = subprocess.Popen(
            [mp.program("grows_on_command")], env=self.recorder_environment(folder), cwd=self.dir,
            stdout=subprocess.PIPE, stdin=subprocess.PIPE, bufsize=0)
        try:
            self.assertEqual(b"ready\n", child.stdout.readline())
            for n in range(1, 6):
                child.stdin.write(b"x")
                self.assertEqual(b"done\n", child.stdout.readline())
                recording = next(folder.glob("*.dat"))
                found = report(recording)
                self.assert_grown(found, n)
                self.assertFalse(found["program"]["complete"])
                self.assertRegex(found["notices"][0], "^Still running: the recording has no end yet")
                self.assertIn("Note: Still running", run_report(recording).stdout)
        finally:
            child.stdin.close()
            child.wait(60)
            child.stdout.close()
        found = report(recording)
        self.assert_grown(found, 5)
        self.assertTrue(found["program"]["complete"])

    def assert_grown(self, found, n):
        totals = found["totals"]
        self.assertEqual((1000 * n, 990 * n), (totals["allocations"], totals["frees"]))
        self.assertEqual({"count": 10 * n, "bytes": 1280 * n}, totals["leaked"])
        self.assertEqual({"count": 10 * n, "bytes": 1280 * n}, found["lists"]["peak"]["total"])
        self.assertEqual(0, totals["unknown_frees"])

    def test_what_is_no_recording(self):
        empty, foreign = self.dir / "empty.dat", self.dir / "foreign.dat"
        empty.write_bytes(b"")
        foreign.write_bytes(b"\x7fELF" + bytes(5000))
        damaged = self.dir / "damaged.dat"
        damaged.write_bytes(bytes.fromhex("894d50524f460a1a") + b"\x09\x00" + bytes(5000))
        for path, words in ((empty, "empty"), (foreign, "not a recording"), (self.dir, "folder|directory"),
                            (self.dir / "missing.dat", "[Nn]o such file"), (damaged, "header is damaged")):
            for args in ((), ("--json",), ("--no-cache",)):
                done = run_report(path, *args)
                self.assertEqual(1, done.returncode, path)
                self.assertRegex(done.stderr, words)
                self.assertIn(str(path), done.stderr)
                self.assertEqual("", done.stdout)


if __name__ == "__main__":
    mp.main()

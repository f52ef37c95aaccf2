#!/usr/bin/env python3
"""The names in a report, compared with addr2line or with marks in the sources of tests/programs/known_*."""
import os
import pathlib
import re
import shutil
import subprocess

import mp
from mp_report import report, run_report


def marked_lines(path):
    """{word: line number} of "// place:<word>" in a source."""
    found = {}
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        mark = re.search(r"// place:(\w+)", line)
        if mark:
            found[mark[1]] = number
    return found


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


if __name__ == "__main__":
    mp.main()

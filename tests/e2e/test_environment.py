#!/usr/bin/env python3
"""Every MEMORY_PROFILER_* variable: meaning, default, placeholders, and what a bad value does."""
import ctypes
import os
import pathlib
import re
import stat
import subprocess
import time

import mp

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18

KNOWN = [mp.program("known_blocks"), "300"]

# Every variable of the recorder: (a value that is not its default, a bad value or None, its default)
VARIABLES = {
    "CULL_TEMPORARY_ALLOCATIONS": ("1", "maybe", "0"),
    "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD": ("5000", "soon", "10000"),
    "TEMPORARY_ALLOCATION_PENDING_THRESHOLD": ("100", "-5", "65536"),
    "DISABLE_BY_DEFAULT": ("1", "yes", "0"),
    "REGISTER_SIGUSR1": ("0", "2", "1"),
    "REGISTER_SIGUSR2": ("0", "on", "1"),
    "ENABLE_SERVER": ("1", "TRUE", "0"),
    "BASE_SERVER_PORT": ("9000", "http", "8100"),
    "ENABLE_BROADCAST": ("1", "x", "0"),
    "SERVER_EXIT_WAIT": ("100", "long", "2000"),
    "PRECISE_TIMESTAMPS": ("1", "very", "0"),
    "WRITE_BINARIES_TO_OUTPUT": ("0", "no", "1"),
    "ZERO_MEMORY": ("1", "11", "0"),
    "BACKTRACE_CACHE_SIZE": ("64", "1e6", "32768"),
    "GATHER_MMAP_CALLS": ("1", "all", "0"),
    "USE_SHADOW_STACK": ("0", "slow", "1"),
    # Those of the newer bytehound.
    "GATHER_MAPS": ("0", "?", "1"),
    "GRAB_BACKTRACES_ON_FREE": ("0", "sometimes", "1"),
    "TRACK_CHILD_PROCESSES": ("1", "2", "0"),
    "CHOWN_OUTPUT_TO": (None, "nobody", ""),
    "BACKTRACE_CACHE_SIZE_LEVEL_1": ("64", "0x40", "16384"),
    "BACKTRACE_CACHE_SIZE_LEVEL_2": ("64", "many", "327680"),
}


class EnvironmentCase(mp.TestCase):
    def record_known(self, argv=None, **options):
        seen = self.record(argv or KNOWN, options=options)
        self.assertEqual(0, seen.code, seen.stderr)
        return seen

    def size_counts(self, path, size=1234):
        return sum(1 for e in mp.allocations(path) if e["size"] == size)


def hide_proc():
    """An empty /proc for this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
            or libc.mount(b"none", b"/proc", b"tmpfs", 0, None)):
        raise OSError(ctypes.get_errno(), "mount")


class Output(EnvironmentCase):
    def test_default_name(self):
        before = int(time.time())
        seen = self.record(KNOWN, options={"OUTPUT": None}, cwd=self.new_folder())
        files = [p.name for p in (self.dir / "run001").glob("*.dat")]
        self.assertEqual(1, len(files), files)
        match = re.fullmatch(r"memory-profiling_known_blocks_(\d+)_(\d+)\.dat", files[0])
        self.assertIsNotNone(match, files[0])
        self.assertLessEqual(before, int(match[1]))
        self.assertLessEqual(int(match[1]), int(time.time()))
        facts = mp.info(self.dir / "run001" / files[0])
        self.assertEqual(facts["pid"], int(match[2]))
        self.assertEqual(0, seen.code)

    def test_placeholders(self):
        folder = self.new_folder()
        seen = self.record(KNOWN, folder=folder,
                           options={"OUTPUT": f"{folder}/a%%b_%p_%e_%t_%n_%x.dat"})
        pid = mp.info(seen.recording)["pid"]
        self.assertRegex(seen.recording.name, rf"^a%b_{pid}_known_blocks_\d{{9,}}_0_%x\.dat$")

    def test_a_program_has_the_name_under_which_it_was_run(self):
        link = self.dir / "the_name"
        link.symlink_to(mp.program("known_blocks"))
        seen = self.record([link], options={"OUTPUT": self.dir / "%e.dat"})
        facts = mp.info(self.dir / "the_name.dat")
        self.assertEqual(str(link), facts["executable"])
        text = subprocess.run([mp.CLI, "report", self.dir / "the_name.dat"], capture_output=True, text=True,
                              check=True, env=mp.clean_environment()).stdout
        self.assertIn("known_blocks.c:", text)  # names and lines are found
        del seen

    def test_empty_means_no_recording(self):
        expected = self.bare(KNOWN)
        folder = self.new_folder()
        seen = self.record(KNOWN, options={"OUTPUT": ""}, cwd=folder, folder=folder)
        self.assert_same_behaviour(seen, expected)
        self.assertEqual([], [p.name for p in folder.iterdir() if not p.name.startswith("log")])

    def test_overlong_name(self):
        folder = self.new_folder()
        seen = self.record(KNOWN, folder=folder, cwd=folder,
                           options={"OUTPUT": f"{folder}/{'x' * 2000}.dat"})
        self.assertEqual(0, seen.code)
        self.assertIn("MEMORY_PROFILER_OUTPUT", seen.log)
        self.assertTrue(seen.recording.name.startswith("memory-profiling_known_blocks_"))

    def test_only_its_owner_may_read_it(self):
        seen = self.record(KNOWN, setup=lambda: os.umask(0))
        mode = stat.S_IMODE(seen.recording.stat().st_mode)
        self.assertEqual(0o600, mode, oct(mode))

    def test_existing_file_is_kept_as_old(self):
        folder = self.new_folder()
        target = folder / "fixed.dat"
        target.write_bytes(b"what was here before")
        seen = self.record(KNOWN, folder=folder, options={"OUTPUT": target})
        self.assertEqual([target], seen.recordings)
        self.assertGreaterEqual(mp.info(target)["allocations"], 300)
        self.assertEqual(b"what was here before", (folder / "fixed.dat.old").read_bytes())
        first = mp.info(target)["pid"]
        self.record(KNOWN, folder=folder, options={"OUTPUT": target})
        self.assertEqual(b"what was here before", (folder / "fixed.dat.old").read_bytes())
        self.assertEqual(first, mp.info(folder / "fixed.dat.old.1")["pid"])
        self.assertNotEqual(first, mp.info(target)["pid"])

    def test_file_that_another_process_is_writing_is_left_alone(self):
        folder = self.new_folder()
        target = folder / "shared.dat"
        env = self.recorder_environment(folder, OUTPUT=target)
        first = subprocess.Popen([mp.program("waits_for_input")], env=env, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(first.stdout.close)
        self.assertEqual("ready\n", first.stdout.readline())
        second = self.record(KNOWN, folder=folder, options={"OUTPUT": target})
        self.assertEqual(0, second.code)
        first.stdin.write("4321\n")
        first.stdin.close()
        self.assertEqual(5, first.wait(mp.TIMEOUT_S))
        names = {mp.info(p)["executable"].rsplit("/", 1)[1]: p for p in folder.glob("shared.*")}
        self.assertEqual({"waits_for_input", "known_blocks"}, set(names))
        self.assertEqual(1, self.size_counts(names["waits_for_input"], 4321))
        self.assertEqual(300, self.size_counts(names["known_blocks"]))

    @mp.needs_root("gives a file away")
    def test_chown_output_to(self):
        seen = self.record_known(CHOWN_OUTPUT_TO=12345)
        self.assertEqual(12345, seen.recording.stat().st_uid)
        self.assertEqual(0o600, stat.S_IMODE(seen.recording.stat().st_mode))


class Log(EnvironmentCase):
    def test_silent_by_default(self):
        seen = self.record_known(LOG=None, LOGFILE=None)
        self.assertEqual((b"", b""), (seen.stdout, seen.stderr))

    def test_bad_value_is_named_by_default(self):
        seen = self.record_known(LOG=None, LOGFILE=None, ZERO_MEMORY="maybe")
        self.assertEqual(b"", seen.stdout)
        self.assertRegex(seen.stderr, rb"\Amemory-profiler: .*MEMORY_PROFILER_ZERO_MEMORY: invalid value "
                                      rb"'maybe', the default '0' is used\n\Z")
        seen = self.record_known(LOG="off", LOGFILE=None, ZERO_MEMORY="maybe")
        self.assertEqual((b"", b""), (seen.stdout, seen.stderr))

    def test_goes_to_stderr_without_a_file(self):
        seen = self.record_known(LOG="warn", LOGFILE=None, ZERO_MEMORY="maybe")
        self.assertEqual(b"", seen.stdout)
        self.assertIn(b"MEMORY_PROFILER_ZERO_MEMORY", seen.stderr)

    def test_lines_begin_with_process_and_thread_as_ps_shows_them(self):
        seen = self.record_known(LOG="info")
        pid = mp.info(seen.recording)["pid"]
        self.assertRegex(seen.log or seen.stderr.decode(), rf"(?m)^(memory-profiler: )?{pid} \d+ INF ")

    def test_levels_include_one_another(self):
        n_lines = []
        for level in ("error", "warn", "info", "debug", "trace"):
            with self.subTest(level=level):
                seen = self.record_known(LOG=level, ZERO_MEMORY="maybe")
                self.assertEqual(b"", seen.stderr)
                n_lines.append(len(seen.log.splitlines()))
                self.assertIn("MEMORY_PROFILER_ZERO_MEMORY", seen.log)
        self.assertEqual(sorted(n_lines), n_lines, "a finer level tells at least as much")
        self.assertEqual(1, n_lines[0])
        self.assertGreater(n_lines[2], n_lines[1], "info tells where the recording goes")

    def test_placeholders_of_the_file(self):
        folder = self.new_folder()
        seen = self.record(KNOWN, folder=folder, options={
            "LOG": "warn", "ZERO_MEMORY": "maybe", "LOGFILE": f"{folder}/log.%e.%p.%t.%n.%%"})
        pid = mp.info(seen.recording)["pid"]
        names = [p.name for p in folder.glob("log.*")]
        self.assertEqual(1, len(names), names)
        self.assertRegex(names[0], rf"^log\.known_blocks\.{pid}\.\d{{9,}}\.%n\.%$")

    def test_bad_level(self):
        seen = self.record_known(LOG="loud", LOGFILE=None)
        self.assertRegex(seen.stderr, rb"^memory-profiler: .*MEMORY_PROFILER_LOG: invalid value 'loud'")
        self.assertEqual(300, self.size_counts(seen.recording))

    def test_level_in_capital_letters(self):
        seen = self.record_known(LOG="INFO", LOGFILE=None)
        self.assertIn(b"INF recording to", seen.stderr)

    def one_line(self, seen, *wanted):
        self.assertEqual(1, len(seen.stderr.splitlines()), seen.stderr)
        for text in wanted:
            self.assertIn(text, seen.stderr.decode())

    def test_what_the_user_must_know_is_never_silent(self):
        unset = {"LOG": None, "LOGFILE": None}
        self.one_line(self.record(KNOWN, options={"OUTPUT": f"{self.dir}/none/z.dat", **unset}),
                      "nothing is recorded", f"{self.dir}/none/z.dat", "MEMORY_PROFILER_OUTPUT")
        seen = self.record(KNOWN, options={"OUTPUT": f"{self.dir}/none/z.dat", "LOG": "off", "LOGFILE": None})
        self.assertEqual(b"", seen.stderr)
        seen = self.record_known(OUTPT="x", **unset)
        self.one_line(seen, "MEMORY_PROFILER_OUTPT: there is no such setting",
                      "did you mean MEMORY_PROFILER_OUTPUT?")
        self.assertIn("did you mean", " ".join(mp.info(seen.recording)["notes"]))
        self.one_line(self.record_known(BASE_SERVER_PORT="99999", **unset),
                      "MEMORY_PROFILER_BASE_SERVER_PORT: invalid value '99999'")
        self.one_line(self.record_known(LOG="info", LOGFILE=f"{self.dir}/none/log"),
                      f"the log cannot be written: {self.dir}/none/log")

    def test_forked_children_keep_the_settings(self):
        """The program overwrites its environment, as those do that show a title."""
        seen = self.record([mp.program("overwrites_title")], options={
            "TRACK_CHILD_PROCESSES": 1, "WRITE_BINARIES_TO_OUTPUT": 0})
        self.assertEqual(0, seen.code)
        self.assertEqual(2, len(seen.recordings))
        for path in seen.recordings:
            self.assertEqual(0, mp.info(path)["embedded_files"])


    @mp.needs_root("mount")
    def test_settings_and_names_are_known_without_proc(self):
        program = mp.program("overwrites_title")
        seen = self.record([program], setup=hide_proc, options={
            "TRACK_CHILD_PROCESSES": 1, "WRITE_BINARIES_TO_OUTPUT": 0})
        self.assertEqual((0, b""), (seen.code, seen.stderr))
        self.assertEqual(2, len(seen.recordings))
        for path in seen.recordings:
            facts = mp.info(path)
            self.assert_nothing_lost(facts)
            self.assertTrue(facts["complete"], facts)
            self.assertEqual(0, facts["embedded_files"])
            self.assertEqual(str(program), facts["executable"])
            self.assertIn("there is no /proc", str(facts["notes"]))

    @mp.needs_root("mount")
    def test_binaries_are_found_without_proc(self):
        seen = self.record(KNOWN, setup=hide_proc)
        self.assertEqual(300, self.size_counts(seen.recording))
        self.assertGreater(mp.info(seen.recording)["embedded_files"], 1)


class Values(EnvironmentCase):
    def test_every_variable_is_accepted(self):
        for name, (value, _, _) in VARIABLES.items():
            if value is None:
                continue
            with self.subTest(variable=name, value=value):
                seen = self.record_known(**{name: value})
                self.assertNotIn("invalid value", seen.log)
                if name != "DISABLE_BY_DEFAULT":
                    kept = 150 if (name, value) == ("CULL_TEMPORARY_ALLOCATIONS", "1") else 300
                    self.assertEqual(kept, self.size_counts(seen.recording))
                    self.assert_nothing_lost(mp.info(seen.recording))

    def test_bad_values_are_named_with_the_default_that_is_used(self):
        for name, (_, bad, default) in VARIABLES.items():
            with self.subTest(variable=name, value=bad):
                seen = self.record_known(**{name: bad})
                lines = [s for s in seen.log.splitlines() if "MEMORY_PROFILER_" + name + ":" in s]
                self.assertEqual(1, len(lines), seen.log)
                self.assertIn(f"'{bad}'", lines[0])
                self.assertIn(f"the default '{default}' is used" if default else "counts as not set", lines[0])
                # The default is in force.
                self.assertEqual(300, self.size_counts(seen.recording))

    def test_all_of_the_documented_ones_are_known(self):
        text = (mp.SRC / "docs/ENVIRONMENT.md").read_text()
        documented = set(re.findall(r"MEMORY_PROFILER_([A-Z0-9_]+)", text))
        for name in [*VARIABLES, "OUTPUT", "LOG", "LOGFILE", "INCLUDE_FILE"]:
            self.assertIn(name, documented)

    def test_true_and_false_are_words_for_1_and_0(self):
        seen = self.record_known(ZERO_MEMORY="false", WRITE_BINARIES_TO_OUTPUT="true")
        self.assertNotIn("invalid value", seen.log)


class Meaning(EnvironmentCase):
    def test_zero_memory(self):
        argv = [mp.program("dirty_memory")]
        self.assertEqual(b"dirty\n", self.bare(argv).stdout)
        self.assertEqual(b"dirty\n", self.record(argv).stdout)
        seen = self.record(argv, options={"ZERO_MEMORY": 1})
        self.assertEqual(b"zeroed\n", seen.stdout)
        self.assertEqual(1000, self.size_counts(seen.recording, 200))

    def test_write_binaries_to_output(self):
        with_binaries = self.record_known(WRITE_BINARIES_TO_OUTPUT=1).recording
        without = self.record_known(WRITE_BINARIES_TO_OUTPUT=0).recording
        facts = [mp.info(p)["file_bytes"] for p in (with_binaries, without)]
        self.assertGreater(facts[0], facts[1] + 10000)

    def test_gather_mmap_calls(self):
        argv = [mp.program("maps_memory")]
        kinds = [e["e"] for e in mp.events(self.record(argv).recording)]
        self.assertFalse({"mmap", "munmap", "mremap", "brk"} & set(kinds))
        self.assertIn("mallopt", kinds)
        self.assertIn("malloc_trim", kinds)
        seen = self.record(argv, options={"GATHER_MMAP_CALLS": 1})
        kinds = [e["e"] for e in mp.events(seen.recording)]
        for kind, at_least in (("mmap", 1), ("munmap", 1), ("mremap", 1), ("brk", 2)):
            self.assertGreaterEqual(kinds.count(kind), at_least, kind)

    def test_grab_backtraces_on_free(self):
        on = self.record_known()
        off = self.record_known(GRAB_BACKTRACES_ON_FREE=0)
        for seen, expected in ((on, True), (off, False)):
            stacks = [bool(e["stack"]) for e in mp.events(seen.recording) if e["e"] == "free"]
            self.assertGreaterEqual(len(stacks), 150)
            self.assertEqual({expected}, set(stacks))

    def test_shadow_stack_changes_no_result(self):
        facts = [mp.info(self.record_known(USE_SHADOW_STACK=value).recording) for value in (0, 1)]
        for key in (*mp.COUNTS, "deepest_stack", "truncated_stacks"):
            self.assertEqual(facts[0][key], facts[1][key], key)

    def test_include_file(self):
        extra = self.dir / "extra_1.txt"
        extra.write_bytes(os.urandom(300000))
        plain = self.record_known(WRITE_BINARIES_TO_OUTPUT=0)
        seen = self.record_known(INCLUDE_FILE=f"{self.dir}/extra_*.txt", WRITE_BINARIES_TO_OUTPUT=0)
        grown = mp.info(seen.recording)["file_bytes"] - mp.info(plain.recording)["file_bytes"]
        self.assertGreater(grown, 290000)

    def test_log_file_is_rotated(self):
        folder = self.new_folder()
        self.record(KNOWN, folder=folder, options={
            "LOG": "trace", "LOGFILE": f"{folder}/log", "ZERO_MEMORY": "maybe",
            "LOGFILE_ROTATE_WHEN_BIGGER_THAN": 10})
        self.assertTrue((folder / "log.old").exists(), list(folder.iterdir()))


class Preload(EnvironmentCase):
    """LD_PRELOAD as children see it."""

    def child_sees(self, preload, **options):
        folder = self.new_folder()
        argv = [mp.program("starts_program"), "system", "/usr/bin/printenv", "LD_PRELOAD"]
        return self.record(argv, env={"LD_PRELOAD": preload}, folder=folder, options=options).stdout

    def test_not_inherited(self):
        seen = self.child_sees(str(self.library))
        self.assertIn(b"LD_PRELOAD here: (unset)\n", seen)
        self.assertIn(b"system: status 100\n", seen, "printenv finds nothing")

    def test_inherited_when_children_are_tracked(self):
        seen = self.child_sees(str(self.library), TRACK_CHILD_PROCESSES=1)
        self.assertIn(f"LD_PRELOAD here: {self.library}\n".encode(), seen)
        self.assertIn(f"\n{self.library}\nsystem: status 0\n".encode(), seen)

    def test_other_entries_stay(self):
        other = "/usr/lib/x86_64-linux-gnu/libm.so.6"
        if not pathlib.Path(other).exists():
            other = str(mp.PROGRAMS / "libconstructors.so")
        for preload, left in ((f"{other}:{self.library}", other), (f"{self.library} {other}", other),
                              (f"{other}:{self.library}:{LIBC}", f"{other}:{LIBC}")):
            with self.subTest(preload=preload):
                seen = self.child_sees(preload)
                self.assertIn(f"\n{left}\nsystem: status 0\n".encode(), seen)


LIBC = mp.program("libconstructors.so")


if __name__ == "__main__":
    mp.main()

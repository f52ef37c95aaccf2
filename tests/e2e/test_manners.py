#!/usr/bin/env python3
"""The target does not notice the recorder, and the recorder survives whatever is killed."""
import ctypes
import os
import random
import re
import signal
import shutil
import subprocess
import time

import mp
from test_death import DEATHS, read_counters

N_KILLS = int(os.environ.get("MP_KILLS", 40))
KEYS = ("allocations", "reallocations", "frees")
PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


class Notices(mp.TestCase):
    def test_tasks_children_and_waiting(self):
        for arguments, setup in (([], None), (["subreaper"], become_subreaper)):
            # The writers of recorded children come back to a subreaper when these are dead.
            for options in ({}, {"TRACK_CHILD_PROCESSES": 1}):
                with self.subTest(arguments=arguments, **options):
                    argv = [mp.program("notices"), *arguments]
                    expected = self.bare(argv, setup=setup)
                    self.assertIn(b"Threads:\t1", expected.stdout)
                    self.assertIn(b"No child processes", expected.stdout)
                    seen = self.record(argv, options=options, setup=setup)
                    if arguments:  # the writer is a child that only __WALL and /proc show
                        expected.stdout = re.sub(rb"\d children", b"", expected.stdout)
                        seen.stdout = re.sub(rb"\d children", b"", seen.stdout)
                    self.assert_same_behaviour(seen, expected)
                    for facts in map(mp.info, seen.recordings):
                        self.assert_nothing_lost(facts)
                        self.assertTrue(facts["complete"], facts)


    def test_a_subreaper_waits_for_its_own_children_only(self):
        seen = self.record([mp.program("counts_children")], options={"TRACK_CHILD_PROCESSES": 1})
        self.assertEqual((0, b"200 children, 0 strange\n"), seen.behaviour())


class Signals(mp.TestCase):
    SCRIPT = """
import ctypes, os, signal, sys
usr = (signal.SIGUSR1, signal.SIGUSR2)
print([signal.getsignal(s) for s in usr])
for s in usr:
    old = signal.signal(s, lambda *a: print("handler", a[0]))
    print("old", old)
    os.kill(os.getpid(), s)
    signal.signal(s, old)
    print(signal.getsignal(s))
"""
    LIBC = """
import ctypes
libc = ctypes.CDLL(None)
libc.signal.restype = libc.sigset.restype = ctypes.c_void_p
old = (ctypes.c_char * 152)()
for s in (10, 12):
    print(libc.sigaction(s, None, old), bytes(old)[:8])
print(libc.signal(10, None), libc.__sysv_signal(12, None), libc.signal(10, None), libc.signal(99, None))
"""

    def test_the_program_sees_its_own_dispositions(self):
        for script in (self.SCRIPT, self.LIBC):
            argv = ["/usr/bin/python3", "-c", script]
            self.assert_same_behaviour(self.record(argv), self.bare(argv))

    def test_what_is_ignored_stays_so_for_other_programs(self):
        ignored = ["sh", "-c", "trap '' USR1; exec sh -c 'kill -USR1 $$; exec sh -c \"kill -USR1 \\$\\$; echo on\"'"]
        expected = self.bare(ignored)
        self.assertEqual(b"on\n", expected.stdout)
        self.assert_same_behaviour(self.record(ignored, options={"TRACK_CHILD_PROCESSES": 1}), expected)


class Sizes(mp.TestCase):
    def test_a_finished_recording_is_as_large_as_its_content(self):
        for argv in ([mp.program("known_blocks")], [mp.program("death"), self.dir / "c", "2", "kill"],
                     [mp.program("death"), self.dir / "c", "2", "_exit"], ["/bin/true"]):
            with self.subTest(argv=argv):
                seen = self.record(argv, options={"WRITE_BINARIES_TO_OUTPUT": 0})
                facts = mp.info(seen.recording)
                self.assert_nothing_lost(facts)
                self.assertEqual(0, facts["damaged_bytes"])
                self.assertLess(seen.recording.stat().st_size, 65536 + facts["event_bytes"])

    def test_embedded_images_have_names_and_no_code(self):
        seen = self.record([mp.program("known_blocks")])
        facts = mp.info(seen.recording)
        self.assertGreaterEqual(facts["embedded_files"], 2)
        out = self.new_folder()
        subprocess.run([mp.CLI, "extract", "-o", out, seen.recording], check=True, timeout=60,
                       capture_output=True)
        copy = next(p for p in out.rglob("*known_blocks") if p.is_file())
        original = mp.PROGRAMS / "known_blocks"
        self.assertEqual(original.stat().st_size, copy.stat().st_size)
        symbols = [subprocess.run(["nm", p], capture_output=True, check=True).stdout
                   for p in (original, copy)]
        self.assertEqual(*symbols)
        self.assertFalse(original.read_bytes() == copy.read_bytes(), "the code is there")


class Kills(mp.TestCase):
    """The target, the writer, both or the whole group are killed at random moments."""

    def start(self, folder, threads, **options):
        child = subprocess.Popen(
            [mp.program("death"), folder / "counters", str(threads), "wait"],
            env=self.recorder_environment(folder, **options), cwd=self.dir, stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, preexec_fn=mp.no_core_dump, start_new_session=True)
        child.stdout.readline()
        found = list(folder.glob("*.dat"))
        if len(found) != 1:
            child.kill()
        (recording,) = found
        return child, recording, mp.wait_for(lambda: mp.find_writer(recording))

    def check(self, folder, recording, what):
        mp.wait_until_written(recording)
        counters = read_counters(folder / "counters")
        beside = folder / "memory-profiling-binaries"
        self.assertEqual([], [p.name for p in folder.iterdir()
                              if p.suffix not in (".dat",) and p.name != "counters" and p != beside
                              and not p.name.startswith("log.")], "files are left behind")
        facts = mp.info(recording)
        for path in beside.iterdir() if beside.exists() else ():
            self.assertRegex(path.name, r"^[0-9a-f]+\.[0-9]+$")
            self.assertEqual(0, mp.info(path)["damaged_bytes"])
        self.assertEqual([], [f for f in facts["files_beside"] if not f["found"]])
        self.assert_nothing_lost(facts)
        for key in KEYS:
            counted = sum(c[key] for c in counters.values())
            self.assertGreaterEqual(facts[key], counted, f"{key} are missing: {what} {facts}")
            self.assertLessEqual(facts[key], counted + len(counters) + 40, f"{key}: {what}")
        if what == "target":
            self.assertIn(facts["ended"], DEATHS)
        return facts["allocations"]

    def test_random_kills_lose_nothing(self):
        rng = random.Random(21)
        n_events = 0
        for i in range(N_KILLS):
            what = ("target", "writer", "both", "group", "writer twice")[i % 5]
            folder = self.new_folder()
            with self.subTest(run=i, what=what):
                child, recording, writer = self.start(folder, 1 + i % 4, TRACK_CHILD_PROCESSES=i % 3 % 2)
                time.sleep(rng.uniform(0, 0.08))  # this is the random moment
                if what == "group":
                    os.killpg(child.pid, signal.SIGKILL)
                elif what == "both":
                    os.kill(writer, signal.SIGKILL)
                    child.kill()
                elif what == "target":
                    child.kill()
                else:
                    os.kill(writer, signal.SIGKILL)
                    time.sleep(rng.uniform(0.02, 0.1))
                    again = mp.find_writer(recording)
                    if again and what == "writer twice":
                        os.kill(again, signal.SIGKILL)
                        time.sleep(rng.uniform(0.02, 0.1))
                    child.kill()
                child.wait(mp.TIMEOUT_S)
                child.stdout.close()
                n_events += self.check(folder, recording, what)
                self.assertIsNone(mp.find_writer(recording), "a writer is left behind")
            shutil.rmtree(folder, ignore_errors=True)
        self.assertGreater(n_events, N_KILLS * 500)

    def test_a_program_whose_writer_was_killed_ends_in_order(self):
        folder = self.new_folder()
        with subprocess.Popen([mp.program("waits_for_input")], env=self.recorder_environment(folder),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdin.write(b"100\n")
            child.stdin.flush()
            child.stdout.readline()
            child.stdout.readline()
            (recording,) = folder.glob("*.dat")
            os.kill(mp.wait_for(lambda: mp.find_writer(recording)), signal.SIGKILL)
            mp.wait_for(lambda: not mp.find_writer(recording))
            child.stdin.close()
            self.assertEqual(5, child.wait(mp.TIMEOUT_S))
        mp.wait_until_written(recording)
        facts = mp.info(recording)
        self.assertTrue(facts["complete"], facts)
        self.assertEqual("exit", facts["ended"])
        self.assertIn("was killed", " ".join(facts["notes"]))
        self.assert_nothing_lost(facts)


if __name__ == "__main__":
    mp.main()

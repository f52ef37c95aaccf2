#!/usr/bin/env python3
"""Recordings that are still being written: reading on gives what reading in full gives."""
import contextlib
import os
import re
import signal
import subprocess
import time

import mp
import mp_server

FORMATS = ("csv", "csv-groups", "replay", "massif", "heaptrack")


class Follow(mp.TestCase):
    def start(self, *args):
        folder = self.new_folder()
        self.child = subprocess.Popen(
            [mp.program("runs_on"), *args], env=self.recorder_environment(folder), cwd=self.dir,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(self.end, signal.SIGKILL)
        self.recording = mp.wait_for(lambda: next(folder.glob("*.dat"), None))
        self.store = self.recording.with_name(self.recording.name + ".store")

    def end(self, how=None):
        """In order, unless a signal is given."""
        if self.child.poll() is not None:
            return
        if how:
            self.child.send_signal(how)
        self.child.stdin.close()
        self.child.wait(60)

    def read(self, *args):
        """(what is written with the store that is kept, what without)"""
        done = [subprocess.run([mp.CLI, *args, *more, self.recording], capture_output=True,
                               check=False, timeout=120, env=mp.clean_environment())
                for more in ((), ("--no-cache",))]
        for d in done:
            self.assertEqual((0, b""), (d.returncode, d.stderr))
        return done[0].stdout, done[1].stdout

    def assert_same(self, *formats):
        for name in formats or FORMATS:
            kept, anew = self.read("export", "-f", name)
            self.assertTrue(kept == anew, f"{name} differs")
        kept, anew = self.read("report", "--json", "--limit", "all")
        self.assertEqual(kept, anew)

    def stop(self):
        """The program and its writer, which notes the time also while the program stands still: so all
        who read the recording now see the same. Returns the processes."""
        writer = mp.find_writer(self.recording)
        stopped = [self.child.pid, *([writer] if writer else [])]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
            mp.wait_for(lambda pid=pid: all(
                re.search(r"^State:\s+T", text, re.M) for text in mp.thread_states(pid)))
        return stopped

    @staticmethod
    def go_on(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def compare(self, *formats):
        """Was the store appended to?"""
        stopped = self.stop()
        was = self.store.stat() if self.store.exists() else None
        self.read("report")
        now = self.store.stat() if self.store.exists() else None
        self.assert_same(*formats)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        return bool(was and now and was.st_ino == now.st_ino and was.st_size < now.st_size)

    def test_threads_at_several_moments(self):
        self.start("3", "10000")
        n_appended = 0
        for k in range(8):
            time.sleep(0.4)
            # what is gone on from below was kept while the program ran
            subprocess.run([mp.CLI, "export", "-f", "csv", self.recording], check=True, timeout=120,
                           stdout=subprocess.DEVNULL, env=mp.clean_environment())
            n_appended += self.compare("csv", FORMATS[k % len(FORMATS)])
        self.assertGreater(n_appended, 2, "it was read anew nearly each time")
        self.end()
        self.assert_same()
        size = self.store.stat().st_size
        self.assert_same("csv")
        self.assertEqual(size, self.store.stat().st_size)

    def test_killed(self):
        self.start("2", "5000")
        for _ in range(3):
            time.sleep(1)
            self.compare()
        self.end(signal.SIGKILL)
        self.assert_same()

    def test_who_reads_is_killed(self):
        """Whatever moment the reader is killed at: what was kept is good, or made anew."""
        self.start("2", "2000")
        time.sleep(2.5)
        self.compare()
        for k in range(12):
            reader = subprocess.Popen([mp.CLI, "export", "-f", "csv", self.recording],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.01 * k)
            reader.send_signal(signal.SIGKILL if k % 2 else signal.SIGINT)
            reader.wait(60)
        self.compare()
        self.assertEqual([], [p.name for p in self.recording.parent.iterdir()
                              if p.suffix == ".tmp" or ".tmp." in p.name])

    def test_two_read_at_the_same_time(self):
        self.start("2", "5000")
        time.sleep(2.5)
        self.compare()
        for pid in self.stop():
            self.addCleanup(self.go_on, pid)
        both = [subprocess.Popen([mp.CLI, "export", "-f", "csv", self.recording],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        found = [p.communicate(timeout=120) for p in both]
        self.assertEqual([0, 0, 0], [p.returncode for p in both], found)
        anew = self.read("export", "-f", "csv")[1]
        for out, _ in found:
            self.assertTrue(out == anew)

    def test_nothing_is_kept_of_a_short_one(self):
        self.start("1", "1000")
        self.read("report")
        self.assertFalse(self.store.exists())

    def test_the_server_follows(self):
        self.start("2", "5000")
        time.sleep(2.5)
        with mp_server.Server(self.recording) as server:
            first = server.json("/data/last/allocations", count=1)["total_count"]
            tag = server.get("/api/v1/last/summary").headers["ETag"]
            more = mp.wait_for(lambda: self.grown(server, first), 60)
            self.assertGreater(more, first)
            self.assertNotEqual(tag, server.get("/api/v1/last/summary").headers["ETag"])
            self.end()
            mp.wait_for(lambda: server.json("/api/v1/last/summary")["ended"] == "exit", 90)
            total = server.json("/data/last/allocations", count=1)["total_count"]
            backtraces = server.json("/data/last/backtraces")
        with mp_server.Server("--no-cache", self.recording) as server:
            self.assertEqual(total, server.json("/data/last/allocations", count=1)["total_count"])
            self.assertEqual(backtraces, server.json("/data/last/backtraces"))

    @staticmethod
    def grown(server, first):
        n = server.json("/data/last/allocations", count=1)["total_count"]
        return n if n > first else None


if __name__ == "__main__":
    mp.main()

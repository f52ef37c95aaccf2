#!/usr/bin/env python3
"""`report` on recordings with a cache beside them, and on recordings that were killed, grow, or are none."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import mp
from mp_report import report, run_report


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

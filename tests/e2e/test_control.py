#!/usr/bin/env python3
"""Switching recording off and on: signals, the C API, what a pause records."""
import signal
import subprocess

import mp


def by_number(paths):
    """Recording goes on in a new piece each time it is switched on."""
    return sorted(paths, key=lambda p: mp.info(p)["piece"])


def sizes_of(path, low, high):
    return [e["size"] for e in mp.allocations(path) if low <= e["size"] < high]


class SwitchCase(mp.TestCase):
    def assert_consistent(self, path):
        """unknown_frees may be there: blocks that were made while recording was off are freed."""
        facts = mp.info(path)
        self.assertEqual(0, facts["lost_events"])
        self.assertEqual(0, facts["duplicate_allocations"])


class Signals(SwitchCase):
    """toggles_by_signal raises the signal before 10002, 10003 and 10004."""

    def record_how(self, how, **options):
        expected = self.bare([mp.program("toggles_by_signal"), how])
        folder = self.new_folder()
        seen = self.record([mp.program("toggles_by_signal"), how], folder=folder,
                           options={"OUTPUT": f"{folder}/%p.dat", **options})
        if expected.code >= 0:
            self.assert_same_behaviour(seen, expected)
        else:  # bare, the signal ends the program: that is its default action
            self.assertEqual((0, b"own handler ran 0 times\n"), seen.behaviour(), seen.log)
        for path in seen.recordings:
            self.assert_consistent(path)
        return by_number(seen.recordings)

    def test_sigusr1_pauses_and_continues(self):
        path = self.record_how("plain")
        # On for 10001, off for 10002 and 10012, on for 10003 and 10013, off for 10004.
        self.assertEqual([10001, 10003], sizes_of(path, 10000, 10010))

    def test_sigusr2_does_the_same(self):
        path = self.record_how("sigusr2")
        self.assertEqual([10001, 10003], sizes_of(path, 10000, 10010))

    def test_frees_of_recorded_blocks_while_paused(self):
        # Off, on for 10002 and 10012, off, on for 10004. 10002 is freed while paused.
        path = self.record_how("plain", DISABLE_BY_DEFAULT=1)
        self.assertEqual([10002, 10004], sizes_of(path, 10000, 10010))
        live = [s for s in mp.live_sizes(path) if 10000 <= s < 11000]
        self.assertNotIn(10002, live, "it was freed, although recording was paused")
        self.assertIn(10004, live)
        self.assertNotIn(10012, live, "realloc took it away, although recording was paused")

    def test_other_threads_follow(self):
        path = self.record_how("thread")
        self.assertEqual([10001, 10003], sizes_of(path, 10000, 10010))
        self.assertEqual([20001, 20003], sizes_of(path, 20000, 20010))

    def test_handler_that_was_there_first_is_called_as_well(self):
        path = self.record_how("own_first")
        self.assertEqual([10001, 10003], sizes_of(path, 10000, 10010))

    def test_handler_that_the_program_installs_later_wins(self):
        path = self.record_how("own_later")
        self.assertEqual([10001, 10002, 10003, 10004], sizes_of(path, 10000, 10010))

    def test_signal_that_was_ignored(self):
        path = self.record_how("ignored_first")
        self.assertEqual([10001, 10003], sizes_of(path, 10000, 10010))

    def test_signals_can_be_left_alone(self):
        for variable, how, number in (("REGISTER_SIGUSR1", "plain", signal.SIGUSR1),
                                      ("REGISTER_SIGUSR2", "sigusr2", signal.SIGUSR2)):
            with self.subTest(variable=variable):
                seen = self.record([mp.program("toggles_by_signal"), how], options={variable: 0})
                self.assertEqual(-number, seen.code, "its default action ends the program")
                self.assertEqual([10001], sizes_of(seen.recording, 10000, 10010))

    def test_a_signal_from_outside_starts_recording(self):
        folder = self.new_folder()
        program = subprocess.Popen(
            [mp.program("waits_for_input")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=self.recorder_environment(folder, DISABLE_BY_DEFAULT=1), text=True, cwd=self.dir)
        self.addCleanup(program.stdout.close)
        self.assertEqual("ready\n", program.stdout.readline())

        def ask(size):
            program.stdin.write(f"{size}\n")
            program.stdin.flush()
            self.assertEqual("made\n", program.stdout.readline())

        ask(15001)
        program.send_signal(signal.SIGUSR1)
        ask(15002)
        program.send_signal(signal.SIGUSR2)
        ask(15003)
        program.stdin.close()
        self.assertEqual(5, program.wait(mp.TIMEOUT_S))
        found = self.collect(mp.Result(5, b"", b""), folder)
        self.assertEqual([15002], sizes_of(found.recording, 15000, 15010))


class Storm(SwitchCase):
    def test_switching_all_the_time(self):
        for output, n_toggles in (("%p.dat", 200), ("%p_%n.dat", 60)):
            with self.subTest(output=output):
                folder = self.new_folder()
                seen = self.record([mp.program("toggle_storm"), n_toggles], folder=folder,
                                   options={"OUTPUT": f"{folder}/{output}",
                                            "WRITE_BINARIES_TO_OUTPUT": 0})
                self.assertEqual((0, b"done\n", b""), (*seen.behaviour(), seen.stderr))
                self.assertEqual(n_toggles // 2 + 1, len(seen.recordings))
                facts = [mp.info(p) for p in seen.recordings]
                n = sum(f["allocations"] for f in facts)
                self.assertGreater(n, 1000)
                self.assertEqual(0, sum(f["lost_events"] for f in facts))
                # A block made in a pause may look like one whose events came in a wrong order.
                self.assertLessEqual(sum(f["duplicate_allocations"] for f in facts), 5 + n / 1e5)


class DisabledByDefault(mp.TestCase):
    def test_nothing_is_recorded(self):
        expected = self.bare([mp.program("workload"), "1000"])
        seen = self.record([mp.program("workload"), "1000"], options={"DISABLE_BY_DEFAULT": 1})
        self.assert_same_behaviour(seen, expected)
        for path in seen.recordings:
            self.assertEqual(0, mp.info(path)["allocations"])


class CApi(SwitchCase):
    def use(self, how, **options):
        argv = [mp.program("uses_c_api"), how]
        expected = self.bare(argv)
        self.assertEqual((0, b"done\n"), expected.behaviour(), "it runs without the library")
        folder = self.new_folder()
        seen = self.record(argv, folder=folder,
                           options={"OUTPUT": f"{folder}/%p.dat", **options})
        self.assert_same_behaviour(seen, expected)
        for path in seen.recordings:
            self.assert_consistent(path)
        return seen

    def test_start_and_stop(self):
        path = by_number(self.use("start_stop", DISABLE_BY_DEFAULT=1).recordings)
        self.assertEqual([30002, 30004], sizes_of(path, 30000, 30010))
        self.assertEqual([30004], [s for s in mp.live_sizes(path) if 30000 < s < 30010])

    def test_start_when_it_runs_already_changes_nothing(self):
        path = by_number(self.use("start_stop").recordings)
        self.assertEqual([30001, 30002, 30004], sizes_of(path, 30000, 30010))

    def test_markers(self):
        path = self.use("markers").recording
        reported = [e.get("value") or e.get("size") for e in mp.events(path)
                if e["e"] == "marker" or 40000 < e.get("size", 0) < 40010]
        self.assertEqual([1000003, 40001, 2000006, 40002, 3000009, 40003, 4294967295], reported)

    def test_override_of_a_time_stamp(self):
        path = self.use("timestamp").recording
        reported = [e.get("us") or e.get("size") for e in mp.events(path)
                if e["e"] == "timestamp_override" or 45000 < e.get("size", 0) < 45010]
        self.assertEqual([45001, 1234567890123, 45002, 45003], reported)

    def test_counter_in_the_name_gives_a_new_file_each_time(self):
        folder = self.new_folder()
        seen = self.use("toggle_files", OUTPUT=f"{folder}/part_%n.dat")
        parts = sorted(folder.glob("*.dat"))
        self.assertEqual(["part_0.dat", "part_1.dat", "part_2.dat"], [p.name for p in parts])
        self.assertEqual([[46001], [46003], [46004]],
                         [sizes_of(p, 46000, 46010) for p in parts])
        self.assertEqual([], seen.recordings)

    def test_a_thread_that_was_idle_goes_on_in_the_new_file(self):
        folder = self.new_folder()
        self.use("idle_thread", OUTPUT=f"{folder}/part_%n.dat")
        parts = sorted(folder.glob("*.dat"))
        self.assertEqual([[48101], [48001, 48102], [48002, 48103], [48003]],
                         [sorted(sizes_of(p, 48000, 48200)) for p in parts])
        facts = [mp.info(p) for p in parts]
        self.assertEqual(["switched to a new file"] * 3 + ["exit"], [f["ended"] for f in facts])
        self.assertEqual([True] * 4, [f["complete"] for f in facts])

    def test_pieces_without_a_counter_in_the_name(self):
        paths = by_number(self.use("toggle_files").recordings)
        self.assertEqual(3, len(paths))
        self.assertEqual([46001, 46003, 46004], sizes_of(paths, 46000, 46010))
        self.assertNotIn(46001, mp.live_sizes(paths))

    def test_sync(self):
        folder = self.new_folder()
        program = subprocess.Popen(
            [mp.program("uses_c_api"), "sync"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=self.recorder_environment(folder), cwd=self.dir)
        self.addCleanup(program.stdout.close)
        self.assertEqual(b"synced\n", program.stdout.readline())
        found = self.collect(mp.Result(0, b"", b""), folder)
        facts = mp.info(found.recording)
        self.assertFalse(facts["complete"], "it is still being written")
        self.assertEqual([47001], sizes_of(found.recording, 47000, 47010))
        program.stdin.close()
        self.assertEqual(0, program.wait(mp.TIMEOUT_S))
        self.assertTrue(mp.info(found.recording)["complete"])


if __name__ == "__main__":
    mp.main()

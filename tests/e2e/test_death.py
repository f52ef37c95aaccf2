#!/usr/bin/env python3
"""Nothing is lost on death: whatever ends a program, every call that had returned is recorded."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import mp
from mp_cgroup import Cgroup

N_KILLS = int(os.environ.get("MP_KILLS", 200))
KEYS = ("allocations", "reallocations", "frees")
# Calls that the main thread makes before and beside the counted ones (thread start-up, loader).
MAIN_CALLS = 40
# What a recording says that the writer completed. Kernels before 6.15 do not always tell.
DEATHS = ("killed by SIGKILL", "killed, or ended without the C library")


def read_counters(path):
    """{tid: {key: count}} that tests/programs/death.c left, of the threads that had begun."""
    found = {}
    raw = path.read_bytes() if path.exists() else b""
    for tid, *counts, _, _, _, _ in struct.iter_unpack("<8Q", raw):
        if tid:
            found[tid] = dict(zip(KEYS, counts))
    return found


class Death(mp.TestCase):
    def start(self, folder, threads, how, delay_us=0, **options):
        return subprocess.Popen(
            [mp.program("death"), folder / "counters", str(threads), how, str(delay_us)],
            env=self.recorder_environment(folder, **options), cwd=self.dir,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=mp.no_core_dump)

    def wait(self, child):
        try:
            return child.wait(mp.TIMEOUT_S)
        except subprocess.TimeoutExpired:
            story = mp.where_it_hangs(child.pid)
            child.kill()
            child.wait()
            raise mp.Hang(f"it did not end\n{story}") from None
        finally:
            child.stdout.close()

    def copy_elsewhere(self, recording):
        """The copy is judged, and the original is gone: a .dat stands for itself."""
        away = self.dir / "away"
        away.mkdir(exist_ok=True)
        copy = away / recording.name
        shutil.copyfile(recording, copy)
        recording.unlink()
        return copy

    def check(self, folder, per_thread=False):
        """Judges what a dead program left. Returns its counted calls."""
        counters = read_counters(folder / "counters")
        n_counted = sum(sum(c.values()) for c in counters.values())
        recordings = sorted(folder.glob("*.dat"))
        mp.wait_until_written(*recordings)
        if not recordings:
            self.assertEqual(0, n_counted, "calls had returned, and there is no recording")
            return 0
        self.assertEqual(1, len(recordings), recordings)
        if recordings[0].stat().st_size == 0:  # killed in its very first call
            self.assertFalse((folder / "counters").exists(), "main had begun, and nothing is there")
            return 0
        copy = self.copy_elsewhere(recordings[0])
        facts = mp.info(copy)
        story = f"counted {counters}, recorded { {k: facts[k] for k in KEYS} }"
        self.assert_nothing_lost(facts)
        for key in KEYS:
            counted = sum(c[key] for c in counters.values())
            self.assertGreaterEqual(facts[key], counted, f"{key} are missing: {story}")
            self.assertLessEqual(facts[key], counted + len(counters) + MAIN_CALLS,
                                 f"{key} that never were: {story}")
        if per_thread:
            self.check_threads(copy, counters)
        copy.unlink()
        return n_counted

    def check_threads(self, copy, counters):
        recorded = mp.calls_by_thread(copy)
        for tid, counted in counters.items():
            calls = recorded.get(tid, dict.fromkeys(KEYS, 0))  # it may not have come to a call
            more = {key: calls[key] - counted[key] for key in KEYS}
            self.assertTrue(all(0 <= n <= 1 for n in more.values()), f"thread {tid}: {more}")
            self.assertLessEqual(sum(more.values()), 1, f"thread {tid}: {more}")

    def test_killed_at_random_moments(self):
        rng = random.Random(20240229)
        n_with_calls = n_calls = 0
        for i in range(N_KILLS):
            folder = self.new_folder()
            threads = 1 + i % 4
            delay_s = rng.uniform(0.0005, 0.06)
            with self.subTest(run=i, threads=threads, delay_s=delay_s):
                if i % 3 == 0:  # by itself
                    child = self.start(folder, threads, "kill", int(delay_s * 1e6))
                    code = self.wait(child)
                else:  # from outside, counted from its start or from its first word
                    child = self.start(folder, threads, "wait")
                    if i % 3 == 1:
                        child.stdout.readline()
                    time.sleep(delay_s)  # this is the random moment
                    child.send_signal(signal.SIGKILL)
                    code = self.wait(child)
                self.assertEqual(-signal.SIGKILL, code)
                n = self.check(folder, per_thread=i % 10 == 0)
                n_with_calls += n > 0
                n_calls += n
            shutil.rmtree(folder, ignore_errors=True)
        # Killed runs that had nothing to lose would show nothing.
        self.assertGreater(n_with_calls, N_KILLS * 0.7)
        self.assertGreater(n_calls, N_KILLS * 1000)

    def test_killed_after_many_blocks_were_written(self):
        folder = self.new_folder()
        child = self.start(folder, 4, "kill", 1_500_000)
        self.assertEqual(-signal.SIGKILL, self.wait(child))
        self.assertGreater(self.check(folder), 200_000)

    def check_end(self, how, expected_code, **options):
        for threads in (1, 3):
            with self.subTest(how=how, threads=threads):
                folder = self.new_folder()
                child = self.start(folder, threads, how, 10_000, **options)
                self.assertEqual(expected_code, self.wait(child))
                self.assertGreater(self.check(folder, per_thread=True), 100)

    def test_killed_for_want_of_memory(self):
        """The kernel kills the writer as well, which shares the program's memory."""
        group = Cgroup.create(100 << 20)
        if not group:
            self.skipTest("no memory cgroup can be made here")
        self.addCleanup(group.remove)
        path = self.dir / "out.dat"
        child = subprocess.run(
            ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', group.procs,
             mp.CLI, "run", "-o", path, "python3", "-c", "x = [b'x' * 50000 for i in range(10000)]"],
            env=mp.clean_environment(), cwd=self.dir, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(-signal.SIGKILL, child.returncode, child.stderr)
        self.assertGreater(mp.info(path)["live_bytes"], 80 << 20)
        text = subprocess.run([mp.CLI, "report", path], capture_output=True, text=True, check=True).stdout
        text = " ".join(text.split())
        self.assertRegex(text, r"Killed, most likely out of memory: [\d.]+ MiB of the 100 MiB that "
                               r"its control group may use")
        # what ate the memory is the first thing that stands out
        self.assertRegex(text, r"What stands out - Held at the end: .* held [\d.]+ MiB at the end: [\d.]+ % of "
                               r"what was alive when the program was killed")

    def test_abort(self):
        self.check_end("abort", -signal.SIGABRT)

    def test_segmentation_fault_in_a_thread(self):
        self.check_end("segv", -signal.SIGSEGV)

    def test_illegal_instruction(self):
        self.check_end("trap", -signal.SIGILL)

    def test_default_action_of_sigterm(self):
        self.check_end("term", -signal.SIGTERM)

    def test_underscore_exit(self):
        self.check_end("_exit", 3)

    def test_capital_exit(self):
        self.check_end("_Exit", 4)

    def test_quick_exit(self):
        self.check_end("quick_exit", 5)

    def test_exit_while_threads_allocate(self):
        self.check_end("exit", 6)

    def test_return_from_main_while_threads_allocate(self):
        self.check_end("return", 7)

    def test_exec_replaces_the_program(self):
        self.check_end("exec", 0)

    def test_exec_in_a_thread(self):
        self.check_end("thread_exec", 0)

    def test_exec_that_fails_changes_nothing(self):
        self.check_end("exec_failing", 8)

    def check_ended(self, how, code, ended):
        """Ends in order: the program waited until the writer had written everything."""
        folder = self.new_folder()
        self.assertEqual(code, self.wait(self.start(folder, 2, how, 1000)))
        recording = next(folder.glob("*.dat"))
        facts = mp.info(recording)
        self.assertTrue(facts["complete"])
        self.assertEqual(ended, facts["ended"])
        self.assertEqual(1, chunk_counts(recording).get("END"))

    def test_a_program_that_executes_another_ends_in_order(self):
        self.check_ended("exec", 0, "exec")

    def test_quick_exit_ends_in_order(self):
        self.check_ended("quick_exit", 5, "quick_exit")

    def test_a_failed_exec_is_no_end(self):
        folder = self.new_folder()
        program = folder / "counters.program"
        program.write_bytes(b"\0" * 100)
        program.chmod(0o755)
        self.assertEqual(-signal.SIGKILL, self.wait(self.start(folder, 2, "exec_garbage", 10_000)))
        recording = next(folder.glob("*.dat"))
        mp.wait_until_written(recording)
        facts = mp.info(recording)
        self.assertIn(facts["ended"], DEATHS)
        self.assertIn(chunk_counts(recording)["END"], (1, 2, 3), "of the two attempts, if they were seen")
        self.assertGreater(self.check(folder, per_thread=True), 1000)


def chunk_counts(recording):
    done = subprocess.run([mp.CLI, "analyze-size", "--json", "-q", recording], check=True,
                          capture_output=True, timeout=mp.TIMEOUT_S)
    return {name: c["count"] for name, c in json.loads(done.stdout)["chunks"].items()}


if __name__ == "__main__":
    mp.main()

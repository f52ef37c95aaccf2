#!/usr/bin/env python3
"""Pairing is exact: 16 threads free each other's blocks, and the recording has the same pairs."""
import os
import subprocess

import mp

N_BLOCKS = int(os.environ.get("MP_PAIRS_BLOCKS", 20_000_000))
N_THREADS = 16


class Pairing(mp.TestCase):
    def record_stress(self, n_blocks, *how, env=None):
        """Returns (recording, folder of what the threads noted)."""
        logs = self.dir / "logs"
        logs.mkdir()
        seen = self.record([mp.program("stress_pairs"), logs, n_blocks, *how], timeout=240,
                           env=env, options={"WRITE_BINARIES_TO_OUTPUT": 0})
        self.assertEqual(0, seen.code, seen.stderr)
        self.assertEqual(f"{n_blocks} blocks, {n_blocks} freed\n".encode(), seen.stdout)
        return seen.recording, logs

    def check_pairs(self, recording, logs):
        done = subprocess.run([mp.BUILD / "tests/truth/pairs_check", recording, logs],
                              capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        print(done.stdout.strip())

    def test_every_block_of_a_stress_run(self):
        recording, logs = self.record_stress(N_BLOCKS, N_THREADS)
        # The test is about blocks that change hands: most of them must have.
        own = n = 0
        for slot in range(N_THREADS):
            ids = memoryview((logs / f"free_{slot}.bin").read_bytes()).cast("Q")
            sample = ids[::97]
            n += len(sample)
            own += sum(1 for i in sample if i >> 40 == slot)
        self.assertLess(own, n * 0.9, "threads hardly ever freed a block of another")

        facts = mp.info(recording)
        self.assert_nothing_lost(facts)
        self.assertGreaterEqual(facts["allocations"], N_BLOCKS)
        self.assertLess(facts["allocations"], N_BLOCKS + 1000)
        self.assertEqual(0, facts["reallocations"])
        self.assertGreaterEqual(facts["threads"], N_THREADS)

        self.check_pairs(recording, logs)

    def test_addresses_that_come_back(self):
        # A block of this thread's address that another thread freed, got again and handed back is not
        # this thread's own: were its release taken for that, nine pairs in ten would be wrong.
        recording, logs = self.record_stress(N_BLOCKS // 10, 2, "back")
        facts = mp.info(recording)
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["recorder"]["n_estimated_times"], 0)
        self.check_pairs(recording, logs)

    def test_addresses_that_the_allocator_gives_to_others(self):
        # An address that this thread released, that another one got and released and that is this
        # thread's again, was in other hands: were its allocation taken for one of this thread's own, it
        # could be earlier than the other thread's release.
        recording, logs = self.record_stress(
            N_BLOCKS // 10, 4, "own",
            env={"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"})
        facts = mp.info(recording)
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["recorder"]["n_estimated_times"], 0)
        # Unfenced readings of the counter may pass each other on a busy machine; a wrong owner would do
        # so for every address that changes hands.
        self.assertLess(facts["repaired_inversions"], facts["allocations"] // 10000)
        self.check_pairs(recording, logs)

    def test_blocks_changed_by_realloc_and_handed_over_at_once(self):
        # The time stamp of the next owner's free must not be earlier than that of the realloc.
        n_repaired = 0
        for _ in range(5):
            seen = self.record([mp.program("toggle_storm"), "0", "1000"],
                               options={"WRITE_BINARIES_TO_OUTPUT": 0})
            self.assertEqual((0, b"done\n"), seen.behaviour())
            facts = mp.info(seen.recording)
            self.assert_nothing_lost(facts)
            self.assertGreater(facts["reallocations"], 10000)
            self.assertEqual(facts["allocations"] - facts["frees"], facts["live_count"])
            self.assertLess(facts["live_count"], 20)
            n_repaired += facts["repaired_inversions"]
            seen.recording.unlink()
        # Without the fence before the stamp of a release there are 140 to 700, and more than one at
        # a time cannot always be distinguished.
        self.assertLess(n_repaired, 20, "releases are stamped before their blocks were handed over")


if __name__ == "__main__":
    mp.main()

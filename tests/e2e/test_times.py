#!/usr/bin/env python3
"""Times of events are as exact as the recording says, and their order is exact in any case."""
import mp

N_PAUSES = 10
# A clock that is being adjusted, and the conversion of ticks.
CLOCKS_DIFFER_NS = 20_000


class Times(mp.TestCase):
    def record_bursts(self, n_threads, **options):
        # While the writer embeds binaries, the clock has no heartbeat.
        seen = self.record([mp.program("bursts"), N_PAUSES, n_threads],
                           options={"WRITE_BINARIES_TO_OUTPUT": 0, **options})
        self.assertEqual(0, seen.code, seen.stderr)
        truth = [list(map(int, line.split())) for line in seen.stdout.splitlines()]
        self.assertEqual(N_PAUSES * n_threads, len(truth))
        return seen.recording, truth

    def assert_lives(self, events, truth, late_ns):
        """A time may be too early by late_ns, and never too late."""
        live, lived = {}, {}
        for e in events:
            if e["e"] == "alloc":
                live[e["addr"]] = e
            elif e["addr"] in live:
                alloc = live.pop(e["addr"])
                lived[alloc["size"]] = e["t"] - alloc["t"]
        slack = late_ns + CLOCKS_DIFFER_NS
        n_near = 0
        for size, before, after, before_free, after_free in truth:
            self.assertLess(before_free - after - slack, lived[size], f"size {size}")
            self.assertLess(lived[size], after_free - before + slack, f"size {size}")
            n_near += lived[size] > (before_free - after) / 2
        # However busy the machine is: the writer does not sleep through most of the pauses.
        self.assertGreater(n_near, len(truth) // 2)

    def assert_sums(self, events, facts):
        """The peak is that of the order in which the program made the calls."""
        live, total, peak = {}, 0, 0
        for e in events:
            if e["e"] == "alloc":
                live[e["addr"]] = e["size"]
                total += e["size"]
                peak = max(peak, total)
            else:
                total -= live.pop(e["addr"], 0)
        self.assertEqual(peak, facts["peak_bytes"])
        self.assertEqual(total, facts["live_bytes"])

    def test_a_pause_is_seen_in_a_program_with_one_thread(self):
        recording, truth = self.record_bursts(1)
        facts, events = mp.info(recording), mp.events(recording, "alloc", "free")
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["recorder"]["n_estimated_times"], 0)
        self.assertGreater(facts["recorder"]["longest_heartbeat_ns"], 0)
        self.assert_lives(events, truth, facts["recorder"]["longest_heartbeat_ns"])
        self.assert_sums(events, facts)
        times = [e["t"] for e in events]
        n_equal = len(times) - len(set(times))  # a read of the clock may give the time estimated before it
        self.assertLess(n_equal, len(times) // 1000, "events of one thread have the same time")
        self.assertEqual(times, sorted(times))

    def test_a_pause_is_seen_in_a_program_with_threads(self):
        recording, truth = self.record_bursts(3)
        facts, events = mp.info(recording), mp.events(recording, "alloc", "free")
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["recorder"]["n_estimated_times"], 0)
        self.assert_lives(events, truth, facts["recorder"]["longest_heartbeat_ns"])

    def test_precise_timestamps_are_read_for_each_event(self):
        for n_threads in (1, 3):
            recording, truth = self.record_bursts(n_threads, PRECISE_TIMESTAMPS=1)
            facts, events = mp.info(recording), mp.events(recording, "alloc", "free")
            self.assert_nothing_lost(facts)
            self.assertEqual(0, facts["recorder"]["n_estimated_times"])
            self.assertEqual(0, facts["recorder"]["longest_heartbeat_ns"])
            self.assert_lives(events, truth, 0)

    def test_events_that_are_few_are_read(self):
        seen = self.record([mp.program("known_blocks"), "300"])
        facts = mp.info(seen.recording)
        self.assertEqual(0, facts["recorder"]["n_estimated_times"])


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""How much of single mappings is resident: what the recorder reads, what the server answers."""
import mp
import mp_server

MIB = 1 << 20
SLACK = MIB // 4  # pages that nobody wrote stay out; the kernel counts some others late


class Resident(mp.TestCase):
    def mapping(self, argv, options=None, address=None):
        """The mapping of 96 MiB, the answer of /api/v1, and the same mapping as /data has it."""
        seen = self.record([mp.program("resident_memory"), *argv], options=options)
        address = seen.stdout.decode().strip()
        with mp_server.Server(seen.recording) as server:
            old = server.json("/data/last/maps", sort_by="peak_rss", order="dsc")["maps"]  # waits
            answer = server.json("/api/v1/last/maps", sort_by="peak_rss", order="dsc")
        mine = next(m for m in answer["maps"] if m["address"] == address)
        return mine, answer, next(m for m in old if m["address"] == int(address, 16)), old

    def check(self, argv):
        mine, answer, old, all_old = self.mapping(argv)
        self.assertEqual(96 * MIB, mine["size"])
        self.assertAlmostEqual(8 * MIB, mine["rss_bytes"], delta=SLACK)
        self.assertAlmostEqual(48 * MIB, mine["peak_rss_bytes"], delta=SLACK)
        self.assertEqual(mine["peak_rss_bytes"], old["peak_rss"])
        self.assertGreater(answer["resident_ns"], 0)
        # sorted by it: what is not known comes last
        peaks = [m["peak_rss_bytes"] for m in answer["maps"]]
        known = [p for p in peaks if p is not None]
        self.assertEqual(sorted(known, reverse=True), peaks[:len(known)])
        self.assertEqual([m["peak_rss"] for m in all_old],
                         sorted((m["peak_rss"] for m in all_old), key=lambda p: p or 0,
                                reverse=True))
        for m in answer["maps"]:
            if m["rss_bytes"] is not None:
                self.assertLessEqual(m["rss_bytes"], m["peak_rss_bytes"])
                self.assertLessEqual(m["peak_rss_bytes"], m["size"])

    def test_at_the_end_and_at_the_peak(self):
        self.check([])

    def test_of_a_killed_program(self):
        self.check(["kill"])

    def test_without_maps(self):
        seen = self.record([mp.program("resident_memory")], options={"GATHER_MAPS": 0})
        with mp_server.Server(seen.recording) as server:
            self.assertEqual([], server.json("/data/last/maps")["maps"])
            answer = server.json("/api/v1/last/maps")
        self.assertEqual([], answer["maps"])
        self.assertIsNone(answer["resident_ns"])

    def test_a_part_of_a_line_is_not_guessed(self):
        """Calls make mappings that the kernel joins in one line."""
        mine, answer, *_ = self.mapping([], options={"GATHER_MMAP_CALLS": 1})
        self.assertAlmostEqual(8 * MIB, mine["rss_bytes"], delta=SLACK)
        self.assertEqual("memory map and calls", answer["source"])


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Times for which a recording has no data: switched off, damaged. The server names them."""
import collections

import mp
import mp_server


class Gaps(mp.TestCase):
    def summary(self, *paths):
        with mp_server.Server(*paths) as server:
            server.json("/data/last/maps")  # waits until it is loaded
            return server.json("/api/v1/last/summary")

    def test_switched_off(self):
        seen = self.record([mp.program("uses_c_api"), "pause"])
        self.assertEqual(0, seen.code, seen.stderr)
        s = self.summary(*sorted(seen.recordings))
        before, after = (m["at_ns"] for m in s["markers"])
        (gap,) = s["gaps"]
        self.assertEqual("off", gap["kind"])
        self.assertLessEqual(before, gap["from_ns"])
        self.assertLessEqual(gap["to_ns"], after)
        self.assertAlmostEqual(0.12, (gap["to_ns"] - gap["from_ns"]) / 1e9, delta=0.06)

    def test_nothing_is_missing(self):
        seen = self.record([mp.program("demo_node"), "1"])
        self.assertEqual([], self.summary(seen.recording)["gaps"])

    def damage(self, path, offsets):
        data = bytearray(path.read_bytes())
        for offset in offsets:
            for i in range(64):
                data[offset + i] ^= 0x55
        damaged = path.with_name("damaged.dat")
        damaged.write_bytes(data)
        return damaged

    def chunks(self, path):
        """Offset of the payload of each chunk of events."""
        data, at, found = path.read_bytes(), 4096, []
        while at + 32 <= len(data) and data[at:at + 4] == b"MPCK":
            stored = int.from_bytes(data[at + 8:at + 12], "little")
            if int.from_bytes(data[at + 4:at + 6], "little") == 3 and stored > 8192:
                found.append(at + 32)
            at += (32 + stored + 7) // 8 * 8
        return found

    def times(self, path):
        """Of each thread the times of its calls."""
        times = collections.defaultdict(list)
        for e in mp.events(path):
            if e["e"] in ("alloc", "free"):
                times[e["thread"]].append(e["t"])
        return times

    def test_damaged(self):
        whole = self.record([mp.program("demo_node"), "1"]).recording
        chunks = self.chunks(whole)
        self.assertGreater(len(chunks), 8)
        hit = [chunks[len(chunks) // 3] + 500, chunks[-1] + 500]
        damaged = self.damage(whole, hit)
        gaps = self.summary(damaged)["gaps"]
        self.assertTrue(gaps)
        self.assertEqual({"missing"}, {g["kind"] for g in gaps})
        for a, b in zip(gaps, gaps[1:]):
            self.assertLess(a["to_ns"], b["from_ns"])
        left = self.times(damaged)
        n_missing = 0
        for thread, times in self.times(whole).items():
            there = set(left[thread])
            missing = [t for t in times if t not in there]
            n_missing += len(missing)
            for t in missing:
                self.assertTrue(any(g["from_ns"] <= t <= g["to_ns"] for g in gaps), (thread, t, gaps))
        self.assertGreater(n_missing, 1000)
        run_ns = self.summary(whole)["duration_ns"]
        self.assertLess(sum(g["to_ns"] - g["from_ns"] for g in gaps), run_ns)


if __name__ == "__main__":
    mp.main()

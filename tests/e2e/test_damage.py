#!/usr/bin/env python3
"""Recordings that are cut anywhere, or have wrong bits: a correct partial result that says so, or a
clear error. tests/e2e/open_many.c opens all variants; ASan builds run theirs on them, too."""
import json
import os
import pathlib
import random
import struct

import mp
from mp_report import report

DRIVER = pathlib.Path(os.environ.get("MP_OPEN_MANY", mp.BUILD / "tests/open_many"))
SMALL = {"WRITE_BINARIES_TO_OUTPUT": 0, "GATHER_MAPS": 0}  # recordings of a few kilobytes


def compact(path, target):
    """A copy of a recording without the room for blocks that were moved: header and chunks only."""
    data = path.read_bytes()
    at = struct.unpack_from("<I", data, 12)[0]
    out = bytearray(data[:at])
    while at + 32 <= len(data):
        magic, kind, _, stored = struct.unpack_from("<IHHI", data, at)
        if magic != 0x4b43504d:
            raise AssertionError(f"no chunk at {at}")
        end = at + 32 + (stored + 7 & ~7)
        if kind not in (1, 2):
            out += data[at:end]
        at = end
    for slot in (1024, 1536):  # the status tells where the chunks end
        status = bytearray(out[slot:slot + 504])
        if struct.unpack_from("<Q", status, 62 * 8)[0]:
            struct.pack_into("<Q", status, 4 * 8, len(out))
            out[slot:slot + 504] = status
            struct.pack_into("<Q", out, slot + 504, mp.checksum(bytes(status)))
    target.write_bytes(out)


class Damage(mp.TestCase):
    def small_recording(self):
        """A few kilobytes, complete, with every kind of chunk but embedded files."""
        result = self.record([mp.program("stress_pairs"), self.new_folder(), "60", "3"],
                             options=SMALL)
        small = self.dir / "small.dat"
        compact(result.recording, small)
        found = report(small, "--no-cache")
        self.assertLess(small.stat().st_size, 12000)
        self.assertTrue(found["program"]["complete"], found["notices"])
        return small

    def drive(self, *args):
        done = mp.run([DRIVER, *args], {**mp.clean_environment(), "TMPDIR": str(self.dir)},
                      cwd=self.dir, timeout=1200)
        self.assertEqual(0, done.code, done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
        return json.loads(done.stdout)

    def test_cut_at_every_byte(self):
        small = self.small_recording()
        size = small.stat().st_size
        counts = self.drive("cut", small)
        self.assertEqual(size, counts["n_opened"] + counts["n_refused"])
        self.assertGreater(counts["n_opened"], 1000)
        self.assertGreater(counts["n_different"], 3, "parts of it were seen")

    def test_random_bits_flipped(self):
        small = self.small_recording()
        counts = self.drive("flip", small, "1000", str(random.Random(4).randrange(1 << 31)))
        self.assertEqual(1000, counts["n_opened"] + counts["n_refused"])
        self.assertGreater(counts["n_opened"], 200)

    def test_damage_is_reported(self):
        small = self.small_recording()
        data = bytearray(small.read_bytes())
        at = data.index(struct.pack("<IH", 0x4b43504d, 3))  # the first EVENTS chunk
        data[at + 200] ^= 1
        small.write_bytes(data)
        found = report(small)
        self.assertFalse(found["program"]["complete"])
        self.assertGreater(found["totals"]["damaged_bytes"], 0)
        self.assertIn("damaged", " ".join(found["notices"]))


if __name__ == "__main__":
    mp.main()

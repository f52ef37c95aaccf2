#!/usr/bin/env python3
"""Rust programs on allocators of the crate registry: what is recorded equals what the program counts.

usage: test_crates.py   (make test-rust; needs cargo and the crate registry)

The program counts what its global allocator is asked for. The recording divides the blocks by
allocator, so the blocks of this allocator alone must be those that the program counted. What the
language's run time allocates outside of the count is the same in every run, and cancels out between
a run with no rounds and one with many.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import mp  # noqa: E402  (after the path to it)

TARGET = pathlib.Path(os.environ.get("MP_BUILD", HERE.parents[1] / "build/release")) / "rust"
# features of the crate: name of the allocator in recordings
ALLOCATORS = {"dlmalloc": "rust", "jemalloc": "jemalloc", "jemalloc_plain": "jemalloc", "mimalloc": "mimalloc",
              "mimalloc_v2": "mimalloc", "snmalloc": "snmalloc"}


class Crates(mp.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mp-crates-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, feature):
        """The program on one allocator; kept between runs of the test."""
        subprocess.run(["cargo", "build", "--release", "--quiet", "--features", feature,
                        "--manifest-path", HERE / "Cargo.toml", "--target-dir", TARGET / feature],
                       check=True)
        return TARGET / feature / "release/crates"

    def rows(self, recording, name):
        """Allocations and reallocations by this allocator: their number, and their bytes."""
        out = pathlib.Path(self.folder.name, "rows.json")
        subprocess.run([mp.CLI, "export", "-f", "json", "-o", out, f"--allocator=^{name}$", recording],
                       check=True)
        rows = json.loads(out.read_text())["allocations"]
        return len(rows), sum(row["size"] for row in rows)

    def beyond_the_count(self, program, name, what, rounds):
        """What is recorded beyond what the program counted."""
        seen = self.record([program, what, str(rounds)])
        self.assertEqual(9, seen.code, seen.stderr)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertEqual(0, facts["crossed_blocks"])
        counts, result = seen.stdout.decode().split("\n")[:2]
        n_allocs, n_reallocs, _, n_bytes = map(int, counts.split())
        n_rows, row_bytes = self.rows(seen.recording, name)
        return (n_rows - n_allocs - n_reallocs, row_bytes - n_bytes), int(result), seen

    def test_crates(self):
        for feature, name in ALLOCATORS.items():
            program = self.build(feature)
            for what, rounds, result in (("maps", 20000, None), ("server", 2000, 16000)):
                with self.subTest(feature=feature, what=what):
                    none, _, _ = self.beyond_the_count(program, name, what, 0)
                    many, got, seen = self.beyond_the_count(program, name, what, rounds)
                    self.assertEqual(none, many)
                    if result:
                        self.assertEqual(result, got)
                    report = subprocess.run([mp.CLI, "report", "--full", seen.recording],
                                            capture_output=True, text=True, check=True).stdout
                    self.assertIn("crates::fill_maps" if what == "maps" else "crates::ask", report)


if __name__ == "__main__":
    mp.main(cargo=mp.find_tool("cargo"))

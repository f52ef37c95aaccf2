#!/usr/bin/env python3
"""What bench/ measures with: it builds, it compares before it measures, and its tables can be read again."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import mp

BENCH = mp.SRC / "bench"


def run(*argv):
    return subprocess.run(list(map(str, argv)), check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = run("ninja", "-C", mp.BUILD, "bench_programs")
        if built.returncode:
            raise AssertionError(built.stdout[-4000:])

    def test_unwinders_agree_before_they_are_measured(self):
        done = run(mp.BUILD / "bench/bench_unwind", "-n", "1")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual(4, done.stdout.count("ours, stack cache with ids"), done.stdout)

    def test_counter_takes_time(self):
        done = run(mp.BUILD / "bench/bench_counter")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertGreater(float(done.stdout), 0)

    def test_one_program_is_measured_in_all_ways(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.json")
            done = run(BENCH / "record.py", mp.BUILD, "-n", "1", "--only", "sqlite3",
                       "--json", results)
            self.assertEqual(0, done.returncode, done.stdout)
            measured = json.loads(results.read_text())["programs"]["sqlite3"]
            self.assertEqual(0, measured["facts"]["lost_events"])
            self.assertGreater(measured["facts"]["allocations"], 100_000)
            for way, costs in measured["runs"].items():
                self.assertEqual(1, len(costs), way)
                self.assertGreater(costs[0]["wall_ns"], 0, way)
            self.assertEqual(6, len(measured["runs"]))
            shown = run(BENCH / "record.py", "--show", results)
            self.assertEqual(0, shown.returncode, shown.stdout)
            table = "sqlite3: " + done.stdout.split("\nsqlite3: ", 1)[1]
            self.assertIn(table.rstrip(), shown.stdout)

    def test_a_shape_is_measured(self):
        done = run(BENCH / "scale.py", mp.BUILD, "--part", "0.001", "--only", "live", "--no-peer")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn("report, cold", done.stdout)
        self.assertIn("fragmentation?at=50%25", done.stdout)
        self.assertNotIn("no answer", done.stdout)

    def test_culling_is_measured(self):
        done = run(BENCH / "cull.py", mp.BUILD, "--seconds", "4", "--rate", "200000", "--threads", "2",
                   "--heaptrack-seconds", "1")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^culled +\d")
        self.assertIn("heaptrack, 1 s", done.stdout)

    def test_unknown_program_is_an_error(self):
        done = run(BENCH / "record.py", mp.BUILD, "--only", "nosuch")
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("no program is called nosuch", done.stdout)

    def test_missing_build_is_an_error_that_tells_the_remedy(self):
        done = run(BENCH / "record.py", os.devnull)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("make bench", done.stdout)


if __name__ == "__main__":
    mp.main()

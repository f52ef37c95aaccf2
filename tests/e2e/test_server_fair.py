#!/usr/bin/env python3
"""Many clients at once: short questions are answered while long ones are computed, and no answer is
cut off. bench/clients.py measures the same for two minutes."""
import subprocess
import sys

import mp
from mp_server import Server

N_CLIENTS = 12
SECONDS = 8
PATIENCE = 8  # so many times slower may this machine be


class Fair(mp.TestCase):
    def test_short_questions_are_answered_among_long_ones(self):
        work = self.dir / "work.dat"
        seen = self.record([mp.program("workload"), "200000", "2"], options={"OUTPUT": str(work)})
        self.assertTrue(work.exists(), seen.stderr)
        with Server(work) as server:
            self.assertEqual(200, server.get("/data/last/timeline").status)
            done = subprocess.run(
                [sys.executable, mp.SRC / "bench/clients.py", server.url, "--clients",
                 str(N_CLIENTS), "--seconds", str(SECONDS)],
                capture_output=True, text=True, check=False, timeout=60 * PATIENCE)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            facts = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
            self.assertEqual("0", facts["cut off"], done.stdout)
            self.assertEqual("0", facts["refused"], done.stdout)
            self.assertGreater(int(facts["short questions"]), N_CLIENTS)
            self.assertGreater(int(facts["long questions"]), 0)
            self.assertLess(float(facts["p95 of short questions"].split()[0]), 1.0 * PATIENCE)


if __name__ == "__main__":
    mp.main()

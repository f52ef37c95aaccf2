#!/usr/bin/env python3
"""The store of a recording says what the recording says: every row, chain and sum."""
import shutil
import subprocess

import mp


class Store(mp.TestCase):
    def check(self, argv, at_least, **how):
        seen = self.record(argv, **how)
        done = subprocess.run([mp.BUILD / "tests/truth/store_check", seen.recording,
                               self.new_folder() / "store"],
                              capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertGreaterEqual(int(done.stdout.split()[0]), at_least)

    def test_threads_that_free_for_each_other(self):
        logs = self.new_folder()
        self.check([mp.program("stress_pairs"), logs, 1_500_000, 4], 1_500_000)

    def test_known_figures(self):
        self.check([mp.program("known_figures")], 10)

    def test_handlers(self):
        self.check([mp.program("alloc_in_signal"), "timer"], 1000)

    def test_workload(self):
        self.check([mp.program("workload"), "200000", "3"], 100_000)

    def test_python(self):
        script = "d = [{str(i): [i] * (i % 50)} for i in range(60000)]; d.sort(key=str)"
        self.check([shutil.which("python3"), "-c", script], 100_000,
                   env={"PYTHONMALLOC": "malloc"})

    def test_sqlite(self):
        sql = ("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
               "where i < 30000) insert into t select i, hex(i * 7919) from n; "
               "select count(*) from (select b, a from t order by b desc);")
        self.check([shutil.which("sqlite3"), ":memory:", sql], 10_000)


mp.main()

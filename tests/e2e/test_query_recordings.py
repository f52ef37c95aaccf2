#!/usr/bin/env python3
"""Random filters on recordings of real programs give what a naive evaluation finds.

The evaluation is in tests/unit/query_naive.c; 700 filters for each of three recordings.
"""
import json
import os
import subprocess

import mp

CHECKER = mp.BUILD / "tests/unit/test_query_random"
SQL = ("create table t(a, b); with recursive r(n) as (select 1 union all select n + 1 from r where n < 300) "
       "insert into t select n, hex(n) from r; select count(*) from t group by b % 7;")


class Recordings(mp.TestCase):
    def store_of(self, name, argv):
        """Records the command, and makes the store by asking something."""
        path = self.dir / f"{name}.dat"
        env = mp.clean_environment()
        done = subprocess.run([mp.CLI, "run", "-o", path, "--", *argv], capture_output=True,
                              check=False, env=env, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        done = subprocess.run([mp.CLI, "export", "--format", "csv", "-o", "/dev/null", path],
                              capture_output=True, check=False, env=env, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        return f"{path}.store"

    def test_random_filters(self):
        data = self.dir / "data.json"
        data.write_text(json.dumps([{"a": i, "b": str(2 * i)} for i in range(300)]))
        stores = [
            self.store_of("jq", ["jq", "-c", "group_by(.b | length) | map({n: length})", data]),
            self.store_of("sqlite3", ["sqlite3", ":memory:", SQL]),
            self.store_of("perl", ["perl", "-e", "my %h; $h{$_} = [1 .. $_ % 9] for 1 .. 300; delete $h{7};"]),
        ]
        done = subprocess.run([CHECKER, "random_filters_on_given_stores"], capture_output=True, text=True,
                              check=False, env={**os.environ, "QUERY_STORES": ":".join(stores)},
                              timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(3, done.stdout.count(" rows, "), done.stdout)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""The long test of the server: 50 clients for MP_SOAK_SECONDS (600), then MP_SOAK_REQUESTS (100 000)
fuzzed requests. No crash, no 5xx, no growth. With MP_SERVER_CLI set to a build with ASan, leaks show
as well."""
import collections
import os
import threading
import time

import mp
from mp_server import Server
from server_fuzz import Fuzzer

SECONDS = int(os.environ.get("MP_SOAK_SECONDS", "600"))
N_REQUESTS = int(os.environ.get("MP_SOAK_REQUESTS", "100000"))
N_CLIENTS = 50
DELIBERATE = (501, 505)  # of libmicrohttpd, for methods and versions that it does not know


class Soak(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.files = []
        for name, argv in (("demo.dat", ["demo"]), ("work.dat", ["workload", "4000", "2"])):
            path = self.dir / name
            self.record([mp.program(argv[0]), *argv[1:]], options={"OUTPUT": str(path)})
            self.files.append(path)

    def crowd(self, server, n_threads, until, n_each=None):
        """Statuses of n_threads clients that ask until the moment, or n_each times."""
        statuses, problems = collections.Counter(), []
        lock = threading.Lock()

        def ask(seed):
            fuzzer = Fuzzer(server, seed)
            left = n_each
            try:
                while time.monotonic() < until and left != 0:
                    n = 20 if left is None else min(20, left)
                    got = fuzzer.run(n, sensible=n_each is None)
                    left = None if left is None else left - n
                    with lock:
                        statuses.update(got)
            except Exception as e:  # pylint: disable=broad-except
                problems.append(repr(e))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(n_threads)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([], problems)
        return statuses

    def test_clients_for_a_long_time_and_nonsense(self):
        with Server(*self.files) as server:
            self.assertEqual(200, server.get("/data/last/timeline").status)
            warm = self.crowd(server, N_CLIENTS, time.monotonic() + min(30, SECONDS))
            before = server.rss_bytes()
            long = self.crowd(server, N_CLIENTS, time.monotonic() + SECONDS)
            after = server.rss_bytes()
            wild = self.crowd(server, 8, time.monotonic() + 3600, N_REQUESTS // 8)
            print(f"{sum(long.values())} requests of {N_CLIENTS} clients in {SECONDS} s: "
                  f"{dict(long)}; {sum(wild.values())} fuzzed: {dict(wild)}; RSS "
                  f"{before >> 20} MiB, {after >> 20} MiB, {server.rss_bytes() >> 20} MiB",
                  flush=True)
            for statuses in (warm, long, wild):
                self.assertEqual(set(), {s for s in statuses if s >= 500} - set(DELIBERATE))
            self.assertLess(after, before + (96 << 20), "it grows")
            self.assertLess(server.rss_bytes(), 512 << 20)
            self.assertEqual(200, server.get("/data/last/timeline").status)


if __name__ == "__main__":
    mp.main()

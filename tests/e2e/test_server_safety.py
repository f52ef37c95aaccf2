#!/usr/bin/env python3
"""What the server does with clients that are not meant well, or do not behave: other hosts, other
pages, no token, hang-ups, slow readers, nonsense. And how it starts and ends."""
import collections
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import mp
import mp_server
from mp_server import Server
from server_fuzz import Fuzzer

N_FUZZED = int(os.environ.get("MP_N_FUZZED", "3000"))


class SafetyCase(mp.TestCase):
    def recorded(self, name, *argv):
        path = self.dir / name
        seen = self.record([mp.program(argv[0]), *argv[1:]], options={"OUTPUT": str(path)})
        self.assertTrue(path.exists(), seen.stderr)
        mp.wait_until_written(path)
        return path

    def demo(self):
        return self.recorded("demo.dat", "demo")

    @staticmethod
    def send(server, data, shut=False):
        s = socket.create_connection((server.host, server.port), timeout=60)
        s.sendall(data)
        if shut:
            s.shutdown(socket.SHUT_WR)
        return s

    def wait_until(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"waited in vain: {what}")
            time.sleep(0.02)


class Rules(SafetyCase):
    def test_other_names_and_pages_get_nothing(self):
        with Server(self.demo()) as server:
            port = server.port
            for host, status in ((f"localhost:{port}", 200), (f"127.0.0.1:{port}", 200),
                                 ("[::1]", 200), ("evil.example", 403),
                                 (f"evil.example:{port}", 403), ("localhost.evil.example", 403),
                                 ("10.0.0.1", 403), ("", 403), (None, 403)):
                answer = server.get("/list", {"Host": host})
                # Without any Host header the library itself says that the request is bad.
                self.assertIn(answer.status, (status, 400 if host is None else status), host)
                if status != 200:
                    self.assertNotIn(b"demo", answer.body)
            for origin, status in ((f"http://localhost:{port}", 200), ("http://evil.example", 403),
                                   ("null", 403), (f"https://localhost:{port}", 403),
                                   ("http://localhost:1", 403)):
                headers = {"Host": f"localhost:{port}", "Origin": origin}
                answer = server.get("/list", headers)
                self.assertEqual(status, answer.status, origin)
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
            for site, mode, status in (("cross-site", "no-cors", 403), ("same-site", "cors", 403),
                                       ("cross-site", "navigate", 200), ("none", "navigate", 200),
                                       ("same-origin", "cors", 200)):
                answer = server.get("/list", {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode})
                self.assertEqual(status, answer.status, (site, mode))

    def test_allowed_names_and_pages(self):
        with Server("--allow-host", "box.example", "--allow-origin", "http://dev.example:5173",
                    self.demo()) as server:
            self.assertEqual(200, server.get("/list", {"Host": "box.example"}).status)
            answer = server.get("/list", {"Origin": "http://dev.example:5173"})
            self.assertEqual(200, answer.status)
            self.assertEqual("http://dev.example:5173",
                             answer.headers["Access-Control-Allow-Origin"])
            self.assertIn("Origin", answer.headers["Vary"])
            answer = server.get("/list", {"Origin": "http://dev.example:5173"}, method="OPTIONS")
            self.assertEqual(204, answer.status)
            self.assertIn("Authorization", answer.headers["Access-Control-Allow-Headers"])

    def test_a_token_is_needed_where_one_was_set(self):
        secret = self.dir / "token"
        secret.write_text("s3cret\nnot this\n")
        for option in ("s3cret", f"@{secret}"):
            with Server("--token", option, self.demo()) as server:
                self.assertEqual(401, server.get("/list").status)
                self.assertEqual("Bearer", server.get("/list").headers["WWW-Authenticate"])
                for wrong in ("s3cre", "s3crets", "", "S3CRET"):
                    self.assertEqual(401, server.get(f"/list?token={wrong}").status)
                    self.assertEqual(401, server.get(
                        "/list", {"Authorization": f"Bearer {wrong}"}).status)
                self.assertEqual(200, server.get("/list?token=s3cret").status)
                self.assertEqual(200, server.get(
                    "/list", {"Authorization": "Bearer s3cret"}).status)
                page = server.get("/")
                self.assertEqual(200, page.status)
                self.assertNotIn(b"demo.dat", page.body)
                self.assertEqual(200, server.get("/data/last/timeline?token=s3cret").status)

    def test_answers_carry_what_browsers_need_to_be_careful(self):
        with Server(self.demo()) as server:
            for path in ("/", "/list", "/data/last/export/flamegraph", "/nothing"):
                headers = server.get(path).headers
                self.assertEqual("nosniff", headers["X-Content-Type-Options"])
                self.assertEqual("no-referrer", headers["Referrer-Policy"])
                self.assertEqual("same-origin", headers["Cross-Origin-Resource-Policy"])
                self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            policy = server.get("/").headers["Content-Security-Policy"]
            self.assertIn("script-src 'self'", policy)
            self.assertNotIn("unsafe", policy)
            page = server.get("/").body.decode()
            self.assertNotRegex(page, r"<script(?![^>]* src=)", "no inline script")
            self.assertNotRegex(page, r"(src|href)=\"(https?:)?//", "nothing from elsewhere")

    def test_nothing_outside_of_the_given_files(self):
        with Server(self.demo()) as server:
            for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/../list",
                         "//etc/passwd", "/data/last/export/../../../etc/passwd",
                         "/data/%2Fetc%2Fpasswd/timeline", "/demo.dat"):
                self.assertEqual(404, server.get(path).status, path)


class Transfer(SafetyCase):
    def test_answers_are_compressed_and_known_ones_not_sent_again(self):
        with Server(self.demo()) as server:
            path = "/data/last/allocations?count=200"
            plain = server.get(path)
            self.assertNotIn("Content-Encoding", plain.headers)
            for _ in range(2):  # made, and from the cache
                packed = server.get(path, {"Accept-Encoding": "gzip"})
                self.assertEqual("gzip", packed.headers["Content-Encoding"])
                self.assertEqual(plain.body, gzip.decompress(packed.body))
            zstd = server.get(path, {"Accept-Encoding": "gzip, zstd"})
            self.assertEqual("zstd", zstd.headers["Content-Encoding"])
            done = subprocess.run(["curl", "-s", "--compressed", server.url + path[1:]],
                                  capture_output=True, check=True)
            self.assertEqual(plain.body, done.stdout)
            tag = plain.headers["ETag"]
            self.assertEqual(tag, packed.headers["ETag"])
            known = server.get(path, {"If-None-Match": tag})
            self.assertEqual((304, b""), (known.status, known.body))
            self.assertEqual(200, server.get(path, {"If-None-Match": '"other"'}).status)
            other = server.get("/data/last/allocations?count=201").headers["ETag"]
            self.assertNotEqual(tag, other)
            by_id = server.json("/list")[0]["id"]
            self.assertEqual(tag, server.get(f"/data/{by_id}/allocations?count=200",
                                             ).headers["ETag"])
            small = server.get("/data/last/mallopts", {"Accept-Encoding": "gzip"})
            self.assertNotIn("Content-Encoding", small.headers)

    def test_many_requests_on_one_connection(self):
        with Server(self.demo()) as server:
            connection = server.connect()
            for i in range(50):
                connection.request("GET", f"/data/last/allocations?count={i % 7}")
                answer = connection.getresponse()
                self.assertEqual(i % 7, len(json.loads(answer.read())["allocations"]))
            connection.close()

    def test_pipelined_requests_are_answered_in_order(self):
        with Server(self.demo()) as server:
            one = b"GET /data/last/allocations?count=%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
            s = self.send(server, one % (1, b"") + one % (2, b"") + one % (3, b"Connection: close\r\n"))
            got = b"".join(iter(lambda: s.recv(65536), b""))
            s.close()
            self.assertEqual(3, got.count(b"HTTP/1.1 200"))
            self.assertEqual([1, 2, 3], [part.count(b'"is_temporary"')
                                         for part in got.split(b"HTTP/1.1 200")[1:]])


class BadClients(SafetyCase):
    def still_answers(self, server):
        self.assertEqual(200, server.get("/data/last/timeline").status)

    def test_clients_that_hang_up(self):
        work = self.recorded("work.dat", "workload", "20000", "2")
        request = b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with Server(work) as server:
            self.still_answers(server)
            for n in range(40):
                s = self.send(server, request)
                if n % 2:
                    s.recv(1000)
                s.close()
            for cut in range(0, len(request), 7):
                self.send(server, request[:cut]).close()
            self.still_answers(server)
            threads = pathlib.Path(f"/proc/{server.process.pid}/task")
            self.wait_until(lambda: len(list(threads.iterdir())) <= 4,
                            "threads of clients that have gone end")

    def test_slow_readers_do_not_hinder_others(self):
        work = self.recorded("work.dat", "workload", "2000", "2")
        request = b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with Server(work) as server:
            self.still_answers(server)
            slow = [self.send(server, request) for _ in range(30)]
            for _ in range(5):
                self.still_answers(server)
            self.assertLess(server.rss_bytes(), 400 << 20)
            whole = server.get("/data/last/allocations")
            self.assertGreater(len(whole.body), 4 << 20, "too small to tell")
            got = bytearray()  # the slowest of all gets everything, too
            while not got.endswith(b"\r\n0\r\n\r\n"):
                more = slow[0].recv(1 << 16)
                self.assertTrue(more, "the answer was broken off")
                got += more
            self.assertGreater(len(got), len(whole.body))
            for s in slow:
                s.close()

    def test_too_much_is_refused(self):
        with Server(self.demo()) as server:
            self.assertEqual(414, server.get("/list?" + "a" * 20000).status)
            for size in (100000, 1000000):
                s = self.send(server, b"GET /list HTTP/1.1\r\nHost: localhost\r\n")
                try:
                    s.sendall(b"X: " + b"y" * size + b"\r\n\r\n")
                    got = s.recv(1000)
                except (BrokenPipeError, ConnectionResetError):
                    got = b""
                s.close()
                self.assertTrue(got == b"" or got.startswith(b"HTTP/1.1 4"), got[:50])
            many = "&".join(f"p{i}=1" for i in range(300))
            self.assertEqual(414, server.get(f"/list?{many}").status)
            crowd = []
            for _ in range(300):
                try:
                    crowd.append(socket.create_connection((server.host, server.port), timeout=5))
                except OSError:
                    break
            for s in crowd:
                s.close()
            self.wait_until(lambda: self.answers(server), "an answer after the crowd has gone")

    @staticmethod
    def answers(server):
        try:
            return server.get("/list").status == 200
        except OSError:
            return False

    def test_nonsense(self):
        with Server(self.demo()) as server:
            self.still_answers(server)
            statuses = Fuzzer(server, seed=1).run(N_FUZZED)
            self.assertEqual(set(), {s for s in statuses if s >= 500 and s not in (501, 505)},
                             statuses)
            self.assertGreater(statuses[200], N_FUZZED // 50)
            self.assertGreater(statuses[400], N_FUZZED // 50)
            self.still_answers(server)

    def test_many_clients_at_once(self):
        with Server(self.demo(), self.recorded("work.dat", "workload", "2000", "2")) as server:
            self.still_answers(server)
            problems = []

            def ask(seed):
                try:
                    statuses = Fuzzer(server, seed=seed).run(40, sensible=True)
                    problems.extend(s for s in statuses if s >= 500 and s not in (501, 505))
                except Exception as e:  # pylint: disable=broad-except
                    problems.append(repr(e))

            crowd = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
            for t in crowd:
                t.start()
            for t in crowd:
                t.join()
            self.assertEqual([], problems)


class Damaged(SafetyCase):
    def test_damaged_recordings_are_served_or_refused(self):
        whole = self.demo().read_bytes()
        rng = random.Random(3)
        copies = []
        for n in range(12):
            data = bytearray(whole[:rng.randrange(4096, len(whole))] if n % 4 == 0 else whole)
            for _ in range(rng.choice((1, 10, 200))):
                data[rng.randrange(len(data))] = rng.randrange(256)
            copies.append(self.dir / f"damaged{n}.dat")
            copies[-1].write_bytes(data)
        self.assertGreater(self.ask_everything(copies)[200], 0)

    def test_damaged_stores_are_served_or_made_anew(self):
        demo = self.demo()
        self.ask_everything([demo])  # leaves a store and the names beside it
        kept = [p for p in self.dir.iterdir() if p.name.startswith("demo.dat.")]
        self.assertEqual(2, len(kept), kept)
        rng = random.Random(4)
        copies = []
        for n in range(12):
            copies.append(self.dir / f"copy{n}.dat")
            shutil.copy2(demo, copies[-1])
            for path in kept:
                data = bytearray(path.read_bytes())
                for _ in range(rng.choice((0, 1, 10, 200))):
                    data[rng.randrange(len(data))] = rng.randrange(256)
                if n % 5 == 4:
                    del data[rng.randrange(len(data)):]
                (self.dir / (copies[-1].name + path.name[len("demo.dat"):])).write_bytes(data)
        statuses = self.ask_everything(copies)
        self.assertEqual({200}, set(statuses))

    def test_a_store_that_is_cut_short_gives_errors(self):
        """Another program cuts the store or the names short while the server has them mapped."""
        demo = self.demo()
        self.ask_everything([demo])  # leaves a store and the names beside it
        rng = random.Random(5)
        n_errors = 0
        for n in range(8):
            copy = self.dir / f"cut{n}.dat"
            shutil.copy2(demo, copy)
            for ending in ("store", "symbols"):
                shutil.copy2(f"{demo}.{ending}", f"{copy}.{ending}")
            with Server(copy) as server:
                self.assertEqual(200, server.get("/data/last/timeline").status)
                for ending in ("store", "symbols"):
                    path = pathlib.Path(f"{copy}.{ending}")
                    os.truncate(path, 0 if n == 0 else rng.randrange(path.stat().st_size))
                for path in ("timeline", "allocations?count=1000", "allocation_groups", "tree",
                             "maps", "regions", "export/heaptrack", "export/csv", "backtraces"):
                    answer = server.get(f"/data/last/{path}", may_be_cut=True)
                    self.assertIn(answer.status, (200, 500, None), path)
                    if answer.status == 500:
                        self.assertIn("cut", answer.json()["error"])
                        n_errors += 1
                for path in ("summary", "groups?by=function", "functions", "tree?min_share=0",
                             "threads", "modules", "notes", "fragmentation", "thread_matrix",
                             "allocations?function_regex=a"):
                    answer = server.get(f"/api/v1/last/{path}", may_be_cut=True)
                    self.assertIn(answer.status, (200, 500, None), path)
                    n_errors += answer.status == 500
                self.assertEqual(200, server.get("/list").status)
        self.assertGreater(n_errors, 8)

    def ask_everything(self, files):
        statuses = collections.Counter()
        with Server(*files) as server:
            ids = [e["id"] for e in server.json("/list")]
            has_gui = server.get("/app.js").status == 200  # sanitized builds have none, nor html
            for path in ("timeline", "allocations?count=1000", "allocation_groups", "tree", "maps",
                         "regions", "fragmentation_timeline", "export/heaptrack", "backtraces",
                         *(["export/html"] if has_gui else []), "dynamic_statics", "mmaps"):
                for i in ids:
                    statuses[server.get(f"/data/{i}/{path}").status] += 1
            for path in ("summary", "groups?by=function", "functions", "tree?min_share=0", "threads",
                         "modules", "notes", "samples", "fragmentation", "thread_matrix",
                         "allocations"):
                for i in ids:
                    statuses[server.get(f"/api/v1/{i}/{path}").status] += 1
        self.assertTrue(set(statuses) <= {200, 404}, statuses)
        return statuses


class Life(SafetyCase):
    def test_no_recording_is_fine(self):
        with Server() as server:
            self.assertEqual([], server.json("/list"))
            self.assertEqual(200, server.get("/").status)
            self.assertEqual(404, server.get("/data/last/timeline").status)

    def test_a_recording_can_be_asked_while_another_is_loading(self):
        big = self.recorded("big.dat", "workload", "2000000", "2")
        with Server(big, self.demo()) as server:
            self.assertEqual(200, server.get("/data/last/timeline").status)  # the small one
            entry = server.json("/list")[0]
            answer = server.get(f"/api/v1/{entry['id']}/summary")
            if entry["state"] == "loading":  # unless this machine is very fast
                self.assertIsNone(entry["final_allocated"])
                self.assertTrue(0 <= entry["percent"] <= 100)
                self.assertIn(answer.status, (200, 503))
            if answer.status == 503:
                self.assertEqual("loading", answer.json()["state"])
                self.assertEqual("1", answer.headers["Retry-After"])
            # An old script does not know of this: its request waits.
            timeline = server.json(f"/data/{entry['id']}/timeline")
            facts = mp.info(big)
            self.assertEqual(facts["peak_bytes"], max(timeline["allocated_size"]))
            after = server.json("/list")[0]
            self.assertEqual((entry["id"], "ready", 100),
                             (after["id"], after["state"], after["percent"]))

    def test_it_ends_while_loading_and_while_sending(self):
        big = self.recorded("big.dat", "workload", "2000000", "2")
        with Server(big):
            pass  # at once
        with Server(self.demo(), big) as server:
            s = self.send(server, b"GET /data/%s/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n"
                          % server.json("/list")[1]["id"].encode())
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200"))
            server.end(signal.SIGINT)
            self.assertEqual(0, server.code)
            s.close()

    def test_the_same_recording_twice_has_two_ids(self):
        demo = self.demo()
        copy = self.dir / "copy.dat"
        copy.write_bytes(demo.read_bytes())
        with Server(demo, copy) as server:
            ids = [e["id"] for e in server.json("/list")]
            self.assertEqual(2, len(set(ids)))
            self.assertEqual(1, len({server.get(f"/data/{i}/timeline").body for i in ids}))

    def test_a_file_that_is_no_recording(self):
        bad = self.dir / "bad.dat"
        bad.write_text("this is not a recording\n" * 300)
        with Server(self.demo(), bad) as server:
            self.wait_until(lambda: server.json("/list")[1]["state"] == "failed", "it fails")
            entry = server.json("/list")[1]
            self.assertIn("bad.dat", entry["error"])
            answer = server.get(f"/data/{entry['id']}/timeline")
            self.assertEqual(404, answer.status)
            self.assertEqual(entry["error"], answer.json()["error"])
            self.assertEqual(200, server.get("/data/last/timeline").status)  # the good one
            server.end()
            self.assertIn("bad.dat", server.complaints)
        old = mp.with_version(self.demo(), self.dir / "old.dat", 1, 1)
        with Server(old) as server:
            self.wait_until(lambda: server.json("/list")[0]["state"] == "failed", "it fails")
            entry = server.json("/list")[0]
            answer = server.get(f"/data/{entry['id']}/timeline")
            self.assertEqual(404, answer.status)
            self.assertRegex(answer.json()["error"],
                             r"old\.dat: .*format 1\.1; .* reads format 4: .*record again")
            server.end()
        done = mp.run([mp_server.CLI, "server", self.dir / "missing.dat"], mp.clean_environment())
        self.assertEqual(1, done.code)
        self.assertIn(b"missing.dat", done.stderr)

    def test_a_port_that_is_taken(self):
        with Server() as first:
            with Server(port=first.port) as second:
                self.assertGreater(second.port, first.port)
                self.assertEqual([], second.json("/list"))
                second.end()
                self.assertIn(f"port {first.port} is taken; using {second.port}",
                              second.complaints)

    def test_addresses(self):
        with Server("-i", "0.0.0.0") as server:
            self.assertEqual(200, server.get("/list", {"Host": "192.0.2.1"}).status)
            self.assertEqual(403, server.get("/list", {"Host": "evil.example"}).status)
            server.end()
            self.assertIn("--token", server.complaints)
        if socket.has_ipv6 and pathlib.Path("/proc/net/if_inet6").exists():
            with Server("-i", "::1") as server:
                self.assertEqual("::1", server.host)
                self.assertEqual([], server.json("/list"))
        for args in (["-p", "x"], ["-p", "70000"], ["--token", ""], ["--token", "@/nonexistent"]):
            done = mp.run([mp_server.CLI, "server", *args], mp.clean_environment())
            self.assertEqual(2, done.code, args)
        done = mp.run([mp_server.CLI, "server", "-i", "no such host"], mp.clean_environment())
        self.assertEqual(1, done.code)


if __name__ == "__main__":
    mp.main()

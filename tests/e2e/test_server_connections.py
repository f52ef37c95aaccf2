#!/usr/bin/env python3
"""Connections that send slowly or nothing, requests that contradict themselves, and downloads."""
import json
import socket
import subprocess
import threading
import time

import mp
from mp_server import Server

PATIENCE = 8  # so many times slower may this machine be


class ConnectionCase(mp.TestCase):
    def demo(self):
        path = self.dir / "demo.dat"
        seen = self.record([mp.program("demo")], options={"OUTPUT": str(path)})
        self.assertTrue(path.exists(), seen.stderr)
        return path

    @staticmethod
    def ask(server, request):
        """Everything that the server sends until it closes the connection."""
        with socket.create_connection((server.host, server.port), timeout=60) as s:
            s.sendall(request)
            got = b""
            while True:
                try:
                    more = s.recv(65536)
                except ConnectionResetError:
                    return got
                if not more:
                    return got
                got += more


class Requests(ConnectionCase):
    def test_two_hosts_are_refused(self):
        with Server(self.demo()) as server:
            for first, second in ((b"localhost", b"evil.example"), (b"localhost", b"localhost"),
                                  (b"evil.example", b"localhost")):
                got = self.ask(server, b"GET /list HTTP/1.1\r\nHost: " + first + b"\r\nHost: " +
                               second + b"\r\nConnection: close\r\n\r\n")
                self.assertTrue(got.startswith(b"HTTP/1.1 400"), got[:80])
                self.assertNotIn(b"demo", got)

    def test_headers_are_at_most_32_kib(self):
        with Server(self.demo()) as server:
            for size, status in ((20000, 200), (34000, 431), (40000, 431), (100000, 431)):
                got = self.ask(server, b"GET /list HTTP/1.1\r\nHost: localhost\r\nConnection: close"
                                       b"\r\nX: " + b"y" * size + b"\r\n\r\n")
                self.assertTrue(got.startswith(b"HTTP/1.1 %d" % status), (size, got[:80]))

    def test_a_body_is_refused_before_it_is_sent(self):
        with Server(self.demo()) as server:
            for header in (b"Content-Length: 9999999999", b"Content-Length: 1",
                           b"Transfer-Encoding: chunked"):
                got = self.ask(server, b"GET /list HTTP/1.1\r\nHost: localhost\r\n" + header +
                               b"\r\n\r\n")
                self.assertTrue(got.startswith(b"HTTP/1.1 413"), got[:80])
                self.assertEqual(1, got.count(b"HTTP/1.1"))
            got = self.ask(server, b"GET /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                                   b"Connection: close\r\n\r\n")
            self.assertTrue(got.startswith(b"HTTP/1.1 200"), got[:80])


class Crowds(ConnectionCase):
    def test_half_open_connections_do_not_keep_others_out(self):
        """Three hundred clients that connect and say nothing, or half of a request."""
        with Server(self.demo()) as server:
            for begin in (b"", b"GET /list HTTP/1.1\r\nHost: loc"):
                crowd = []
                for _ in range(300):
                    s = socket.create_connection((server.host, server.port), timeout=60)
                    crowd.append(s)
                    try:
                        s.sendall(begin)
                    except OSError:
                        pass  # it had to make room already
                for _ in range(20):
                    self.assertEqual(200, server.get("/list").status)
                for s in crowd:
                    s.close()

    def test_slow_senders_do_not_keep_others_out(self):
        """220 clients send a byte now and then, which is no silence, and come back when they are
        thrown out."""
        with Server(self.demo()) as server:
            is_over = threading.Event()

            def dribble():
                while not is_over.is_set():
                    try:
                        with socket.create_connection((server.host, server.port), timeout=60) as s:
                            s.sendall(b"GET /list HTTP/1.1\r\nX: ")
                            while not is_over.wait(1):
                                s.sendall(b"y")
                    except OSError:
                        is_over.wait(0.5)

            crowd = [threading.Thread(target=dribble) for _ in range(220)]
            for t in crowd:
                t.start()
            try:
                time.sleep(2)
                for _ in range(20):
                    self.assertEqual(200, server.get("/list").status)
            finally:
                is_over.set()
                for t in crowd:
                    t.join()

    def test_a_request_has_a_deadline(self):
        """The deadline is for the request as a whole, whatever arrives meanwhile."""
        with Server(self.demo()) as server:
            start = time.monotonic()
            with socket.create_connection((server.host, server.port), timeout=60) as s:
                s.sendall(b"GET /list HTTP/1.1\r\nX: ")
                s.settimeout(0.5)
                while True:
                    try:
                        s.sendall(b"y")
                        if s.recv(1) == b"":
                            break
                    except TimeoutError:
                        pass
                    except OSError:
                        break
                    self.assertLess(time.monotonic() - start, 20 * PATIENCE, "no deadline")
            self.assertGreater(time.monotonic() - start, 15)
            self.assertEqual(200, server.get("/list").status)


class Events(ConnectionCase):
    def test_a_client_hears_when_a_recording_grows_and_ends(self):
        growing = self.dir / "growing.dat"
        target = subprocess.Popen(
            [mp.program("grows_on_command")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
                 "MEMORY_PROFILER_OUTPUT": str(growing)})
        self.assertEqual("ready\n", target.stdout.readline())
        target.stdin.write("\n")
        target.stdin.flush()
        self.assertEqual("done\n", target.stdout.readline())
        with Server(growing) as server:
            self.assertEqual(200, server.get("/data/last/timeline").status)
            connection = server.connect(timeout=60 * PATIENCE)
            connection.request("GET", "/api/v1/events")
            answer = connection.getresponse()
            self.assertEqual((200, "text/event-stream"),
                             (answer.status, answer.headers["Content-Type"]))
            first = self.next_event(answer, lambda e: e["state"] == "ready")
            self.assertTrue(first["growing"])
            target.stdin.write("\n")
            target.stdin.flush()
            more = self.next_event(answer, lambda e: e["duration_ns"] > first["duration_ns"])
            self.assertEqual(first["id"], more["id"])
            target.stdin.close()
            target.wait(timeout=60)
            self.next_event(answer, lambda e: not e["growing"])
            summary = server.json("/api/v1/last/summary")
            self.assertTrue(summary["complete"])
            connection.close()
        target.stdout.close()

    @staticmethod
    def next_event(answer, is_wanted):
        while True:
            line = answer.readline()
            if not line:
                raise AssertionError("the events end")
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                if is_wanted(event):
                    return event


class Downloads(ConnectionCase):
    def test_what_other_programs_read_is_saved(self):
        with Server(self.demo()) as server:
            for path, kind, name in (
                    ("heaptrack", "application/octet-stream", "demo.dat.heaptrack"),
                    ("heaptrack/mine.heaptrack", "application/octet-stream", "mine.heaptrack"),
                    ("flamegraph.pl", "application/octet-stream", "demo.dat.folded"),
                    ("replay", "application/octet-stream", "demo.dat.replay"),
                    ("flamegraph.pl/a%22b.txt", "application/octet-stream", "demo.dat.folded"),
                    ("pprof", "application/vnd.google.protobuf+gzip", "demo.dat.pb.gz"),
                    ("flamegraph", "image/svg+xml", None)):
                answer = server.get(f"/data/last/export/{path}")
                self.assertEqual((200, kind), (answer.status, answer.headers["Content-Type"]))
                self.assertEqual(name and f'attachment; filename="{name}"',
                                 answer.headers.get("Content-Disposition"))

    def test_the_server_says_when_a_recording_is_loaded(self):
        demo = self.demo()
        with Server(demo) as server:
            line = server.process.stdout.readline()
            self.assertRegex(line, r"^.*demo\.dat: Loaded data in \d+s \d{3}$")


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""The stream between two hosts, which are network namespaces: discovery, a cut cable, strangers."""
import concurrent.futures
import subprocess
import sys
import time

import mp
from mp_stream import BASE_PORT, TOKEN, Hosts, StreamCase

N_PROCESSES = 20
CUT_S = 10


class Network(StreamCase):
    def setUp(self):
        super().setUp()
        self.port = BASE_PORT  # nobody else is in these networks
        self.hosts = Hosts(self)

    def start_on_a(self, *argv, **options):
        return self.start(argv, where=self.hosts.a, **options)

    def finish_and_compare(self, p, g):
        self.finish(p)
        mp.wait_for(lambda: self.has_ended(g))
        self.interrupt(g)
        self.assert_same_events(self.local, self.files()[0])

    def has_ended(self, g):
        """A gather that listens for announcements has closed the complete file."""
        held = subprocess.run(["ls", "-l", f"/proc/{g.pid}/fd"], capture_output=True, text=True,
                              check=False).stdout
        return g.poll() is not None or ".dat" not in held


class Discovery(Network):
    def test_another_host_is_found_by_broadcast(self):
        g = self.gather(token=TOKEN, where=self.hosts.b)
        p = self.start_on_a(mp.program("runs_on"), "2", "1000", SERVER_TOKEN=TOKEN,
                            ENABLE_BROADCAST=1)
        self.wait_for_bytes(1 << 20)
        self.finish_and_compare(p, g)

    def test_the_same_host_is_found_without_a_token(self):
        g = self.gather(where=self.hosts.a)
        p = self.start_on_a(mp.program("runs_on"), "2", "1000", ENABLE_BROADCAST=1)
        self.wait_for_bytes(1 << 20)
        self.finish_and_compare(p, g)

    def test_without_a_token_nothing_is_announced_to_others(self):
        g = self.gather(where=self.hosts.b)
        local = self.gather(where=self.hosts.a)
        p = self.start_on_a(mp.program("grows_on_command"), ENABLE_BROADCAST=1)
        mp.wait_for(self.files)
        self.interrupt(local)
        out = self.interrupt(g)
        self.assertNotIn("grows_on_command", out)
        self.finish(p)

    def test_twenty_processes_at_once(self):
        def start(i):
            return self.start_on_a(
                mp.program("runs_on"), "1", "1000", SERVER_TOKEN=TOKEN, ENABLE_BROADCAST=1,
                OUTPUT=self.dir / f"local_{i}.dat", LOGFILE=self.dir / f"log_{i}.txt")

        g = self.gather(token=TOKEN, where=self.hosts.b)
        with concurrent.futures.ThreadPoolExecutor(N_PROCESSES) as pool:
            running = list(pool.map(start, range(N_PROCESSES)))
        mp.wait_for(lambda: len(self.files()) == N_PROCESSES and
                    all(f.stat().st_size > 100000 for f in self.files()))
        for p in running:
            p.stdin.close()
        for p in running:
            self.finish(p)
        mp.wait_for(lambda: self.has_ended(g))
        self.interrupt(g)
        by_id = {mp.info(f)["pid"]: f for f in self.files()}
        self.assertEqual(N_PROCESSES, len(by_id))
        for i in range(N_PROCESSES):
            local = self.dir / f"local_{i}.dat"
            self.assert_same_events(local, by_id[mp.info(local)["pid"]])


class Cable(Network):
    def test_a_cut_of_ten_seconds_loses_nothing(self):
        p = self.start_on_a(mp.program("runs_on"), "2", "1000", SERVER_TOKEN=TOKEN)
        g = self.gather(f"{self.hosts.A}:{BASE_PORT}", token=TOKEN, where=self.hosts.b)
        received = self.wait_for_bytes(1 << 20)
        self.hosts.cut()
        time.sleep(1)  # what was on its way has arrived
        before, local_before = received.stat().st_size, self.local.stat().st_size
        time.sleep(CUT_S - 1)
        self.assertEqual(before, received.stat().st_size, "the cable is not cut")
        self.assertGreater(self.local.stat().st_size, local_before, "the program stands still")
        self.assertIsNone(p.poll())
        self.hosts.mend()
        self.wait_for_bytes(self.local.stat().st_size)
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assertEqual(1, len(self.files()))
        self.assert_same_events(self.local, received)


# What a stranger does, in a process of its own on one of the hosts: stranger.py WHAT HOST PORT
STRANGERS = {
    "garbage": """
import concurrent.futures
def send(i):
    s = socket.create_connection((host, port))
    s.settimeout(30)
    try:
        s.sendall(os.urandom(1 + i * 20))
        while s.recv(65536):
            pass
    except OSError:
        pass
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(send, range(50)))
""",
    "half_open": """
held = [socket.create_connection((host, port)) for _ in range(60)]
print("holds", flush=True)
sys.stdin.read()
""",
    "many": """
held = []
for i in range(1000):
    try:
        held.append(socket.create_connection((host, port), timeout=10))
    except OSError:
        pass
    if len(held) > 200:
        held.pop(0).close()
""",
    "replay": """
import struct
sys.path.insert(0, sys.argv[4])
import mp_stream
first = mp_stream.Client(socket.create_connection((host, port)), mp_stream.TOKEN)
proof = first.prove()
assert first.receive()[0] == 4
second = mp_stream.Client(socket.create_connection((host, port)))
assert second.receive()[0] == 1
second.socket.sendall(proof)
kind, why = second.receive()
assert (kind, why) == (3, b"wrong token"), (kind, why)
""",
    "meddle": """
sys.path.insert(0, sys.argv[4])
import mp_stream
c = mp_stream.Client(socket.create_connection((host, port)), mp_stream.TOKEN)
c.shake_hands()
frame = bytearray(c.frame(6, bytes(4)))
frame[8] ^= 1
c.socket.sendall(frame)
try:
    kind = c.receive()
    assert False, kind
except (EOFError, ConnectionError):
    pass
""",
}


class Strangers(Network):
    """From the same host and from another one: refused, logged, and the program does not notice."""

    def stranger(self, what, where, host):
        script = "import os, socket, sys\nhost, port = sys.argv[2], int(sys.argv[3])\n"
        p = subprocess.Popen(
            [*where, sys.executable, "-c", script + STRANGERS[what], what, host, str(BASE_PORT),
             str(mp.SRC / "tests/e2e")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def end():
            p.kill()
            p.wait()
            p.stdin.close()
            p.stdout.close()
        self.addCleanup(end)
        return p

    def from_both(self, what, expected):
        """Runs a stranger from each host, at the same time, while a client of ours receives."""
        p = self.start_on_a(mp.program("runs_on"), "2", "1000", SERVER_TOKEN=TOKEN)
        g = self.gather(f"{self.hosts.A}:{BASE_PORT}", token=TOKEN, where=self.hosts.b)
        received = self.wait_for_bytes(100000)
        strangers = [self.stranger(what, where, host) for where, host in
                     ((self.hosts.a, "127.0.0.1"), (self.hosts.b, self.hosts.A))]
        for q in strangers:
            self.assertEqual(0, q.wait(mp.TIMEOUT_S * 2), what)
        if expected:
            mp.wait_for(lambda: expected in self.log.read_text())
        self.assertLess(len(self.log.read_text()), 20000, "strangers can fill the disk")
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)
        self.assert_same_events(self.local, received)
        self.assertEqual(0, mp.info(self.local)["lost_events"])

    def test_garbage(self):
        self.from_both("garbage", "was refused: not a client of memory-profiler")

    def test_a_replayed_handshake(self):
        self.from_both("replay", "was refused: wrong token")

    def test_a_frame_with_a_wrong_code(self):
        self.from_both("meddle", None)

    def test_a_thousand_connections(self):
        self.from_both("many", "was refused")

    def test_half_open_connections_keep_nobody_out(self):
        p = self.start_on_a(mp.program("runs_on"), "2", "1000", SERVER_TOKEN=TOKEN)
        for where, host in ((self.hosts.a, "127.0.0.1"), (self.hosts.b, self.hosts.A)):
            self.assertEqual(b"holds\n", self.stranger("half_open", where, host).stdout.readline())
        g = self.gather(f"{self.hosts.A}:{BASE_PORT}", token=TOKEN, where=self.hosts.b)
        received = self.wait_for_bytes(100000)
        mp.wait_for(lambda: "was refused" in self.log.read_text())
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)
        self.assert_same_events(self.local, received)

    def test_without_a_token_other_hosts_reach_nothing(self):
        p = self.start_on_a(mp.program("grows_on_command"))
        self.assertIn("set MEMORY_PROFILER_SERVER_TOKEN", self.log.read_text())
        g = self.gather(f"{self.hosts.A}:{BASE_PORT}", where=self.hosts.b)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(1, g.returncode)
        self.assertIn("refused", out)
        self.finish(p)


if __name__ == "__main__":
    mp.main()

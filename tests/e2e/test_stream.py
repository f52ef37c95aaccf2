#!/usr/bin/env python3
"""Receiving recordings while they are written: `gather` from the server inside the program."""
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import mp
from mp_stream import TOKEN, Client, StreamCase, dump

MANY_BYTES = 1 << 20


class BreakingProxy:
    """Passes connections on; the first n_breaks of them are reset after so many bytes."""

    def __init__(self, to_port, n_breaks, after_bytes):
        self.to_port, self.n_breaks, self.after_bytes = to_port, n_breaks, after_bytes
        self.n_connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.listener.close()

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.n_connections += 1
            self.forward(client, self.n_connections <= self.n_breaks)

    def forward(self, client, is_to_break):
        with client, socket.create_connection(("127.0.0.1", self.to_port)) as server:
            n_bytes = 0
            while True:
                for s in select.select([client, server], [], [])[0]:
                    data = s.recv(65536)
                    if not data:
                        return
                    (client if s is server else server).sendall(data)
                    n_bytes += len(data)
                if is_to_break and n_bytes > self.after_bytes:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
                    return


class Gather(StreamCase):
    def test_a_process_from_beginning_to_end(self):
        p = self.start([mp.program("grows_on_command")])
        g = self.gather(self.here())
        mp.wait_for(self.files)
        for _ in range(5):
            p.stdin.write(b"x")
            p.stdin.flush()
            p.stdout.readline()
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        [received] = self.files()
        self.assertRegex(received.name,
                         rf"^\d{{8}}_\d{{6}}_{p.pid:05}_grows_on_command\.dat$")
        self.assertEqual(0o600, received.stat().st_mode & 0o777)
        self.assert_same_events(self.local, received)
        self.assertIn("is complete", out)

    def test_the_command_is_the_same_as_the_small_program(self):
        p = self.start([mp.program("grows_on_command")])
        g = self.gather(self.here(), command=(mp.CLI, "gather"))
        mp.wait_for(self.files)
        self.finish(p)
        self.assertIn("is complete", g.communicate(timeout=mp.TIMEOUT_S)[0])
        self.assert_same_events(self.local, self.files()[0])

    def test_threads_under_load(self):
        p = self.start([mp.program("runs_on"), "4"])
        g = self.gather(self.here())
        received = self.wait_for_bytes(MANY_BYTES)
        facts = mp.info(received)
        self.assertGreater(facts["allocations"], 1000, "the growing file is not readable")
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)
        self.assert_same_events(self.local, received)
        self.assertTrue(mp.info(received)["complete"])

    def test_gather_may_be_killed_and_goes_on_with_its_file(self):
        p = self.start([mp.program("runs_on"), "2", "200"])
        for n in (1, 2, 3):
            g = self.gather(self.here())
            mp.wait_for(lambda: self.log.read_text().count("receives the recording") == n)
            received = self.wait_for_bytes(n * MANY_BYTES)
            g.kill()
            g.wait()
            self.assertGreater(mp.info(received)["allocations"], 1000)
        self.assertIsNone(p.poll(), "the program must go on")
        g = self.gather(self.here())
        mp.wait_for(lambda: self.log.read_text().count("receives the recording") == 4)
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual((0, 1), (g.returncode, len(self.files())))
        self.assert_same_events(self.local, received)

    def test_a_connection_that_breaks_is_made_again(self):
        p = self.start([mp.program("runs_on"), "2", "1000"], SERVER_TOKEN=TOKEN)
        proxy = BreakingProxy(self.port, n_breaks=3, after_bytes=300000)
        self.addCleanup(proxy.close)
        g = self.gather(f"127.0.0.1:{proxy.port}", token=TOKEN)
        mp.wait_for(lambda: proxy.n_connections == 4)
        self.wait_for_bytes(self.local.stat().st_size)
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assertEqual(3, out.count("trying again"), out)
        self.assertEqual(1, len(self.files()))
        self.assert_same_events(self.local, self.files()[0])

    def test_a_process_that_is_killed(self):
        p = self.start([mp.program("runs_on"), "2", "500"])
        g = self.gather(self.here())
        received = self.wait_for_bytes(1 << 20)
        time.sleep(1)
        p.send_signal(signal.SIGKILL)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assertIn("is complete", out)
        self.assert_same_events(self.local, received)
        self.assertEqual(0, mp.info(received)["lost_events"])

    def test_program_and_writer_are_killed(self):
        """As when the host dies: the copy holds what was sent."""
        p = self.start([mp.program("runs_on"), "2", "500"])
        g = self.gather(self.here())
        received = self.wait_for_bytes(1 << 20)
        time.sleep(1)
        writer = mp.find_writer(self.local)
        p.send_signal(signal.SIGSTOP)
        os.kill(writer, signal.SIGKILL)
        p.send_signal(signal.SIGKILL)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(1, g.returncode)
        self.assertIn("holds what has arrived", out)
        whole, part = mp.info(self.local), mp.info(received)
        self.assertLessEqual(part["allocations"], whole["allocations"])
        self.assertGreater(part["allocations"], whole["allocations"] // 2)
        self.assertEqual(0, part["lost_events"])

    def test_the_writer_is_killed(self):
        """Another one takes its place, listens again, and the client goes on with its file."""
        p = self.start([mp.program("runs_on"), "2", "500"])
        g = self.gather(self.here())
        received = self.wait_for_bytes(1 << 20)
        os.kill(mp.find_writer(self.local), signal.SIGKILL)
        mp.wait_for(lambda: self.log.read_text().count("receives the recording") == 2)
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assertEqual([received], self.files())
        self.assert_same_events(self.local, received)

    def test_children_neither_hold_nor_disturb_the_connection(self):
        """Forked children have none of the sockets; the parent's recording arrives."""
        p = self.start([mp.find_tool("python3"), "-c", """
import os, sys, time
for i in range(20):
    pid = os.fork()
    if not pid:
        x = [bytes(1000 + k) for k in range(1000)]
        os._exit(any('socket' in os.readlink(f'/proc/self/fd/{f}') for f in os.listdir('/proc/self/fd')
                     if os.path.exists(f'/proc/self/fd/{f}')))
    if os.waitpid(pid, 0)[1]:
        sys.exit(3)
    time.sleep(0.05)
sys.stdin.read()
"""])
        g = self.gather(self.here())
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assert_same_events(self.local, self.files()[0])

    def test_the_exit_waits_for_no_client(self):
        """One that reads nothing, and one that gets everything; the writer is gone in time."""
        p = self.start([mp.program("runs_on"), "4"], SERVER_EXIT_WAIT=3000)
        deaf = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(deaf.close)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        Client(deaf).start()
        g = self.gather(self.here())
        received = self.wait_for_bytes(MANY_BYTES)
        writer = mp.find_writer(self.local)
        began = time.monotonic()
        self.finish(p)
        self.assertLess(time.monotonic() - began, 1.5, "the program waits for a client")
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)
        self.assert_same_events(self.local, received)
        mp.wait_for(lambda: not os.path.exists(f"/proc/{writer}/fd"))
        self.assertLess(time.monotonic() - began, 10, "the writer waits longer than it may")

    def test_the_program_ends_before_anybody_connects(self):
        g = self.gather(self.here())
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(1, g.returncode)
        self.assertIn("cannot connect", out)

    def test_a_reader_of_one_byte_per_second_delays_nothing(self):
        """It reads its share, but neither the program nor another client waits for it."""
        p = self.start([mp.program("runs_on"), "4", "200"], SERVER_EXIT_WAIT=500)
        slow = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(slow.close)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        Client(slow).start()
        g = self.gather(self.here())
        received = self.wait_for_bytes(2 * MANY_BYTES)
        for _ in range(3):
            before = self.local.stat().st_size
            self.assertEqual(1, len(slow.recv(1)))
            time.sleep(1)
            self.assertGreater(self.local.stat().st_size, before + 20000,
                               "the program stands still")
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)
        self.assert_same_events(self.local, received)
        self.assertEqual(0, mp.info(self.local)["lost_events"])

    def test_every_piece_of_a_toggled_program_is_received(self):
        p = self.start([mp.program("runs_on"), "2", "500"], OUTPUT=self.dir / "local_%n.dat")
        g = self.gather(self.here())
        for n in (1, 2, 3):
            mp.wait_for(lambda: len(self.files()) == n)
            p.send_signal(signal.SIGUSR1)
            time.sleep(0.3)
            p.send_signal(signal.SIGUSR1)
        mp.wait_for(lambda: len(self.files()) == 4)
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        local = sorted(self.dir.glob("local_*.dat"))
        self.assertEqual(4, len(local))
        self.assertEqual(sorted(map(dump, local)), sorted(map(dump, self.files())))


class Culled(StreamCase):
    """Short-lived allocations are left out, and clients get what stays."""

    CULL = {"CULL_TEMPORARY_ALLOCATIONS": 1, "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD": 300}

    def test_the_copy_is_the_recording(self):
        p = self.start([mp.program("obeys")], **self.CULL)
        g = self.gather(self.here())
        commands = ("+1 5001", "+2 5002", "-2", "t+3 5003", "=3 5013", "t-3", "~60 20000", "t+4 5004",
                    "=1 5011")
        self.assertEqual(b"ready\n", p.stdout.readline())
        for command in commands:
            p.stdin.write(command.encode() + b"\n")
            p.stdin.flush()
            self.assertEqual(b"done\n", p.stdout.readline())
        received = self.wait_for_bytes(8192)
        mp.wait_for(lambda: 5004 in mp.live_sizes(received))
        self.finish(p)
        self.assertEqual(0, g.wait(mp.TIMEOUT_S), g.stdout.read())
        self.assert_same_events(self.local, received)
        facts = mp.info(received)
        self.assertEqual([5004, 5011], [s for s in sorted(mp.live_sizes(received)) if 5000 < s < 5100])
        self.assertGreaterEqual(facts["culled_allocations"], 20000)
        self.assertEqual(mp.info(self.local)["culled_allocations"], facts["culled_allocations"])

    def test_a_growing_copy_has_no_free_without_its_allocation(self):
        """Four threads pass blocks around; the copy is looked at while it grows."""
        p = self.start([mp.program("toggle_storm"), "0", "6000"], **self.CULL,
                       TEMPORARY_ALLOCATION_PENDING_THRESHOLD=1000)
        g = self.gather(self.here())
        received = self.wait_for_bytes(8192)
        n_looked, wrong = 0, []
        while p.poll() is None:
            facts = mp.info(received)
            wrong += [(n_looked, facts[key]) for key in ("unknown_frees", "duplicate_allocations")
                      if facts[key]]
            n_looked += facts["allocations"] > 1000
        self.assertEqual(0, g.wait(mp.TIMEOUT_S), g.stdout.read())
        self.assertGreater(n_looked, 2)
        self.assertEqual([], wrong)
        self.assert_same_events(self.local, received)
        facts = mp.info(received)
        self.assertEqual(0, facts["unknown_frees"] + facts["duplicate_allocations"])
        self.assertGreater(facts["culled_allocations"], 10000)

    def test_a_killed_program_and_a_gather_that_was_killed(self):
        p = self.start([mp.program("runs_on"), "2", "500"], **self.CULL)
        g = self.gather(self.here())
        received = self.wait_for_bytes(1 << 16)
        time.sleep(1)
        g.kill()
        g.wait()
        time.sleep(1)
        g = self.gather(self.here())
        mp.wait_for(lambda: self.log.read_text().count("receives the recording") == 2)
        time.sleep(1)
        p.send_signal(signal.SIGKILL)
        g.wait(mp.TIMEOUT_S)
        self.assertEqual(1, len(self.files()))
        self.assert_same_events(self.local, received)

    def test_pieces(self):
        p = self.start([mp.program("runs_on"), "2", "500"], OUTPUT=self.dir / "local_%n.dat", **self.CULL)
        g = self.gather(self.here())
        for n in (1, 2):
            mp.wait_for(lambda: len(self.files()) == n)
            p.send_signal(signal.SIGUSR1)
            time.sleep(0.3)
            p.send_signal(signal.SIGUSR1)
        mp.wait_for(lambda: len(self.files()) == 3)
        self.finish(p)
        self.assertEqual(0, g.wait(mp.TIMEOUT_S), g.stdout.read())
        local = sorted(self.dir.glob("local_*.dat"))
        self.assertEqual(sorted(map(dump, local)), sorted(map(dump, self.files())))


class Token(StreamCase):
    def test_the_right_token_opens(self):
        p = self.start([mp.program("grows_on_command")], SERVER_TOKEN=TOKEN)
        g = self.gather(self.here(), token=TOKEN)
        mp.wait_for(self.files)
        self.finish(p)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assert_same_events(self.local, self.files()[0])
        for path in (self.local, self.files()[0]):
            self.assertNotIn(TOKEN.encode(), path.read_bytes(), "the recording holds the token")

    def test_a_token_from_a_file(self):
        p = self.start([mp.program("grows_on_command")], SERVER_TOKEN=TOKEN)
        (self.dir / "token").write_text(TOKEN + "\n")
        g = self.gather("--token-file", self.dir / "token", self.here())
        mp.wait_for(self.files)
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)
        self.assertEqual(0, g.returncode)

    def test_a_wrong_token_and_none_are_refused(self):
        p = self.start([mp.program("grows_on_command")], SERVER_TOKEN=TOKEN)
        for token, why in ((TOKEN[:-1] + "!", "wrong token"), (None, "needs the token")):
            with self.subTest(token=token):
                g = self.gather(self.here(), token=token)
                out = g.communicate(timeout=mp.TIMEOUT_S)[0]
                self.assertEqual(1, g.returncode)
                self.assertIn(why, out)
                self.assertEqual([], self.files())
        mp.wait_for(lambda: "was refused: wrong token" in self.log.read_text())
        self.finish(p)

    def test_a_short_token_starts_no_server(self):
        env = {"OUTPUT": self.local, "LOG": "error", "LOGFILE": self.log, "ENABLE_SERVER": 1,
               "BASE_SERVER_PORT": self.port, "SERVER_TOKEN": "fifteen letters"}
        self.record([mp.program("known_blocks")], options=env)
        self.assertIn("fewer than 16 characters", self.log.read_text())


class Ports(StreamCase):
    def test_the_next_free_port_is_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", self.port))
            s.listen()
            self.start([mp.program("grows_on_command")])
        self.assertNotIn(f"on port {self.port} ", self.log.read_text())
        self.assertRegex(self.log.read_text(), r"can be received on port \d+ of this host only")

    def test_no_descriptor_in_the_program(self):
        p = self.start([mp.program("grows_on_command")])
        g = self.gather(self.here())
        mp.wait_for(self.files)
        listed = subprocess.run(["ls", "-l", f"/proc/{p.pid}/fd"], capture_output=True, text=True,
                                check=True).stdout
        self.assertNotIn("socket", listed)
        self.finish(p)
        g.communicate(timeout=mp.TIMEOUT_S)


if __name__ == "__main__":
    mp.main()

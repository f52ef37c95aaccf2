"""Shared by the tests of the stream: programs with a server, gather, a client in Python, two hosts."""
import hashlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

import mp

GATHER = mp.BUILD / "memory-profiler-gather"
TOKEN = "a token for tests, of many characters"
BASE_PORT = 8100


def free_port():
    """A port that is free, with the ports behind it most likely free as well."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dump(path):
    return subprocess.run([mp.CLI, "dump", str(path)], stdout=subprocess.PIPE, check=True,
                          timeout=600).stdout


class Client:
    """A client of docs/STREAM.md, written from the document."""

    def __init__(self, connection, token=""):
        self.socket = connection
        self.token_key = hashlib.blake2b(token.encode(), digest_size=32,
                                         key=b"memory-profiler stream token").digest()
        self.keys = None
        self.n_in = self.n_out = 0

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.socket.recv(n - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def receive(self):
        head = self.read(8)
        kind, n = struct.unpack("<II", head)
        payload = self.read(n)
        if self.keys:
            mac = self.read(16)
            expected = hashlib.blake2b(struct.pack("<Q", self.n_in) + head + payload,
                                       digest_size=16, key=self.keys["recorder"]).digest()
            assert mac == expected, "the recorder's MAC is not what the document says"
            self.n_in += 1
        return kind, payload

    def frame(self, kind, payload=b""):
        frame = struct.pack("<II", kind, len(payload)) + payload
        if self.keys:
            frame += hashlib.blake2b(struct.pack("<Q", self.n_out) + frame, digest_size=16,
                                     key=self.keys["client"]).digest()
            self.n_out += 1
        return frame

    def derive(self, purpose):
        return hashlib.blake2b(purpose.encode() + b"\0" + self.nonces, digest_size=32,
                               key=self.token_key).digest()

    def prove(self):
        """Answers HELLO; returns the frame that was sent."""
        kind, hello = self.receive()
        assert kind == 1 and hello[:8] == b"MPSTREAM", (kind, hello)
        nonce = os.urandom(32)
        self.nonces = hello[16:48] + nonce
        proof = self.frame(2, struct.pack("<II", 1, 0) + nonce + self.derive("proof of the client"))
        self.socket.sendall(proof)
        return proof

    def shake_hands(self):
        self.prove()
        kind, payload = self.receive()
        assert kind == 4, (kind, payload)
        assert payload == self.derive("proof of the recorder")
        self.keys = {who: self.derive("frames of the " + who) for who in ("recorder", "client")}

    def start(self):
        """Opens the first piece from its beginning."""
        self.shake_hands()
        self.socket.sendall(self.frame(6, struct.pack("<I", 0)))
        assert self.receive()[0] == 5
        self.socket.sendall(self.frame(6, struct.pack("<I", 1)))
        assert self.receive()[0] == 7
        self.socket.sendall(self.frame(8, struct.pack("<Q", 0)))


class StreamCase(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.received = self.dir / "received"
        self.received.mkdir()
        self.local = self.dir / "local.dat"
        self.log = self.dir / "log.txt"
        self.port = free_port()

    def start(self, argv, where=(), **options):
        """Starts a program with a server, and waits until the server listens."""
        env = mp.clean_environment()
        options = {"OUTPUT": self.local, "LOG": "info", "LOGFILE": self.log, "ENABLE_SERVER": 1,
                   "BASE_SERVER_PORT": self.port, **options}
        env.update({f"MEMORY_PROFILER_{k}": str(v) for k, v in options.items()})
        env["LD_PRELOAD"] = str(mp.LIBRARY)
        preload = ["env", *(f"{k}={v}" for k, v in env.items())] if where else []
        p = subprocess.Popen([*where, *map(str, [*preload, *argv])],
                             env=mp.clean_environment() if where else env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, p)
        log = pathlib.Path(str(options["LOGFILE"]))
        mp.wait_for(lambda: log.exists() and "can be received" in log.read_text())
        return p

    def end(self, p):
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        p.stdin.close()
        p.stdout.close()

    def finish(self, p):
        """Ends a program in order that reads its input; its exit status must be 0."""
        p.stdin.close()
        self.assertEqual(0, p.wait(mp.TIMEOUT_S))

    def gather(self, *args, token=None, command=(GATHER,), where=(), folder=None):
        env = mp.clean_environment()
        if token is not None:
            env["MEMORY_PROFILER_SERVER_TOKEN"] = token
        p = subprocess.Popen([*where, *map(str, command), "-o", str(folder or self.received),
                              *map(str, args)], env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(self.end_gather, p)
        return p

    def end_gather(self, p):
        if p.poll() is None:
            p.kill()
        p.stdout.close()
        p.wait()

    def interrupt(self, g):
        """Ctrl-C for a gather that waits for recorders; returns what it said."""
        os.killpg(g.pid, signal.SIGINT)
        return g.communicate(timeout=mp.TIMEOUT_S)[0]

    def here(self):
        return f"127.0.0.1:{self.port}"

    def files(self):
        return sorted(self.received.glob("*.dat"))

    def wait_for_bytes(self, n_bytes):
        """Waits until one file with at least so many bytes is here."""
        def look():
            files = self.files()
            return files and files[0].stat().st_size >= n_bytes and files[0]
        return mp.wait_for(look)

    def assert_same_events(self, local, received):
        dumps = [subprocess.Popen([mp.CLI, "dump", str(path)], stdout=subprocess.PIPE)
                 for path in (local, received)]
        try:
            while True:
                texts = [p.stdout.read(1 << 20) for p in dumps]
                if texts[0] != texts[1]:
                    self.fail(f"the events of {received} differ from those of {local}")
                if not texts[0]:
                    break
        finally:
            for p in dumps:
                p.stdout.close()
            codes = [p.wait() for p in dumps]
        self.assertEqual([0, 0], codes)


class Hosts:
    """Two hosts with a cable between them: a is 10.77.0.1, b is 10.77.0.2."""

    A, B = "10.77.0.1", "10.77.0.2"

    def __init__(self, case):
        for tool in ("ip", "unshare", "nsenter"):
            mp.require(tool, mp.find_tool(tool))
        if subprocess.run(["unshare", "-Urn", "true"], capture_output=True,
                          check=False).returncode != 0:
            raise case.skipTest("the kernel refuses network namespaces (unshare -Urn)")
        self.case = case
        self.pid_a = self.sleeper(["unshare", "-Urn"])
        self.pid_b = self.sleeper([*self.enter(self.pid_a), "unshare", "-n"])
        self.on_a("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
                  str(self.pid_b))
        for host, address in ((self.on_a, self.A), (self.on_b, self.B)):
            host("ip", "link", "set", "lo", "up")
            host("ip", "address", "add", f"{address}/24", "broadcast", "+", "dev", "cable")
            host("ip", "link", "set", "cable", "up")

    def sleeper(self, where):
        """A process that keeps a namespace; ready when it has written a line."""
        p = subprocess.Popen([*where, "sh", "-c", "echo $$; exec sleep 1000"],
                             stdout=subprocess.PIPE)

        def end():
            p.kill()
            p.wait()
            p.stdout.close()
        self.case.addCleanup(end)
        return int(p.stdout.readline())

    def enter(self, pid):
        return ["nsenter", "-t", str(pid), "-U", "-n", "--preserve-credentials"]

    @property
    def a(self):
        return self.enter(self.pid_a)

    @property
    def b(self):
        return self.enter(self.pid_b)

    def on_a(self, *argv):
        subprocess.run([*self.a, *argv], check=True)

    def on_b(self, *argv):
        subprocess.run([*self.b, *argv], check=True)

    def cut(self):
        self.on_b("ip", "link", "set", "cable", "down")

    def mend(self):
        self.on_b("ip", "link", "set", "cable", "up")

#!/usr/bin/env python3
"""Receiving recordings while they are written: `gather` from the server inside the program."""
import os
import signal
import socket
import subprocess

import mp

GATHER = mp.BUILD / "memory-profiler-gather"
TOKEN = "a token for tests, of many characters"


def free_port():
    """A port that is free, with the ports behind it most likely free as well."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dump(path):
    done = subprocess.run([mp.CLI, "dump", str(path)], stdout=subprocess.PIPE, check=True,
                          timeout=300)
    return done.stdout


class StreamCase(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.received = self.dir / "received"
        self.received.mkdir()
        self.local = self.dir / "local.dat"
        self.log = self.dir / "log.txt"
        self.port = free_port()

    def start(self, argv, **options):
        env = mp.clean_environment()
        options = {"OUTPUT": self.local, "LOG": "info", "LOGFILE": self.log, "ENABLE_SERVER": 1,
                   "BASE_SERVER_PORT": self.port, **options}
        env.update({f"MEMORY_PROFILER_{k}": str(v) for k, v in options.items()})
        env["LD_PRELOAD"] = str(mp.LIBRARY)
        p = subprocess.Popen([str(a) for a in argv], env=env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, p)
        mp.wait_for(lambda: self.log.exists() and "can be received" in self.log.read_text())
        return p

    def end(self, p):
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        p.stdin.close()
        p.stdout.close()

    def gather(self, *args, token=None, command=(GATHER,)):
        env = mp.clean_environment()
        if token is not None:
            env["MEMORY_PROFILER_SERVER_TOKEN"] = token
        p = subprocess.Popen([*map(str, command), "-o", str(self.received), *map(str, args)],
                             env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end_gather, p)
        return p

    def end_gather(self, p):
        if p.poll() is None:
            p.kill()
        p.stdout.close()
        p.wait()

    def here(self):
        return f"127.0.0.1:{self.port}"

    def files(self):
        return sorted(self.received.glob("*.dat"))

    def assert_same_events(self, local, received):
        self.assertEqual(dump(local), dump(received), "the received file differs")


class Gather(StreamCase):
    def test_a_process_from_beginning_to_end(self):
        p = self.start([mp.program("grows_on_command")])
        g = self.gather(self.here())
        mp.wait_for(self.files)
        for _ in range(5):
            p.stdin.write(b"x")
            p.stdin.flush()
            p.stdout.readline()
        p.stdin.close()
        p.wait(mp.TIMEOUT_S)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual((0, 0), (p.returncode, g.returncode), out)
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
        p.stdin.close()
        p.wait(mp.TIMEOUT_S)
        self.assertIn("is complete", g.communicate(timeout=mp.TIMEOUT_S)[0])
        self.assert_same_events(self.local, self.files()[0])


class Token(StreamCase):
    def test_the_right_token_opens(self):
        p = self.start([mp.program("grows_on_command")], SERVER_TOKEN=TOKEN)
        g = self.gather(self.here(), token=TOKEN)
        mp.wait_for(self.files)
        p.stdin.close()
        p.wait(mp.TIMEOUT_S)
        out = g.communicate(timeout=mp.TIMEOUT_S)[0]
        self.assertEqual(0, g.returncode, out)
        self.assert_same_events(self.local, self.files()[0])
        for path in (self.local, self.files()[0]):
            self.assertNotIn(TOKEN.encode(), path.read_bytes(), "the recording holds the token")

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
        p.stdin.close()
        self.assertEqual(0, p.wait(mp.TIMEOUT_S))

    def test_a_short_token_starts_no_server(self):
        env = {"OUTPUT": self.local, "LOG": "error", "LOGFILE": self.log, "ENABLE_SERVER": 1,
               "BASE_SERVER_PORT": self.port, "SERVER_TOKEN": "fifteen letters"}
        self.record([mp.program("known_blocks")], options=env)
        self.assertIn("fewer than 16 characters", self.log.read_text())


if __name__ == "__main__":
    mp.main()

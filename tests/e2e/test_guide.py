#!/usr/bin/env python3
"""docs/guide/deployment.md: the unit and the environment file do what the guide says, without systemd
as process 1: the same environment, the same paths in a root of its own."""
import os
import re
import signal
import subprocess
import time

import mp
from test_pieces import Obeying

GUIDE = mp.SRC / "docs/guide/deployment.md"
ROOT_OF_GUIDE = "/opt/memory-profiler"


def block_after(words):
    """The first block of code after these words of the guide."""
    text = GUIDE.read_text()
    return re.search(r"```text\n(.*?)```", text[text.index(words):], re.S)[1]


class Systemd(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.root = self.dir / "opt"
        done = subprocess.run(
            ["bash", "-euc", self.here(block_after("Unpack the release archive")
                                       .replace("sudo ", ""))],
            cwd=mp.BUILD, check=False, capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        (self.root / "env").write_text(self.here(block_after("The environment file")))

    def here(self, text):
        self.assertIn(ROOT_OF_GUIDE, text)
        return text.replace(ROOT_OF_GUIDE, str(self.root))

    def environment(self):
        """As systemd reads the file: NAME=VALUE, no expansion."""
        lines = (self.root / "env").read_text().splitlines()
        return {**mp.clean_environment(), **dict(line.split("=", 1) for line in lines if line)}

    def test_the_unit_names_the_environment_file(self):
        self.assertEqual(f"[Service]\nEnvironmentFile={ROOT_OF_GUIDE}/env\n",
                         block_after("The addition to the unit"))

    def test_the_service_is_recorded(self):
        seen = mp.run([mp.program("known_blocks")], self.environment(), cwd="/")
        self.assertEqual(0, seen.code, seen.stderr)
        self.assertEqual(b"", seen.stderr, "the log goes to its file")
        [recording] = (self.root / "logs").glob("*.dat")
        [log] = (self.root / "logs").glob("*.txt")
        name = rf"profiling_known_blocks_\d+_{mp.info(recording)['pid']}"
        self.assertRegex(recording.name, rf"^{name}\.dat$")
        self.assertRegex(log.name, rf"^{name}\.txt$")
        self.assertIn("recording to", log.read_text())
        self.assertNotRegex(log.read_text(), r" (WRN|ERR) ")
        self.assertTrue(mp.info(recording)["complete"])

    def test_a_restart_replaces_nothing(self):
        for n in (1, 2, 3):
            mp.run([mp.program("known_blocks")], self.environment(), cwd="/")
            self.assertEqual(n, len(list((self.root / "logs").glob("*.dat"))))


class LogFile(mp.TestCase):
    """What logrotate does to the log of a running service."""

    def test_it_may_be_renamed_removed_or_emptied(self):
        with Obeying(self, "app_%n.dat") as program:
            [log] = program.folder.glob("log.*")
            log.rename(program.folder / "kept")
            program.new_piece()
            self.assertIn("recording goes on", log.read_text())
            self.assertNotIn("recording goes on", (program.folder / "kept").read_text())
            log.unlink()
            program.new_piece()
            self.assertEqual(1, log.read_text().count("recording goes on"))
            os.truncate(log, 0)
            program.new_piece()
            text = log.read_text()
            self.assertEqual(1, text.count("recording goes on"))
            self.assertNotIn("\0", text)

    def test_it_is_renamed_each_time_it_is_large(self):
        with Obeying(self, "app_%n.dat", LOGFILE_ROTATE_WHEN_BIGGER_THAN=10) as program:
            for n in (2, 3, 4):
                for _ in range(2):
                    program.process.send_signal(signal.SIGUSR1)
                    time.sleep(0.3)
                mp.wait_for(lambda k=n: len(list(program.folder.glob("app_*.dat"))) == k)
        [old] = program.folder.glob("log.*.old")
        self.assertEqual(1, len(old.read_text().splitlines()), "it was renamed once only")


if __name__ == "__main__":
    mp.main()

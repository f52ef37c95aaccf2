#!/usr/bin/env python3
"""docs/guide/deployment.md: the unit and the environment file do what the guide says, without systemd
as process 1: the same environment, the same paths in a root of its own."""
import re
import subprocess

import mp

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


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""`top`, and `--connect` of top, report and server: a program is looked at while it runs."""
import json
import re
import shlex
import subprocess
import urllib.request

import mp
from mp_stream import StreamCase


class Live(StreamCase):
    def setUp(self):
        super().setUp()
        self.env = {**mp.clean_environment(), "TMPDIR": str(self.dir),
                    "XDG_CACHE_HOME": str(self.dir / "cache")}
        self.program = self.start([mp.program("runs_on"), "2", "2000"])
        mp.wait_for(lambda: mp.info(self.local)["allocations"] > 1000)

    def cli(self, *args):
        return subprocess.run([mp.CLI, *map(str, args)], env=self.env, capture_output=True,
                              text=True, check=False, timeout=mp.TIMEOUT_S * 4)

    def copies(self):
        return list(self.dir.glob("memory-profiler-*"))

    def test_top_of_a_growing_file(self):
        done = self.cli("top", "-n", "2", "-s", "1", self.local)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(2, done.stdout.count("HOLDS*"))
        self.assertRegex(done.stdout, r"(?m)^ *\S+ [KM]iB +\d+ .* MiB/s .*  go$")
        durations = re.findall(r"\), (.*), peak", done.stdout)
        self.assertEqual(2, len(set(durations)), "it shows the same moment twice")

    def test_top_of_a_program_elsewhere(self):
        done = self.cli("top", "-n", "1", "--sort", "rate", "--connect", self.here())
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("ALLOCATES*", done.stdout)
        self.assertRegex(done.stdout, r"(?m)  go$")
        self.assertEqual([], self.copies(), "the copy must be gone")

    def test_top_says_what_is_wrong(self):
        for args, code, why in (
                ([], 2, "one RECORDING"), (["-s", "x", self.local], 2, "write a number"),
                (["--sort", "x", self.local], 2, "write held or rate"),
                (["--connect", "127.0.0.1:1"], 1, "cannot connect"),
                (["/nonexistent.dat"], 1, "No such file")):
            with self.subTest(args=args):
                done = self.cli("top", *args)
                self.assertEqual(code, done.returncode)
                self.assertIn(why, done.stderr)

    def test_report_of_a_program_elsewhere(self):
        done = self.cli("report", "--json", "--connect", self.here())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertGreater(len(json.loads(done.stdout)), 1)
        self.assertEqual([], self.copies(), "the copy must be gone")

    def test_server_moves_on_with_a_program_elsewhere(self):
        with subprocess.Popen([mp.CLI, "server", "--port", "0", "--connect", self.here()],
                              env=self.env, stdout=subprocess.PIPE, text=True) as server:
            try:
                url = re.search(r"http://\S+", server.stdout.readline())[0]

                def sessions():
                    with urllib.request.urlopen(url + "list", timeout=mp.TIMEOUT_S) as answer:
                        return json.load(answer)
                mp.wait_for(lambda: [s for s in sessions()
                                     if (s["executable"] or "").endswith("runs_on")])
                self.assertTrue(mp.wait_for(self.copies))
                before = next(self.copies()[0].glob("*.dat")).stat().st_size
                mp.wait_for(lambda: next(self.copies()[0].glob("*.dat")).stat().st_size > before)
            finally:
                server.terminate()
        mp.wait_for(lambda: not self.copies())

    @mp.needs_tool("tmux")
    def test_top_in_a_terminal(self):
        tmux = ["tmux", "-S", str(self.dir / "tmux"), "-f", "/dev/null"]
        env = {**self.env, "TERM": "xterm"}
        command = shlex.join([str(mp.CLI), "top", "-s", "1", str(self.local)])
        subprocess.run([*tmux, "new-session", "-d", "-x", "100", "-y", "24", command], env=env,
                       check=True)
        self.addCleanup(subprocess.run, [*tmux, "kill-server"], env=env, check=False,
                        capture_output=True)

        def screen():
            return subprocess.run([*tmux, "capture-pane", "-p"], env=env, capture_output=True,
                                  text=True, check=False).stdout
        mp.wait_for(lambda: "HOLDS*" in screen() and "q: quit" in screen())
        self.assertLessEqual(len(screen().splitlines()), 24)
        seen = re.search(r"\), ([0-9.]+) m?s, peak", screen())[1]
        mp.wait_for(lambda: seen not in screen() and "HOLDS*" in screen())
        subprocess.run([*tmux, "send-keys", "a"], env=env, check=True)
        mp.wait_for(lambda: "ALLOCATES*" in screen())
        subprocess.run([*tmux, "send-keys", "q"], env=env, check=True)
        mp.wait_for(lambda: subprocess.run([*tmux, "has-session"], env=env, check=False,
                                           capture_output=True).returncode != 0)


if __name__ == "__main__":
    mp.main()

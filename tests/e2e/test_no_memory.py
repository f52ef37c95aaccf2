"""Each command survives that one of its allocations fails: the right answer, or a clear error."""
import pathlib
import random
import subprocess

import mp

FAIL = mp.BUILD / "tests/truth/libmp_truth_fail.so"
RECORDING = pathlib.Path(__file__).parent / "golden/figures.dat"
N_TRIED = 150  # of each command; all, if there are fewer
COMMANDS = {
    "info": ["info", "--json"],
    "dump": ["dump"],
    "report": ["report", "--no-cache"],
    "report_json": ["report", "--no-cache", "--json"],
    "report_filter": ["report", "--no-cache", "--size-min=64", "--function-regex=a"],
    "timeline": ["report", "--no-cache", "--view", "timeline"],
    "sizes": ["report", "--no-cache", "--view", "sizes"],
    "callers": ["report", "--no-cache", "--view", "callers"],
    "csv": ["export", "--no-cache", "-f", "csv"],
    "heaptrack": ["export", "--no-cache", "-f", "heaptrack"],
    "pprof": ["export", "--no-cache", "-f", "pprof"],
    "svg": ["export", "--no-cache", "-f", "flamegraph-svg"],
    "dhat": ["export", "--no-cache", "-f", "dhat"],
    "strip": ["strip", "-q", "-o", "out.dat"],
    "postprocess": ["postprocess", "-q", "-o", "out.dat"],
}


class NoMemory(mp.TestCase):
    def run_command(self, arguments, fail_at, count=None):
        env = {**mp.clean_environment(), "LD_PRELOAD": str(FAIL), "MP_FAIL_AT": str(fail_at)}
        if count:
            env["MP_FAIL_COUNT"] = str(count)
        return subprocess.run([mp.CLI, *arguments, RECORDING], cwd=self.dir, env=env, capture_output=True,
                              check=False, timeout=300, preexec_fn=mp.no_core_dump)

    def check(self, name, arguments):
        count = self.dir / "count"
        whole = self.run_command(arguments, 0, count)
        self.assertEqual(0, whole.returncode, whole.stderr)
        n = int(count.read_text())
        self.assertGreater(n, 10)
        chosen = range(1, n + 1)
        if n > N_TRIED:
            chosen = sorted(random.Random(name).sample(chosen, N_TRIED))
        n_failed = 0
        for at in chosen:
            done = self.run_command(arguments, at)
            where = f"{name}: allocation {at} of {n} fails: exit {done.returncode}, {done.stderr.decode()}"
            self.assertIn(done.returncode, (0, 1), where)
            if done.returncode == 0:
                self.assertEqual(whole.stdout, done.stdout, where)
            else:
                n_failed += 1
                self.assertIn(b"memory-profiler-cli: ", done.stderr, where)
        self.assertGreater(n_failed, 3, "the failures were noticed")

    def test_reading(self):
        for name in ("info", "dump"):
            self.check(name, COMMANDS[name])

    def test_reports(self):
        for name in ("report", "report_json", "report_filter", "timeline", "sizes", "callers"):
            self.check(name, COMMANDS[name])

    def test_exports(self):
        for name in ("csv", "heaptrack", "pprof", "svg", "dhat"):
            self.check(name, COMMANDS[name])

    def test_rewriting_leaves_no_half_file(self):
        for name in ("strip", "postprocess"):
            self.check(name, COMMANDS[name])
            self.assertEqual(["out.dat"], [p.name for p in self.dir.iterdir() if "out" in p.name])
            (self.dir / "out.dat").unlink()


if __name__ == "__main__":
    mp.main()

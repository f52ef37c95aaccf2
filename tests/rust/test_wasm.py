#!/usr/bin/env python3
"""wasm that wasmtime compiles just in time: stacks through it are those that wasmtime sees.

usage: test_wasm.py   (make test-rust; needs cargo and the crate registry)
"""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import mp  # noqa: E402  (after the path to it)

TARGET = pathlib.Path(os.environ.get("MP_BUILD", HERE.parents[1] / "build/release")) / "rust/wasm"
FIRST_SIZE = 100_000
N_STACKS = 2000
N_TRAPS = 1_000_000
OURS = re.compile(r"(?:.*::)?(step\d+|run)")


def build():
    """The program; kept between runs of the test."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "wasm/Cargo.toml",
                    "--target-dir", TARGET], check=True)
    return TARGET / "release/wasm"


class Wasm(mp.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build()

    def rows(self, recording, *options):
        """(size, frames) of each allocation"""
        out = self.dir / "rows.json"
        subprocess.run([mp.CLI, "export", "-f", "json", "-o", out, *options, recording], check=True)
        found = json.loads(out.read_text())
        stacks = {b["id"]: b["frames"] for b in found["backtraces"]}
        return [(row["size"], stacks[row["backtrace"]]) for row in found["allocations"]]

    def remove_files_for_perf(self, recording):
        pid = recording.name.split("_")[0]
        for path in (f"/tmp/perf-{pid}.map", self.dir / f"jit-{pid}.dump"):
            pathlib.Path(path).unlink(missing_ok=True)

    def recorded(self, what, names, n, *more):
        seen = self.record([self.program, what, names, str(n), *more], timeout=600, cwd=self.dir)
        self.assertEqual((9, b"%d\n" % n), (seen.code, seen.stdout), seen.stderr)
        self.remove_files_for_perf(seen.recording)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertEqual(0, facts["crossed_blocks"])
        return facts, seen.recording

    def test_stacks_are_those_of_wasmtime(self):
        for names in ("perf", "jitdump", "gdb"):
            with self.subTest(names=names):
                truth = self.dir / f"truth_{names}"
                facts, recording = self.recorded("stacks", names, N_STACKS, truth)
                self.assertLess(sum(facts["truncated_stacks"].values()), facts["events"] / 50)
                expected = {}
                for line in truth.read_text().splitlines():
                    size, *functions = line.split(" ")
                    expected[int(size)] = functions
                self.assertEqual(N_STACKS, len(expected))
                rows = self.rows(recording, f"--size-min={FIRST_SIZE}",
                                 f"--size-max={FIRST_SIZE + N_STACKS - 1}")
                found = {}
                for size, frames in rows:
                    if any("host_allocate" in (f["function"] or "") for f in frames):
                        found[size] = [m[1] for f in frames
                                       if (m := OURS.fullmatch(f["function"] or ""))]
                        self.assertIn("main", frames[-4:][0]["function"] + "".join(
                            f["function"] or "" for f in frames))
                differing = [(size, expected.get(size), found.get(size))
                             for size in {*expected, *found} if expected.get(size) != found.get(size)]
                self.assertEqual([], differing[:3], len(differing))

    def test_a_million_traps(self):
        facts, recording = self.recorded("traps", "none", N_TRAPS)
        self.assertGreaterEqual(facts["allocations"], N_TRAPS)
        self.assertLess(sum(facts["truncated_stacks"].values()), facts["events"] / 50)
        self.assertEqual(["jemalloc"], [a["name"] for a in facts["allocators"]])


if __name__ == "__main__":
    mp.main(cargo=mp.find_tool("cargo"))

#!/usr/bin/env python3
"""Binaries that several recordings of a run need are kept once, beside the recordings."""
import os
import pathlib
import re
import shutil
import subprocess

import mp

FOLDER = "memory-profiling-binaries"
TRACKED = {"TRACK_CHILD_PROCESSES": 1}


def knows_main(path):
    """Has the function main of the program its name?"""
    done = subprocess.run([mp.CLI, "export", "-f", "collapsed", "--no-cache", path], check=True, timeout=120,
                          capture_output=True, text=True, env=mp.clean_environment())
    return re.search(r"(^|;)main[ ;]", done.stdout, re.M) is not None


class Shared(mp.TestCase):
    def program(self):
        """A program that is gone when its recording is read, so that only what was kept has its names."""
        return self.copy(mp.program("demo"))

    def copy(self, path):
        return pathlib.Path(shutil.copy(path, self.dir))

    def run_script(self, *programs, **options):
        """Records a shell that starts programs one after the other. (their recordings, the shell's)"""
        done = self.record(["sh", "-c", "; ".join(f"'{p}' >/dev/null" for p in programs) + "; :"],
                           options={**TRACKED, **options})
        self.assertEqual(0, done.code, done.stderr)
        facts = {path: mp.info(path) for path in done.recordings}
        started = [path for path, f in facts.items() if f["executable"] in map(str, programs)]
        (shell,) = set(facts) - set(started)
        return started, shell

    def test_each_binary_is_kept_once(self):
        program = self.program()
        started, shell = self.run_script(program, program, program)
        self.assertEqual(3, len(started))
        folder = shell.parent / FOLDER
        kept = sorted(p.name for p in folder.iterdir())
        needed = {f["file"] for path in [*started, shell] for f in mp.info(path)["files_beside"]}
        self.assertEqual(sorted(needed), [f"{FOLDER}/{name}" for name in kept])
        self.assertEqual(0o700, folder.stat().st_mode & 0o777)
        for name in kept:
            self.assertRegex(name, r"^[0-9a-f]{16,}\.[0-9]+$")
            self.assertEqual(0o600, (folder / name).stat().st_mode & 0o777)
        self.assertLess(shell.stat().st_size, 64 << 10)
        program.unlink()
        for path in started:
            facts = mp.info(path)
            self.assertTrue(facts["complete"])
            self.assertEqual(facts["modules"], facts["embedded_files"])
            self.assertTrue(all(f["found"] for f in facts["files_beside"]))
            self.assertTrue(knows_main(path))

    def test_without_the_folder_it_says_what_is_missing(self):
        program = self.program()
        (path,), _ = self.run_script(program)
        program.unlink()
        alone = self.dir / "alone.dat"
        shutil.copy(path, alone)
        facts = mp.info(alone)
        self.assertEqual([False] * len(facts["files_beside"]), [f["found"] for f in facts["files_beside"]])
        self.assertEqual(0, facts["embedded_files"])
        text = subprocess.run([mp.CLI, "info", alone], check=True, capture_output=True, text=True).stdout
        self.assertIn("MISSING", text)
        self.assertTrue(any(FOLDER in note for note in facts["notes"]), facts["notes"])
        self.assertFalse(knows_main(alone))
        self.assertTrue(knows_main(path))

    def test_tools_read_what_is_beside(self):
        program = self.program()
        (path,), _ = self.run_script(program)
        program.unlink()
        away = self.new_folder()
        for tool in ("repack", "postprocess"):
            out = away / f"{tool}.dat"
            subprocess.run([mp.CLI, tool, "-q", "-o", out, path], check=True, timeout=120)
            facts = mp.info(out)
            self.assertEqual([], facts["files_beside"], tool)
            self.assertTrue(knows_main(out), tool)
        subprocess.run([mp.CLI, "strip", "-q", "-o", away / "strip.dat", path], check=True, timeout=120)
        self.assertTrue(knows_main(away / "strip.dat"))
        files = away / "files"
        subprocess.run([mp.CLI, "extract", "-o", files, path], check=True, capture_output=True, timeout=120)
        (kept,) = files.rglob("demo")
        symbols = [subprocess.run(["nm", p], check=True, capture_output=True).stdout
                   for p in (kept, mp.program("demo"))]
        self.assertEqual(*symbols)

    def test_what_somebody_else_can_write_is_not_believed(self):
        program = self.program()
        (path,), _ = self.run_script(program)
        facts = mp.info(path)
        (beside,) = [f for f in facts["files_beside"] if f["path"] in ("/proc/self/exe", str(program))]
        victim = path.parent / beside["file"]
        os.chmod(victim, 0o622)
        self.assertEqual(facts["embedded_files"] - 1, mp.info(path)["embedded_files"])
        os.chmod(victim, 0o600)
        self.assertEqual(facts["embedded_files"], mp.info(path)["embedded_files"])
        other = next(f for f in facts["files_beside"] if f != beside)
        victim.write_bytes((path.parent / other["file"]).read_bytes())  # another binary
        self.assertEqual(facts["embedded_files"] - 1, mp.info(path)["embedded_files"])
        victim.write_bytes(b"ELF")
        program.unlink()
        self.assertFalse(knows_main(path))

    def test_a_folder_that_is_not_ours_is_left_alone(self):
        folder = self.new_folder()
        theirs = folder / FOLDER
        theirs.mkdir()
        os.chmod(theirs, 0o777)
        done = self.record([mp.program("demo")], folder=folder, options=TRACKED)
        facts = mp.info(done.recording)
        self.assertEqual(([], facts["modules"]), (facts["files_beside"], facts["embedded_files"]))
        self.assertEqual([], list(theirs.iterdir()))

    def test_alone_a_recording_has_all_in_it(self):
        for options in ({}, {**TRACKED, "ENABLE_SERVER": 1, "BASE_SERVER_PORT": 0}):
            done = self.record([mp.program("demo")], options=options)
            self.assertEqual([], mp.info(done.recording)["files_beside"])
            self.assertFalse((done.folder / FOLDER).exists())

    def test_many_at_once(self):
        program = self.program()
        done = self.record(["sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do '{program}' >/dev/null & done; wait"],
                           options=TRACKED)
        self.assertEqual(9, len(done.recordings))
        for path in done.recordings:
            facts = mp.info(path)
            self.assertEqual(facts["modules"], facts["embedded_files"])
            self.assertTrue(facts["complete"])
        self.assertEqual([], [p.name for p in (done.folder / FOLDER).iterdir() if p.name.startswith(".")])


if __name__ == "__main__":
    mp.main()

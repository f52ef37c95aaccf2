"""`run` records the program that is meant, says where, and reports on it."""
import pathlib
import pwd
import shutil
import subprocess

import mp


def run(*args, env=None, cli=mp.CLI, **how):
    how.setdefault("timeout", 120)
    done = subprocess.run([cli, "run", *map(str, args)], capture_output=True, check=False,
                          env={**mp.clean_environment(), **(env or {})}, **how)
    done.said = done.stderr.decode(errors="replace")
    return done


def next_one(done):
    """The path that `run` proposes to look at."""
    lines = [line for line in done.said.splitlines() if line.startswith("Next: ")]
    assert len(lines) == 1, done.said
    return lines[0].removeprefix("Next: memory-profiler-cli report ")


class Output(mp.TestCase):
    def test_it_says_at_the_start_where_the_recording_goes(self):
        done = run("-o", "app.dat", mp.program("demo"), cwd=self.dir)
        self.assertEqual("memory-profiler-cli: recording to app.dat", done.said.splitlines()[0])

    def test_missing_folders_are_made(self):
        done = run("-o", "a/b c/100%%/app.dat", mp.program("demo"), cwd=self.dir)
        self.assertEqual(0, done.returncode, done.said)
        self.assertTrue((self.dir / "a/b c/100%/app.dat").exists(), done.said)

    def test_folder_that_cannot_be_made(self):
        (self.dir / "file").write_text("")
        done = run("-o", "file/x/app.dat", mp.program("demo"), cwd=self.dir)
        self.assertEqual(1, done.returncode)
        self.assertIn("file", done.said)
        self.assertEqual(b"", done.stdout)  # the program did not run

    def test_no_earlier_recording_is_dropped(self):
        for _ in range(4):
            self.assertEqual(0, run("-o", "k.dat", mp.program("demo"), cwd=self.dir).returncode)
        kept = sorted(p.name for p in self.dir.glob("k.dat*"))
        self.assertEqual(["k.dat", "k.dat.old", "k.dat.old.1", "k.dat.old.2"], kept)
        self.assertEqual(4, len({p.read_bytes() for p in self.dir.glob("k.dat*")}))


class Follow(mp.TestCase):
    def programs(self):
        """{name of a recording: the executable in it}"""
        return {p.name: pathlib.Path(mp.info(p)["executable"]).name for p in self.dir.glob("*.dat*")}

    def assert_demo_is_next(self, done):
        self.assertEqual(0, done.returncode, done.said)
        self.assertEqual("app.dat", next_one(done), done.said)
        self.assertEqual("demo", self.programs()["app.dat"])
        self.assertIn("app.dat (", done.said.partition("recorded:\n")[2].splitlines()[0])

    def test_script_of_a_shell(self):
        script = self.dir / "script.sh"
        script.write_text(f"#!/bin/sh\nls > /dev/null\n{mp.program('demo')}\ndate > /dev/null\n")
        script.chmod(0o755)
        self.assert_demo_is_next(run("-o", "app.dat", "./script.sh", cwd=self.dir))
        self.assertLess({"ls", "date", "demo"}, set(self.programs().values()))

    def test_notes_are_those_of_the_program_that_was_meant(self):
        done = run("-o", "app.dat", "sh", "-c", "(true; true); $0; true", mp.program("demo"), cwd=self.dir)
        self.assert_demo_is_next(done)
        self.assertNotIn("forked child", done.said)

    def test_script_without_a_first_line(self):
        script = self.dir / "script"
        script.write_text(f"{mp.program('demo')}\ntrue\n")
        script.chmod(0o755)
        self.assert_demo_is_next(run("-o", "app.dat", "./script", cwd=self.dir))

    def test_commands_that_become_the_program(self):
        for wrapper in (["env", "A=b"], ["nice", "-n", "1"], ["nohup"], ["timeout", "60"], ["stdbuf", "-o0"],
                        ["setsid", "-w"], ["sh", "-c", 'exec "$0"'], ["env", "nice", "setarch", "-R"]):
            done = run("-o", "app.dat", *wrapper, mp.program("demo"), cwd=self.dir)
            self.assert_demo_is_next(done)
            for path in self.dir.glob("app*"):
                path.unlink()

    def test_own_names_stay(self):
        done = run("-o", "e_%p_%n_%e.dat", "env", mp.program("demo"), cwd=self.dir)
        self.assertRegex(next_one(done), r"^e_\d+_\d+_demo\.dat$")

    @mp.needs_root("starts a program as another user")
    @mp.needs_tool("sudo")
    def test_many_around_the_program_are_one_line(self):
        script = self.dir / "many.sh"
        script.write_text("#!/bin/sh\nfor i in 1 2 3 4 5 6; do ls >/dev/null; done\n%s >/dev/null\n" % mp.program("demo"))
        script.chmod(0o755)
        done = run("./many.sh", cwd=self.dir)
        lines = done.said.splitlines()
        at = next(i for i, line in enumerate(lines) if line.endswith("recorded:"))
        self.assertRegex(lines[at + 1], r"^  memory-profiling_demo_")
        self.assertRegex(lines[at + 2], r"^  and 7 more of other processes \([0-9.]+ KiB in all\)$")
        self.assertRegex(lines[at + 3], r"^Next: memory-profiler-cli report memory-profiling_demo_")
        self.assertEqual(8, len(list(self.dir.glob("*.dat"))))

    def test_sizes_are_those_of_finished_recordings(self):
        done = run("-o", "app.dat", mp.program("demo"), cwd=self.dir, env={"MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT": "0"})
        self.assertRegex(done.said, r"app\.dat \([0-9.]+ KiB,")

    def test_another_user(self):
        user = pwd.getpwnam("nobody").pw_name
        self.dir.chmod(0o777)
        program, cli, library = (shutil.copy(p, self.dir) for p in (mp.program("demo"), mp.CLI, mp.LIBRARY))
        pathlib.Path(library).chmod(0o755)
        for wrapper in (["setpriv", "--reuid", user, "--clear-groups"], ["/usr/sbin/runuser", "-u", user, "--"],
                        ["sudo", "-u", user, "--"]):
            done = run("-o", "app.dat", *wrapper, program, cwd=self.dir, cli=cli)
            self.assert_demo_is_next(done)
            self.assertEqual(user, (self.dir / "app.dat").owner(), wrapper)
            for path in self.dir.glob("app*"):
                path.unlink()

    def test_the_variable_beats_the_habit(self):
        done = run("-o", "app.dat", "env", mp.program("demo"), cwd=self.dir,
                   env={"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "0"})
        self.assertEqual({"app.dat": "env"}, self.programs())
        self.assertIn("--children", done.said)

    def test_ordinary_program_is_recorded_alone_unless_asked(self):
        script = self.dir / "parent.py"
        script.write_text(f"import subprocess\nsubprocess.run([{mp.program('demo')!r}])\n")
        run("-o", "app.dat", "python3", script, cwd=self.dir)
        self.assertEqual(["app.dat"], sorted(self.programs()))
        done = run("-o", "app.dat", "--children", "python3", script, cwd=self.dir)
        self.assertIn("demo", self.programs().values())
        self.assertTrue(self.programs()["app.dat"].startswith("python3"), "the program itself comes first")
        self.assertEqual("app.dat", next_one(done))


class Pieces(mp.TestCase):
    def test_pieces_of_a_run_are_one_recording(self):
        done = run("-r", "-o", "app.dat", mp.program("demo_node"), cwd=self.dir, env={"MEMORY_PROFILER_ROTATE_SIZE": "2000000"})
        pieces = next_one(done).split()
        self.assertGreater(len(pieces), 1, done.said)
        self.assertEqual(sorted(p.name for p in self.dir.glob("*.dat")), sorted(pieces))
        report = subprocess.run([mp.CLI, "report", *pieces], cwd=self.dir, capture_output=True, text=True, check=True,
                                env=mp.clean_environment(), timeout=120).stdout
        (allocated,) = [line for line in report.splitlines() if line.startswith("  Allocated ")]
        self.assertIn(allocated, done.said)


class Options(mp.TestCase):
    def test_report_at_the_end_leaves_stdout_to_the_program(self):
        bare = subprocess.run([mp.program("demo")], capture_output=True, check=True)
        done = run("-r", "-o", "app.dat", mp.program("demo"), cwd=self.dir)
        self.assertEqual(bare.stdout, done.stdout)
        self.assertIn("Peak heap", done.said)
        self.assertGreater(done.said.index("Peak heap"), done.said.index("Next: "))

    def test_status_is_that_of_the_program_with_a_report_too(self):
        self.assertEqual(3, run("-r", "-o", "app.dat", "sh", "-c", "exit 3", cwd=self.dir).returncode)

    def test_warnings_of_the_recorder_are_shown(self):
        done = run("-o", "app.dat", mp.program("demo"), cwd=self.dir, env={"MEMORY_PROFILER_ZERO_MEMORY": "maybe"})
        self.assertIn("MEMORY_PROFILER_ZERO_MEMORY", done.said)
        quiet = run("-o", "app.dat", mp.program("demo"), cwd=self.dir,
                    env={"MEMORY_PROFILER_ZERO_MEMORY": "maybe", "MEMORY_PROFILER_LOG": "off"})
        self.assertNotIn("ERR MEMORY_PROFILER_ZERO_MEMORY", quiet.said)
        self.assertIn("recorder: MEMORY_PROFILER_ZERO_MEMORY", quiet.said)

    def test_log_level(self):
        done = run("--log", "info", "-o", "app.dat", mp.program("demo"), cwd=self.dir)
        self.assertIn(f"recording to: {self.dir}", done.said)

    def test_settings_that_are_ignored_are_named(self):
        done = run("-o", "app.dat", "--log", "error", "--children", mp.program("demo"), cwd=self.dir,
                   env={"MEMORY_PROFILER_OUTPUT": "other.dat", "MEMORY_PROFILER_LOG": "info",
                        "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "0"})
        for name in ("MEMORY_PROFILER_OUTPUT=other.dat", "MEMORY_PROFILER_LOG=info",
                     "MEMORY_PROFILER_TRACK_CHILD_PROCESSES=0"):
            self.assertIn(f"{name} is ignored", done.said)
        silent = run("-o", "app.dat", mp.program("demo"), cwd=self.dir)
        self.assertNotIn("ignored", silent.said)

    def test_cull_reaches_the_recorder(self):
        done = run("--cull", "-o", "app.dat", "sh", "-c", "echo $MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS",
                   cwd=self.dir)
        self.assertEqual(b"1\n", done.stdout)


if __name__ == "__main__":
    mp.main()

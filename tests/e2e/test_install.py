"""`make install`: what is installed works, and is found where others look for it."""
import os
import pathlib
import re
import subprocess

import mp


class Install(mp.TestCase):
    def setUp(self):
        super().setUp()
        env = {**os.environ, "DESTDIR": str(self.dir / "root")}
        done = subprocess.run(["meson", "install", "-C", mp.BUILD, "--no-rebuild"], env=env, capture_output=True,
                              text=True, check=False, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        (self.cli,) = (self.dir / "root").rglob("bin/memory-profiler-cli")
        self.prefix = self.cli.parents[1]

    def test_the_installed_command_finds_the_installed_recorder(self):
        done = subprocess.run([self.cli, "run", "-o", self.dir / "app.dat", mp.program("demo")], capture_output=True,
                              text=True, check=False, env=mp.clean_environment(), timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(mp.info(self.dir / "app.dat")["complete"])

    def test_documents_that_help_cites_are_there(self):
        helps = "".join(subprocess.run([self.cli, *args, "--help"], capture_output=True, text=True, check=True).stdout
                        for args in ([], ["run"], ["report"], ["export"], ["server"]))
        for name in set(re.findall(r"docs/(\w+\.md)", helps)):
            self.assertTrue((self.prefix / "share/doc/memory-profiler" / name).exists(), name)

    def test_variables_have_a_manual_page(self):
        page = (self.prefix / "share/man/man7/memory-profiler.7").read_text()
        for name in re.findall(r"(?m)^## `(\w+)`", (mp.SRC / "docs/ENVIRONMENT.md").read_text()):
            self.assertIn(f"\\fB{name}\\fR", page)
        done = subprocess.run(["man", "--warnings", self.prefix / "share/man/man7/memory-profiler.7"],
                              capture_output=True, text=True, check=False, env=mp.clean_environment())
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("MEMORY_PROFILER_OUTPUT", done.stdout)

    def complete(self, *words):
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memory_profiler_cli;'
                  ' printf "%s\\n" "${COMPREPLY[@]}"')
        file = self.prefix / "share/bash-completion/completions/memory-profiler-cli"
        done = subprocess.run(["bash", "-c", script, "bash", file, self.cli, *words], capture_output=True, text=True,
                              check=False, cwd=self.dir, env=mp.clean_environment())
        self.assertEqual("", done.stderr)
        return done.stdout.split()

    def test_completion_knows_commands_options_and_files(self):
        pathlib.Path(self.dir / "some.dat").write_text("")
        self.assertEqual(["report", "repack"], sorted(self.complete("rep"), reverse=True))
        self.assertEqual(["squeeze"], self.complete("help", "sq"))
        self.assertEqual(["--sort"], self.complete("report", "--sor"))
        self.assertIn("--size-min", [w.replace("_", "-") for w in self.complete("report", "--size")])
        self.assertEqual(["some.dat"], self.complete("info", "so"))
        self.assertIn("env", self.complete("run", "env"))


if __name__ == "__main__":
    mp.main()

"""tools/check_commits.py refuses what CONTRIBUTING.md forbids, and nothing else."""
import os
import subprocess
import unittest

from toy import TOOLS, Toy

import check_commits  # noqa: E402

AREAS = {"query", "store", "ui"}
BODY = "\n\nWhy it is done, and what was measured.\n"


class Messages(unittest.TestCase):
    def problems(self, message, n_changed=50):
        return check_commits.problems_of(message, AREAS, n_changed)

    def refused(self, message, why, n_changed=50):
        found = self.problems(message, n_changed)
        self.assertEqual(len(found), 1, found)
        self.assertIn(why, found[0])

    def test_subject_and_body_pass(self):
        self.assertEqual(self.problems("query: stop at the first match" + BODY), [])
        self.assertEqual(self.problems("query, store: rename counts to alloc_sums" + BODY), [])

    def test_subject_of_60_columns_passes_and_61_not(self):
        subject = "query: add " + "x" * 49
        self.assertEqual(self.problems(subject + BODY), [])
        self.refused(subject + "x" + BODY, "61 columns")

    def test_subject_without_area(self):
        self.refused("stop at the first match" + BODY, "area: imperative")
        self.refused("query:stop at the first match" + BODY, "area: imperative")
        self.refused("Query: stop at the first match" + BODY, "area: imperative")

    def test_unknown_area(self):
        self.refused("misc: stop at the first match" + BODY, "'misc' is no area")

    def test_three_areas(self):
        self.refused("query, store, ui: rename a field" + BODY, "3 areas")

    def test_full_stop(self):
        self.refused("query: stop at the first match." + BODY, "full stop")

    def test_summary_that_is_no_imperative(self):
        for word in ("the", "adds", "added", "adding", "tables", "one"):
            self.refused(f"query: {word} first match" + BODY, "not an imperative")
        self.refused("query: Stop at the first match" + BODY, "lower case")

    def test_verbs_that_look_like_something_else_pass(self):
        for word in ("need", "embed", "bring", "pass", "process", "focus", "speed"):
            self.assertEqual(self.problems(f"query: {word} first match" + BODY), [])

    def test_second_line_is_blank(self):
        self.refused("query: stop at the first match\nWhy it is done.\n", "second line")

    def test_long_body_line(self):
        line = "word " * 15 + "x"
        self.assertEqual(len(line), check_commits.BODY_COLUMNS)
        self.assertEqual(self.problems(f"query: stop early\n\n{line}\n"), [])
        self.refused(f"query: stop early\n\n{line}x\n", "line 3 has 77 columns")

    def test_links_and_quoted_output_may_be_long(self):
        link = "https://example.org/" + "x" * 80
        self.assertEqual(self.problems(f"query: stop early\n\nWhy.\n{link}\n"), [])
        self.assertEqual(self.problems(f"query: stop early\n\nWhy.\n    {'a b ' * 30}\n"), [])

    def test_only_a_trivial_change_needs_no_body(self):
        self.assertEqual(self.problems("query: fix a typo\n", 10), [])
        self.refused("query: fix a typo\n", "no body", 11)
        self.refused("query: fix a typo\n\nSigned-off-by: A <a@example.org>\n", "no body", 11)

    def test_empty_message(self):
        self.refused("\n\n", "empty")

    def test_revert_keeps_the_subject_that_git_gives(self):
        subject = 'Revert "query: stop at the first match of every one of the rows"'
        self.assertEqual(self.problems(subject + BODY), [])


class Repository(Toy):
    """A real repository with the script in it; git sees no settings of this machine."""

    def setUp(self):
        super().setUp()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env |= {"HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
                     "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
                     "GIT_COMMITTER_EMAIL": "a@example.org"}

    def run_in(self, folder, *argv):
        return subprocess.run(argv, check=False, capture_output=True, text=True, cwd=folder,
                              env=self.env)

    def git(self, *argv):
        done = self.run_in(self.root, "git", *argv)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, folder=None):
        done = self.run_in(folder or self.root, TOOLS / "check_commits.py")
        return done.returncode, done.stdout

    def commit(self, message, name="src/query/a.c", text=""):
        self.write(name, text or message * 20)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def begin(self):
        """History before the script, then the script."""
        self.git("init", "-q")
        self.commit("a riddle of old")
        self.write("tools/install-hooks.sh", (TOOLS / "install-hooks.sh").read_text()).chmod(0o755)
        self.commit("tools: check commit messages" + BODY, "tools/check_commits.py",
                    (TOOLS / "check_commits.py").read_text())
        (self.root / "tools/check_commits.py").chmod(0o755)

    def test_messages_before_the_script_are_not_judged(self):
        self.begin()
        self.assertEqual(self.check(), (0, ""))

    def test_bad_message_after_the_script_fails(self):
        self.begin()
        self.commit("query: stop early" + BODY)
        self.assertEqual(self.check(), (0, ""))
        self.commit("query: the first match" + BODY)
        code, out = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("not an imperative", out)
        self.assertIn("query: the first match", out)

    def test_size_of_the_change_decides_about_the_body(self):
        self.begin()
        self.commit("query: fix a typo", text="one line\n")
        self.assertEqual(self.check()[0], 0)
        self.commit("query: add eleven lines", "src/query/b.c", "line\n" * 11)
        self.assertIn("no body", self.check()[1])

    def test_folder_that_was_removed_later_is_an_area(self):
        self.begin()
        self.commit("sums: add sums" + BODY, "src/sums/a.c")
        (self.root / "src/sums/a.c").unlink()
        self.commit("query: take the sums over" + BODY)
        self.assertEqual(self.check(), (0, ""))

    def test_merge_passes(self):
        self.begin()
        self.git("checkout", "-q", "-b", "side")
        self.commit("query: stop early" + BODY, "src/query/b.c")
        self.git("checkout", "-q", "-")
        self.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
        self.assertEqual(self.check(), (0, ""))

    def test_tarball_says_so_and_passes(self):
        code, out = self.check()
        self.assertEqual(code, 0)
        self.assertIn("not checked", out)

    def test_tarball_inside_another_repository_says_so_and_passes(self):
        self.begin()
        self.commit("rubbish")
        inner = self.write("vendor/tree/a", "").parent
        code, out = self.check(inner)
        self.assertEqual(code, 0)
        self.assertIn("not the top", out)

    def test_shallow_clone_says_so_and_passes(self):
        self.begin()
        self.commit("rubbish")
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", "shallow")
        code, out = self.check(self.root / "shallow")
        self.assertEqual(code, 0)
        self.assertIn("shallow", out)

    def test_hook_refuses_a_bad_message_and_lets_a_good_one_pass(self):
        self.begin()
        self.assertEqual(self.run_in(self.root, "tools/install-hooks.sh").returncode, 0)
        self.write("src/query/b.c", "line\n" * 20)
        self.git("add", "-A")
        bad = self.run_in(self.root, "git", "commit", "-m", "query: adds lines")
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("not an imperative", bad.stderr)
        self.assertIn("no body, though 20 lines change", bad.stderr)
        self.git("commit", "-q", "-m", "query: add lines" + BODY)
        self.write("src/query/b.c", "line\n" * 21)
        self.git("commit", "-q", "-a", "--fixup", "HEAD")  # to be squashed: the hook lets it pass
        self.assertEqual(self.check()[0], 1)  # what is kept is judged

    def test_hook_of_somebody_else_stays(self):
        self.begin()
        hook = self.write(".git/hooks/commit-msg", "#!/bin/sh\ntrue\n")
        self.assertNotEqual(self.run_in(self.root, "tools/install-hooks.sh").returncode, 0)
        self.assertEqual(hook.read_text(), "#!/bin/sh\ntrue\n")

    def test_comments_of_the_editor_are_no_part_of_the_message(self):
        self.begin()
        path = self.write("message", "query: stop early\n# Please enter\n# " + "x " * 60 + "\n")
        done = self.run_in(self.root, "tools/check_commits.py", "--message", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()

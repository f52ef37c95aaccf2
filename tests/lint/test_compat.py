"""tests/compat: the table of docs/COMPATIBILITY.md, and what counts as the same."""
import types
import unittest

from toy import ROOT
import sys

sys.path.insert(0, str(ROOT / "tests/compat"))

import compat  # noqa: E402
import compat_programs  # noqa: E402
import compat_sources  # noqa: E402
import compat_table  # noqa: E402
import compat_run  # noqa: E402
from compat_run import Facts, Run, hidden  # noqa: E402

DOCUMENT = f"# Title\n\nBefore.\n\n{compat_table.BEGIN}\n{compat_table.END}\n\n## Why\n\n### one\n\nBecause.\n"


def verdict(output="same", status="same", **facts):
    return types.SimpleNamespace(output=output, exit_status=status, facts=Facts(**facts))


def row(name, **how):
    program = types.SimpleNamespace(name=name, title=f"runs {name}")
    return compat_table.row_of(program, verdict(**how))


class Table(unittest.TestCase):
    def test_rows_stand_in_the_order_of_the_programs(self):
        new = {name: row(name, recordings=2, events=1234567) for name in ("b", "a")}
        text = compat_table.with_rows(DOCUMENT, new, ["a", "b"])
        lines = [line for line in text.splitlines() if line.startswith("| `")]
        self.assertEqual(["| `a` | runs a | same | same | 2 | 1 234 567 | 0 | 0 |",
                          "| `b` | runs b | same | same | 2 | 1 234 567 | 0 | 0 |"], lines)
        self.assertTrue(text.startswith("# Title\n\nBefore.\n"))
        self.assertTrue(text.endswith("### one\n\nBecause.\n"))

    def test_rows_that_were_not_measured_stay_and_others_are_replaced(self):
        order = ["a", "b"]
        text = compat_table.with_rows(DOCUMENT, {n: row(n, events=1) for n in order}, order)
        text = compat_table.with_rows(text, {"b": row("b", events=77)}, order)
        rows = compat_table.old_rows(compat_table.split(text)[1])
        self.assertEqual(["a", "b"], list(rows))
        self.assertIn("| 1 |", rows["a"])
        self.assertIn("| 77 |", rows["b"])

    def test_row_of_a_program_that_is_gone_goes(self):
        text = compat_table.with_rows(DOCUMENT, {n: row(n) for n in "ab"}, ["a", "b"])
        self.assertNotIn("`b`", compat_table.with_rows(text, {}, ["a"]))

    def test_what_differs_or_loses_needs_a_heading(self):
        rows = {"same": row("same"), "one": row("one", output="differs: stdout"),
                "status": row("status", status="differs: 1 for 0"), "loses": row("loses", lost=3), "early": row("early", ended_early=1),
                "incomplete": row("incomplete", incomplete=["app.dat"])}
        text = compat_table.with_rows(DOCUMENT, rows, list(rows))
        self.assertEqual(["status", "loses", "early", "incomplete"], compat_table.unexplained(text))

    def test_a_heading_above_the_table_explains_nothing(self):
        text = compat_table.with_rows("### late\n\n" + DOCUMENT, {"late": row("late", lost=1)}, ["late"])
        self.assertEqual(["late"], compat_table.unexplained(text))

    def test_a_document_without_markers_is_refused(self):
        self.assertRaises(ValueError, compat_table.with_rows, "# Title\n", {}, [])

    def test_a_small_share_is_not_nothing(self):
        self.assertEqual("0", compat_table.percent(0))
        self.assertEqual("< 0.01 %", compat_table.percent(1e-7))
        self.assertEqual("2.73 %", compat_table.percent(0.0273))
        self.assertEqual("76 %", compat_table.percent(0.76))

    def test_the_document_fits_the_programs(self):
        text = (ROOT / "docs/COMPATIBILITY.md").read_text()
        names = [p.name for p in compat_programs.PROGRAMS]
        rows = list(compat_table.old_rows(compat_table.split(text)[1]))
        self.assertEqual([n for n in names if n in rows], rows)
        self.assertEqual([], compat_table.unexplained(text))
        for program in compat_programs.PROGRAMS:
            self.assertTrue(program.script.is_file(), program.script)


class Comparison(unittest.TestCase):
    def compare(self, **changed):
        bare = Run(0, "out", "err", 1.0, [])
        return compat.compare(bare, Run(**{"code": 0, "stdout": "out", "stderr": "err", "seconds": 1.0, "left_behind": [],
                                           "facts": Facts(recordings=1), **changed}))

    def test_the_same_is_the_same(self):
        self.assertTrue(self.compare().is_same)

    def test_each_difference_is_found(self):
        for changed, where in (({"stdout": "ouch"}, "stdout"), ({"stderr": ""}, "stderr"),
                               ({"left_behind": [(1, "a")]}, "processes"),
                               ({"strange_files": ["a.tmp"]}, "files"), ({"facts": Facts()}, "recording")):
            with self.subTest(where=where):
                found = self.compare(**changed)
                self.assertFalse(found.is_same)
                self.assertEqual(f"differs: {where}", found.output)
        self.assertEqual("differs: -11 for 0", self.compare(code=-11).exit_status)
        self.assertFalse(self.compare(facts=Facts(recordings=1, lost=1)).is_same)
        self.assertFalse(self.compare(facts=Facts(recordings=1, incomplete=["a.dat"])).is_same)

    def test_hidden_parts_are_not_compared(self):
        self.assertEqual("~ ok in ~", hidden("17#17 ok in 3 ms", (r"\d+#\d+", r"\d+ ms")))
        self.assertEqual("~Aborted", hidden("/a/b.sh: line 3:  1234 Aborted", ()))

    def test_what_a_recording_says_is_counted(self):
        one = {"file": "a.dat", "events": 5, "lost_events": 1, "file_bytes": 10, "truncated_stacks": {"no_info": 2},
               "lost_blocks": 0, "damaged_bytes": 0, "unknown_frees": 0, "duplicate_allocations": 0,
               "complete": True, "ended": "exit", "notes": []}
        facts = Facts()
        facts.add(one)
        facts.add({**one, "complete": False, "notes": [compat_run.FORBADE_ITSELF]})
        facts.add({**one, "complete": False})
        facts.add({**one, "unknown_frees": 1, "notes": [compat_run.FORBADE_ITSELF]})
        self.assertEqual((4, 20, 4, 1), (facts.recordings, facts.events, facts.lost, facts.ended_early))
        self.assertEqual(2, len(facts.incomplete))
        self.assertEqual({"no_info": 8}, facts.cut)

    def test_cut_share(self):
        self.assertEqual(0.25, Facts(events=8, cut={"no_info": 2}).cut_share)
        self.assertEqual(0.0, Facts().cut_share)


class Sources(unittest.TestCase):
    def test_a_line_of_sources_list_becomes_an_entry(self):
        entry = compat_sources.entries_of_line_format(
            "deb http://h/debian bookworm main contrib\n# deb http://x/debian y main\n")
        self.assertEqual(["Types: deb-src\nURIs: http://h/debian\nSuites: bookworm\n"
                          "Components: main contrib"], entry)
        entry = compat_sources.entries_of_line_format("deb [arch=amd64] http://h/debian s main\n")
        self.assertEqual(1, len(entry))


if __name__ == "__main__":
    unittest.main()

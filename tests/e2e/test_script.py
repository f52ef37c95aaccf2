#!/usr/bin/env python3
"""`memory-profiler-cli script`: figures of scripts are those of `report`, the exports and the events;
arguments, files, errors and exit status are what docs/SCRIPTING.md says."""
import csv
import gzip
import json
import os
import pathlib
import pty
import subprocess
import xml.etree.ElementTree as xml

import mp


def run_script(*args, stdin="", cwd=None, **how):
    return subprocess.run([mp.CLI, "script", *map(str, args)], input=stdin, capture_output=True,
                          text=True, check=False, timeout=120, cwd=cwd, env=mp.clean_environment(),
                          **how)


def evaluate(recording, code):
    """What a script prints, line by line."""
    done = run_script("-d", recording, "-e", code)
    if done.returncode != 0:
        raise AssertionError(f"{code}: exit {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()


def report(recording, *args):
    done = subprocess.run([mp.CLI, "report", "--json", *args, recording], capture_output=True, text=True,
                          check=True, timeout=120, env=mp.clean_environment())
    return json.loads(done.stdout)


class Figures(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording

    def test_totals_are_those_of_report(self):
        conditions = (("", []), ("{size_min = 48}", ["--size-min=48"]),
                      ("{lifetime = 'only_leaked'}", ["--lifetime=only_leaked"]),
                      ("{function_regex = 'pair_', to = '50%'}", ["--function-regex=pair_", "--to=50%"]),
                      ("{lifetime_min = us(1), size_max = kb(1)}", ["--lifetime-min=1us", "--size-max=1000"]))
        for script, args in conditions:
            found = report(self.recording, *args)["matching"]
            line = evaluate(self.recording, f"local t = allocations{script or '()'}:total() print(t.allocations, "
                            "t.bytes, t.leaked_count, t.leaked_bytes, t.temporary_count, t.temporary_bytes, "
                            "t.peak_count, t.peak_bytes, t.peak_ns)")[0]
            expected = [found["allocations"], found["bytes"], found["leaked"]["count"], found["leaked"]["bytes"],
                        found["temporary"]["count"], found["temporary"]["bytes"], found["peak"]["count"],
                        found["peak"]["bytes"], found["peak"]["at_ns"]]
            self.assertEqual("\t".join(map(str, expected)), line, script)

    def test_known_leaks_do_not_count(self):
        file = self.new_folder() / "known"
        file.write_text("leak:main\n")
        args = ("-s", str(file))
        found = report(self.recording, *args)["matching"]["leaked"]
        done = run_script(*args, "-d", self.recording, "-e", "print(allocations():leaked_bytes(), allocations():leaked_count())")
        self.assertEqual(f"{found['bytes']}\t{found['count']}\n", done.stdout, done.stderr)
        self.assertLess(found["bytes"], report(self.recording)["matching"]["leaked"]["bytes"])

    def test_groups_by_backtrace_are_the_lists_of_report(self):
        sites = report(self.recording, "--limit", "all")["lists"]["bytes"]["sites"]
        lines = evaluate(self.recording, "for _, g in ipairs(allocations():group_by_backtrace():sort_by('bytes')) do "
                         "print(g.stack, g.allocations, g.bytes, g.peak_bytes, g.leaked_bytes, g:backtrace()[1].name) end")
        self.assertEqual([f"{s['stack']}\t{s['allocations']}\t{s['bytes']}\t{s['peak']['bytes']}\t"
                          f"{s['leaked']['bytes']}\t{s['frames'][0]['function']}" for s in sites], lines)

    def test_rows_are_all_allocations_in_any_order(self):
        done = subprocess.run([mp.CLI, "export", "-f", "csv", self.recording], capture_output=True, text=True,
                              check=True, timeout=120, env=mp.clean_environment())
        events = list(csv.DictReader(done.stdout.splitlines()))
        lines = evaluate(self.recording, "for a in allocations():rows() do print(a.id, a.address, a.size, a.allocated_at, "
                         "a.freed_at or '', a.thread, a.stack, a.kind, a.chain or '', a.marker) end")
        self.assertEqual([[e["id"], str(int(e["address"], 16)), e["size_bytes"], e["alloc_ns"], e["release_ns"], e["thread"],
                           e["backtrace"], e["kind"], e["chain"], e["marker"]] for e in events],
                         [line.split("\t") for line in lines])
        lines = evaluate(self.recording, "for a in allocations():rows{sort_by = 'size', order = 'desc', limit = 7, "
                         "skip = 1} do print(a.size) end")
        self.assertEqual(sorted((int(e["size_bytes"]) for e in events), reverse=True)[1:8], [int(x) for x in lines])

    def test_sets_are_what_their_rows_say(self):
        lines = evaluate(self.recording, """
            local a, b = allocations{size_min = 48}, allocations{lifetime = "only_leaked"}
            local function ids(list)
                local t = {}
                for row in list:rows() do t[#t + 1] = row.id end
                return table.concat(t, " ")
            end
            for _, list in ipairs{a, b, a | b, a + b, a & b, a - b, b - a} do print(ids(list)) print(list:bytes()) end
            """)
        a, b, union, plus, both, left, right = (set(line.split()) for line in lines[::2])
        self.assertTrue(a and b and both and left)
        self.assertEqual((a | b, a | b, a & b, a - b, b - a), (union, plus, both, left, right))
        sizes = [int(x) for x in lines[1::2]]
        self.assertEqual(sizes[0] + sizes[1], sizes[2] + sizes[4])

    def test_conditions_of_two_calls_are_two_conditions(self):
        lines = evaluate(self.recording, """
            local all = allocations()
            print(#all:where{function_regex = "main"}:where{function_regex = "pair_first"})
            print(#all:where{function_regex = "pair_first"})
            print(#(all:where{size_min = 10}:where{size_min = 48} - all:where{size_min = 48}))
            print(#all:where{to = "10%"}:where{lifetime = "only_not_deallocated_in_current_range"},
                #(all:where{to = "10%"} & all:only_leaked()))
            """)
        self.assertEqual(lines[0], lines[1])
        self.assertEqual("0", lines[2])
        self.assertEqual(*lines[3].split("\t"))

    def test_series_and_growth_end_with_what_leaked(self):
        lines = evaluate(self.recording, """
            local all = allocations()
            local growth = all:growth{by = "backtrace"}
            print(all:leaked_bytes(), growth.total.to_bytes, all:series{what = "bytes_at_end"}:last())
            print(all:peak_bytes(), (all:series{points = 50}:max()))
            local sum = 0
            for _, g in ipairs(all:series{by = "function", top = 100, points = 1}) do sum = sum + g.values[1] end
            print(sum)""")
        self.assertEqual(["218", "218", "218"], lines[0].split("\t"))
        self.assertEqual(["130480", "130480"], lines[1].split("\t"))
        self.assertEqual("218", lines[2])

    def test_answers_of_the_api_and_findings(self):
        found = report(self.recording)
        lines = evaluate(self.recording, "print(#report.findings(), #data:health(), data:summary().totals ~= nil) "
                         "print(allocations{size_min = 48}:lifetimes().freed_count) print(data:ask('groups', {by = 'size'}).total_count)")
        self.assertEqual([str(len(found["findings"])), str(len(found["health"]))], lines[0].split("\t")[:2])

    def test_an_export_is_that_of_the_command(self):
        folder = self.new_folder()
        evaluate(self.recording, f"allocations{{size_min = 48}}:export('collapsed', '{folder}/a', {{cost = 'leaked'}})")
        done = subprocess.run([mp.CLI, "export", "-f", "collapsed", "--cost=leaked", "--size-min=48", self.recording],
                              capture_output=True, check=True, timeout=120, env=mp.clean_environment())
        self.assertEqual(done.stdout, (folder / "a").read_bytes())
        self.assertTrue(done.stdout)

    def test_a_file_appears_whole_or_not_at_all(self):
        folder = self.new_folder()
        (folder / "kept").write_text("old")
        evaluate(self.recording, f'''
            local cut = allocations{{function_regex = "x"}}
            pcall(cut.export, cut, "csv", "{folder}/kept", {{no_such = 1}})
            print(pcall(save, "{folder}/no/such/folder", "x"))
            save("{folder}/whole", "text")
            save("{folder}/null", "") allocations():export("csv", "/dev/null") allocations():export("pprof", "{folder}/a.pb.gz")''')
        self.assertEqual("old", (folder / "kept").read_text())
        self.assertEqual("text", (folder / "whole").read_text())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertFalse(gzip.decompress((folder / "a.pb.gz").read_bytes()).startswith(b"\x1f\x8b"))
        self.assertEqual({"kept", "whole", "null", "a.pb.gz"}, set(os.listdir(folder)))

    def test_graphs_are_svg(self):
        folder = self.new_folder()
        evaluate(self.recording, f"""
            local all = allocations()
            graph():add("<leaked> & all", all:only_leaked()):add(all):stacked():trim():title("t"):save("{folder}/1")
            graph():add(all:group_by("function"):sort_by("bytes"):take(5)):only_non_empty_series():save("{folder}/2")
            graph():add(all:series{{by = "thread"}}):without_legend():without_axes():save("{folder}/3")
            graph():add("n", all:series{{what = "allocations"}}):with_gradient_color_scheme("#000000", "#ffffff"):save("{folder}/4")
            graph():save("{folder}/5") all:save_as_flamegraph("{folder}/6") all:save_as_graph("{folder}/7")""")
        for i in range(1, 8):
            root = xml.parse(folder / str(i)).getroot()
            self.assertEqual("{http://www.w3.org/2000/svg}svg", root.tag)
        self.assertIn("&lt;leaked&gt; &amp; all", (folder / "1").read_text())

    def test_two_recordings_can_be_compared(self):
        other = self.record([mp.program("uses_c_api"), "markers"]).recording
        code = "print(data.name, recordings[2].name, #recordings, open(argv()[1]).name, #open(argv()[1]):allocations()) "
        done = run_script("-d", self.recording, "-d", other, "-e", code, other)
        name = pathlib.Path(other).name
        self.assertEqual([pathlib.Path(self.recording).name, name, "2", name], done.stdout.split("\t")[:4], done.stderr)
        done = run_script("-d", self.recording, "-e", "print(allocations() + open(argv()[1]):allocations())", other)
        self.assertEqual(1, done.returncode)
        self.assertIn("different recordings", done.stderr)

    def test_markers_have_their_times(self):
        other = self.record([mp.program("uses_c_api"), "markers"]).recording
        lines = evaluate(other, "for _, m in ipairs(data:markers()) do print(m.value, #allocations{marker = m.value, from = m.at}) end "
                         "print(#data:markers(1000003))")
        self.assertEqual([str(1000003 * i) for i in (1, 2, 3)] + ["4294967295"], [line.split("\t")[0] for line in lines[:4]])
        self.assertTrue(all(int(line.split("\t")[1]) >= 1 for line in lines[:3]), lines)
        self.assertEqual("1", lines[4])


class Command(mp.TestCase):
    def test_exit_status_and_position_of_errors(self):
        folder = self.new_folder()
        for code, status, error in (("exit(3)", 3, ""), ("", 0, ""), ("#!/usr/bin/x\nexit(4)", 4, ""),
                                    ("\nerror('broken')", 1, "a.lua:2: broken"), ("local = 1", 1, "a.lua:1: "),
                                    ("for", 1, "a.lua:1: "), ("\n\nallocations()", 1, "a.lua:3: there is no recording"),
                                    ("open('/nonexistent')", 1, "a.lua:1: ")):
            (folder / "a.lua").write_text(code)
            done = run_script("a.lua", cwd=folder)
            self.assertEqual(status, done.returncode, (code, done.stderr))
            self.assertIn(error, done.stderr)
        self.assertEqual(2, run_script("--timeout", "soon", "-e", "x=1").returncode)
        self.assertEqual(1, run_script("no_such.lua").returncode)
        self.assertEqual(1, run_script("-d", "/nonexistent", "-e", "x=1").returncode)

    def test_a_script_comes_from_stdin_and_has_arguments(self):
        for args in ((), ("-", "a", "b c")):
            done = run_script(*args, stdin="print(#argv(), argv()[2])")
            self.assertEqual("2\tb c\n" if args else "0\tnil\n", done.stdout, done.stderr)

    def test_a_script_ends_in_time(self):
        done = run_script("--timeout", "100ms", "-e", "while true do end")
        self.assertEqual(1, done.returncode)
        self.assertIn("took longer than 100 ms", done.stderr)

    def test_a_terminal_gets_a_prompt(self):
        master, slave = pty.openpty()
        child = subprocess.Popen([mp.CLI, "script"], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, env=mp.clean_environment())
        os.close(slave)
        os.write(master, b"x = 20\nx + 1\nfor i = 1, 2 do\nprint('n' .. i)\nend\nnil + 1\nexit(5)\n")
        output, _ = child.communicate(timeout=60)
        os.close(master)
        self.assertEqual(5, child.returncode)
        for text in ("> 21\n", "n1\nn2\n", "arithmetic"):
            self.assertIn(text, output)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""What `report` says is true: exact figures, its text, its views. Figures are known from the sources in
tests/programs/known_*."""
import fcntl
import json
import os
import re
import shutil
import struct
import subprocess
import termios

import mp
from mp_report import report, run_report, sites

LISTS = ("peak", "leaked", "allocations", "temporary", "bytes")


class Figures(mp.TestCase):
    """tests/programs/known_figures.c, known_threads.c"""

    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording

    def test_totals_are_exact(self):
        found = report(self.recording)
        totals = found["totals"]
        self.assertEqual((119, 10, 110), tuple(
            totals[k] for k in ("allocations", "reallocations", "frees")))
        self.assertEqual(239, totals["events"])
        self.assertEqual(235953, totals["bytes"])
        self.assertEqual({"count": 9, "bytes": 218}, totals["leaked"])
        self.assertEqual(85, totals["temporary"]["count"])
        self.assertEqual(50 * 64 + 20 * 48 + 3 * 150 + 2 * 100000 + 5,
                         totals["temporary"]["bytes"])
        self.assertEqual({"count": 4, "longest": 4}, totals["chains"])
        self.assertEqual((16, 130480), (totals["peak"]["count"], totals["peak"]["bytes"]))
        self.assertTrue(found["program"]["complete"])
        self.assertEqual([], found["notices"])
        self.assertEqual([mp.program("known_figures")], found["program"]["command_line"])
        for key in ("allocations", "bytes"):
            self.assertEqual(totals[key] + (totals["reallocations"] if key == "allocations" else 0),
                             found["matching"][key])

    def test_suppressions_take_leaks_out_of_leaked_only(self):
        plain = report(self.recording)
        lines = self.dir / "known.supp"
        lines.write_text("# by intention\nleak:^leaks_on_purpose$\nleak:known_figures*.c\n")
        found = report(self.recording, "--suppressions", lines)
        self.assertEqual({"count": 0, "bytes": 0}, found["totals"]["leaked"])
        for key in ("peak", "temporary", "bytes", "allocations"):
            self.assertEqual(plain["totals"][key], found["totals"][key])
        self.assertRegex(found["notices"][0],
                         r"^218 B of leaks suppressed: .*leak:known_figures\*\.c 218 B")
        built_in = report(self.recording, "-s", "built-in")
        self.assertEqual(plain["totals"], built_in["totals"])
        self.assertEqual([], built_in["notices"])
        lines.write_text("leak\n")
        done = run_report(self.recording, "--suppressions", lines)
        self.assertEqual(2, done.returncode)
        self.assertIn("line 1: 'leak' is no rule", done.stderr)

    def test_peak_is_its_first_moment(self):
        tops = [e for e in mp.allocations(self.recording) if e["size"] == 100000]
        self.assertEqual(2, len(tops))
        self.assertEqual(tops[0]["t"], report(self.recording)["totals"]["peak"]["at_ns"])

    def test_contributions_add_up_to_the_peak(self):
        found = report(self.recording, "--limit", "all")
        peak = found["lists"]["peak"]
        self.assertEqual({"count": 16, "bytes": 130480}, peak["total"])
        self.assertEqual(130480, sum(s["peak"]["bytes"] for s in peak["sites"]))
        self.assertEqual(16, sum(s["peak"]["count"] for s in peak["sites"]))
        self.assertAlmostEqual(1.0, sum(s["share"] for s in peak["sites"]), places=4)
        named = sites(found, "peak")
        self.assertEqual({"burst_top": (1, 100000), "burst_block": (5, 20480),
                          "allocate_base": (10, 10000)},
                         {name: (s["peak"]["count"], s["peak"]["bytes"])
                          for name, s in named.items()})
        self.assertEqual("burst_top", peak["sites"][0]["frames"][0]["function"])

    def test_call_sites_have_their_own_figures(self):
        found = report(self.recording, "--limit", "all")
        leaked = {name: (s["leaked"]["count"], s["leaked"]["bytes"])
                  for name, s in sites(found, "leaked").items()}
        self.assertEqual({"leak_small": (7, 168), "leak_zero": (1, 0), "leak_chain": (1, 50)}, leaked)
        temporary = {name: s["temporary"]["count"]
                     for name, s in sites(found, "temporary").items()}
        self.assertEqual({"make_temporary": 50, "pair_second": 20, "make_chain": 12, "burst_top": 2,
                          "leak_chain": 1}, temporary)
        allocations = {name: s["allocations"] for name, s in sites(found, "allocations").items()}
        self.assertEqual({"allocate_base": 10, "make_temporary": 50, "pair_first": 20,
                          "pair_second": 20, "make_chain": 12, "burst_block": 5, "burst_top": 2,
                          "leak_small": 7, "leak_zero": 1, "leak_chain": 2}, allocations)
        self.assertEqual(235953, sum(s["bytes"] for s in found["lists"]["bytes"]["sites"]))

    def test_lists_are_sorted_and_limited(self):
        found = report(self.recording, "--limit", "3")
        weights = {"peak": lambda s: s["peak"]["bytes"], "leaked": lambda s: s["leaked"]["bytes"],
                   "allocations": lambda s: s["allocations"],
                   "temporary": lambda s: s["temporary"]["count"], "bytes": lambda s: s["bytes"]}
        self.assertEqual(list(LISTS), list(found["lists"]))
        for kind, weight in weights.items():
            figures = [weight(s) for s in found["lists"][kind]["sites"]]
            self.assertEqual(3, len(figures), kind)
            self.assertEqual(sorted(figures, reverse=True), figures, kind)
            whole = [weight(s) for s in report(self.recording, "--limit", "all")
                     ["lists"][kind]["sites"]]
            self.assertEqual(whole[:3], figures, kind)
        one = report(self.recording, "--sort", "leaked")
        self.assertEqual(["leaked"], list(one["lists"]))

    def test_filters_and_time(self):
        found = report(self.recording, "--size-min=100000")
        self.assertEqual(2, found["matching"]["allocations"])
        self.assertEqual({"count": 1, "bytes": 100000},
                         {k: found["matching"]["peak"][k] for k in ("count", "bytes")})
        self.assertEqual({"size_min": "100000"}, found["filter"])
        self.assertEqual(235953, found["totals"]["bytes"])
        peak_ns = found["totals"]["peak"]["at_ns"]
        before = report(self.recording, "--time", f"..{peak_ns - 1}ns", "--limit", "all")
        after = report(self.recording, "--time", f"{peak_ns}ns..", "--limit", "all")
        self.assertEqual(129, before["matching"]["allocations"] + after["matching"]["allocations"])
        self.assertEqual({"burst_top", "leak_small", "leak_zero", "leak_chain"},
                         set(sites(after, "allocations")))
        found = report(self.recording, "--function_regex", "^leak_", "--lifetime=only_leaked")
        self.assertEqual({"count": 9, "bytes": 218}, found["matching"]["leaked"])

    def test_peak_of_rss_between_two_samples_counts(self):
        script = "import time; time.sleep(0.13); a = b'x' * (150 << 20); del a; time.sleep(0.3)"
        recording = self.record(["/usr/bin/python3", "-c", script], options={"WRITE_BINARIES_TO_OUTPUT": 0}).recording
        totals = report(recording)["totals"]
        self.assertGreater(totals["rss_peak_bytes"], 150 << 20)
        self.assertNotIn("at least", run_report(recording).stdout)

    def test_temporary_is_counted_per_thread(self):
        recording = self.record([mp.program("known_threads")]).recording
        found = report(recording, "--limit", "all")
        threads = {t["allocations"]: t for t in found["threads"]}
        for i in range(8):
            thread = threads[5000 + i + 100 + 1]
            self.assertEqual(5000 + i + 1, thread["temporary"])
            self.assertEqual(16 * (i + 1) * (5000 + i + 100) + 1, thread["bytes"])
            self.assertEqual(thread["allocations"], thread["frees"])
        handed = report(recording, "--size-min=777", "--size-max=777")
        self.assertEqual((1, 0), (handed["matching"]["allocations"],
                                  handed["matching"]["temporary"]["count"]))
        self.assertEqual(found["totals"]["temporary"]["count"],
                         sum(t["temporary"] for t in found["threads"]))

    @mp.needs_tool("heaptrack_print")
    def test_totals_agree_with_heaptrack(self):
        """docs/REPORT.md says where the two mean different things."""
        done = mp.run(["heaptrack", "-o", self.dir / "ht", mp.program("known_figures")],
                      mp.clean_environment(), cwd=self.dir)
        self.assertEqual(0, done.code, done.stderr)
        data = next(p for p in self.dir.glob("ht*") if p.suffix in (".gz", ".zst"))
        text = subprocess.run(["heaptrack_print", "-s", "0", str(data)], capture_output=True,
                              text=True, check=True, timeout=60,
                              env=mp.clean_environment()).stdout

        def figure(label):
            return re.search(rf"^{label}: *([0-9.]+)([BKMG]?)", text, re.M).groups()

        totals = report(self.recording)["totals"]
        # heaptrack brings libstdc++ into this program, which gets memory for emergencies at the
        # start and releases it at the end.
        pool, pool_bytes = (1, 72704) if "libstdc++" in text else (0, 0)
        self.assertEqual(str(totals["allocations"] + totals["reallocations"] + pool),
                         figure("calls to allocation functions")[0])
        # heaptrack: no call of any kind in between, also no free. That is pair_second here.
        self.assertEqual(str(totals["temporary"]["count"] - 20 + pool),
                         figure("temporary memory allocations")[0])
        self.assertEqual((f"{(130480 + pool_bytes) / 1000:.2f}", "K"),
                         figure("peak heap memory consumption"))
        self.assertEqual(("218", "B"), figure("total memory leaked"))


class Text(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording

    def test_it_fits_on_a_screen(self):
        text = run_report(self.recording).stdout
        self.assertLessEqual(len(text.splitlines()), 40, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        self.assertNotIn("\x1b", text)
        for part in ("127 KiB (130 480 bytes) in 16 blocks", "What stands out", "Most leaked:",
                     "Makes the peak: burst_top holds 97.7 KiB at the peak (", "--sort", "--view"):
            self.assertIn(part, " ".join(text.split()))
        self.assertRegex(text, r"\nMost at the peak: .*\n +76\.6 % +97\.7 KiB +1 block +burst_top  \S*known_figures.c:\d+\n")
        self.assertRegex(text, r"\n  Most allocations +[\d.]+ % by \w+")

    def test_rows_are_sums_by_function(self):
        text = run_report(self.recording).stdout
        found = report(self.recording, "--limit", "all")
        leaked = {}
        for site in found["lists"]["leaked"]["sites"]:
            own = [f for f in site["frames"] if f["class"] == "own"]
            name = own[0]["function"]
            leaked[name] = leaked.get(name, 0) + site["leaked"]["count"]
        rows = re.findall(r"(?m)^ +[<\d.]+ % +\S+ \S+ +(\d+) blocks? +(\w+)  ", text.partition("Most leaked")[2].partition("\n\n")[0])
        self.assertEqual(leaked, {name: int(n) for n, name in rows})

    def test_plain_text_says_what_matters(self):
        text = run_report(self.recording, "--limit", "10").stdout
        self.assertNotIn("\x1b", text)
        for part in ("127 KiB (130 480 bytes) in 16 blocks", "Most at the peak", "Most leaked",
                     "Most allocations", "Most temporary", "Most bytes", "> burst_top",
                     "Makes the peak: burst_top holds 97.7 KiB at the peak (", "runtime frames"):
            self.assertIn(part, " ".join(text.split()))
        self.assertRegex(text, r"> burst_top +\S*tests/programs/known_figures.c:\d+\n")
        self.assertRegex(text, r"\n   76\.6%    97\.7 KiB +1 block +97\.7 KiB each\n")

    def test_one_list_with_all_frames(self):
        text = run_report(self.recording, "--sort", "leaked", "--full").stdout
        self.assertIn("Most leaked", text)
        self.assertNotIn("Most bytes", text)
        self.assertNotIn("runtime frames", text)
        self.assertIn("_start", text)

    def test_nothing_fulfils_the_conditions(self):
        text = run_report(self.recording, "--size-min=1G").stdout
        self.assertIn("Only what matches size_min=1G:\n  0 allocations (0.0% of all)", text)
        self.assertTrue(text.endswith("No allocation fulfils these conditions.\n"), text)

    def test_colours_only_where_wanted(self):
        self.assertIn("\x1b[", run_report(self.recording, "--color=always").stdout)
        self.assertNotIn("\x1b[", run_report(self.recording, "--color=never").stdout)

    def on_terminal(self, columns, env, *args):
        """The report as a terminal of that width gets it."""
        pid, fd = os.forkpty()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.execve(mp.CLI, ["memory-profiler-cli", "report", *args, str(self.recording)],
                      {**mp.clean_environment(), "TERM": "xterm", **env})
        out = b""
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(fd)
        self.assertEqual(0, os.waitpid(pid, 0)[1])
        return out.decode().replace("\r\n", "\n")

    def test_on_a_terminal(self):
        coloured = self.on_terminal(80, {})
        self.assertIn("\x1b[", coloured)
        self.assertNotIn("\x1b[", self.on_terminal(80, {"NO_COLOR": "1"}))
        self.assertNotIn("\x1b[", self.on_terminal(80, {"TERM": "dumb"}))

    def test_width_of_the_terminal(self):
        for columns in (60, 80, 132):
            for line in self.on_terminal(columns, {"NO_COLOR": "1"}).partition("Most leaked")[2].splitlines():
                self.assertLessEqual(len(line), max(columns, 92), line)
            lines = self.on_terminal(columns, {"NO_COLOR": "1"}, "--limit", "10").splitlines()
            frames = [line for line in lines if line.startswith("      ")]
            self.assertGreater(len(frames), 20)
            for line in frames:
                self.assertLessEqual(len(line), columns, line)
            start = lines.index("What stands out") + 1
            story = lines[start:lines.index("", start)]
            self.assertGreater(len(story), 1)
            for line in story:
                self.assertLessEqual(len(line), columns, line)

    def test_control_characters_do_not_reach_the_terminal(self):
        program = self.dir / "x\x1b[31m\ny"
        shutil.copy(mp.program("known_figures"), program)
        recording = self.record([program]).recording
        text = run_report(recording).stdout
        self.assertNotIn("\x1b", text)
        self.assertIn("x\\x1b[31m\\x0ay", text)
        json.loads(run_report(recording, "--json").stdout)

    def test_wrong_usage(self):
        for args, word in ((("--sort", "best"), "peak, leaked"), (("--limit", "x"), "--limit"),
                           (("--limit", "0"), "--limit"), (("--time", "1s"), "FROM..TO"),
                           (("--time", "5..1"), "ends before it begins"),
                           (("--time", "60%..50%"), "ends before it begins"),
                           (("--color", "red"), "always"), (("--size-min=lots",), "size_min"),
                           (("--function-regex=(",), "function_regex"), (("--nonsense",), "nonsense"),
                           (("--time",), "")):
            done = run_report(self.recording, *args)
            self.assertEqual(2, done.returncode, (args, done.stderr))
            self.assertIn(word, done.stderr)
            self.assertEqual("", done.stdout)
        self.assertEqual(2, run_report(self.recording, self.recording).returncode)
        self.assertIn("--negative-function-regex", run_report(self.recording, "--help").stdout)


class Views(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_figures")]).recording
        self.facts = report(self.recording)

    def view(self, name, *args):
        done = run_report(self.recording, "--view", name, *args)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[1:])), 100)
        return done.stdout

    def test_sizes_add_up(self):
        text = self.view("sizes")
        rows = re.findall(r"(?m)^  \S.*?B  +(\d[\d ]*?)  +\S+ \S+  +\S+ \S+  ", text)
        total = self.facts["matching"]["allocations"]
        self.assertEqual(total, sum(int(n.replace(" ", "")) for n in rows), text)
        self.assertIn("█", text)
        one = self.view("sizes", "--size-min=100000", "--sort", "bytes")
        self.assertEqual(1, one.count("█" * 24), one)
        self.assertIn("size_min=100000", one)

    def test_timeline_reaches_the_peak_once_at_its_time(self):
        text = self.view("timeline")
        self.assertIn("at most 127 KiB", text)
        chart = [line[12:] for line in text.splitlines() if re.match(r".{10} [┤│]", line)]
        self.assertEqual(10, len(chart))
        self.assertIn("█", chart[0])
        self.assertTrue(any(cell == " " for cell in chart[0]))
        freed = re.findall(r"(?m)^  [\d.]+ \S?s .*", text)
        self.assertEqual(10, len(freed), text)

    def test_callers_begin_at_what_allocates_and_callees_at_the_start(self):
        callers, callees = self.view("callers"), self.view("callees")
        names = [re.split(r"  +", line.strip())[3] for line in callers.splitlines() if " % " in line]
        self.assertEqual("burst_top", names[0])
        self.assertIn("main", names)
        first = next(line for line in callees.splitlines() if " % " in line)
        self.assertIn("start]", first)
        self.assertRegex(first, r"^ +100 %")

    def test_nothing_matches(self):
        for name in ("sizes", "timeline", "callers", "callees"):
            self.assertIn("size_min=1G", self.view(name, "--size-min=1G"))

    def test_wrong_usage(self):
        for args in (("--view", "pie"), ("--view", "sizes", "--json")):
            self.assertEqual(2, run_report(self.recording, *args).returncode)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Exports, opened by the tools they are for; the totals must be those of `info`, which counts the
events of the recording itself and knows nothing of stores, queries and exports."""
import collections
import csv
import gzip
import importlib.util
import json
import os
import re
import struct
import subprocess

import mp
from export_schemas import DHAT, SPEEDSCOPE

FORMATS = ("json", "json-groups", "csv", "csv-groups", "heaptrack", "flamegraph-svg", "collapsed",
           "pprof", "massif", "dhat", "speedscope", "jemalloc", "replay", "html", "ascii-tree")
SQL = """create table t(a,b);
with recursive c(x) as (select 1 union all select x+1 from c where x<3000)
insert into t select x, hex(randomblob(20)) from c;
select count(*), max(length(b)) from t group by a%10;"""


def tool(argv, errors="strict", **how):
    """Runs a foreign tool, which must succeed; its output."""
    env = {**mp.clean_environment(), "PATH": os.environ["PATH"], **how.pop("env", {})}
    done = subprocess.run([str(a) for a in argv], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False, **how)
    if done.returncode != 0:
        raise AssertionError(f"{argv}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode(errors=errors)


class Recorded:
    """A recording, and what `info` says of it."""

    def __init__(self, path):
        self.path = path
        facts = mp.info(path)
        self.facts = facts
        self.rows = facts["allocations"] + facts["reallocations"]
        self.n_bytes = facts["bytes_allocated"]
        self.leaked = facts["live_bytes"]
        self.n_leaked = facts["live_count"]
        self.peak = facts["peak_bytes"]


class ExportCase(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.home = {"HOME": str(self.dir), "XDG_CACHE_HOME": str(self.dir / "cache")}

    def recorded(self, name, *argv, **how):
        seen = self.record([mp.program(name), *argv], **how)
        self.assertEqual(0, seen.code, seen.stderr)
        return Recorded(seen.recording)

    def recorded_programs(self):
        """One thread and reallocs; two threads; C++ with inlined frames and exceptions; threads that
        free each other's blocks; and a program that was not made for this."""
        yield self.recorded("known_figures")
        yield self.recorded("demo")
        yield self.recorded("containers", "2000")
        yield self.recorded("stress_pairs", self.new_folder(), "4000", "4")
        mp.require("sqlite3", mp.find_tool("sqlite3"))
        yield Recorded(self.record(["sqlite3", ":memory:", SQL]).recording)

    def cli(self, *argv, env=None):
        return mp.run([mp.CLI, *argv], {**mp.clean_environment(), **self.home, **(env or {})},
                      cwd=self.dir, timeout=120)

    def export(self, recorded, name, *options, suffix="", command=None):
        out = self.dir / f"{recorded.path.name}.{name}{suffix}"
        done = self.cli(*(command or ("export", "--format", name)), *options, "-o", out,
                        recorded.path)
        self.assertEqual((0, b""), (done.code, done.stdout), done.stderr)
        self.assertEqual(b"", done.stderr)
        return out

    def groups(self, recorded, *options):
        return json.loads(self.export(recorded, "json-groups", *options).read_text())


class EveryFormat(ExportCase):
    def test_all_are_written_and_the_help_names_them(self):
        help_text = self.cli("export", "--help").stdout.decode()
        recorded = self.recorded("demo")
        for name in FORMATS:
            self.assertIn(f"\n  {name} ", help_text)
            self.assertGreater(self.export(recorded, name).stat().st_size, 100, name)
        listed = re.findall(r"^  (\S+)", help_text.partition("\nFormats:\n")[2].partition("\n\n")[0],
                            re.M)
        self.assertEqual(sorted(FORMATS), sorted(listed))

    def test_nothing_recorded_is_no_error(self):
        recorded = self.recorded("many_stacks", "0")
        self.assertEqual(0, recorded.rows)
        for name in FORMATS:
            self.assertTrue(self.export(recorded, name).exists())

    def test_a_name_with_gz_is_compressed(self):
        recorded = self.recorded("demo")
        plain = self.export(recorded, "collapsed").read_bytes()
        packed = self.export(recorded, "collapsed", suffix=".gz").read_bytes()
        self.assertEqual(plain, gzip.decompress(packed))

    def test_standard_output(self):
        recorded = self.recorded("demo")
        done = self.cli("export", "-f", "collapsed", recorded.path)
        self.assertEqual(self.export(recorded, "collapsed").read_bytes(), done.stdout)

    def test_the_older_commands(self):
        recorded = self.recorded("demo")
        for name in ("heaptrack", "replay"):
            new = self.export(recorded, name).read_bytes()
            old = self.export(recorded, name, "--debug-symbols", self.dir, command=("export-" + name,))
            self.assertEqual(new, old.read_bytes())

    def test_what_is_wrong_is_said(self):
        recorded = self.recorded("demo")
        for argv, code, text in (
                (["-f", "excel"], 2, b"unknown format 'excel'; the formats are json, "),
                ([], 2, b"--format is missing"),
                (["-f", "svg", "--cost=weight"], 2, b"cost: 'weight' is not one of bytes|leaked"),
                (["-f", "svg", "--size-min=big"], 2, b"size_min"),
                (["-f", "svg", "--function-regex=("], 2, b"function_regex"),
                (["-f", "svg", "--no-such=1"], 2, b"--no-such"),
                (["-f", "heaptrack", "-o", "a.zst"], 2, b"the only compression is .gz"),
                (["-f", "csv", "-o", "/dev/full"], 1, b"No space left"),
                (["-f", "csv", "-o", "no/such/folder"], 1, b"no/such/folder")):
            done = self.cli("export", *argv, recorded.path)
            self.assertEqual(code, done.code, (argv, done.stderr))
            self.assertIn(text, done.stderr, argv)
            self.assertEqual(1, done.stderr.count(b"\n"), done.stderr)
        done = self.cli("export", "-f", "csv", "-o", self.dir / "kept", self.dir / "missing.dat")
        self.assertEqual(1, done.code)
        self.assertFalse((self.dir / "kept").exists())


class OddNames(ExportCase):
    """Names that would do harm in a file that holds them unescaped. They are not UTF-8, either."""

    def setUp(self):
        super().setUp()
        self.odd = self.recorded("odd_names", "<script>window.harm=1</script>")

    def test_texts_are_utf8(self):
        for name in FORMATS:
            if name not in ("heaptrack", "pprof", "replay"):
                self.export(self.odd, name).read_bytes().decode()

    def test_formats_are_whole(self):
        for name in ("json", "json-groups", "dhat", "speedscope"):
            text = self.export(self.odd, name).read_text()
            json.loads(text)
            if name != "json-groups":
                self.assertIn("window.harm", text)
        with self.export(self.odd, "csv-groups").open() as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(3, len(rows))
        self.assertTrue(all(r["frames"].endswith("_start [odd_names]") for r in rows))
        self.assertEqual(6000, sum(folded_counts(
            self.export(self.odd, "collapsed").read_text()).values()))
        self.assertNotIn("semi;colon", self.export(self.odd, "collapsed").read_text())

    @mp.needs_tool("heaptrack_print")
    def test_heaptrack(self):
        text = tool(["heaptrack_print", self.export(self.odd, "heaptrack")], errors="replace")
        self.assertIn("calls to allocation functions: 3 ", text)

    @mp.needs_tool("ms_print")
    def test_massif(self):
        self.assertIn("6,000", tool(["ms_print", self.export(self.odd, "massif")]))

    @mp.needs_tool("go")
    def test_pprof(self):
        text = tool(["go", "tool", "pprof", "-top", self.export(self.odd, "pprof")],
                    env={"HOME": str(self.dir)})
        self.assertIn("window.harm", text)


class Tables(ExportCase):
    def test_rows(self):
        for recorded in self.recorded_programs():
            with self.export(recorded, "csv").open() as f:
                rows = list(csv.DictReader(f))
            data = json.loads(self.export(recorded, "json").read_text())
            self.assertEqual(recorded.rows, len(rows))
            self.assertEqual(recorded.n_bytes, sum(int(r["size_bytes"]) for r in rows))
            self.assertEqual(recorded.n_leaked, sum(r["release_ns"] == "" for r in rows))
            self.assertEqual(recorded.rows, len(data["allocations"]))
            known = {b["id"] for b in data["backtraces"]}
            for row, item in zip(rows, data["allocations"]):
                self.assertEqual((int(row["id"]), int(row["size_bytes"]), int(row["alloc_ns"])),
                                 (item["id"], item["size"], item["at_ns"]))
                self.assertIn(item["backtrace"], known)
                if item["released"]:
                    self.assertEqual(int(row["release_ns"]), item["released"]["at_ns"])
            self.assertEqual(len(rows), len({r["id"] for r in rows}))

    def test_groups(self):
        for recorded in self.recorded_programs():
            data = self.groups(recorded)
            with self.export(recorded, "csv-groups").open() as f:
                rows = list(csv.DictReader(f))
            self.assertEqual(len(rows), len(data["groups"]))
            for total, key in ((recorded.rows, "allocations"), (recorded.n_bytes, "bytes"),
                               (recorded.leaked, "leaked_bytes"), (recorded.peak, "peak_bytes"),
                               (recorded.n_leaked, "leaked_count")):
                self.assertEqual(total, data["total"][key], key)
                self.assertEqual(total, sum(g[key] for g in data["groups"]), key)
                self.assertEqual(total, sum(int(r[key]) for r in rows), key)

    def test_a_filter_holds_for_every_format(self):
        recorded = self.recorded("demo")
        option = "--size-min=64"
        expected = self.groups(recorded, option)["total"]
        self.assertGreater(expected["allocations"], 0)
        self.assertLess(expected["allocations"], recorded.rows)
        rows = self.export(recorded, "csv", option).read_text().count("\n") - 1
        self.assertEqual(expected["allocations"], rows)
        folded = self.export(recorded, "collapsed", option, "--cost=allocations").read_text()
        self.assertEqual(expected["allocations"], sum(folded_counts(folded).values()))
        kinds = collections.Counter(
            line[0] for line in self.export(recorded, "heaptrack", option).read_text().splitlines())
        self.assertEqual(expected["allocations"], kinds["+"])
        self.assertEqual(expected["allocations"] - expected["leaked_count"], kinds["-"])
        operations = replay_operations(self.export(recorded, "replay", option))
        self.assertEqual(expected["allocations"], sum(r[0] == 1 for r in operations))
        tree = self.export(recorded, "ascii-tree", option).read_text().splitlines()
        self.assertEqual(str(expected["allocations"]), tree[1].split("[all]")[0].split()[2])


def folded_counts(text):
    """As flamegraph.pl reads it: everything before the last space is the stack."""
    found = collections.Counter()
    for line in text.splitlines():
        stack, count = re.fullmatch(r"(.*) (\d+)", line).groups()
        found[stack] += int(count)
    return found


class CollapsedStacks(ExportCase):
    def test_costs(self):
        for recorded in self.recorded_programs():
            total = self.groups(recorded)["total"]
            for cost, expected in (("bytes", recorded.n_bytes), ("leaked", recorded.leaked),
                                   ("peak", recorded.peak), ("allocations", recorded.rows),
                                   ("temporary", total["temporary_count"])):
                text = self.export(recorded, "collapsed", "--cost", cost).read_text()
                self.assertEqual(expected, sum(folded_counts(text).values()), cost)

    def test_outermost_first_with_libraries(self):
        stacks = folded_counts(self.export(self.recorded("known_figures"), "collapsed").read_text())
        self.assertTrue(any("main [known_figures];" in s and
                            s.endswith(";allocate_base [known_figures]") for s in stacks), stacks)


@mp.needs_tool("heaptrack_print")
class Heaptrack(ExportCase):
    def costs(self, path, cost):
        out = self.dir / "folded"
        tool(["heaptrack_print", "--disable-builtin-suppressions", "--flamegraph-cost-type", cost,
              "-F", out, path])
        return folded_counts(out.read_text())

    def test_totals(self):
        for recorded in self.recorded_programs():
            path = self.export(recorded, "heaptrack")
            for cost, expected in (("allocations", recorded.rows), ("leaked", recorded.leaked),
                                   ("peak", recorded.peak)):
                self.assertEqual(expected, sum(self.costs(path, cost).values()),
                                 f"{cost} of {recorded.facts['executable']}")

    def test_report_compressed(self):
        recorded = self.recorded("known_figures")
        text = tool(["heaptrack_print", self.export(recorded, "heaptrack", suffix=".gz")])
        self.assertIn(f"calls to allocation functions: {recorded.rows} ", text)
        self.assertIn("allocate_base", text)
        self.assertRegex(text, r"peak RSS \(including heaptrack overhead\): [1-9]")

    def test_inlined_frames_and_innermost_frame(self):
        text = tool(["heaptrack_print", self.export(self.recorded("demo"), "heaptrack")])
        # read_line is the innermost, and inlined into work
        self.assertRegex(text, r"\nread_line\n  at \S+demo\.c:\d+\n  in \S+/demo\nwork\n"
                               r"  at \S+demo\.c:\d+\n4000 calls ")

    def test_order_and_times(self):
        recorded = self.recorded("demo")
        now, alive, n_kinds, first_uses = -1, collections.Counter(), 0, 0
        for line in self.export(recorded, "heaptrack").read_text().splitlines():
            mode, _, rest = line.partition(" ")
            if mode == "c":
                self.assertGreater(int(rest, 16), now)
                now = int(rest, 16)
            elif mode == "a":
                n_kinds += 1
            elif mode == "+":
                kind = int(rest, 16)
                self.assertLess(kind, n_kinds)
                self.assertLessEqual(kind, first_uses) # no gap: heaptrack_gui counts on it
                first_uses = max(first_uses, kind + 1)
                alive[kind] += 1
            elif mode == "-":
                alive[int(rest, 16)] -= 1
                self.assertGreaterEqual(alive[int(rest, 16)], 0)
        self.assertEqual(recorded.n_leaked, sum(alive.values()))
        self.assertEqual(recorded.facts["duration_ns"] // 1000000, now)


@mp.needs_tool("go")
class Pprof(ExportCase):
    def pprof(self, *argv):
        return tool(["go", "tool", "pprof", *argv], env={"HOME": str(self.dir)})

    def test_totals(self):
        for recorded in self.recorded_programs():
            text = self.pprof("-raw", self.export(recorded, "pprof"))
            self.assertIn("alloc_objects/count alloc_space/bytes inuse_objects/count "
                          "inuse_space/bytes[dflt]", text)
            samples = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+):", text, re.M)
            self.assertEqual([recorded.rows, recorded.n_bytes, recorded.n_leaked, recorded.leaked],
                             [sum(int(s[i]) for s in samples) for i in range(4)])

    def test_names_lines_inlines_and_build_ids(self):
        path = self.export(self.recorded("demo"), "pprof")
        text = self.pprof("-raw", path)
        self.assertRegex(text, r"read_line \S*demo\.c:\d+(:\d+)? s=0\n +work \S*demo\.c:\d+")
        self.assertRegex(text.partition("Mappings")[2], r"1: 0x\w+/0x\w+/0x0 \S*demo [0-9a-f]{40}")
        top = self.pprof("-top", "-sample_index=alloc_objects", path)
        self.assertRegex(top, r"\bwords_add\b")
        self.assertRegex(top, r"Type: alloc_objects")


@mp.needs_tool("ms_print")
class Massif(ExportCase):
    def test_snapshots(self):
        for recorded in self.recorded_programs():
            text = tool(["ms_print", self.export(recorded, "massif")])
            peak = int(re.search(r"Detailed snapshots:.*?(\d+) \(peak\)", text)[1])
            snapshots = {int(n): int(b.replace(",", "")) for n, b in
                         re.findall(r"^ +(\d+) +[\d,]+ +([\d,]+) +[\d,]+ +0 +0$", text, re.M)}
            self.assertEqual(recorded.peak, snapshots[peak])
            self.assertEqual(recorded.peak, max(snapshots.values()))
            self.assertEqual(recorded.leaked, snapshots[max(snapshots)])
            self.assertEqual(len(snapshots), max(snapshots) + 1)

    def test_trees_add_up(self):
        path = self.export(self.recorded("containers", "2000"), "massif")
        heap, n_trees = 0, 0
        for line in path.read_text().splitlines():
            if line.startswith("mem_heap_B="):
                heap = int(line[11:])
            elif line.startswith("n"):
                n_trees += 1
                self.assertEqual(heap, int(line.split()[1]))
        self.assertGreater(n_trees, 3)
        text = tool(["ms_print", "--threshold=0.1", path])
        self.assertRegex(text, r"->\d+\.\d\d% \([\d,]+B\) 0x[0-9A-F]+: operator new")


@mp.needs_tool("jeprof")
class Jemalloc(ExportCase):
    def test_totals_and_names(self):
        for recorded in self.recorded_programs():
            path = self.export(recorded, "jemalloc")
            program = recorded.facts["executable"]
            n_stacks = path.read_text().count("\n@")
            for option, expected in (("--alloc_space", recorded.n_bytes),
                                     ("--inuse_space", recorded.leaked),
                                     ("--alloc_objects", recorded.rows),
                                     ("--inuse_objects", recorded.n_leaked)):
                text = tool(["jeprof", "--text", "--show_bytes", option, program, path])
                total = int(re.search(r"^Total: (\d+)", text, re.M)[1])
                # blocks of a few bytes are rounded, see export_jemalloc.c
                self.assertLessEqual(abs(expected - total), n_stacks, (program, option))

    def test_names(self):
        recorded = self.recorded("known_figures")
        text = tool(["jeprof", "--text", "--alloc_objects", recorded.facts["executable"],
                     self.export(recorded, "jemalloc")])
        self.assertRegex(text, r"\ballocate_base\b")


class Schemas(ExportCase):
    def check(self, data, schema):
        mp.require("python3-jsonschema", importlib.util.find_spec("jsonschema"))
        importlib.import_module("jsonschema").validate(data, schema)

    def test_speedscope(self):
        for recorded in self.recorded_programs():
            data = json.loads(self.export(recorded, "speedscope").read_text())
            self.check(data, SPEEDSCOPE)
            n_frames = len(data["shared"]["frames"])
            self.assertEqual(["bytes allocated", "bytes leaked", "bytes alive at the peak",
                              "allocations", "temporary allocations"],
                             [p["name"] for p in data["profiles"]])
            groups = self.groups(recorded)
            for profile, total, key in zip(
                    data["profiles"],
                    (recorded.n_bytes, recorded.leaked, recorded.peak, recorded.rows,
                     groups["total"]["temporary_count"]),
                    ("bytes", "leaked_bytes", "peak_bytes", "allocations", "temporary_count")):
                self.assertEqual(total, sum(profile["weights"]), profile["name"])
                self.assertEqual(total, profile["endValue"])
                self.assertEqual(len(profile["weights"]), len(profile["samples"]))
                self.assertTrue(all(f < n_frames for s in profile["samples"] for f in s))
                self.assertEqual(self.by_lines(groups, key),
                                 self.by_samples(data["shared"]["frames"], profile))

    def by_samples(self, frames, profile):
        """What a profile says of each stack, by the sources and lines of its frames."""
        found = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            found[tuple((frames[f].get("file"), frames[f].get("line")) for f in sample)] += weight
        return found

    def by_lines(self, groups, key):
        found = collections.Counter()
        for g in groups["groups"]:
            if g[key]:
                found[tuple((f["source"] or f["module"], f["line"])
                            for f in reversed(g["frames"]))] += g[key]
        return found

    def test_dhat(self):
        for recorded in self.recorded_programs():
            data = json.loads(self.export(recorded, "dhat").read_text())
            self.check(data, DHAT)
            for key, total in (("tb", recorded.n_bytes), ("tbk", recorded.rows),
                               ("gb", recorded.peak), ("eb", recorded.leaked),
                               ("ebk", recorded.n_leaked)):
                self.assertEqual(total, sum(p[key] for p in data["pps"]), key)
            self.assertEqual(recorded.facts["peak_at_ns"] // 1000, data["tg"])
            for p in data["pps"]:
                self.assertTrue(p["mb"] >= p["gb"] and p["mb"] >= p["eb"] and p["tb"] >= p["mb"])
                self.assertTrue(all(f < len(data["ftbl"]) for f in p["fs"]))

    def test_dhat_lifetimes_are_those_of_the_rows(self):
        recorded = self.recorded("demo")
        end_ns = recorded.facts["duration_ns"]
        with self.export(recorded, "csv").open() as f:
            sum_ns = sum(int(r["lifetime_ns"] or end_ns - int(r["alloc_ns"]))
                         for r in csv.DictReader(f))
        data = json.loads(self.export(recorded, "dhat").read_text())
        self.assertAlmostEqual(sum_ns / 1000, sum(p["tl"] for p in data["pps"]),
                               delta=len(data["pps"]))


def replay_operations(path):
    """Tuples (kind, slot, time in us, size), without calls and returns."""
    data = path.read_bytes()[8:-8]
    return [r for r in struct.iter_unpack("<4Q", data) if r[0] <= 3]


class Replay(ExportCase):
    def test_replayed_it_has_the_same_figures(self):
        for recorded in self.recorded_programs():
            path = self.export(recorded, "replay")
            seen = self.record([mp.program("replays_file"), path])
            self.assertEqual(0, seen.code)
            again = mp.info(seen.recording)
            for key in ("allocations", "reallocations", "frees", "bytes_allocated", "live_count",
                        "live_bytes", "peak_bytes"):
                self.assertEqual(recorded.facts[key], again[key], key)

    def test_the_curve_is_the_same(self):
        for recorded in self.recorded_programs():
            curve = self.dir / "curve"
            done = self.bare([mp.program("replays_file"), self.export(recorded, "replay"), curve])
            self.assertEqual(0, done.code)
            replayed = dict(struct.iter_unpack("<2Q", curve.read_bytes()))  # last of each us
            changes = []
            with self.export(recorded, "csv").open() as f:
                for row in csv.DictReader(f):
                    changes.append((int(row["alloc_ns"]), int(row["size_bytes"])))
                    if row["release_ns"]:
                        changes.append((int(row["release_ns"]), -int(row["size_bytes"])))
            expected, alive = {}, 0
            for at_ns, change in sorted(changes):
                alive += change
                expected[at_ns // 1000] = alive
            self.assertEqual(expected, replayed)

    def test_calls_lead_to_the_stack(self):
        recorded = self.recorded("known_figures")
        data = self.export(recorded, "replay").read_bytes()
        depth, deepest = 0, 0
        for kind, _, _, _ in struct.iter_unpack("<4Q", data[8:-8]):
            depth += (kind == 4) - (kind == 5)
            deepest = max(deepest, depth)
        self.assertEqual(0, depth)
        self.assertEqual(max(len(g["frames"]) - sum(f["is_inline"] for f in g["frames"])
                             for g in self.groups(recorded)["groups"]), deepest)


class AsciiTree(ExportCase):
    def test_tree(self):
        recorded = self.recorded("known_figures")
        lines = self.export(recorded, "ascii-tree").read_text().splitlines()
        self.assertEqual(["SIZE", "COUNT", "FIRST", "LAST", "SOURCE"], lines[0].split())
        self.assertEqual(str(recorded.rows), lines[1].split()[2])
        self.assertTrue(any("allocate_base (" in line for line in lines))
        self.assertEqual("_start", lines[2].split("  ")[-1].lstrip("├└─").split()[0])
        inverted = self.export(recorded, "ascii-tree", "--inverted=true").read_text().splitlines()
        self.assertTrue(any("├─allocate_base (" in line for line in inverted), inverted)
        self.assertFalse(any("├─_start" in line for line in inverted), inverted)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Findings and health of real programs: what tests/programs/stands_out.c does is found, by `report` and by the
server alike, and the filter of each finding gives its figure."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

import mp
from mp_server import Server

KINDS = ("leak", "owner", "growth", "full", "peak", "churn", "outside", "copying", "wrapper", "startup", "quiet",
         "killed")
COSTS = {"peak": "peak_bytes", "leaked": "leaked_bytes", "allocs": "allocations",
         "temp": "temporary_count", "bytes": "bytes"}
STEPS = 100
MIB = 1 << 20


def report(path, *args):
    done = subprocess.run([mp.CLI, "report", *args, path], capture_output=True, text=True, check=True,
                          timeout=120, env=mp.clean_environment())
    return done.stdout


class Case(unittest.TestCase):
    """A recording of each kind, and a server that has them all."""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="mp-findings-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.path = {}
        running = []
        for kind in KINDS:
            cls.path[kind] = cls.dir / f"{kind}.dat"
            env = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
                   "MEMORY_PROFILER_OUTPUT": str(cls.path[kind])}
            running.append(subprocess.Popen([mp.program("stands_out"), kind], env=env, cwd=cls.dir))
        for child in running:
            assert child.wait(60) == (-signal.SIGKILL if "killed" in child.args else 0)
        cls.server = Server(*cls.path.values())
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.end)
        for entry in cls.server.json("/list"):
            cls.server.get(f"/data/{entry['id']}/mallopts")  # waits until it is loaded
        cls.ids = {entry["file"].removesuffix(".dat"): entry["id"]
                   for entry in cls.server.json("/list")}

    def v1(self, kind, path, **parameters):
        return self.server.json(f"/api/v1/{self.ids[kind]}/{path}", **parameters)

    def findings(self, kind, **parameters):
        return self.v1(kind, "findings", **parameters)["findings"]

    def one(self, recording, kind):
        """The only finding of a kind in a recording."""
        found = [f for f in self.findings(recording) if f["kind"] == kind]
        self.assertEqual(1, len(found), self.findings(recording))
        return found[0]


class Findings(Case):
    def test_every_filter_gives_its_figure(self):
        n = 0
        for kind in KINDS:
            for f in self.findings(kind):
                with self.subTest(kind, title=f["title"]):
                    self.assertEqual(120 if f["kind"] not in ("outside", "copying") else 0,
                                     len(f["timeline"]))
                    if f["kind"] in ("outside", "copying"):
                        self.assertEqual({}, f["filter"])
                        continue
                    n += 1
                    cost = self.v1(kind, "groups", by="stack", **f["filter"])["total"]
                    self.assertEqual(f["value"], cost[COSTS[f["cost"]]])
                    total = self.v1(kind, "groups", by="stack")["total"]
                    self.assertAlmostEqual(f["share"], f["value"] / total[COSTS[f["cost"]]], 5)
        self.assertGreaterEqual(n, 6)

    def test_killed(self):
        """What held the memory comes first, whether it grew or not."""
        tables, seen, *rest = self.findings("killed")
        self.assertEqual(["held", "held"], [tables["kind"], seen["kind"]])
        self.assertEqual("load_tables held 8.00 MiB at the end", tables["title"])
        self.assertEqual(("leaked", STEPS * 64 << 10), (seen["cost"], seen["value"]))
        self.assertRegex(seen["text"], r"43\.9 % of what was alive when the program was killed, "
                                       r"\+[\d.]+ MiB per second in the last quarter")
        self.assertNotIn("leak", [f["kind"] for f in rest])
        self.assertRegex(report(self.path["killed"]), r"Held at the end: load_tables held 8\.00 MiB")

    def test_leak(self):
        f = self.one("leak", "leak")
        self.assertEqual("remember_seen", f["blame"]["function"])
        self.assertEqual(("leaked", STEPS * 64 << 10), (f["cost"], f["value"]))
        self.assertEqual("remember_seen keeps 6.25 MiB", f["title"])
        said = re.fullmatch(r"100 % of all leaked, \+([\d.]+) MiB per second in the last quarter", f["text"])
        self.assertTrue(said, f["text"])
        # how fast the program was depends on the machine
        late = self.v1("leak", "groups", by="stack", **{**f["filter"], "from": "75%"})["total"]
        quarter_s = self.v1("leak", "summary")["duration_ns"] / 4e9
        self.assertAlmostEqual(1, float(said[1]) / (late["leaked_bytes"] / MIB / quarter_s), delta=0.15)
        self.assertEqual("flame", f["page"])
        self.assertEqual(f["timeline"], f["leaked_timeline"])
        self.assertEqual(f["value"], f["timeline"][-1])
        self.assertEqual(sorted(f["timeline"]), f["timeline"])

    def test_suppressed_leak_was_not_freed_at_the_end(self):
        rules = self.dir / "known.supp"
        rules.write_text("leak:remember_seen\n")
        text = report(self.path["leak"], "--suppressions", rules)
        self.assertIn("6.25 MiB of leaks suppressed", text)
        self.assertNotIn("remember_seen grew", text)
        self.assertNotIn("Likely leak", text)

    def test_what_is_allocated_at_the_start_is_no_leak(self):
        self.assertEqual([], [f for f in self.findings("startup") if f["kind"] in ("leak", "owner")])

    def test_owner(self):
        f = self.one("owner", "owner")
        self.assertEqual("cache_get_or_add", f["blame"]["function"])
        self.assertEqual(STEPS * 64 << 10, f["value"])
        self.assertEqual("100 % of what leaked passes through cache_get_or_add", f["title"])
        self.assertIn("allocated in 3 functions", f["text"])

    def test_growth_that_is_freed_at_the_end(self):
        f = self.one("growth", "growth")
        self.assertEqual("insert_block", f["blame"]["function"])
        self.assertEqual(("peak", STEPS * 256 << 10), (f["cost"], f["value"]))
        self.assertEqual("insert_block grew to 25.0 MiB", f["title"])
        self.assertRegex(f["text"], r"^75\.8 % of the peak, \+\d+(\.\d)? MiB per second in the last quarter before "
                                    r"it; freed only at the end$")
        self.assertEqual(f["value"], max(f["timeline"]))
        self.assertEqual(0, f["timeline"][-1])
        self.assertEqual(["growth"], [g["kind"] for g in self.findings("growth")])

    def test_full_cache_is_no_leak(self):
        self.assertEqual([], [f for f in self.findings("full") if f["kind"] in ("leak", "owner", "growth")])

    def test_peak(self):
        f = self.one("peak", "peak")
        self.assertEqual("import_chunk", f["blame"]["function"])
        self.assertEqual(24 * MIB, f["value"])
        self.assertEqual(24 * MIB, max(f["timeline"]))
        self.assertEqual(0, f["timeline"][-1])
        self.assertRegex(f["text"], r"^75\.0 % of the peak, 24\.0 MiB more than its median, for about ")

    def test_churn(self):
        f = self.one("churn", "churn")
        self.assertEqual("decode_frame", f["blame"]["function"])
        self.assertEqual(STEPS * 100, f["value"])
        self.assertEqual("bottomup", f["page"])

    def test_outside(self):
        f = self.one("outside", "outside")
        self.assertGreater(f["value"], 60 * MIB)
        self.assertLess(f["value"], 100 * MIB)
        self.assertEqual("map", f["page"])
        self.assertIsNone(f["blame"])
        # conditions say nothing about RSS
        self.assertEqual([], [g for g in self.findings("outside", size_max="1k")
                              if g["kind"] == "outside"])

    def test_copying(self):
        f = self.one("copying", "copying")
        self.assertEqual("append_line", f["blame"]["function"])
        self.assertGreater(f["value"], 10 * MIB)
        self.assertEqual("chains", f["page"])

    def test_wrapper_is_not_blamed(self):
        self.assertEqual("calls_wrapper", self.one("wrapper", "leak")["blame"]["function"])

    def test_quiet_program_has_none(self):
        self.assertEqual([], self.findings("quiet"))

    def test_conditions_narrow_what_is_found(self):
        self.assertEqual([], self.findings("leak", size_max="1k"))
        self.assertEqual(["remember_seen"], [f["blame"]["function"] for f in
                                             self.findings("leak", size_min="64k", size_max="64k")])
        answer = self.server.get(f"/api/v1/{self.ids['leak']}/findings?blame_regex=(")
        self.assertEqual(400, answer.status)
        self.assertEqual("blame_regex", answer.json()["parameter"])

    def test_report_says_the_same(self):
        for kind in KINDS:
            with self.subTest(kind):
                served = self.findings(kind)
                ours = json.loads(report(self.path[kind], "--json"))["findings"]
                for f in served:
                    del f["timeline"], f["leaked_timeline"], f["page"]
                for f in ours:
                    for name in ("raw_function", "column", "module_offset"):
                        if f["blame"]:
                            del f["blame"][name]
                self.assertEqual(served, ours)
                text = re.sub(r"\s+", " ", report(self.path[kind]))
                for f in served:
                    self.assertIn(f["title"], text)
                    self.assertIn(f["text"], text)

    def test_report_shows_kind_and_line(self):
        text = re.sub(r"\s+", " ", report(self.path["leak"]))
        self.assertRegex(text, r"What stands out - Likely leak: remember_seen keeps 6\.25 MiB "
                               r"\(\S*stands_out\.c:\d+\): 100 % of all leaked")
        text = report(self.path["quiet"])
        self.assertIn("100 % of the peak (8.00 MiB) comes from one call site: load_tables", text)


class Health(Case):
    def test_sound_recording(self):
        found = self.v1("quiet", "health")
        lines = {line["title"]: line for line in found["lines"]}
        self.assertEqual({"ok"}, {line["state"] for line in found["lines"]}, found)
        self.assertEqual("the program ended by exit()", lines["Complete"]["detail"])
        events = self.v1("quiet", "summary")["events"]
        self.assertEqual(f"{events} events read", lines["No event lost"]["detail"])
        self.assertIn("All stacks complete", lines)
        self.assertTrue([t for t in lines if re.match(r"Recorder's writer: .+ of CPU time", t)], lines)
        facts = {f["name"]: f["value"] for f in found["facts"]}
        self.assertEqual(f"{mp.program('stands_out')} quiet", facts["Command"])
        self.assertRegex(facts["Process"], r"^pid \d+, \w+, 1 thread, glibc")
        self.assertRegex(facts["Started"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ran ")

    def test_report_has_the_same_lines(self):
        ours = json.loads(report(self.path["leak"], "--json"))
        self.assertEqual(self.v1("leak", "health")["lines"], ours["health"])

    def killed(self, with_writer):
        """The first line of the health of a program that was killed, and whether it seems to grow."""
        path = self.dir / "killed.dat"
        env = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
               "MEMORY_PROFILER_OUTPUT": str(path)}
        with subprocess.Popen([mp.program("waits_for_input")], env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            with Server(path) as server:
                line = self.first_line(server)
                self.assertEqual(("warn", "Still running"), (line["state"], line["title"]))
                self.assertTrue(server.json("/api/v1/recordings")["recordings"][0]["growing"])
            if with_writer:
                os.kill(mp.find_writer(path), signal.SIGKILL)
            child.send_signal(signal.SIGKILL)
        with Server(path) as server:
            line = self.first_line(server)
            self.assertFalse(server.json("/api/v1/recordings")["recordings"][0]["growing"])
        return line["state"], line["title"], line["detail"]

    def test_killed(self):
        self.assertEqual(("ok", "Complete", "the program was killed by SIGKILL"), self.killed(with_writer=False))

    def test_killed_with_its_writer(self):
        self.assertEqual(("warn", "The recording has no end"), self.killed(with_writer=True)[:2])

    def first_line(self, server):
        entry = server.json("/list")[0]
        server.get(f"/data/{entry['id']}/mallopts")  # waits until it is loaded
        return server.json("/api/v1/last/health")["lines"][0]

    def test_limits_are_facts(self):
        path = self.dir / "limited.dat"
        env = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
               "MEMORY_PROFILER_OUTPUT": str(path)}
        subprocess.run([mp.program("demo")], env=env, check=True, stdout=subprocess.DEVNULL, cwd=self.dir,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
        with Server(path) as server:
            self.first_line(server)
            facts = {f["name"]: f["value"] for f in server.json("/api/v1/last/health")["facts"]}
        self.assertEqual("4.00 GiB of address space (ulimit -v)", facts["Limit"])


class Recordings(Case):
    def test_entries_have_a_graph_and_threads(self):
        for entry in self.server.json("/api/v1/recordings")["recordings"]:
            with self.subTest(entry["file"]):
                self.assertEqual(1, entry["threads"])
                self.assertFalse(entry["growing"])
                self.assertIsNone(entry["imported"])
                self.assertIsNone(entry["eta_s"])
                self.assertLessEqual(len(entry["timeline"]), 120)
                self.assertGreater(len(entry["timeline"]), 60)
                self.assertEqual(entry["peak_bytes"], max(entry["timeline"]))


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""What is said of a culled recording: all figures that do not need single allocations are those of a
recording with everything."""
import contextlib
import json
import re
import subprocess
import time

import mp
from mp_server import Server
from test_cull import CullCase, cull_below

# 500 temporary allocations by one thread, four times a second; some others; one that stays
STEPS = [step for _ in range(14) for step in ("~77 500", "t+7 1007", "-7", 0.25)] + ["+1 5000"]
BUCKETS = 7


@contextlib.contextmanager
def served(path):
    with Server(path) as server:
        mp.wait_for(lambda: server.json("/api/v1/recordings")["recordings"][0]["state"] == "ready")
        yield server


class CullFigures(CullCase):
    def ask(self, path):
        questions = {
            "summary": "summary", "threads": "threads",
            "timeline": f"timeline?buckets={BUCKETS}&round=1",
            "zoomed": "timeline?buckets=5000&from=1s&to=3s",
            "by_package": f"timeline?buckets={BUCKETS}&round=1&by=package&series=allocations",
            "by_thread": "groups?by=thread", "by_stack": "groups?by=stack&count=0",
            "sites": "groups?by=stack&sort_by=allocations&count=1&facts=1",
            "health": "health",
        }
        with served(path) as server:
            return {key: server.json(f"/api/v1/last/{question}")
                    for key, question in questions.items()}

    def setUp(self):
        super().setUp()
        paths = [self.obey(*STEPS, **options) for options in (cull_below(100), {})]
        self.culled, self.whole = (self.ask(p) for p in paths)
        self.path = paths[0]

    def test_figures(self):
        self.check_totals()
        self.check_threads()
        self.check_rates()
        self.check_sites()
        self.check_words()

    def check_totals(self):
        culled, whole = self.culled["summary"], self.whole["summary"]
        self.assertGreater(culled["culled_count"], 7000)
        self.assertGreater(culled["culled_bytes"], 77 * 7000)
        self.assertEqual(0, whole["culled_count"])
        self.assertEqual(whole["rows"], culled["rows"] + culled["culled_count"])
        for key in ("bytes", "temporary_count", "temporary_bytes", "leaked_count"):
            self.assertEqual(whole[key], culled[key], key)
        self.assertEqual(self.whole["by_stack"]["total"]["allocations"],
                         self.culled["by_stack"]["total"]["allocations"])

    def check_threads(self):
        def costs(answers):
            return sorted((g["cost"]["allocations"], g["cost"]["bytes"],
                           g["cost"]["temporary_count"], g["cost"]["temporary_bytes"])
                          for g in answers["by_thread"]["groups"])

        self.assertEqual(costs(self.whole), costs(self.culled))
        self.assertEqual(self.whole["by_thread"]["total"]["allocations"],
                         self.culled["by_thread"]["total"]["allocations"])

    def check_rates(self):
        culled, whole = self.culled["timeline"], self.whole["timeline"]
        for key in ("allocations", "releases", "allocated_bytes", "temporary"):
            self.assertEqual(sum(whole[key]), sum(culled[key]), key)
        self.assertEqual(self.culled["summary"]["culled_count"], sum(culled["culled"]))
        mean = sum(culled["culled"]) / BUCKETS
        for n in culled["culled"]:  # the recorder says once a second how many there were
            self.assertGreater(n, mean / 3)
            self.assertLess(n, mean * 2)
        series = {s["name"]: s["values"] for s in self.culled["by_package"]["series"]}
        self.assertEqual(culled["culled"], series["culled"])
        self.assertNotIn("culled", [s["name"] for s in self.whole["by_package"]["series"]])
        zoomed = self.culled["zoomed"]
        self.assertGreater(sum(zoomed["culled"]), 2500)
        self.assertLess(sum(zoomed["culled"]), 5500)

    def check_sites(self):
        culled, whole = (answers["sites"]["groups"][0] for answers in (self.culled, self.whole))
        self.assertEqual(whole["cost"]["allocations"], culled["cost"]["allocations"])
        self.assertEqual(culled["cost"]["allocations"], culled["culled_count"])
        self.assertIsNone(culled["mean_lifetime_ns"])
        self.assertEqual(0, whole["culled_count"])
        self.assertIsNotNone(whole["mean_lifetime_ns"])

    def check_words(self):
        lines = [line["title"] for line in self.culled["health"]["lines"]]
        n = self.culled["summary"]["culled_count"]
        self.assertTrue(any("left out (culled)" in line for line in lines), lines)
        done = subprocess.run([mp.CLI, "report", self.path], capture_output=True, text=True,
                              check=True)
        said = int(re.search(r"by ([0-9 ]+) allocations", done.stdout)[1].replace(" ", ""))
        self.assertEqual(self.culled["summary"]["rows"] + n, said)
        self.assertNotIn("(median)", done.stdout)
        percent = float(re.search(r"\(([0-9.]+)% of all allocations\)", done.stdout)[1])
        self.assertLessEqual(percent, 100)
        with served(self.path) as server:
            first = server.json("/api/v1/recordings")["recordings"][0]
        self.assertEqual(self.culled["summary"]["rows"] + n, first["allocations"], json.dumps(first))


class Top(CullCase):
    def test_top_counts_what_is_culled(self):
        path, program = self.start_storm(20)
        time.sleep(2)
        before = mp.info(path)
        done = subprocess.run([mp.CLI, "top", "-n", "3", "-s", "2", path], capture_output=True, text=True,
                              check=True)
        after = mp.info(path)
        program.kill()
        rate = ((after["allocations"] - before["allocations"]) * 1e9
                / (after["duration_ns"] - before["duration_ns"]))
        shown = [float(n.replace(" ", "")) * {"": 1, "k": 1e3, "M": 1e6}[unit] for n, unit in
                 re.findall(r"([0-9][0-9. ]*?) ?([kM]?)/s  \(all\)", done.stdout)]
        self.assertEqual(3, len(shown), done.stdout)
        for n in shown:
            self.assertGreater(n, rate / 3, done.stdout)
            self.assertLess(n, rate * 3, done.stdout)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""The server's allocations, totals, calls and times are those of the recording's events, counted here."""
import random

import mp
from mp_server_case import ServerCase, naive_rows

N_RANDOM_FILTERS = 150


def number(address):
    return int(address, 16) if isinstance(address, str) else address


class Numbers(ServerCase):
    """Totals and rows are those of the events."""

    FILES = ("demo.dat", "work.dat", "maps.dat")

    def test_rows_are_those_of_the_events(self):
        for file in self.FILES:
            expected = naive_rows(self.dir / file)
            seen = self.data(file, "allocations")
            self.assertEqual(len(expected), seen["total_count"])
            events = sorted((r["size"], number(r["addr"]), r["tid"], r["free"] is not None)
                            for r in expected)
            rows = sorted((a["size"], a["address"], a["thread"], "deallocation" in a)
                          for a in seen["allocations"])
            for event, row in zip(events, rows):
                self.assertEqual(event, row, file)

    def test_totals_are_those_of_info(self):
        for file in self.FILES:
            facts = mp.info(self.dir / file)
            entry = next(e for e in self.server.json("/list") if e["file"] == file)
            self.assertEqual(facts["live_bytes"], entry["final_allocated"])
            self.assertEqual(facts["live_count"], entry["final_allocated_count"])
            self.assertEqual(("ready", 100), (entry["state"], entry["percent"]))
            timeline = self.data(file, "timeline")
            self.assertEqual(facts["peak_bytes"], max(timeline["allocated_size"]))
            self.assertEqual(facts["live_bytes"], sum(timeline["size_delta"]))
            self.assertEqual(facts["live_bytes"], timeline["leaked_size"][-1])
            self.assertEqual(facts["allocations"] + facts["reallocations"],
                             sum(timeline["allocations"]))
            leaked = self.data(file, "timeline_leaked")
            self.assertEqual(facts["live_bytes"], max(leaked["allocated_size"]))
            whole = self.v1(file, "timeline")  # from the store's table, not from the rows
            self.assertEqual(facts["peak_bytes"], max(whole["max_bytes"]))
            self.assertEqual(sum(timeline["allocations"]), sum(whole["allocations"]))
            self.assertEqual(facts["live_bytes"], sum(whole["leaked_bytes"]))
            self.assertEqual(facts["live_bytes"], whole["last_bytes"][-1])
            summary = self.v1(file, "summary")
            self.assertEqual(facts["peak_bytes"], summary["peak_bytes"])
            self.assertEqual(facts["frees"], summary["frees"])
            self.assertEqual(facts["peak_bytes"], self.v1(file, "peak")["bytes"])
            tree = self.data(file, "tree")
            self.assertEqual(facts["bytes_allocated"], tree["size"])
            self.assertEqual(tree["size"], sum(c["size"] for c in tree["children"]))
            for direction in ("top_down", "bottom_up"):
                flat = self.v1(file, "tree", direction=direction, min_share="0")
                self.assertEqual(facts["bytes_allocated"], flat["total"]["bytes"])
                self.assertEqual(facts["bytes_allocated"], sum(flat["self_bytes"]))
                self.assertTrue(all(p < i for i, p in enumerate(flat["parent"]) if i))
            for by in ("stack", "free_stack", "thread", "size", "code", "module", "function",
                       "line"):
                groups = self.v1(file, "groups", by=by, count=10**6)
                self.assertEqual(facts["bytes_allocated"],
                                 sum(g["cost"]["bytes"] for g in groups["groups"]), by)
                self.assertEqual(facts["live_bytes"], groups["total"]["leaked_bytes"], by)

    def test_groups_add_up_and_sort(self):
        everything = self.data("demo.dat", "allocation_groups")
        self.assertEqual(everything["total_count"], len(everything["allocations"]))
        for where in ("all", "only_matched"):
            for key in ("size", "allocated_count", "leaked_count"):
                up = self.data("demo.dat", "allocation_groups", sort_by=f"{where}.{key}")
                values = [g[where][key] for g in up["allocations"]]
                self.assertEqual(sorted(values), values)
                down = self.data("demo.dat", "allocation_groups", sort_by=f"{where}.{key}",
                                 order="dsc", skip=1, count=2)
                self.assertEqual(sorted(values, reverse=True)[1:3],
                                 [g[where][key] for g in down["allocations"]])
        only = self.data("demo.dat", "allocation_groups", size_min=1000)["allocations"]
        for g in only:
            self.assertGreaterEqual(g["only_matched"]["min_size"], 1000)
            self.assertGreaterEqual(g["all"]["size"], g["only_matched"]["size"])

    def random_filter(self, rng, rows):
        """Parameters, and what they mean for a row."""
        parameters, tests = {}, []
        sizes = sorted(r["size"] for r in rows)
        for name in rng.sample(["size_min", "size_max", "address_min", "lifetime", "thread",
                                "backtrace"], rng.randint(1, 3)):
            if name == "size_min":
                n = rng.choice(sizes)
                parameters[name] = n
                tests.append(lambda r, n=n: r["size"] >= n)
            elif name == "size_max":
                n = rng.choice(sizes)
                parameters[name] = n
                tests.append(lambda r, n=n: r["size"] <= n)
            elif name == "address_min":
                n = rng.choice(rows)["addr"]
                parameters[name] = n
                tests.append(lambda r, n=n: r["addr"] >= n)
            elif name == "lifetime":
                kind = rng.choice(["only_leaked", "only_temporary", "all"])
                parameters[name] = kind
                tests.append({"only_leaked": lambda r: r["free"] is None,
                              "only_temporary": lambda r: r["free"] is not None,
                              "all": lambda r: True}[kind])
            elif name == "thread":
                n = rng.choice(rows)["tid"]
                parameters[name] = n
                tests.append(lambda r, n=n: r["tid"] == n)
            else:
                n = rng.choice(rows)["stack"]
                parameters["backtraces"] = n
                tests.append(lambda r, n=n: r["stack"] == n)
        return parameters, tests

    def test_random_filters_give_what_a_naive_scan_gives(self):
        rng = random.Random(7)
        for file in self.FILES:
            # The rows were compared with the events above; the stacks' numbers are the server's.
            rows = [{"size": a["size"], "addr": a["address"], "tid": a["thread"],
                     "free": a.get("deallocation"), "stack": a["backtrace_id"]}
                    for a in self.data(file, "allocations")["allocations"]]
            for _ in range(N_RANDOM_FILTERS // len(self.FILES)):
                parameters, tests = self.random_filter(rng, rows)
                good = [r for r in rows if all(t(r) for t in tests)]
                with self.subTest(file=file, **parameters):
                    seen = self.data(file, "allocations", count=0, **parameters)
                    self.assertEqual(len(good), seen["total_count"])
                    groups = self.data(file, "allocation_groups", **parameters)["allocations"]
                    self.assertEqual(sum(r["size"] for r in good),
                                     sum(g["only_matched"]["size"] for g in groups))
                    self.assertEqual(sum(r["free"] is None for r in good),
                                     sum(g["only_matched"]["leaked_count"] for g in groups))
                    cost = self.v1(file, "summary", **parameters)["matched"]
                    self.assertEqual(len(good), cost["allocations"])

    def test_calls_of_mmap_are_listed(self):
        operations = self.data("maps.dat", "mmaps")["operations"]
        kinds = {kind for o in operations for kind in o}
        self.assertTrue({"mmap", "munmap"} <= kinds, kinds)
        events = mp.events(self.maps, "mmap", "munmap", "mremap", "brk")
        self.assertEqual(len(events), len(operations))
        mapped = sorted(o["mmap"]["length"] for o in operations if "mmap" in o)
        big = self.data("maps.dat", "mmaps", size_min=mapped[-1])["operations"]
        self.assertTrue(all(next(iter(o.values()))["length"] >= mapped[-1] for o in big))
        self.assertEqual([], self.data("demo.dat", "mmaps")["operations"])

    def test_maps_and_regions(self):
        maps = self.data("demo.dat", "maps", sort_by="size", order="dsc")
        sizes = [m["size"] for m in maps["maps"]]
        self.assertEqual(sorted(sizes, reverse=True), sizes)
        self.assertTrue(any(m["name"] == "[heap]" for m in maps["maps"]))
        self.assertTrue(all(m["is_executable"] for m in self.data(
            "demo.dat", "maps", executable="only_true")["maps"]))
        regions = self.data("demo.dat", "regions")["regions"]
        self.assertTrue(all(a < b for a, b in regions))
        self.assertTrue(all(x[1] < y[0] for x, y in zip(regions, regions[1:])))
        for a in self.data("demo.dat", "allocations", count=50)["allocations"]:
            self.assertTrue(any(r[0] <= a["address"] and a["address"] + a["size"] <= r[1]
                                for r in regions))

    def test_times_are_taken_in_seconds_milliseconds_and_percent(self):
        entry = next(e for e in self.server.json("/list") if e["file"] == "demo.dat")
        start_s = entry["timestamp"]["secs"]
        n_all = self.data("demo.dat", "allocations", count=0)["total_count"]
        for early, late in ((start_s - 10, start_s + 10), ("0%", "100%"),
                            ((start_s - 10) * 1000, (start_s + 10) * 1000)):
            self.assertEqual(n_all, self.data("demo.dat", "allocations", count=0, **{
                "from": early, "to": late})["total_count"])
            self.assertEqual(0, self.data("demo.dat", "allocations", count=0, **{
                "from": late if late != "100%" else start_s + 99})["total_count"])
        half = [self.data("demo.dat", "allocations", count=0, **p)["total_count"]
                for p in ({"to": "50%"}, {"from": "50%"})]
        # Which half they fall into is up to the scheduler: what counts is that it is the right one.
        allocated = [a["timestamp_relative"]["secs"] * 10**9 + a["timestamp_relative"]["fract_nsecs"]
                  for a in self.data("demo.dat", "allocations")["allocations"]]
        runtime = entry["runtime"]["secs"] * 10**9 + entry["runtime"]["fract_nsecs"]
        self.assertEqual(half, [sum(b <= runtime // 2 for b in allocated),
                                sum(b >= runtime // 2 for b in allocated)])

    def test_v1_timeline_covers_what_is_asked_for(self):
        whole = self.v1("work.dat", "timeline", buckets=64)
        self.assertEqual(64, len(whole["max_bytes"]))
        self.assertEqual(mp.info(self.work)["peak_bytes"], max(whole["max_bytes"]))
        # One bucket is exactly as wide as asked for; two halves are the whole.
        halves = [self.v1("work.dat", "timeline", buckets=1, **{end: "50%"})
                  for end in ("to", "from")]
        self.assertEqual(sum(whole["allocations"]), sum(h["allocations"][0] for h in halves))
        self.assertEqual(max(whole["max_bytes"]), max(h["max_bytes"][0] for h in halves))

    def test_v1_timeline_rounds_only_when_asked_and_stays_exact(self):
        exact = self.v1("work.dat", "timeline", buckets=64)
        rounded = self.v1("work.dat", "timeline", buckets=64, round="true")
        self.assertGreaterEqual(len(rounded["max_bytes"]), 32)
        self.assertLessEqual(len(rounded["max_bytes"]), 64)
        for name in ("allocations", "releases", "temporary"):
            self.assertEqual(sum(exact[name]), sum(rounded[name]))
        self.assertEqual(max(exact["max_bytes"]), max(rounded["max_bytes"]))
        # The same window asked for without rounding has the same figures: counted, not looked up.
        counted = self.v1("work.dat", "timeline", buckets=len(rounded["max_bytes"]), **{
            "from": "+0ns", "to": f"+{rounded['to_ns']}ns", "size_min": 0})
        for name in ("bucket_ns", "max_bytes", "max_count", "last_bytes", "allocations"):
            self.assertEqual(counted[name], rounded[name])
        # With a condition nothing is rounded.
        some = self.v1("work.dat", "timeline", buckets=64, round="true", size_min=1)
        self.assertEqual(64, len(some["max_bytes"]))

    def test_compact_rows_and_releases_by_thread(self):
        old = self.data("work.dat", "allocations", count=30, sort_by="size", order="dsc")
        new = self.v1("work.dat", "allocations", count=30, sort_by="size", order="dsc")
        self.assertEqual(old["total_count"], new["total_count"])
        self.assertEqual([(a["id"], a["size"], a["backtrace_id"]) for a in old["allocations"]],
                         [(a["id"], a["size"], a["stack"]) for a in new["allocations"]])
        chains = [a["chain_lifetime"]["secs"] * 10**9 + a["chain_lifetime"]["fract_nsecs"]
                  if "chain_lifetime" in a else None for a in old["allocations"]]
        self.assertEqual(chains, [a["chain_lifetime_ns"] for a in new["allocations"]])
        for row in new["allocations"]:
            self.assertIn(str(row["stack"]), new["stacks"])
        facts = mp.info(self.work)
        releases = self.v1("work.dat", "thread_matrix")["releases"]
        self.assertEqual(facts["frees"] + facts["reallocations"],
                         sum(r["count"] for r in releases))
        self.assertEqual(facts["bytes_allocated"] - facts["live_bytes"],
                         sum(r["bytes"] for r in releases))

    def test_matrix_of_threads_is_the_pairs(self):
        pairs = self.v1("work.dat", "thread_matrix")["releases"]
        for measure in ("count", "bytes"):
            answer = self.v1("work.dat", "thread_matrix", top=100)
            lines = answer["by_" + measure]["lines"]
            self.assertNotIn("releases", answer)
            for line in lines:
                self.assertEqual(sum(line["cells"]), line["total"])
                for other, value in zip(lines, line["cells"]):
                    self.assertEqual(value, sum(p[measure] for p in pairs
                                                if (p["allocated_by"], p["released_by"]) ==
                                                (line["thread"], other["thread"])))
            others = "others_" + measure
            for row in answer["freed"]:
                own = [p for p in pairs if p["allocated_by"] == row["thread"]]
                self.assertEqual(sum(p[measure] for p in own), row[measure])
                self.assertEqual(sum(p[measure] for p in own
                                     if p["released_by"] != row["thread"]), row[others])
            cut = self.v1("work.dat", "thread_matrix", top=1)["by_" + measure]
            self.assertEqual(sum(p[measure] for p in pairs),
                             sum(line["total"] for line in cut["lines"]))
            self.assertEqual([None] * (len(lines) > 1),
                             [line["thread"] for line in cut["lines"][1:]])


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""/api/v1 over time and by owner: series, growth, groups by blame and package, graphs. Every figure is
compared with one that is computed here from the single allocations."""
import os
import re

import mp
from mp_server_case import ServerCase

MANY = 100_000  # more rows than the recordings have
SERIES = ("bytes", "count", "allocations", "temporary")


def package(frame):
    """The rule for code that is not Rust."""
    module = frame["module"]
    return re.sub(r"\.so(\..*)?$", "", os.path.basename(module)) if module else "[no image]"


def label(frame):
    """A function without a name is one of its own."""
    return frame["function"] or f"{os.path.basename(frame['module'] or '')}@{frame['address']}"


class TimeCase(ServerCase):
    """Recordings whose allocations are known one by one."""
    FILES = ("demo.dat", "work.dat")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = {file: cls.load(file) for file in cls.FILES}

    @classmethod
    def load(cls, file):
        """The allocations of a recording, each with the groups that it belongs to."""
        answer = cls.server.json(f"/api/v1/{cls.ids[file]}/allocations", count=MANY)
        rows = answer["allocations"]
        assert len(rows) == answer["total_count"] > 100
        threads = {t["index"]: t for t in
                   cls.server.json(f"/api/v1/{cls.ids[file]}/threads")["threads"]}
        for row in rows:
            frame = answer["stacks"].get(str(row["stack"]))
            row["function"] = label(frame) if frame else "[no stack]"
            row["package"] = package(frame) if frame else "[no stack]"
            row["thread_name"] = threads[row["thread"]]["name"]
        return rows

    @staticmethod
    def is_alive(row, at):
        return row["at_ns"] <= at and not ("released_ns" in row and row["released_ns"] <= at)

    def value(self, rows, series, start, end):
        """Of a bucket from start to the nanosecond before end."""
        if series in ("bytes", "count"):
            alive = [r for r in rows if self.is_alive(r, end - 1)]
            return sum(r["size"] for r in alive) if series == "bytes" else len(alive)
        return sum(start <= r["at_ns"] < end and (series == "allocations" or r["is_temporary"])
                   for r in rows)

    def values(self, rows, series, timeline):
        width = timeline["bucket_ns"]
        return [self.value(rows, series, at, at + width)
                for at in range(timeline["from_ns"], timeline["to_ns"], width)]

    def group(self, by, entry, file):
        """The rows behind an entry of the answer."""
        if by == "thread":
            return [r for r in self.rows[file] if r["thread"] == entry["key"]]
        if by == "function":
            name = label(entry["blame"]) if entry.get("blame") else "[no stack]"
            return [r for r in self.rows[file] if r["function"] == name]
        return [r for r in self.rows[file] if r["package"] == entry["name"]]


class Series(TimeCase):
    def check_timeline(self, file, by, series, **parameters):
        timeline = self.v1(file, "timeline", by=by, series=series, top=3, **parameters)
        self.schemas.check("/api/v1/{id}/timeline", timeline)
        *top, other = timeline["series"]
        self.assertEqual(("other", None, None), (other["name"], other["key"], other["blame"]))
        self.assertLessEqual(len(top), 3)
        total = self.values(self.rows[file], series, timeline)
        column = {"bytes": "last_bytes", "count": "last_count"}.get(series, series)
        self.assertEqual(total, timeline[column])
        self.assertEqual(total, [sum(v) for v in zip(*(s["values"] for s in timeline["series"]))])
        for entry in top:
            self.assertEqual(self.values(self.group(by, entry, file), series, timeline),
                             entry["values"], (file, by, series, entry["name"]))
            self.assertGreater(max(entry["values"]), 0)
            if by == "function":
                self.assertEqual(entry["blame"]["function"] or entry["name"], entry["name"])
            else:
                self.assertIsNone(entry["blame"])
        return top

    def test_series_are_those_of_the_rows(self):
        for file in self.FILES:
            for by in ("function", "package", "thread"):
                for series in SERIES:
                    with self.subTest(f"{file} {by} {series}"):
                        self.check_timeline(file, by, series, buckets=13)
        self.check_timeline("work.dat", "function", "bytes", buckets=7, **{"from": "20%", "to": "70%"})

    def test_the_greatest_come_first(self):
        for file in self.FILES:
            for by in ("function", "package", "thread"):
                everyone = self.v1(file, "timeline", by=by, top=50, buckets=9)["series"]
                greatest = [max(s["values"]) for s in everyone[:-1]]
                self.assertEqual(sorted(greatest, reverse=True), greatest)
                if len(greatest) < 50:
                    self.assertEqual([0] * 9, everyone[-1]["values"])
                one = self.v1(file, "timeline", by=by, top=1, buckets=9)["series"]
                self.assertEqual(everyone[0], one[0])
                self.assertEqual(2, len(one))

    def test_series_of_the_whole_recording_use_the_buckets_of_the_store(self):
        for file in self.FILES:
            whole = self.v1(file, "timeline")
            self.assertNotIn("series", whole)
            with_series = self.v1(file, "timeline", by="package", series="count")
            self.assertEqual(whole["last_count"],
                             [sum(v) for v in zip(*(s["values"] for s in with_series.pop("series")))])
            self.assertEqual(whole, with_series)

    def test_temporary_allocations_by_bucket(self):
        for file in self.FILES:
            n = self.v1(file, "summary")["temporary_count"]
            for parameters in ({}, {"buckets": 1}, {"buckets": 100}):
                timeline = self.v1(file, "timeline", **parameters)
                self.assertEqual(n, sum(timeline["temporary"]))
                self.assertEqual(len(timeline["max_bytes"]), len(timeline["temporary"]))
            large = self.v1(file, "timeline", buckets=5, size_min=100)
            rows = [r for r in self.rows[file] if r["size"] >= 100]
            self.assertEqual(self.values(rows, "temporary", large), large["temporary"])

    def test_filters_count(self):
        timeline = self.v1("work.dat", "timeline", by="thread", top=2, buckets=6, size_min=64)
        for entry in timeline["series"][:-1]:
            rows = [r for r in self.group("thread", entry, "work.dat") if r["size"] >= 64]
            self.assertEqual(self.values(rows, "bytes", timeline), entry["values"])


class Growth(TimeCase):
    def rows_of(self, by, row, file):
        if by == "stack":
            return [r for r in self.rows[file] if r["stack"] == row["key"]]
        return self.group(by, row, file)

    def check_growth(self, file, by, **parameters):
        growth = self.v1(file, "growth", by=by, **parameters)
        self.schemas.check("/api/v1/{id}/growth", growth)
        ends = {"from": growth["from_ns"], "to": growth["to_ns"]}
        for name, at in ends.items():
            alive = [r for r in self.rows[file] if self.is_alive(r, at)]
            self.assertEqual(len(alive), growth[f"{name}_count"])
            self.assertEqual(sum(r["size"] for r in alive), growth[f"{name}_bytes"])
        for row in growth["rows"]:
            mine = self.rows_of(by, row, file)
            for name, at in ends.items():
                alive = [r for r in mine if self.is_alive(r, at)]
                self.assertEqual(len(alive), row[f"{name}_count"], row)
                self.assertEqual(sum(r["size"] for r in alive), row[f"{name}_bytes"])
            self.assertEqual(row["to_bytes"] - row["from_bytes"], row["change_bytes"])
            self.assertGreater(row["from_count"] + row["to_count"], 0)
        changes = [r["change_bytes"] for r in growth["rows"]]
        self.assertEqual(sorted(changes, reverse=parameters.get("order") != "asc"), changes)
        return growth

    def test_growth_is_that_of_the_rows(self):
        for file in self.FILES:
            for by in ("function", "stack", "package", "thread"):
                with self.subTest(f"{file} {by}"):
                    whole = self.check_growth(file, by, count=500)
                    self.assertEqual(whole["total_count"], len(whole["rows"]))
                    self.assertEqual(whole["to_bytes"], sum(r["to_bytes"] for r in whole["rows"]))
                    for row in whole["rows"]:
                        self.assertEqual(60, len(row["timeline"]))
                        self.assertEqual(row["to_bytes"], row["timeline"][-1])
                    self.check_growth(file, by, count=500, order="asc",
                                      **{"from": "30%", "to": "65%"})

    def test_pages_and_graphs(self):
        times = {"from": 0, "to": f"{self.v1('demo.dat', 'summary')['peak_ns']}ns"}
        everything = self.check_growth("demo.dat", "stack", count=500, graph=0, **times)
        self.assertGreater(everything["total_count"], 4)
        page = self.check_growth("demo.dat", "stack", skip=1, count=3, graph=7, **times)
        self.assertEqual([r["key"] for r in everything["rows"][1:4]],
                         [r["key"] for r in page["rows"]])
        self.assertEqual(everything["total_count"], page["total_count"])
        self.assertEqual({7}, {len(r["timeline"]) for r in page["rows"]})
        self.assertEqual({0}, {len(r["timeline"]) for r in everything["rows"]})
        self.assertTrue(any(r["blame"] and r["callers"] for r in page["rows"]))

    def test_a_moment_has_no_growth(self):
        at = {"from": "50%", "to": "50%"}
        for row in self.check_growth("work.dat", "function", **at)["rows"]:
            self.assertEqual(0, row["change_bytes"])


class ByOwner(TimeCase):
    def test_groups_by_blame_and_package(self):
        for file in self.FILES:
            for by, key in (("blame", "function"), ("package", "package")):
                answer = self.v1(file, "groups", by=by, count=MANY)
                self.schemas.check("/api/v1/{id}/groups", answer)
                self.assertEqual(len(self.rows[file]), sum(g["cost"]["allocations"] for g in answer["groups"]))
                for group in answer["groups"]:
                    rows = self.group(key, {**group, "name": group["name"] or "[no stack]"}, file)
                    self.assertEqual(len(rows), group["cost"]["allocations"], group["name"])
                    self.assertEqual(sum(r["size"] for r in rows if "released_ns" not in r),
                                     group["cost"]["leaked_bytes"])
                    if by == "blame" and group["name"]:
                        self.assertEqual(group["blame"]["function"] or group["name"], group["name"])

    def test_the_blame_of_a_group_is_its_costliest_stack(self):
        stacks = self.v1("work.dat", "allocations", count=MANY)["stacks"]
        for group in self.v1("work.dat", "groups", by="blame", sort_by="leaked_bytes")["groups"]:
            leaked = {}
            for row in self.group("function", group, "work.dat"):
                leaked[row["stack"]] = leaked.get(row["stack"], 0) + \
                    (0 if "released_ns" in row else row["size"])
            if leaked:
                best = min(leaked, key=lambda s: (-leaked[s], s))
                self.assertEqual(stacks.get(str(best)), group.get("blame"), group["name"])

    def test_rows_of_all_groups_carry_graphs_on_request(self):
        end = self.v1("demo.dat", "summary")["duration_ns"]
        for by in ("stack", "free_stack", "thread", "code", "module", "function", "line", "blame",
                   "package"):
            for row in self.v1("demo.dat", "groups", by=by, graph=40)["groups"]:
                self.assertEqual(40, len(row["timeline"]), by)
                self.assertEqual(row["cost"]["leaked_bytes"], row["timeline"][-1], by)
                self.assertEqual(row["cost"]["leaked_bytes"], row["leaked_timeline"][-1], by)
        group = self.v1("demo.dat", "groups", by="package", graph=8)["groups"][0]
        rows = self.group("package", group, "demo.dat")
        buckets = {"from_ns": 0, "bucket_ns": -(-(end + 1) // 8)}
        buckets["to_ns"] = 8 * buckets["bucket_ns"]
        self.assertEqual(self.values(rows, "bytes", buckets), group["timeline"])
        leaked = [r for r in rows if "released_ns" not in r]
        self.assertEqual(self.values(leaked, "bytes", buckets), group["leaked_timeline"])

    def test_the_package_of_rust_code_is_its_crate(self):
        if not os.path.exists(mp.program("containers_rs")):
            self.skipTest("no Rust compiler")
        path = self.record("rust.dat", mp.program("containers_rs"), "200")
        with type(self.server)(path) as server:
            self.ready(server)
            names = {g["name"] for g in server.json("/api/v1/last/groups", by="package")["groups"]}
            top = server.json("/api/v1/last/timeline", by="function", series="allocations")["series"]
        self.assertIn("containers", names)
        self.assertTrue(any((s["blame"] or {}).get("function") == "containers::fill" for s in top), top)

    def test_threads_are_those_of_the_program(self):
        for file in self.FILES:
            threads = self.v1(file, "threads")["threads"]
            self.assertEqual(self.v1(file, "summary")["threads"], len(threads))
            self.assertNotIn(0, [t["tid"] for t in threads])
            self.assertEqual(len(self.rows[file]), sum(t["allocations"] for t in threads))


class Refused(TimeCase):
    def test_what_makes_no_sense(self):
        for target, parameter in (
                ("timeline?by=colour", "by"), ("timeline?by=package&top=51", "top"),
                ("timeline?by=package&series=speed", "series"),
                ("growth?by=size", "by"), ("growth?from=60%25&to=20%25", "to"),
                ("growth?count=501", "count"), ("growth?graph=501", "graph"),
                ("growth?from=noon", "from"), ("growth?order=up", "order"),
                ("groups?by=size&graph=10", "graph"), ("groups?graph=10&count=501", "count")):
            answer = self.server.get(f"/api/v1/last/{target}")
            self.assertEqual(400, answer.status, target)
            error = answer.json()
            self.schemas.check_error(error)
            self.assertEqual(parameter, error["parameter"], target)
            self.assertTrue(error["valid"], target)


if __name__ == "__main__":
    mp.main()

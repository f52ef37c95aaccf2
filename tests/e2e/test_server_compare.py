#!/usr/bin/env python3
"""base=: two recordings compared over HTTP. Figures are compared with what the program is known to
allocate, and with the answers that each recording gives alone."""
import pathlib
import shutil
import tempfile

import mp
from mp_server import Server
from mp_server_case import Schemas, ServerCase

OLD = (100, 1000)  # blocks, bytes of each; known_blocks frees every second block at once
NEW = (300, 2000)


def known_cost(blocks, size):
    """At the peak the blocks that are never freed are alive, and one block that is freed at once."""
    return {"allocations": blocks, "bytes": blocks * size,
            "leaked_count": blocks // 2, "leaked_bytes": blocks // 2 * size,
            "temporary_count": blocks // 2, "peak_bytes": (blocks // 2 + 1) * size}


def some(cost, names):
    return {name: cost[name] for name in names}


class Compared(ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="mp-compare-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        blocks = mp.program("known_blocks")
        files = [cls.record("old.dat", blocks, *map(str, OLD)),
                 cls.record("new.dat", blocks, *map(str, NEW)),
                 cls.record("demo.dat", mp.program("demo"))]
        cls.server = Server(*files)
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.end)
        cls.ids = {entry["file"]: entry["id"] for entry in cls.ready(cls.server)}
        cls.schemas = Schemas(cls.server.json("/api/v1/openapi.json"))

    def compare(self, path, base="old.dat", **parameters):
        return self.v1("new.dat", path, base=self.ids[base], **parameters)

    def assert_known_change(self, change, before, after):
        old, new = known_cost(*OLD), known_cost(*NEW)
        self.assertEqual(old, some(before, old))
        self.assertEqual(new, some(after, new))
        self.assertEqual({name: new[name] - old[name] for name in old}, some(change, old))

    def test_totals_are_new_minus_base(self):
        answer = self.compare("summary")
        self.schemas.check("/api/v1/{id}/summary", answer)
        self.assert_known_change(answer["matched"], answer["before"], answer["after"])
        self.assertEqual(("old.dat", self.ids["old.dat"]),
                         (answer["base_file"], answer["base_id"]))

    def test_groups_match_by_name(self):
        answer = self.compare("groups", by="blame", function_regex="^main$")
        self.schemas.check("/api/v1/{id}/groups", answer)
        [row] = answer["groups"]
        self.assertEqual("main", row["name"])
        self.assert_known_change(row["cost"], row["before"], row["after"])

    def test_the_other_way_round_every_sign_changes(self):
        there = self.compare("summary")["matched"]
        back = self.v1("old.dat", "summary", base=self.ids["new.dat"])["matched"]
        self.assertEqual({name: -value for name, value in there.items()}, back)

    def test_a_recording_does_not_differ_from_itself(self):
        answer = self.v1("demo.dat", "groups", by="function", base=self.ids["demo.dat"])
        self.assertGreater(answer["total_after"]["allocations"], 100)
        self.assertEqual({0}, set(answer["total"].values()))
        self.assertEqual({0}, {v for row in answer["groups"] for v in row["cost"].values()})

    def test_a_row_of_one_recording_has_zeros_on_the_other_side(self):
        alone = {name: {row["name"]: row["cost"] for row in
                        self.v1(name, "groups", by="blame", count=1000)["groups"]}
                 for name in ("demo.dat", "new.dat")}
        only_base = set(alone["demo.dat"]) - set(alone["new.dat"])
        self.assertTrue(only_base)
        rows = self.compare("groups", base="demo.dat", by="blame", count=1000)["groups"]
        seen = {row["name"]: row for row in rows}
        for name in only_base:
            with self.subTest(name):
                self.assertEqual({0}, set(seen[name]["after"].values()))
                self.assertEqual(alone["demo.dat"][name], seen[name]["before"])

    def test_points_of_the_timeline_are_new_minus_base(self):
        answer = self.compare("timeline", buckets=16)
        self.schemas.check("/api/v1/{id}/timeline", answer)
        before, after = answer["before"], answer["after"]
        self.assertEqual((OLD[0], NEW[0]), (sum(before["allocations"]), sum(after["allocations"])))
        for name in before.keys() - {"duration_ns"}:
            change = [b - a for a, b in zip(before[name], after[name], strict=True)]
            self.assertEqual(change, answer[name], name)

    def test_the_tree_has_both_sides(self):
        answer = self.compare("tree", min_share=0)
        old, new = known_cost(*OLD), known_cost(*NEW)
        for name in ("bytes", "leaked_bytes", "peak_bytes", "allocations", "temporary_count"):
            self.assertEqual(old[name], answer["base_" + name][0], name)
            self.assertEqual(new[name] - old[name], answer[name][0], name)

    def test_a_condition_holds_for_both(self):
        answer = self.compare("summary", size_min=OLD[1] + 1)
        self.assertEqual((0, NEW[0]),
                         (answer["before"]["allocations"], answer["after"]["allocations"]))

    def test_what_cannot_be_compared_is_refused_by_name(self):
        old = self.ids["old.dat"]
        for path, status, parameter in (
                (f"allocations?base={old}", 400, "base"),
                ("groups?by=blame&base=nowhere", 404, "base"),
                (f"groups?by=stack&base={old}", 400, "by"),
                (f"groups?by=blame&thread=1&base={old}", 400, "thread"),
                (f"timeline?by=function&base={old}", 400, "by")):
            with self.subTest(path):
                answer = self.server.get(f"/api/v1/{self.ids['new.dat']}/{path}")
                self.assertEqual(status, answer.status, answer.body)
                error = answer.json()
                self.schemas.check_error(error)
                self.assertEqual(parameter, error["parameter"])
                self.assertTrue(error["valid"])


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Stacks, trees, functions and groups: each adds up, and all agree."""
import pathlib

import mp
from mp_server_case import ServerCase


class Trees(ServerCase):
    """Stacks, trees, groups and functions say the same."""

    FILES = ("demo.dat", "work.dat", "maps.dat")

    def test_backtraces_are_the_same_everywhere(self):
        allocation = self.data("demo.dat", "allocations", count=1)["allocations"][0]
        frames = self.data("demo.dat", f"backtrace/{allocation['backtrace_id']}")["frames"]
        self.assertEqual(allocation["backtrace"], frames)
        names = [f.get("function") for f in frames]
        self.assertIn("main", names)  # outermost first
        self.assertLess(names.index("main"), len(names) - 1)
        call = frames[names.index("main")]
        through = self.data("demo.dat", "allocations", function_regex="^main$")["allocations"]
        self.assertEqual(call["count"], sum(any(f["address"] == call["address"]
                                                for f in a["backtrace"]) for a in through))
        listed = self.data("demo.dat", "backtraces", function_regex="^main$")
        self.assertTrue(all("main" in [f.get("function") for f in b] for b in listed["backtraces"]))
        self.assertIn(frames, listed["backtraces"])

    def test_a_stack_is_the_backtrace_from_the_other_end(self):
        for n in (0, 1, 5):
            old = self.data("demo.dat", f"backtrace/{n}")["frames"]
            new = self.v1("demo.dat", f"stack/{n}")
            self.assertEqual(n, new["stack"])
            self.assertEqual([(f.get("function"), f.get("line"), f["is_inline"])
                              for f in reversed(old)],
                             [(f["function"], f["line"], f["is_inline"]) for f in new["frames"]])
            self.assertIsNone(new["truncated"])
        packages = {f["module"]: f["package"] for f in new["frames"]}
        for module, package in packages.items():
            self.assertEqual(pathlib.Path(module).name.split(".so")[0], package)
        self.assertIn("demo", packages.values())

    def test_own_regex_says_what_is_own(self):
        frames = self.v1("demo.dat", "stack/1")["frames"]
        self.assertIn("own", [f["class"] for f in frames])
        only = self.v1("demo.dat", "stack/1", own_regex="^main$")["frames"]
        self.assertEqual(["main"], [f["function"] for f in only if f["class"] == "own"])
        for was, now in zip(frames, only):
            if was["class"] == "own" and was["function"] != "main":
                self.assertEqual("native", now["class"])
        # Conditions on who is to blame go by the same, also where no frame is shown.
        whole = self.v1("demo.dat", "summary", function_regex="^main$")["matched"]
        for parameters, cost in (({"own_regex": "^main$"}, whole),
                                 ({}, self.v1("demo.dat", "tree")["total"])):
            groups = {g["name"]: g["cost"] for g in self.v1(
                "demo.dat", "groups", by="blame", **parameters)["groups"]}
            matched = self.v1("demo.dat", "summary", blame_regex="^main$",
                              **parameters)["matched"]
            self.assertEqual(groups["main"]["bytes"], matched["bytes"])
            self.assertEqual(parameters != {}, matched["bytes"] == cost["bytes"])
        self.assertEqual("main", next(g["blame"]["function"] for g in self.v1(
            "demo.dat", "groups", own_regex="^main$")["groups"]
            if any(f["function"] == "main" for f in self.v1(
                "demo.dat", f"stack/{g['key']}")["frames"])))

    COSTS = ("bytes", "leaked_bytes", "peak_bytes", "allocations", "temporary_count")

    @staticmethod
    def name_of(frame):
        return (frame["function"], frame["source"], frame["module"],
                None if frame["function"] else frame["address"])

    def naive_tree(self, file, direction):
        """{path: [costs, self costs, stacks]} from the table of call sites and their stacks."""
        tree = {}
        for g in self.v1(file, "groups", count=10**6)["groups"]:
            frames = self.v1(file, f"stack/{g['key']}")["frames"]
            path = tuple(map(self.name_of, frames))
            path = path if direction == "bottom_up" else path[::-1]
            for n in range(len(path) + 1):
                node = tree.setdefault(path[:n], [[0] * 5, [0] * 5, 0])
                node[2] += 1
                for i, cost in enumerate(self.COSTS):
                    node[0][i] += g["cost"][cost]
                    node[1][i] += g["cost"][cost] * (n == len(path))
        return tree

    def paths_of(self, flat, top=()):
        """The path of each node, as keys and as names."""
        keys, names = [()], [top]
        for parent, name in list(zip(flat["parent"], flat["name"]))[1:]:
            keys.append(keys[parent] + (flat["key"][name],))
            names.append(names[parent] + (self.name_of(flat["names"][name]),))
        return keys, names

    def check_columns(self, flat, names, tree):
        for i, path in enumerate(names):
            costs, own, _ = tree[path]
            self.assertEqual(costs, [flat[c][i] for c in self.COSTS], path)
            self.assertEqual(own, [flat["self_" + c][i] for c in self.COSTS], path)

    def test_trees_are_what_the_stacks_add_up_to(self):
        for direction in ("top_down", "bottom_up"):
            tree = self.naive_tree("demo.dat", direction)
            flat = self.v1("demo.dat", "tree", direction=direction, min_share="0")
            keys, names = self.paths_of(flat)
            self.assertEqual(set(tree), set(names))
            self.check_columns(flat, names, tree)
            self.assertEqual((0, 0), (flat["left_out"], max(flat["children_left_out"])))
            self.assertEqual(tree[()][2], flat["stacks"])
            self.assertEqual([0] * len(names), flat["folded"])
            self.assertTrue(all(k < 2**53 for k in flat["key"]))
            # Row by row, as a table that is opened asks.
            for i in range(1, len(names)):
                under = ",".join(map(str, keys[i]))
                row = self.v1("demo.dat", "tree", direction=direction, min_share="0",
                              under=under, depth=1)
                children = [n for n in tree if len(n) == len(names[i]) + 1 and
                            n[:-1] == names[i]]
                self.assertEqual(names[i][-1], self.name_of(row["names"][row["name"][0]]))
                below = self.paths_of(row, names[i])[1]
                self.assertEqual(set(children), set(below[1:]))
                self.check_columns(row, below, tree)
                self.assertEqual([sum(n[:-1] == b for n in tree if n) if len(b) > len(names[i])
                                  else 0 for b in below], row["children_left_out"])
                self.assertEqual(flat["total"], row["total"])
                sites = self.v1("demo.dat", "groups", direction=direction, under=under)
                self.assertEqual(tree[names[i]][0], [sites["total"][c] for c in self.COSTS])
                self.assertEqual((tree[names[i]][2],) * 2, (sites["total_count"], row["stacks"]))

    def test_small_nodes_are_left_out_and_counted(self):
        for direction in ("top_down", "bottom_up"):
            every = self.v1("demo.dat", "tree", direction=direction, min_share="0")
            some = self.v1("demo.dat", "tree", direction=direction, min_share="20")
            least = [every["total"][c] * 0.2 for c in self.COSTS]
            large = [path for i, path in enumerate(self.paths_of(every)[1])
                     if any(every[c][i] >= n for c, n in zip(self.COSTS, least))]
            self.assertEqual(set(large), set(self.paths_of(some)[1]))
            self.assertLess(len(some["parent"]), len(every["parent"]))
            self.assertEqual(sum(some["children_left_out"]), some["left_out"])
            everywhere = self.paths_of(every)[1]
            for path, n in zip(self.paths_of(some)[1], some["children_left_out"]):
                self.assertEqual(n, sum(p[:-1] == path and p not in large
                                        for p in everywhere if p))

    def test_just_my_code(self):
        for direction in ("top_down", "bottom_up"):
            flat = self.v1("demo.dat", "tree", direction=direction, fold="runtime", min_share="0")
            for c in self.COSTS:
                self.assertEqual(flat["total"][c], sum(flat["self_" + c]), c)
            shown = [flat["names"][n] if n < len(flat["names"]) else None for n in flat["name"]]
            for i, frame in enumerate(shown[1:], 1):
                self.assertEqual(frame["class"] in ("runtime", "allocator"),
                                 flat["folded"][i] > 0, frame)
            names = [frame["function"] for frame in shown[1:]]
            self.assertIn("thread start", names)
            self.assertIn("program start", names)
            self.assertFalse({"malloc", "start_thread", "_start", "clone3"} & set(names))
        top = self.v1("demo.dat", "tree", fold="runtime", depth=1, min_share="0")
        self.assertEqual({"thread start", "program start"},
                         {top["names"][n]["function"] for n in top["name"][1:]})

    def test_fold_and_hide_by_regex(self):
        hidden = self.v1("demo.dat", "tree", hide_regex="^main$", min_share="0")
        self.assertNotIn("main", [f["function"] for f in hidden["names"]])
        self.assertEqual(hidden["total"]["bytes"], sum(hidden["self_bytes"]))
        folded = self.v1("demo.dat", "tree", fold_regex=".", min_share="0")
        self.assertEqual(max(len(self.v1("demo.dat", f"stack/{g['key']}")["frames"])
                             for g in self.v1("demo.dat", "groups")["groups"]),
                         max(folded["folded"]))
        self.assertEqual({0}, set(folded["parent"]))
        once = self.v1("demo.dat", "tree", at="50%", min_share="0")
        self.assertEqual(self.v1("demo.dat", "tree", alive_at="50%", min_share="0"), once)

    def test_callers_and_functions_agree(self):
        functions = {f["function"]: f for f in self.v1("demo.dat", "functions",
                                                       count=10**6)["functions"]}
        calls = self.v1("demo.dat", "callers", function="main")
        self.assertEqual(functions["main"]["cost"], calls["function"]["cost"])
        self.assertEqual(functions["main"]["cost"]["bytes"],
                         sum(c["cost"]["bytes"] for c in calls["callers"]))
        self.assertEqual(functions["main"]["cost"]["bytes"],
                         functions["main"]["self_bytes"] +
                         sum(c["cost"]["bytes"] for c in calls["callees"]))
        # Nothing but main() is between its callers and what it allocates, nor outside of its lines.
        for cost in self.COSTS:
            self.assertEqual(functions["main"]["self_" + cost],
                             sum(c["self_" + cost] for c in calls["callers"]))
            self.assertEqual(functions["main"]["cost"][cost],
                             sum(line["cost"][cost] for line in calls["lines"]))
        self.assertEqual({"demo.c"}, {pathlib.Path(line["source"]).name
                                      for line in calls["lines"]})
        text = (mp.SRC / "tests/programs/demo.c").read_text().splitlines()
        inside = range(text.index("int main(void)") + 1, len(text) + 1)
        self.assertTrue(all(line["line"] in inside for line in calls["lines"]))

    def test_functions_are_found_by_a_part_of_their_name(self):
        everything = self.v1("demo.dat", "functions", count=10**6)["functions"]
        for row in everything:
            self.assertEqual(row["function"], row["frame"]["function"])
        for parameter, key in (("q", "function"), ("module_q", "module"), ("source_q", "source")):
            for text in ("MAI", "a", "demo", ".", "no such"):
                found = self.v1("demo.dat", "functions", count=10**6, **{parameter: text})
                self.assertEqual(found["total_count"], len(found["functions"]))
                self.assertTrue(all(text.lower() in f["frame"][key].lower()
                                    for f in found["functions"]), (parameter, text))
                if parameter == "q":
                    self.assertEqual([f for f in everything
                                      if text.lower() in (f["function"] or "").lower()],
                                     found["functions"])
        up = self.v1("demo.dat", "functions", sort_by="self_leaked_bytes", count=5)["functions"]
        self.assertEqual(sorted((f["self_leaked_bytes"] for f in everything), reverse=True)[:5],
                         [f["self_leaked_bytes"] for f in up])

    def test_search_finds_what_functions_have(self):
        functions = self.v1("demo.dat", "functions", count=10**6)["functions"]
        found = self.v1("demo.dat", "search", q="DEMO", count=100)
        self.assertEqual({("demo.c",)}, {(pathlib.Path(f["source"]).name,)
                                         for f in found["files"]})
        self.assertEqual(["demo"], [pathlib.Path(m["module"]).name for m in found["modules"]
                                    if m["module"].endswith("/demo")])
        found = self.v1("demo.dat", "search", q="wor", count=100)
        named = {f["function"]: f["cost"] for f in functions if "wor" in (f["function"] or "")}
        self.assertTrue(named)
        self.assertEqual(named, {f["frame"]["function"]: f["cost"] for f in found["functions"]})
        self.assertEqual(len(named), found["total_functions"])
        order = [(-f["cost"]["leaked_bytes"], -f["cost"]["peak_bytes"])
                 for f in found["functions"]]
        self.assertEqual(sorted(order), order)
        self.assertEqual(1, len(self.v1("demo.dat", "search", q="wor", count=1)["functions"]))

    def test_search_without_a_text_finds_all(self):
        functions = self.v1("demo.dat", "functions", count=10**6)["functions"]
        found = self.v1("demo.dat", "search", count=10**6)
        self.assertEqual({f["function"]: f["cost"] for f in functions if f["function"]},
                         {f["frame"]["function"]: f["cost"] for f in found["functions"]})
        self.assertEqual(found, self.v1("demo.dat", "search", q="", count=10**6))
        some = self.v1("demo.dat", "search", q=".c", count=10**6)
        self.assertLess(0, len(some["files"]))
        for f in some["files"]:
            self.assertIn(f, found["files"])

    def test_rows_of_groups_carry_graphs_on_request(self):
        rows = self.v1("demo.dat", "groups", graph=50, sort_by="leaked_bytes")["groups"]
        for row in rows:
            self.assertEqual(50, len(row["timeline"]))
            self.assertEqual(row["cost"]["leaked_bytes"], row["timeline"][-1])
            self.assertEqual(row["cost"]["leaked_bytes"], row["leaked_timeline"][-1])
        self.assertNotIn("timeline", self.v1("demo.dat", "groups")["groups"][0])
        end = self.v1("demo.dat", "summary")["duration_ns"] + 1
        half = end // 2
        parts = [self.v1("demo.dat", "groups", graph=2, graph_from=f"+{a}ns", graph_to=f"+{b}ns",
                         sort_by="leaked_bytes")["groups"] for a, b in [(0, half), (half, end)]]
        for row, first, second in zip(rows, *parts):
            self.assertEqual(row["key"], first["key"])
            self.assertEqual(row["cost"]["leaked_bytes"], second["timeline"][-1])
            self.assertLessEqual(first["leaked_timeline"][-1], second["leaked_timeline"][0])

    def test_rows_of_groups_carry_facts_on_request(self):
        rows = self.v1("work.dat", "groups", facts="true", sort_by="allocations", count=5)["groups"]
        for row in rows:
            facts = row["facts"]
            threads = self.v1("work.dat", "groups", by="thread", backtraces=row["key"],
                              sort_by="allocations")["groups"]
            self.assertEqual(facts["threads"], len(threads))
            most = {t["key"] for t in threads
                    if t["cost"]["allocations"] == threads[0]["cost"]["allocations"]}
            self.assertEqual(min(most), facts["busiest_thread"])
            median = self.v1("work.dat", "lifetimes", backtraces=row["key"])["median_ns"]
            bounds = [facts["median_lifetime_min_ns"], facts["median_lifetime_max_ns"]]
            if median is None:
                self.assertEqual([None, None], bounds)
            else:
                self.assertTrue(bounds[0] <= median <= bounds[1], f"{median} in {bounds}")
        self.assertNotIn("facts", self.v1("work.dat", "groups")["groups"][0])

    def test_a_stack_says_which_frame_is_to_blame(self):
        for own in ("", "^main$"):
            for g in self.v1("demo.dat", "groups", own_regex=own)["groups"]:
                stack = self.v1("demo.dat", f"stack/{g['key']}", own_regex=own)
                self.assertEqual(g["blame"], stack["frames"][stack["blame"]])
        self.assertIsNone(self.v1("demo.dat", "stack/0")["blame"])

    def test_a_search_keeps_the_figures_of_rows(self):
        everything = {g["key"]: g for g in self.v1("demo.dat", "groups", count=10000)["groups"]}
        found = self.v1("demo.dat", "groups", find_regex="(?i)MAIN|demo[.]c$", count=10000)
        named = self.v1("demo.dat", "groups", frame_regex="(?i)MAIN|demo[.]c$", count=10000)
        self.assertEqual({g["key"] for g in named["groups"]}, {g["key"] for g in found["groups"]})
        self.assertEqual(found["total_count"], len(found["groups"]))
        self.assertLess(0, found["total_count"])
        for row in found["groups"]:
            self.assertEqual(everything[row["key"]], row)
        for name in ("bytes", "leaked_bytes", "peak_bytes", "allocations"):
            self.assertEqual(found["total"][name], sum(g["cost"][name] for g in found["groups"]))

    def test_groups_sort_by_what_a_row_says(self):
        ranks = {
            "mean_size": lambda g: g["cost"]["bytes"] // g["cost"]["allocations"],
            "freed_count": lambda g: g["cost"]["allocations"] - g["cost"]["leaked_count"],
            "mean_lifetime_ns": lambda g: g["mean_lifetime_ns"] or 0,
            "interval_ns": lambda g: g["last_ns"] - g["first_ns"],
            "max_at_ns": lambda g: g["max_at_ns"],
            "first_ns": lambda g: g["first_ns"],
            "last_ns": lambda g: g["last_ns"],
        }
        for name, rank in ranks.items():
            for order in ("asc", "dsc"):
                rows = self.v1("work.dat", "groups", sort_by=name, order=order)["groups"]
                seen = [rank(g) for g in rows]
                self.assertGreater(len(set(seen)), 1, name)
                self.assertEqual(sorted(seen, reverse=order == "dsc"), seen, name)


if __name__ == "__main__":
    mp.main()

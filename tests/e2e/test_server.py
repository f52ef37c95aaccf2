#!/usr/bin/env python3
"""The REST API: every endpoint against its schema, and its numbers against those of the recording's
events, counted here."""
import json
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import jsonschema

import mp
from mp_server import Server

N_RANDOM_FILTERS = 150


def naive_rows(path):
    """The allocations of a recording, paired here from its events: dicts in order of alloc."""
    rows, live = [], {}
    last = 0

    def end(addr, event):
        row = live.pop(addr, None)
        if row is not None:
            row["free"] = event["t"]
        return row

    for e in mp.events(path):
        last = max(last, e["t"])
        if e["e"] == "free" or e["e"] == "realloc_untracked":
            end(e.get("addr", e.get("old")), e)
        elif e["e"] == "realloc":
            end(e["old"], e)
        if e["e"] in ("alloc", "realloc"):
            row = {"alloc": e["t"], "free": None, "size": e["size"], "addr": e["addr"],
                   "tid": e["tid"], "depth": len(e["stack"])}
            rows.append(row)
            live[e["addr"]] = row
    return rows


def number(address):
    return int(address, 16) if isinstance(address, str) else address


class Schemas:
    """Checks answers against the types of the OpenAPI document."""

    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver("", document)

    def check(self, path, value):
        operation = self.document["paths"][path]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(value)

    def check_error(self, value):
        schema = {"$ref": "#/components/schemas/Error"}
        jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(value)


class ServerCase(unittest.TestCase):
    """Recordings and a server that all tests of the class ask."""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="mp-server-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.demo = cls.record("demo.dat", mp.program("demo"))
        cls.maps = cls.record("maps.dat", mp.program("maps_memory"),
                              MEMORY_PROFILER_GATHER_MMAP_CALLS="1")
        cls.work = cls.record("work.dat", mp.program("workload"), "1000", "3")
        cls.server = Server(cls.maps, cls.demo, cls.work)
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.end)
        cls.ids = {entry["file"]: entry["id"] for entry in cls.ready(cls.server)}
        cls.schemas = Schemas(cls.server.json("/api/v1/openapi.json"))

    @classmethod
    def record(cls, name, *argv, **env):
        path = cls.dir / name
        full = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
                "MEMORY_PROFILER_OUTPUT": str(path), **env}
        mp.run(argv, full, cwd=cls.dir)
        assert path.exists(), argv
        return path

    @staticmethod
    def ready(server):
        """/list, once everything is loaded; asking a recording waits for it."""
        for entry in server.json("/list"):
            server.get(f"/data/{entry['id']}/mallopts")
        return server.json("/list")

    def data(self, file, path, **parameters):
        return self.server.json(f"/data/{self.ids[file]}/{path}", **parameters)

    def v1(self, file, path, **parameters):
        return self.server.json(f"/api/v1/{self.ids[file]}/{path}", **parameters)


class Documented(ServerCase):
    def test_the_document_in_docs_is_the_one_that_is_served(self):
        ours = (mp.SRC / "docs/openapi.json").read_bytes()
        self.assertTrue(self.server.get("/api/v1/openapi.json").body == ours,
                        "make it anew: memory-profiler-cli server --openapi > docs/openapi.json")

    def test_the_document_is_openapi(self):
        document = self.schemas.document
        self.assertRegex(document["openapi"], r"^3\.1\.")
        self.assertTrue({"info", "paths", "components"} <= set(document))
        names = set(document["components"]["schemas"])
        for name, schema in document["components"]["schemas"].items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual("object", schema["type"], name)
        for reference in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)):
            self.assertIn(reference, names)
        for reference in re.findall(r'"#/components/parameters/(\w+)"', json.dumps(document)):
            self.assertIn(reference, document["components"]["parameters"])
        for path, item in document["paths"].items():
            method = "post" if path.endswith("/execute_script") else "get"
            self.assertEqual([method], list(item), path)
            operation = item[method]
            self.assertTrue(operation["summary"], path)
            self.assertIn("200", operation["responses"], path)
            in_path = [p["name"] for p in operation["parameters"] if p.get("in") == "path"]
            self.assertEqual(re.findall(r"\{(\w+)\}", path), in_path, path)
            named = [(p.get("in"), p.get("name")) if "name" in p else
                     ("query", p["$ref"].rsplit("/", 1)[1]) for p in operation["parameters"]]
            self.assertEqual(len(named), len(set(named)), path)

    def test_every_path_answers_as_described(self):
        for path, item in self.schemas.document["paths"].items():
            for file in self.ids:
                values = {"id": self.ids[file], "n": "1", "row": "0", "format": "collapsed",
                          "file": "x.txt", "hash": "0" * 32}
                target = re.sub(r"\{(\w+)\}", lambda m: values[m[1]], path)
                if path.endswith("/callers"):
                    target += "?function=main"
                elif path.endswith("/search"):
                    target += "?q=ma"
                elif path.endswith("/source"):
                    continue  # see Sources
                elif "script" in path and "to_script" not in path:
                    continue  # see test_server_script
                elif path.endswith("/events"):
                    continue  # never ends: see test_server_connections
                answer = self.server.get(target)
                if path.endswith("/callers") and answer.status == 404:
                    continue  # no names in this recording's main
                with self.subTest(target):
                    self.assertEqual(200, answer.status, answer.body[:300])
                    content = item["get"]["responses"]["200"]["content"]
                    if "*/*" not in content:
                        self.assertIn(answer.headers["Content-Type"], content)
                    if "schema" in content.get("application/json", {}):
                        self.schemas.check(path, answer.json())

    def test_filters_and_exports_are_in_the_document(self):
        document = self.schemas.document
        for p in self.server.json("/api/v1/filters")["parameters"]:
            self.assertIn(p["name"], document["components"]["parameters"])
        export = document["paths"]["/data/{id}/export/{format}"]["get"]["parameters"]
        formats = next(p for p in export if p["name"] == "format")["schema"]["examples"]
        for name in [*formats, "flamegraph", "flamegraph.pl"]:
            answer = self.server.get(f"/data/last/export/{name}")
            self.assertEqual(200, answer.status, name)
            self.assertTrue(answer.body, name)


class ReadmeLines(ServerCase):
    """The lines of the README that users of the old API know, as they stand there."""

    def curl(self, line):
        line = line.replace("http://localhost:8080", self.server.url.rstrip("/"))
        done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=True,
                              timeout=60)
        return done.stdout

    def test_a_flame_graph_of_leaks(self):
        out = self.curl('curl -sf "http://localhost:8080/data/last/export/flamegraph'
                        '?lifetime=only_leaked"')
        self.assertIn("<svg", out)

    def test_an_ascii_tree_of_leaks(self):
        out = self.curl('curl -sf "http://localhost:8080/data/last/allocation_ascii_tree'
                        '?lifetime=only_leaked"')
        self.assertRegex(out.splitlines()[0], r"SIZE +COUNT +FIRST +LAST +SOURCE")

    def test_the_three_largest_allocations(self):
        out = self.curl('curl -sf "http://localhost:8080/data/last/allocations'
                        '?sort_by=size&order=dsc&count=3" | jq')
        sizes = [a["size"] for a in json.loads(out)["allocations"]]
        expected = sorted((r["size"] for r in naive_rows(self.work)), reverse=True)[:3]
        self.assertEqual(expected, sizes)

    def test_groups_with_a_raw_percent_sign(self):
        line = ('curl -sf "http://localhost:8080/data/%s/allocation_groups?'
                'group_allocations_min=10&group_leaked_allocations_min=50%%&sort_by=all.size'
                '&count=3" | jq')
        for file in self.ids:
            out = json.loads(self.curl(line % self.ids[file]))
            everything = self.data(file, "allocation_groups")["allocations"]
            good = [g for g in everything if g["all"]["allocated_count"] >= 10
                    and 2 * g["all"]["leaked_count"] >= g["all"]["allocated_count"]]
            self.assertEqual(len(good), out["total_count"])
            self.assertEqual(sorted(g["all"]["size"] for g in good)[:3],
                             [g["all"]["size"] for g in out["allocations"]])


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


class Sources(ServerCase):
    """Source files, from where the program was compiled and from elsewhere."""

    def source_of(self, server, **parameters):
        id_ = next(e["id"] for e in self.ready(server) if e["file"] == "demo.dat")
        functions = server.json(f"/api/v1/{id_}/functions", q="main")["functions"]
        file = next(f["frame"]["source"] for f in functions if f["function"] == "main")
        answer = server.json(f"/api/v1/{id_}/source", file=file, **parameters)
        self.schemas.check("/api/v1/{id}/source", answer)
        self.assertEqual(file, answer["file"])
        return answer

    def test_the_text_and_what_its_lines_cost(self):
        answer = self.source_of(self.server)
        text = (mp.SRC / "tests/programs/demo.c").read_text()
        self.assertEqual((True, 1, text), (answer["found"], answer["first_line"],
                                           "\n".join(answer["text"]) + "\n"))
        self.assertTrue(pathlib.Path(answer["path"]).samefile(mp.SRC / "tests/programs/demo.c"))
        self.assertIsNone(answer["reason"])
        lines = {}
        for g in self.v1("demo.dat", "groups", count=10**6)["groups"]:
            frames = self.v1("demo.dat", f"stack/{g['key']}")["frames"]
            for n in {f["line"] for f in frames if f["source"] == answer["file"]}:
                cost = lines.setdefault(n, [0, 0, 0])
                cost[0] += g["cost"]["bytes"]
                cost[1] += g["cost"]["leaked_bytes"]
                cost[2] += g["cost"]["bytes"] * ((frames[0]["source"], frames[0]["line"]) ==
                                                 (answer["file"], n))
        self.assertEqual(lines, {row["line"]: [row["cost"]["bytes"], row["cost"]["leaked_bytes"],
                                               row["self_bytes"]] for row in answer["lines"]})
        self.assertEqual(sorted(lines), [row["line"] for row in answer["lines"]])
        some = self.source_of(self.server, lifetime="only_leaked")
        self.assertLess(len(some["lines"]), len(lines))

    def test_only_files_that_the_recording_names_are_read(self):
        for path in ("/etc/passwd", str(mp.SRC / "meson.build"), "../../../etc/passwd", "main"):
            answer = self.server.get(f"/api/v1/{self.ids['demo.dat']}/source?file="
                                     f"{urllib.parse.quote(path)}")
            self.assertEqual((404, "file"), (answer.status, answer.json()["parameter"]))
        answer = self.server.get("/api/v1/last/source")
        self.assertEqual((400, "file"), (answer.status, answer.json()["parameter"]))

    def test_sources_that_are_elsewhere(self):
        copy = self.dir / "copy"
        shutil.copytree(mp.SRC / "tests/programs", copy / "programs",
                        ignore=lambda _, names: [n for n in names if n != "demo.c"])
        path = copy / "programs/demo.c"
        text = path.read_text() + "/* one more line */\r\nlast"
        for rule in (copy, f"{mp.SRC}/tests={copy}"):
            path.write_text(text)
            with Server(self.demo, "--source", rule) as server:
                answer = self.source_of(server)
                self.assertEqual(str(path), answer["path"])
                self.assertEqual(["/* one more line */", "last"], answer["text"][-2:])
                self.assertIn("changed", answer["reason"])
                path.unlink()
                answer = self.source_of(server)
                self.assertEqual(True, answer["found"])  # where it was compiled
                self.assertNotEqual(str(path), answer["path"])

    def test_wrong_rules_end_the_command(self):
        for rule in ("/no/such/folder", "=/", "/a=/no/such/folder", str(self.demo)):
            done = subprocess.run([mp.CLI, "server", "--source", rule, self.demo],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(2, done.returncode, rule)
            self.assertIn("--source", done.stderr)


class Refusals(ServerCase):
    def refused(self, target, status, parameter=None):
        answer = self.server.get(target)
        self.assertEqual(status, answer.status, f"{target}: {answer.body[:300]}")
        self.assertEqual("application/json", answer.headers["Content-Type"])
        self.schemas.check_error(answer.json())
        self.assertEqual(parameter, answer.json().get("parameter"), target)
        self.assertNotIn("ETag", answer.headers)
        return answer.json()

    def test_bad_values_are_named_with_what_would_be_right(self):
        for name, value in (("size_min", "x"), ("size_max", "-1"), ("size_min", ""),
                            ("lifetime", "only_lost"), ("from", "noon"), ("marker", "1.5"),
                            ("function_regex", "("), ("negative_source_regex", "[z-a]"),
                            ("mmaped", "maybe"), ("arena", "side"), ("group_allocations_min", "%"),
                            ("lifetime_min", "5 parsecs"), ("backtraces", "1,x"),
                            ("count", "-3"), ("skip", "0x10"),
                            ("order", "up"), ("sort_by", "colour")):
            error = self.refused(f"/data/last/allocations?{name}={urllib.parse.quote(value)}",
                                 400, name)
            self.assertEqual(value, error["value"])
            self.assertTrue(error["valid"], name)
        for path in ("stack/1", "tree", "groups"):
            error = self.refused(f"/api/v1/last/{path}?own_regex=%28", 400, "own_regex")
            self.assertIn("offset", error["error"])
        for name, value in (("fold", "all"), ("fold_regex", "("), ("hide_regex", "[z-a]"),
                            ("under", "x"), ("under", "1,,2"), ("under", "1,"), ("under", ",1"),
                            ("under", "-1"), ("depth", "x"), ("depth", "-1"), ("min_share", "x"),
                            ("direction", "up"), ("collapse_recursion", "maybe"), ("at", "noon")):
            error = self.refused(f"/api/v1/last/tree?{name}={urllib.parse.quote(value)}", 400,
                                 name)
            self.assertTrue(error["valid"], name)
        self.refused("/api/v1/last/groups?by=thread&under=1", 400, "under")
        self.refused("/api/v1/last/search?q=%ff", 400, "q")
        self.refused("/api/v1/last/functions?module_q=%ff", 400, "module_q")
        self.refused("/api/v1/last/tree?under=5", 404, "under")
        self.refused("/api/v1/last/groups?under=5", 404, "under")

    def test_what_is_not_there(self):
        self.refused("/nothing", 404)
        self.refused("/data/00000000000000000000000000000000/timeline", 404)
        self.refused("/data/last/backtrace/x", 404, "n")
        self.refused("/data/last/backtrace/4294967296", 404, "n")
        self.refused("/data/last/backtrace/-1", 404, "n")
        self.refused("/data/last/export/docx", 404, "format")
        self.refused("/api/v1/last/stack/x", 404, "n")
        self.refused("/api/v1/last/stack/4294967296", 404, "n")
        self.refused("/api/v1/last/groups?by=thread&sort_by=max_at_ns", 400, "sort_by")
        self.refused("/api/v1/last/groups?graph=9&graph_from=%2B9s&graph_to=%2B8s", 400, "graph_to")
        self.refused("/api/v1/last/groups?graph=9&graph_from=x", 400, "graph_from")
        self.refused("/api/v1/last/groups?by=thread&facts=true", 400, "facts")
        self.refused("/api/v1/last/groups?by=thread&find_regex=x", 400, "find_regex")
        error = self.refused("/api/v1/last/groups?find_regex=x(", 400, "find_regex")
        self.assertRegex(error["error"], "^find_regex.*offset 2")
        self.refused("/api/v1/last/groups?facts=true&count=501", 400, "count")
        self.refused("/api/v1/last/callers?function=no_such_function", 404, "function")
        self.refused("/data/last/allocations?from_map=999999", 400, "from_map")

    def test_unknown_parameters_are_ignored(self):
        self.assertEqual(self.data("demo.dat", "allocations", count=1),
                         self.data("demo.dat", "allocations", count=1, colour="red", _=1))

    def test_only_reading(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
            answer = self.server.get("/list", method=method)
            self.assertIn(answer.status, (405, 400, 501), method)
        answer = self.server.get("/list", method="POST")
        self.assertEqual((405, "GET, HEAD"), (answer.status, answer.headers["Allow"]))

    def test_head_is_get_without_a_body(self):
        get = self.server.get("/data/last/timeline")
        head = self.server.get("/data/last/timeline", method="HEAD")
        self.assertEqual((200, b""), (head.status, head.body))
        self.assertEqual(get.headers["ETag"], head.headers["ETag"])


if __name__ == "__main__":
    mp.main()

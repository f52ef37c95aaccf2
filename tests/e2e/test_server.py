#!/usr/bin/env python3
"""The REST API: every endpoint against its schema, the lines of the README, sources, refusals."""
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import jsonschema

import mp
from mp_server import Server
from mp_server_case import ServerCase, naive_rows


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

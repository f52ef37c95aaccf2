#!/usr/bin/env python3
"""Scripts over HTTP: results in bytehound's shape, figures as in the API, files, filters as scripts; refused
to other web pages; within bounds; ended when the client goes."""
import contextlib
import json
import threading
import urllib.parse

import jsonschema

import mp
import mp_server


class Scripts(mp.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        recorder = mp.TestCase()
        recorder.setUp()
        cls.addClassCleanup(recorder.doCleanups)
        cls.recording = recorder.record([mp.program("known_figures")]).recording
        cls.server = mp_server.Server(cls.recording)
        cls.enterClassContext(cls.server)
        cls.document = cls.server.json("/api/v1/openapi.json")

    def post(self, code, path="/data/last/execute_script", headers=None):
        connection = self.server.connect()
        connection.request("POST", path, code.encode(), headers or {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def execute(self, code):
        status, body = self.post(code)
        self.assertEqual(200, status, body)
        result = json.loads(body)
        operation = self.document["paths"]["/data/{id}/execute_script"]["post"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(
            self.document)).validate(result)
        return result

    def lines(self, code):
        result = self.execute(code)
        self.assertEqual("ok", result["status"], result)
        return [o["value"] for o in result["output"]]

    def test_figures_are_those_of_the_api(self):
        summary = self.server.json("/api/v1/last/groups?by=stack&count=0&size_min=48")["total"]
        self.assertEqual(["\t".join(str(summary[k]) for k in ("allocations", "bytes", "leaked_bytes"))],
                         self.lines("local t = allocations{size_min = 48}:total() print(t.allocations, t.bytes, t.leaked_bytes)"))
        growth = self.server.json("/api/v1/last/growth?by=stack&count=3")
        self.assertEqual([f"{r['key']}\t{r['change_bytes']}" for r in growth["rows"]], self.lines(
            "for _, r in ipairs(allocations():growth{by = 'backtrace', limit = 3}) do print(r.key, r.change_bytes) end"))
        findings = self.server.json("/api/v1/last/findings")["findings"]
        self.assertEqual([str(len(findings))], self.lines("print(#report.findings())"))

    def test_files_are_kept_and_have_an_address(self):
        result = self.execute("print('a') graph():add(allocations()):save('x/Graph 1.svg') save('t.txt', ('x'):rep(100000)) print()")
        self.assertEqual(["println", "image", "file", "println"], [o["kind"] for o in result["output"]])
        image, text = result["output"][1:3]
        self.assertEqual(("Graph 1.svg", "x/Graph 1.svg"), (image["basename"], image["path"]))
        answer = self.server.get(image["url"])
        self.assertEqual((200, "image/svg+xml"), (answer.status, answer.headers["Content-Type"]))
        self.assertTrue(answer.body.startswith(b"<svg"))
        self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
        answer = self.server.get(text["url"])
        self.assertEqual(b"x" * 100000, answer.body)
        self.assertIn("attachment", answer.headers["Content-Disposition"])
        self.assertEqual(404, self.server.get("/data/last/script_files/" + "0" * 32 + "/a").status)
        self.assertIn("at most 100 files", self.execute("for i = 1, 200 do save('f' .. i, 'x') end")["message"])
        self.assertEqual(40000, len(self.lines("for i = 1, 40000 do print() end")))
        result = self.execute("pcall(save, 'large', ('x'):rep(20000000)) print(1)")
        self.assertEqual(["println"], [o["kind"] for o in result["output"]])

    def test_errors_have_a_line_and_what_was_printed_before(self):
        result = self.execute("print('before')\nallocations{nothing = 1}\n")
        self.assertEqual(("error", 2, None), tuple(result[k] for k in ("status", "line", "column")))
        self.assertIn("no condition 'nothing'", result["message"])
        self.assertEqual([{"kind": "println", "value": "before"}], result["output"])
        self.assertEqual(3, self.execute("exit(3)")["exit_status"])
        self.assertEqual("ok", self.execute("")["status"])

    def test_scripts_have_no_files_and_see_one_recording(self):
        for code in ("io.open('/etc/passwd')", "os.execute('true')", "open('/etc/passwd')", "dofile('/etc/passwd')",
                     "require('io')", "load(string.dump(print))"):
            self.assertEqual("error", self.execute(code)["status"], code)

    def test_other_pages_and_odd_requests_are_refused(self):
        for headers in ({"Origin": "http://example.com"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Host": "example.com"}):
            self.assertEqual(403, self.post("print(1)", headers=headers)[0], headers)
        own = f"http://{self.server.host}:{self.server.port}"
        self.assertEqual(200, self.post("print(1)", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"})[0])
        self.assertEqual(413, self.post("x" * 300000)[0])
        self.assertEqual(404, self.post("print(1)", "/data/0123/execute_script")[0])
        self.assertEqual(405, self.post("print(1)", "/list")[0])
        answer = self.server.get("/data/last/execute_script")
        self.assertEqual((405, "POST"), (answer.status, answer.headers["Allow"]))
        connection = self.server.connect()
        with contextlib.suppress(BrokenPipeError):  # the answer may come before the last byte was sent
            connection.request("POST", "/data/last/execute_script", iter([b"print(1)"]), encode_chunked=True)
        self.assertEqual(411, connection.getresponse().status)
        connection.close()

    def test_bounds(self):
        for code, words in (("local s = 'x' while true do s = s .. s end", "not enough memory"),
                            ("while true do print(('x'):rep(10000)) end", "printed more")):
            result = self.execute(code)
            self.assertEqual("error", result["status"])
            self.assertIn(words, result["message"])

    def test_a_script_ends_when_its_client_goes_and_two_run_at_once(self):
        def start():
            connection = self.server.connect()
            connection.request("POST", "/data/last/execute_script", b"while true do end")
            return connection

        def running():
            return sum("execute_script" in r["path"] for r in self.server.json("/api/v1/requests")["requests"])

        connections = [start(), start()]
        mp.wait_for(lambda: running() == 2)
        # both count as soon as they have begun to run
        status, body = mp.wait_for(lambda: (lambda a: a if a[0] == 503 else None)(self.post("print(1)")))
        self.assertIn(b"scripts run already", body)
        for c in connections:
            c.close()
        mp.wait_for(lambda: running() == 0)
        self.assertEqual(["1"], self.lines("print(1)"))

    def test_many_clients_get_their_own_output(self):
        results = {}

        def client(i):
            while True:
                status, body = self.post(f"print({i}) print(allocations():count())")
                if status != 503:
                    results[i] = json.loads(body)
                    return

        threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([[str(i), "129"] for i in range(8)], [[o["value"] for o in results[i]["output"]] for i in range(8)])

    def test_filters_as_scripts(self):
        filters = {"size_min": "48", "function_regex": 'pair_|"quoted\\.', "to": "100%", "lifetime": "only_temporary"}
        query = urllib.parse.urlencode(filters)
        script = self.server.json(f"/data/last/allocation_filter_to_script?{query}")
        self.assertEqual("", script["prologue"])
        expected = self.server.json(f"/api/v1/last/groups?by=stack&count=0&{query}")["total"]["allocations"]
        self.assertEqual([str(expected)], self.lines(f"print(#{script['code']})"))
        self.assertTrue(expected)
        odd = {"function_regex": "a\nb\x7f]]--\u00e4", "size_max": "1k"}
        script = self.server.json(f"/data/last/allocation_filter_to_script?{urllib.parse.urlencode(odd)}")
        self.assertEqual([odd["function_regex"].encode().hex(), "1k"], self.lines(
            f"local c = {script['code']}:conditions() print((c.function_regex:gsub('.', function(x) return ('%02x'):format(x:byte()) end))) print(c.size_max)"))
        self.assertEqual("allocations()", self.server.json("/data/last/allocation_filter_to_script")["code"])
        self.assertEqual(400, self.server.get("/data/last/allocation_filter_to_script?size_min=x").status)
        maps = self.server.json("/data/last/map_filter_to_script?size_min=1M")["code"]
        self.assertEqual([str(self.server.json("/api/v1/last/maps?size_min=1M&count=0")["total_count"])],
                         self.lines(f"print(#{maps})"))


if __name__ == "__main__":
    mp.main()

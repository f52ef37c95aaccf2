#!/usr/bin/env python3
"""The server in a real browser: exports that it serves, and pages of other origins, which must get
nothing. The GUI itself: ui/tests/browser."""
import functools
import http.server
import threading

import browser
import mp
from mp_server import Server


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browsed(mp.TestCase):
    def setUp(self):
        super().setUp()
        path = self.dir / "demo.dat"
        self.record([mp.program("demo")], options={"OUTPUT": str(path)})
        self.server = Server(path, "--allow-origin", "http://127.0.0.1:1")
        self.server.__enter__()
        self.addCleanup(self.server.end)
        self.server.json("/data/last/timeline")  # it is loaded
        self.browser = browser.Browser()
        self.addCleanup(self.browser.__exit__)

    def open(self, url):
        return browser.Page(self.browser, url)

    def test_an_exported_flame_graph_zooms(self):
        page = self.open(self.server.url + "data/last/export/flamegraph")
        at = page.evaluate("""(() => {
            const frames = [...document.querySelectorAll('.mpf-f rect')].map(
                r => r.getBoundingClientRect()).filter(r => r.width > 100 && r.width < 900);
            return {x: frames[0].x + 5, y: frames[0].y + 5};
        })()""")
        page.click(at["x"], at["y"])
        self.assertNotEqual("0", page.evaluate("document.getElementById('mpf-0').dataset.zoom"))
        report = self.open(self.server.url + "data/last/export/html")
        self.assertIn("demo", report.evaluate("document.body.textContent"))
        refused = [c for c in page.complaints() if "favicon" not in str(c)]
        self.assertEqual([], refused, "the policy must not stop our own scripts")

    def test_a_graph_cannot_read_the_api(self):
        """Names in a flame graph come from strangers: even a script in it would get nowhere."""
        page = self.open(self.server.url + "data/last/export/flamegraph")
        self.assertEqual("blocked", page.evaluate(
            "fetch('/list').then(() => 'read', () => 'blocked')"))

    def test_a_page_of_another_origin_gets_nothing(self):
        (self.dir / "evil.html").write_text("<!DOCTYPE html><title>evil</title>")
        handler = functools.partial(Quiet, directory=str(self.dir))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            page = self.open(f"http://127.0.0.1:{other.server_port}/evil.html")
            for mode in ("cors", "no-cors"):
                got = page.evaluate(
                    f"fetch('{self.server.url}list', {{mode: '{mode}'}}).then("
                    "r => r.text().then(t => r.type + t), () => 'blocked')")
                self.assertIn(got, ("blocked", "opaque"), mode)
            loaded = page.evaluate(
                "new Promise(done => { const s = document.createElement('script');"
                f"s.src = '{self.server.url}list'; s.onload = () => done('loaded');"
                "s.onerror = () => done('refused'); document.head.append(s); })")
            self.assertEqual("refused", loaded)
            other.shutdown()


if __name__ == "__main__":
    mp.main(chromium=browser.find())

#!/usr/bin/env python3
"""Flame graphs, HTML reports and DHAT files in a real browser, with a real mouse and keyboard.

With MP_SCREENSHOTS=FOLDER the pictures are kept there, to be looked at.
"""
import os
import pathlib
import time
import re
import xml.etree.ElementTree

import browser
import mp
from test_export import ExportCase

DHAT_VIEWER = pathlib.Path("/usr/libexec/valgrind/dh_view.html")
SCRIPT_BYTES = 10 * 1024
FRAME_PX = 18
TOP_PX = 64


class Shown(ExportCase):
    def setUp(self):
        super().setUp()
        self.browser = self.enterContext(browser.Browser())

    def enterContext(self, context):  # there from Python 3.11 on
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def show(self, path, suffix):
        target = path.with_name(path.name + suffix)
        path.rename(target)
        page = self.browser.open(target)
        self.assertEqual([], page.complaints())
        return page

    def keep(self, page, name):
        if os.environ.get("MP_SCREENSHOTS"):
            page.screenshot(pathlib.Path(os.environ["MP_SCREENSHOTS"]) / (name + ".png"))

    def wait(self, page, condition):
        for _ in range(200):
            if page.evaluate(f"!!({condition})"):
                return
            time.sleep(0.05)
        self.fail(f"the page never showed {condition}")

    def state(self, page, name, graph=0):
        return int(page.evaluate(f"document.getElementById('mpf-{graph}').dataset.{name}"))

    def frame(self, page, name, graph=0):
        """Middle of the first drawn frame with this text, on the screen."""
        return page.evaluate("""(() => {
            const svg = document.getElementById('mpf-%d');
            const f = [...svg.querySelectorAll('.mpf-f')].find(
                g => g.querySelector('text') && g.querySelector('text').textContent === '%s');
            const r = f.querySelector('rect').getBoundingClientRect();
            return {x: r.x + r.width / 2, y: r.y + r.height / 2, width: r.width};
        })()""" % (graph, name))


class FlameGraph(Shown):
    def test_click_zooms_and_escape_resets(self):
        page = self.show(self.export(self.recorded("demo"), "flamegraph-svg"), ".svg")
        at = self.frame(page, "read_line")
        self.assertLess(at["width"], 800)
        n_all = self.state(page, "frames")
        page.click(at["x"], at["y"])
        self.assertGreater(self.state(page, "zoom"), 0)
        self.assertGreater(self.frame(page, "read_line")["width"], 1190)
        self.assertLess(self.state(page, "frames"), n_all)
        self.assertIn("read_line", page.evaluate("document.querySelector('.mpf-info').textContent"))
        self.keep(page, "zoomed")
        parent = self.frame(page, "work")
        page.click(parent["x"], parent["y"])
        self.assertLess(self.frame(page, "read_line")["width"], 1190)
        page.key("Escape", 27)
        self.assertEqual((0, n_all), (self.state(page, "zoom"), self.state(page, "frames")))

    def test_search(self):
        recorded = self.recorded("demo")
        page = self.show(self.export(recorded, "flamegraph-svg", "--cost=allocations"), ".svg")
        page.key("/", 191)
        page.type("^read_l|no such")
        self.assertEqual(4000, self.state(page, "matched"))
        self.assertIn("matched: 4", page.evaluate("document.documentElement.textContent"))
        self.assertEqual(1, page.evaluate(
            """document.querySelectorAll('rect[fill="#d63aff"]').length"""))
        self.keep(page, "search")
        page.type("(")
        self.assertIn("not a regular expression",
                      page.evaluate("document.documentElement.textContent"))
        page.key("Escape", 27)
        self.assertEqual(0, self.state(page, "matched"))
        self.assertEqual([], page.complaints())

    def test_keys_walk_the_tree(self):
        page = self.show(self.export(self.recorded("known_figures"), "flamegraph-svg"), ".svg")
        for key, code in (("ArrowDown", 40), ("ArrowDown", 40), ("Enter", 13)):
            page.key(key, code)
        self.assertEqual(2, self.state(page, "zoom"))
        page.key("Backspace", 8)
        self.assertEqual(1, self.state(page, "zoom"))
        page.key("ArrowRight", 39)
        page.key("ArrowUp", 38)
        self.assertEqual([], page.complaints())

    def test_tooltip(self):
        recorded = self.recorded("known_figures")
        page = self.show(self.export(recorded, "flamegraph-svg"), ".svg")
        at = self.frame(page, "main")
        page.move(at["x"], at["y"])
        title = page.evaluate("document.querySelector('.mpf-f title').textContent")
        self.assertRegex(title, r"^main\n.* of all\).*\n\S*known_figures\.c\n\[known_figures\]$")

    def test_every_cost_and_the_still_image(self):
        recorded = self.recorded("known_figures")
        totals = self.groups(recorded)["total"]
        for cost, key in (("bytes", "bytes"), ("leaked", "leaked_bytes"), ("peak", "peak_bytes"),
                          ("allocations", "allocations"), ("temporary", "temporary_count")):
            path = self.export(recorded, "flamegraph-svg", "--cost", cost)
            root = xml.etree.ElementTree.parse(path).getroot()  # well-formed, also without a script
            still = [g for g in root.iter("{http://www.w3.org/2000/svg}g")
                     if g.get("class") == "mpf-f"]
            self.assertGreater(len(still), 3)
            tree = re.search(r'"t":"0,([0-9a-z]+)', path.read_text())[1]
            self.assertEqual(totals[key], int(tree, 36), cost)

    def test_inverted(self):
        path = self.export(self.recorded("demo"), "flamegraph-svg", "--inverted=true")
        page = self.show(path, ".svg")
        at = self.frame(page, "read_line")
        self.assertAlmostEqual(TOP_PX + 1.5 * FRAME_PX, at["y"], delta=FRAME_PX)

    def test_script_is_small_and_nothing_is_fetched(self):
        path = self.export(self.recorded("demo"), "flamegraph-svg")
        script = re.search(r"function mpFlame.*?\n}\n", path.read_text(), re.S)[0]
        self.assertLess(len(script), SCRIPT_BYTES)
        page = self.show(path, ".svg")
        self.assertEqual(1, len(page.requests()), page.requests())

    def test_a_hundred_thousand_stacks(self):
        recorded = self.recorded("many_stacks", "100000")
        self.assertGreaterEqual(recorded.facts["stacks"], 100000)
        page = self.show(self.export(recorded, "flamegraph-svg"), ".svg")
        n = self.state(page, "frames")
        self.assertGreater(n, 1000)
        self.keep(page, "many")
        page.click(300, TOP_PX + 5.5 * FRAME_PX)
        zoom = self.state(page, "zoom")
        self.assertGreater(zoom, 0)
        self.keep(page, "many_zoomed")
        for depth in (7, 8, 9):  # down to what was too narrow to be drawn before
            page.click(600, TOP_PX + (depth + 0.5) * FRAME_PX)
            self.assertGreater(self.state(page, "zoom"), zoom)
            zoom = self.state(page, "zoom")
        page.key("/", 191)
        page.type("north")
        self.assertGreater(self.state(page, "matched"), 0)
        page.key("Escape", 27)
        self.assertEqual(n, self.state(page, "frames"))
        self.assertEqual([], page.complaints())


class HtmlReport(Shown):
    """The exported page is the GUI: ui/tests/browser/exported.test.mjs looks at its figures."""

    def test_report_asks_nobody(self):
        page = self.show(self.export(self.recorded("demo"), "html"), ".html")
        self.wait(page, "document.querySelector('.tile .big')")
        self.assertIn("words_add", page.evaluate("document.body.innerText"))
        self.assertEqual(1, len(page.requests()), page.requests())
        self.keep(page, "report")
        self.assertEqual([], page.complaints())


class OddNames(Shown):
    """What a recording holds must not become part of the page."""

    def odd(self):
        recorded = self.recorded("odd_names", "</script><script>window.harm=1</script>")
        nasty = recorded.path.with_name("<img src=x onerror='window.harm=1'>&.dat")
        recorded.path.rename(nasty)
        recorded.path = nasty
        return recorded

    def shown(self, recorded, name, suffix):
        path = self.export(recorded, name)
        plain = path.with_name("page")
        path.rename(plain)
        return self.show(plain, suffix)

    def test_nothing_of_the_recording_is_run_in_a_graph(self):
        page = self.shown(self.odd(), "flamegraph-svg", ".svg")
        self.assertIsNone(page.evaluate("window.harm"))
        self.assertGreater(self.state(page, "frames"), 6)
        self.assertIn("<img src=x", page.evaluate("document.documentElement.textContent"))
        page.key("/", 191)
        self.assertEqual([], page.complaints())

    def test_nothing_of_the_recording_is_run_in_a_report(self):
        page = self.shown(self.odd(), "html", ".html")
        self.wait(page, "document.querySelector('.facts')")
        self.assertIsNone(page.evaluate("window.harm"))
        self.assertIn("</script><script>", page.evaluate("document.body.innerText"))
        self.assertEqual([], page.complaints())


class DhatViewer(Shown):
    def test_viewer_shows_the_totals(self):
        mp.require("valgrind's dh_view.html", DHAT_VIEWER.exists())
        recorded = self.recorded("demo")
        path = self.export(recorded, "dhat")
        page = self.browser.open(DHAT_VIEWER)
        page.call("DOM.enable")
        page.choose_file("input[type=file]", path)
        text = ""
        for _ in range(100):  # it reads the file when it likes
            text = page.evaluate("document.body.innerText")
            if "Total:" in text:
                break
            page.evaluate("new Promise(f => setTimeout(f, 100))")
        self.keep(page, "dhat")
        self.assertRegex(text, rf"Total: +{recorded.n_bytes:,} bytes .* in {recorded.rows:,} blocks")
        self.assertRegex(text, rf"At t-gmax: +{recorded.peak:,} bytes")
        self.assertRegex(text, rf"At t-end: +{recorded.leaked:,} bytes")
        self.assertIn("read_line (demo.c:", text)


if __name__ == "__main__":
    mp.main(chromium=browser.find())

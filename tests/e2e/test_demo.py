#!/usr/bin/env python3
"""`make demo` without the building: records, reports, serves until a signal ends it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest
import urllib.request

import mp

DEMO = pathlib.Path(__file__).resolve().parents[2] / "tools/demo.sh"


class Demo(unittest.TestCase):
    def test_records_reports_and_serves(self):
        process = subprocess.Popen(["sh", DEMO, mp.BUILD, "-p", "0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        seen, url = "", None
        try:
            for line in process.stdout:
                seen += line
                found = re.search(r"http://\S+", line)
                if found:
                    url = found.group()
                    break
            self.assertIsNotNone(url, seen)
            self.assertIn("Most at the peak", seen)
            self.assertIn("SeenCache::remember", seen)
            self.assertIn("What to look at first", seen)
            with urllib.request.urlopen(url + "list", timeout=20) as answer:
                self.assertEqual(1, len(json.load(answer)))
            with urllib.request.urlopen(url, timeout=20) as answer:
                self.assertIn("text/html", answer.headers["Content-Type"])
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.stdout.read()
            self.assertEqual(0, process.wait(timeout=30), "SIGINT ends the server in order")
            process.stdout.close()


if __name__ == "__main__":
    unittest.main()

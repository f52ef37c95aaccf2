"""Chromium, driven over a pipe by its DevTools protocol: no driver, no port, no network.

    with browser.Browser() as b:
        page = b.open(pathlib.Path("graph.svg"))
        page.click(600, 100)
        page.evaluate("document.title")
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, width=1200, height=800):
        self.folder = tempfile.mkdtemp(prefix="mp-browser-")
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        words = ["exec", find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--remote-debugging-pipe",
                 f"--window-size={width},{height}", f"--user-data-dir={self.folder}", "about:blank",
                 f"3<&{to_child}", f"4>&{from_child}"]
        # What it leaves behind when it is killed lies in a folder that goes.
        env = {**os.environ, "HOME": self.folder, "TMPDIR": self.folder}
        env.pop("LD_PRELOAD", None)
        self.child = subprocess.Popen(["sh", "-c", " ".join(words)], env=env,
                                      pass_fds=(to_child, from_child), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.n_sent = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.child.pid, signal.SIGKILL)  # its processes too, which write there
        self.child.wait()
        os.close(self.to)
        os.close(self.back)
        for _ in range(100):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.05)

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise AssertionError("the browser ended")
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") != self.n_sent:
                self.events.append(answer)
            elif "error" in answer:
                raise AssertionError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, path):
        return Page(self, path.resolve().as_uri())


class Page:
    def __init__(self, browser, url):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def wait_for(self, method):
        while True:
            for event in self.browser.events:
                if event.get("sessionId") == self.session and event.get("method") == method:
                    return event
            self.browser.events.append(self.browser.receive())

    def requests(self):
        """The addresses that were asked for, the page's own too."""
        return [e["params"]["request"]["url"] for e in self.browser.events
                if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What went wrong in scripts."""
        return [e["params"] for e in self.browser.events
                if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, key, code=0):
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def choose_file(self, selector, path):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

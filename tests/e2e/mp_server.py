"""A server under test: starts `memory-profiler-cli server`, asks it, ends it."""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import urllib.parse

import mp

CLI = pathlib.Path(os.environ.get("MP_SERVER_CLI", mp.CLI))  # another build of it, such as ASan's


if CLI != mp.CLI and not mp.LIBRARY.exists():
    print(f"skipped: {mp.LIBRARY} is not built, so there is nothing to serve")
    sys.exit(77)


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Server:
    """Use as a context. Ends with SIGTERM and must then exit with 0, without a word on stderr
    that the test did not expect (self.complaints)."""

    def __init__(self, *args, port=0, env=None):
        self.argv = [CLI, "server", "-p", str(port), *map(str, args)]
        self.env = {**mp.clean_environment(), **(env or {})}
        self.url = None

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=self.env)
        line = self.process.stdout.readline()
        found = re.search(r"http://(\[[^\]]+\]|[^:/]+):(\d+)/", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"no address in {line!r}: {self.process.communicate()}")
        self.url = found[0]
        self.host = found[1].strip("[]")
        self.port = int(found[2])
        return self

    def __exit__(self, kind, value, trace):
        self.end()
        if kind is None and self.code != 0:
            raise AssertionError(f"the server ended with {self.code}: {self.complaints}")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            _, self.complaints = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            story = mp.where_it_hangs(self.process.pid)
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"the server does not end\n{story}") from None
        self.code = self.process.returncode

    def connect(self, timeout=120):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def get(self, path, headers=None, method="GET", may_be_cut=False):
        """One request on a connection of its own; path is sent as it is. may_be_cut: an answer that
        is cut off visibly has the status None."""
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}),
                                  skip_accept_encoding=True)
            for name, text in (headers or {}).items():
                if text is not None:
                    connection.putheader(name, text)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        except http.client.IncompleteRead:
            if not may_be_cut:
                raise
            return Answer(None, {}, b"")
        finally:
            connection.close()

    def json(self, path, **parameters):
        """The JSON of an answer that must be 200."""
        if parameters:
            path += "?" + urllib.parse.urlencode(parameters)
        answer = self.get(path)
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.status} {answer.body[:500]}")
        return answer.json()

    def rss_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) << 10

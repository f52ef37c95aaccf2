#!/usr/bin/env python3
"""Many clients ask a server at once: how long short and long questions take.

usage: clients.py URL [--clients N] [--seconds N]
Four of five clients ask short questions, as the GUI does first; the others ask for exports, trees
and filters that must look at every allocation, one after the other. bench/README.md says what the numbers mean.
"""
import argparse
import http.client
import json
import os
import random
import threading
import time
import urllib.parse
import urllib.request

GRACE_S = 10
SHORT = ["/api/v1/recordings", "/api/v1/last/summary", "/api/v1/last/threads",
         "/api/v1/last/modules", "/api/v1/last/timeline?buckets=500", "/api/v1/last/health",
         "/api/v1/last/groups?by=stack&count=50&sort_by=leaked_bytes",
         "/api/v1/last/allocations?count=50&skip={n}", "/api/v1/last/stack/1",
         "/api/v1/last/groups?by=thread&skip={m}", "/api/v1/last/tree?depth=3&min_share={m}"]
LONG = ["/data/last/export/collapsed?size_min={m}", "/data/last/export/heaptrack?size_min=100{n}",
        "/api/v1/last/timeline?size_min={m}&buckets=1000", "/api/v1/last/peak?size_min={m}",
        "/data/last/tree?size_min={m}", "/api/v1/last/allocations?lifetime_min={n}&sort_by=size",
        "/data/last/regions?size_min={m}"]


class Client(threading.Thread):
    def __init__(self, url, seed, until):
        super().__init__()
        self.where = urllib.parse.urlsplit(url)
        self.random = random.Random(seed)
        self.is_short = seed % 5 > 0
        self.until = until
        self.took = {True: [], False: []}  # seconds, by "is short"
        self.cut = []
        self.refused = []

    def ask(self, path):
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=600)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            while answer.read(1 << 20):
                pass
            if answer.status != 200:
                self.refused.append((path, answer.status))
        except (OSError, http.client.HTTPException) as e:
            self.cut.append((path, repr(e)))
        finally:
            connection.close()

    def run(self):
        while time.monotonic() < self.until:
            path = self.random.choice(SHORT if self.is_short else LONG)
            path = path.replace("{n}", str(self.random.randrange(1000)))
            path = path.replace("{m}", str(self.random.randrange(1, 90)))
            start = time.monotonic()
            self.ask(path)
            self.took[self.is_short].append((time.monotonic() - start, path))
            time.sleep(self.random.random() * 0.2)


def wait_until_loaded(url):
    while True:
        with urllib.request.urlopen(url + "api/v1/recordings") as answer:
            if all(r["state"] == "ready" for r in json.load(answer)["recordings"]):
                return
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=120)
    args = parser.parse_args()
    args.url = args.url.rstrip("/") + "/"
    wait_until_loaded(args.url)
    until = time.monotonic() + args.seconds
    clients = [Client(args.url, seed, until) for seed in range(args.clients)]
    for c in clients:
        c.start()
    for c in clients:
        c.join(max(0, until + GRACE_S - time.monotonic()))
    n_open = sum(c.is_alive() for c in clients)
    for is_short, name in ((True, "short questions"), (False, "long questions")):
        took = sorted(t for c in clients for t in c.took[is_short])
        print(f"{name}: {len(took)}")
        for q in (50, 95, 100):
            at, path = took[min(len(took) - 1, len(took) * q // 100)] if took else (0, "")
            print(f"p{q} of {name}: {at:.3f} s {path if q > 50 else ''}")
    for name in ("cut", "refused"):
        found = [x for c in clients for x in getattr(c, name)]
        print(f"{'cut off' if name == 'cut' else name}: {len(found)}")
        for x in found[:5]:
            print(f"  {x}")
    print(f"not answered {GRACE_S} s after the end: {n_open}", flush=True)
    os._exit(0)  # without waiting for them


if __name__ == "__main__":
    main()

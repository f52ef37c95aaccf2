#!/usr/bin/env python3
"""Every view gives the figures that follow from `dump`, for random filters on recordings of all kinds:
two real programs, threads, one killed inside realloc, one with events that are lost, one of which the
recorder left out short-lived allocations (culled).

The evaluation here is plain: a list of rows, and sums over those that match.
"""
import collections
import json
import random
import subprocess
import time
import urllib.parse

import mp
import mp_server

N_FILTERS = 20
N_BUCKETS = 37
SQL = ("create table t(a, b); with recursive r(n) as (select 1 union all select n + 1 from r where n < 900) "
       "insert into t select n, hex(n) from r; select count(*) from t group by b % 7;")
FOREVER = 1 << 63


class Row:
    def __init__(self, event, number):
        self.address, self.size = int(event["addr"], 16), event["size"]
        self.extra = event["usable"] - event["size"]
        self.at, self.freed = event["t"], FOREVER
        self.thread, self.stack = event["thread"], event["stack"]
        self.end = self.address + event["usable"]
        self.number = number  # of the allocations of its thread
        self.follows = self.is_followed = False  # in a chain of reallocations
        self.is_temporary = False

    @property
    def is_leaked(self):
        return self.freed == FOREVER


def rows_of(path):
    """The rows that follow from the events of a recording, in the order of allocation, and the sums of
    what was culled, which count for whole call sites only."""
    rows, live, n_allocations = [], {}, collections.Counter()
    culled = collections.Counter()

    def end(address, event, is_replaced=False):
        row = live.pop(address, None)
        if row:
            row.freed = max(event["t"], row.at + 1)
            row.is_temporary = (not is_replaced and row.thread == event["thread"]
                                and n_allocations[row.thread] == row.number + 1)

    dumped = subprocess.run([mp.CLI, "dump", path], capture_output=True, check=True, text=True,
                            env=mp.clean_environment(), timeout=mp.TIMEOUT_S)
    for line in dumped.stdout.splitlines():
        event = json.loads(line)
        kind = event["e"]
        if kind == "free":
            end(int(event["addr"], 16), event)
        elif kind == "realloc_untracked":
            end(int(event["addr"], 16), event)
        elif kind in ("alloc", "realloc") and int(event["addr"], 16):
            old = live.get(int(event["old"], 16)) if kind == "realloc" else None
            if kind == "realloc":
                end(int(event["old"], 16), event)
            row = Row(event, n_allocations[event["thread"]])
            row.follows = bool(old)
            if old:
                old.is_followed = True
            end(row.address, event, is_replaced=True)
            n_allocations[row.thread] += 1
            live[row.address] = row
            rows.append(row)
        elif kind in ("culled", "culled_reallocs"):
            n = event.get("allocations", event.get("reallocations", 0))
            # a mark: allocations were left out here, so the last one of the thread was not the newest
            n_allocations[event["thread"]] += n == 0
            culled["allocations"] += n
            for ours, theirs in (("bytes", "bytes"), ("temporary_count", "temporary"),
                                 ("temporary_bytes", "temporary_bytes")):
                culled[ours] += event[theirs]
    return rows, culled


# ---- filters: (parameters, does a row match?) ----

def random_filter(r, rows, end_ns):
    def some(values):
        return r.choice(values)

    sizes = [row.size for row in rows]
    lives = [row.freed - row.at for row in rows if not row.is_leaked] or [1]
    size, life, at = some(sizes), some(lives), r.randrange(end_ns)
    address, later = some(rows).address, r.randrange(at, end_ns + 1)
    possible = [
        ({"size_min": size}, lambda x: x.size >= size),
        ({"size_max": size}, lambda x: x.size <= size),
        ({"lifetime": "only_leaked"}, lambda x: x.is_leaked),
        ({"lifetime": "only_temporary"}, lambda x: not x.is_leaked),
        ({"temporary": "yes"}, lambda x: x.is_temporary),
        ({"lifetime_max": f"{life}ns"}, lambda x: not x.is_leaked and x.freed - x.at <= life
         or x.is_leaked and end_ns - x.at <= life),
        ({"alive_at": f"+{at}ns"}, lambda x: x.at <= at < x.freed),
        ({"from": f"+{at}ns", "to": f"+{later}ns"}, lambda x: at <= x.at <= later),
        ({"address_min": address}, lambda x: x.address >= address),
        ({"address_max": address}, lambda x: x.address <= address),
    ]
    chosen = r.sample(possible, r.randrange(1, 4))
    names = [k for p, _ in chosen for k in p]
    if len(set(names)) < len(names):
        return random_filter(r, rows, end_ns)
    return ({k: v for p, _ in chosen for k, v in p.items()},
            lambda x: all(is_match(x) for _, is_match in chosen))


# ---- figures ----

def cost(rows):
    leaked = [x for x in rows if x.is_leaked]
    temporary = [x for x in rows if x.is_temporary]
    return {"allocations": len(rows), "bytes": sum(x.size for x in rows),
            "leaked_count": len(leaked), "leaked_bytes": sum(x.size for x in leaked),
            "temporary_count": len(temporary), "temporary_bytes": sum(x.size for x in temporary),
            "extra_bytes": sum(x.extra for x in rows)}


def cost_of(answer):
    return {k: answer[k] for k in cost([])}


def by(rows, key):
    groups = collections.defaultdict(list)
    for x in rows:
        groups[key(x)].append(x)
    return groups


def levels(rows):
    """(time, bytes alive, blocks alive) after all that happened at each time."""
    steps = collections.defaultdict(lambda: [0, 0])
    for x in rows:
        steps[x.at][0] += x.size
        steps[x.at][1] += 1
        steps[x.freed][0] -= x.size
        steps[x.freed][1] -= 1
    n_bytes = n = 0
    for at in sorted(steps):
        n_bytes += steps[at][0]
        n += steps[at][1]
        yield at, n_bytes, n


def alive(rows, at):
    return [x for x in rows if x.at <= at < x.freed]


def merged(rows):
    """Ranges of addresses that rows ever took, joined where at most 16 bytes lie between two."""
    ranges = []
    for start, end in sorted((x.address, x.end) for x in rows):
        if ranges and start <= ranges[-1][1] + 16:
            ranges[-1][1] = max(ranges[-1][1], end)
        else:
            ranges.append([start, end])
    return ranges


def timeline(rows, width):
    """Columns of the timeline, from 0 on."""
    end = [(i + 1) * width for i in range(N_BUCKETS)]
    most, last = [0] * N_BUCKETS, [0] * N_BUCKETS
    seen = list(levels(rows))
    before, k = 0, 0
    for i in range(N_BUCKETS):
        most[i] = before
        while k < len(seen) and seen[k][0] < end[i]:
            before = seen[k][1]
            most[i] = max(most[i], before)
            k += 1
        last[i] = before
    made = collections.Counter(x.at // width for x in rows)
    freed = collections.Counter(x.freed // width for x in rows if not x.is_leaked)
    temporary = collections.Counter(x.at // width for x in rows if x.is_temporary)
    return {"temporary": [temporary[i] for i in range(N_BUCKETS)], "max_bytes": most, "last_bytes": last,
            "allocations": [made[i] for i in range(N_BUCKETS)],
            "releases": [freed[i] for i in range(N_BUCKETS)]}


class Views(mp.TestCase):
    def record(self, name, argv, **env):
        path = self.dir / f"{name}.dat"
        done = subprocess.run([mp.CLI, "run", "-o", path, "--", *argv], capture_output=True,
                              check=False, env={**mp.clean_environment(), **env},
                              timeout=mp.TIMEOUT_S)
        self.assertEqual(0, done.returncode, done.stderr)
        return path

    def record_killed_in_realloc(self):
        """Kills until a kill hits a realloc: then more is live than the blocks of the dump's rows
        would be if the realloc had released its old one."""
        for i in range(60):
            path = self.dir / f"killed{i}.dat"
            env = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
                   "MEMORY_PROFILER_OUTPUT": str(path)}
            with subprocess.Popen([mp.program("reallocs_forever")], stdout=subprocess.PIPE,
                                  env=env) as child:
                child.stdout.readline()
                time.sleep(0.02 + i % 7 * 0.003)
                child.kill()
            if self.is_cut_in_realloc(path):
                return path
            path.unlink()
        raise AssertionError("no kill of 60 hit a realloc")

    @staticmethod
    def is_cut_in_realloc(path):
        facts = mp.info(path)
        answers = subprocess.run([mp.CLI, "dump", path], capture_output=True, check=True,
                                 text=True, env=mp.clean_environment()).stdout
        n_ended = sum('"e":"realloc"' in line for line in answers.splitlines())
        # a realloc that was begun counts as an event, one that ended as a reallocation, too
        return facts["events"] > facts["allocations"] + facts["frees"] + n_ended

    def record_with_lost_events(self):
        """A block of events in the middle is overwritten."""
        path = self.record("lost", ["perl", "-e", "my %h; $h{$_ % 1500} = [1 .. $_ % 30] for 1 .. 9000;"],
                           MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT="0")
        whole, n_events = path.read_bytes(), mp.info(path)["events"]
        for middle in range(16384, len(whole), 16384):
            data = bytearray(whole)
            data[middle:middle + 64] = bytes(64)
            path.write_bytes(data)
            facts = mp.info(path)
            if n_events // 5 < facts["events"] < n_events:
                return path
        raise AssertionError("no block of events was hit")

    def record_culled(self):
        code = ("my %h; for (1 .. 3000) { my @a = (1 .. $_ % 30); $h{$_} = [1 .. $_ % 9] if $_ % 5 == 0 }"
                "select(undef, undef, undef, 0.3); delete $h{5};")
        return self.record("culled", ["perl", "-e", code],
                           MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS="1",
                           MEMORY_PROFILER_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD="20")

    def compare(self, server, recording, rows, parameters, culled=None):
        """All views of one filter."""
        def ask(path, **more):
            return server.json(f"/api/v1/{recording}/{path}", **{**parameters, **more})

        where = f"{recording} {parameters}"
        total = cost(rows)
        sites = {k: n + (culled or {}).get(k, 0) for k, n in total.items()}
        summary = ask("summary")
        if parameters:
            self.assertEqual(total, cost_of(summary["matched"]), where)
        else:
            self.assertEqual(total["allocations"], summary["rows"], where)
            for key in ("bytes", "leaked_count", "leaked_bytes", "temporary_count"):
                self.assertEqual(sites[key], summary[key], (where, key))
        peak = max(levels(rows), key=lambda x: (x[1], -x[0]), default=(0, 0, 0))
        found = ask("peak")
        self.assertEqual(peak[1], found["bytes"], where)
        if peak[1]:
            self.assertEqual((peak[0], peak[2]), (found["at_ns"], found["count"]), where)
        for key, of_row in (("stack", lambda x: x.stack), ("size", lambda x: x.size),
                            ("thread", lambda x: x.thread)):
            answer = ask("groups", by=key, count=1000000)
            has_culled = key in ("stack", "thread")
            self.assertEqual(sites if has_culled else total, cost_of(answer["total"]), (where, key))
            if has_culled and culled:
                continue
            groups = [sorted(cost(g).items()) for g in by(rows, of_row).values()]
            self.assertEqual(sorted(groups),
                             sorted(sorted(cost_of(g["cost"]).items()) for g in answer["groups"]),
                             (where, key))
        self.assertEqual(sites, cost_of(ask("tree", depth=1, min_share=0)["total"]), where)
        self.assertEqual(
            (sites["bytes"], sites["leaked_bytes"], sites["allocations"]),
            tuple(ask("flamegraph", min_share=0)[c][0]
                  for c in ("bytes", "leaked_bytes", "allocations")), where)
        for column in ("allocations", "bytes", "leaked_bytes"):
            self.assertEqual(total[column],
                             sum(b["cost"][column] for b in ask("sizes")["buckets"]), where)
        lifetimes = ask("lifetimes")
        self.assertEqual((total["leaked_count"], total["allocations"] - total["leaked_count"]),
                         (lifetimes["never_count"], lifetimes["freed_count"]), where)
        pairs = ask("thread_matrix")["releases"]
        self.assertEqual(sum(x.size for x in rows if not x.is_leaked),
                         sum(p["bytes"] for p in pairs), where)
        page = ask("allocations", count=100000)
        self.assertEqual(len(rows), page["total_count"], where)
        self.assertEqual(
            sorted((x.at, x.address, x.size) for x in rows),
            sorted((a["at_ns"], int(a["address"], 16), a["size"]) for a in page["allocations"]),
            where)
        if not {"from", "to"} & set(parameters):  # there they are the time shown
            self.compare_time(ask, rows, where)
        self.compare_functions(ask, rows, sites, where)
        self.compare_memory(server, recording, ask, rows, parameters)
        self.compare_data(server, recording, rows, parameters, sites)
        if not parameters and not culled["allocations"]:
            chains = ask("chains")
            self.assertEqual((sum(x.is_followed and not x.follows for x in rows),
                              sum(x.follows for x in rows)),
                             (chains["total_chains"], chains["total_reallocations"]), where)
        self.compare_exports(server, recording, rows, parameters, sites)

    def compare_functions(self, ask, rows, sites, where):
        for kind in ("function", "blame", "package", "module", "line", "code"):
            answer = ask("groups", by=kind, count=1000000)
            self.assertEqual(sites, cost_of(answer["total"]), (where, kind))
            for column, value in sites.items():
                self.assertEqual(value, sum(g["cost"][column] for g in answer["groups"]),
                                 (where, kind, column))
        answer = ask("groups", by="free_stack", count=1000000)
        self.assertEqual(cost(rows)["bytes"], sum(g["cost"]["bytes"] for g in answer["groups"]), where)
        known = [g["cost"] for g in ask("groups", by="code", count=1000000)["groups"] if g["key"]]
        answer = ask("functions", count=1000000)
        self.assertEqual(sites, cost_of(answer["total"]), where)
        for column in ("bytes", "allocations", "leaked_bytes", "temporary_count"):
            self.assertEqual(sum(g[column] for g in known),
                             sum(f[f"self_{column}"] for f in answer["functions"]), (where, column))
        outermost = ask("tree", direction="bottom_up", depth=1, min_share=0)
        self.assertEqual(sites, cost_of(outermost["total"]), where)
        self.assertEqual(sites["bytes"], outermost["self_bytes"][0] + sum(outermost["bytes"][1:]), where)

    def compare_memory(self, server, recording, ask, rows, parameters):
        """What is alive at a moment, and where blocks ever were."""
        where = f"{recording} {parameters}"
        held = ask("fragmentation", at="50%")
        now = alive(rows, held["at_ns"])
        self.assertEqual((len(now), sum(x.size for x in now), sum(x.size + x.extra for x in now)),
                         (held["blocks"], held["requested_bytes"], held["usable_bytes"]), where)
        parts = ask("occupancy", at="50%")["regions"]
        self.assertEqual((len(now), sum(x.size + x.extra for x in now)),
                         (sum(p["blocks"] for p in parts), sum(p["used_bytes"] for p in parts)), where)
        self.assertEqual(merged(rows), server.json(f"/data/{recording}/regions", **parameters)["regions"],
                         where)

    def compare_data(self, server, recording, rows, parameters, sites):
        """The API of the older server."""
        def ask(path, **more):
            return server.json(f"/data/{recording}/{path}", **{**parameters, **more})

        where = f"{recording} {parameters}"
        top = ask("tree")
        self.assertEqual((sites["bytes"], sites["allocations"]), (top["size"], top["count"]), where)
        page = ask("allocations", count=1)
        self.assertEqual(len(rows), page["total_count"], where)
        self.assertEqual(len(rows), len(ask("raw_allocations")), where)
        groups = ask("allocation_groups", count=1000000)["allocations"]
        self.assertEqual(
            (sites["bytes"], sites["allocations"]),
            (sum(g["only_matched"]["size"] for g in groups),
             sum(g["only_matched"]["allocated_count"] for g in groups)), where)
        shown = ask("timeline")
        self.assertEqual((max((n for _, n, _ in levels(rows)), default=0), sites["allocations"]),
                         (max(shown["allocated_size"]), sum(shown["allocations"])), where)

    def compare_time(self, ask, rows, where):
        answer = ask("timeline", buckets=N_BUCKETS)
        expected = timeline(rows, answer["bucket_ns"])
        is_culled = sum(answer["culled"]) > 0  # test_cull_figures.py is about their times
        for column, values in expected.items():
            found = answer[column][:N_BUCKETS]
            if is_culled and column in ("allocations", "releases"):
                found = [n - culled for n, culled in zip(found, answer["culled"])]
            if not is_culled or column != "temporary":
                self.assertEqual(values, found, (where, column))
        answer = ask("timeline", buckets=N_BUCKETS, by="thread", top=2)
        self.assertEqual(expected["last_bytes"], [sum(column) for column in zip(
            *(s["values"][:N_BUCKETS] for s in answer["series"]))], where)
        growth = ask("growth", **{"from": "25%", "to": "75%", "by": "stack"})
        for key in ("from", "to"):
            at = growth[f"{key}_ns"]
            now = alive(rows, at)
            self.assertEqual((sum(x.size for x in now), len(now)),
                             (growth[f"{key}_bytes"], growth[f"{key}_count"]), where)

    def compare_exports(self, server, recording, rows, parameters, of_sites):
        where = f"{recording} {parameters}"

        def export(name):
            answer = server.get(f"/data/{recording}/export/{name}?" + urllib.parse.urlencode(parameters))
            self.assertEqual(200, answer.status, (name, where, answer.body[:300]))
            return answer.body.decode()

        csv = export("csv").splitlines()[1:]
        self.assertEqual(len(rows), len(csv), where)
        self.assertEqual(sum(x.size for x in rows), sum(int(c.split(",")[2]) for c in csv), where)
        collapsed = export("collapsed").splitlines()
        self.assertEqual(of_sites["bytes"],
                         sum(int(line.rsplit(" ", 1)[1]) for line in collapsed), where)
        self.assertEqual(len(rows), len(json.loads(export("json"))["allocations"]), where)
        profile = json.loads(export("speedscope"))["profiles"][0]
        self.assertEqual(of_sites["bytes"], sum(profile["weights"]), where)
        root = export("ascii-tree").splitlines()[1].replace(",", "").split()
        self.assertEqual(str(of_sites["allocations"]), root[root.index("[all]") - 3], where)
        sites = json.loads(export("dhat"))["pps"]
        self.assertEqual((of_sites["bytes"], of_sites["allocations"]),
                         (sum(p["tb"] for p in sites), sum(p["tbk"] for p in sites)), where)
        # alive at the end, which is the last moment: what was never freed
        self.assertEqual(sum(x.size for x in rows if x.is_leaked),
                         sum(p["eb"] for p in sites), where)

    @staticmethod
    def wait_until_ready(server):
        """name of the file -> id"""
        end = time.monotonic() + mp.TIMEOUT_S
        while True:
            listed = server.json("/api/v1/recordings")["recordings"]
            if all(x["state"] == "ready" for x in listed):
                return {x["file"]: x["id"] for x in listed}
            if time.monotonic() > end or any(x["state"] == "failed" for x in listed):
                raise AssertionError(listed)
            time.sleep(0.1)

    def test_views_equal_the_dump(self):
        r = random.Random(18)
        paths = [
            self.record("perl", ["perl", "-e", "my %h; $h{$_} = [1 .. $_ % 9] for 1 .. 400; delete $h{7};"]),
            self.record("sqlite3", ["sqlite3", ":memory:", SQL]),
            self.record("threads", [mp.program("known_threads"), "300"]),
            self.record_killed_in_realloc(),
            self.record_with_lost_events(),
            self.record_culled(),
        ]
        with mp_server.Server(*paths) as server:
            listed = self.wait_until_ready(server)
            for path in paths:
                rows, culled = rows_of(path)
                self.assertEqual(path.stem == "culled", culled["allocations"] > 0, path)
                recording = listed[path.name]
                end_ns = server.json(f"/api/v1/{recording}/summary")["duration_ns"]
                self.compare(server, recording, rows, {}, culled)
                for _ in range(N_FILTERS):
                    parameters, is_match = random_filter(r, rows, end_ns)
                    self.compare(server, recording, [x for x in rows if is_match(x)], parameters)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""The paths about blocks and mappings: sizes, lifetimes, realloc chains, occupancy, maps, calls. What they say is
compared with the allocations that the server lists and with the events of the recording, counted here."""
import collections

import mp
from mp_server_case import ServerCase

FILES = ("demo.dat", "work.dat", "maps.dat")
COSTS = {"peak": "peak_bytes", "leaked": "leaked_bytes", "allocs": "allocations",
         "temp": "temporary_count", "bytes": "bytes"}


def address(text):
    return int(text, 16)


class BlockCase(ServerCase):
    def rows(self, file, **parameters):
        """All allocations, by id."""
        answer = self.v1(file, "allocations", count=100000, **parameters)
        self.assertEqual(answer["total_count"], len(answer["allocations"]))
        return {row["id"]: row for row in answer["allocations"]}

    def error(self, file, target, status, parameter):
        answer = self.server.get(f"/api/v1/{self.ids[file]}/{target}")
        self.assertEqual(status, answer.status, answer.body)
        self.schemas.check_error(answer.json())
        self.assertEqual(parameter, answer.json()["parameter"])
        self.assertTrue(answer.json()["valid"])


class Orders(BlockCase):
    KEYS = {
        "timestamp": lambda row: row["at_ns"],
        "address": lambda row: address(row["address"]),
        "size": lambda row: row["size"],
        "usable": lambda row: row["usable"],
        "released": lambda row: row.get("released_ns", 1 << 64),
        "chain_length": lambda row: row["chain_length"],
        "thread": lambda row: row["thread"],
        "stack": lambda row: row["stack"],
        "kind": lambda row: ["malloc", "calloc", "aligned", "realloc"].index(row["kind"]),
    }

    def test_every_column_sorts(self):
        for file in FILES:
            rows = self.rows(file).values()
            for name, key in self.KEYS.items():
                up = sorted(rows, key=lambda row, key=key: (key(row), row["id"]))
                for order, expected in (("asc", up), ("dsc", up[::-1])):
                    with self.subTest(file=file, sort_by=name, order=order):
                        page = self.v1(file, "allocations", sort_by=name, order=order, skip=3,
                                       count=40)["allocations"]
                        self.assertEqual([row["id"] for row in expected[3:43]],
                                         [row["id"] for row in page])


class Histograms(BlockCase):
    def test_sizes_add_up(self):
        for file in FILES:
            for cost, field in COSTS.items():
                for more in ({}, {"size_min": 20, "lifetime": "only_temporary"}):
                    self.check_sizes(file, cost, field, more)

    def check_sizes(self, file, cost, field, more):
        rows = self.rows(file, **more).values()
        answer = self.v1(file, "sizes", cost=cost, top=2, **more)
        self.assertLessEqual(len(answer["sites"]), 2)
        parts = [0] * len(answer["sites"])
        end = None
        for bucket in answer["buckets"]:
            inside = [r for r in rows if bucket["min"] <= r["size"] <= bucket["max"]]
            self.assertEqual(len(inside), bucket["cost"]["allocations"])
            self.assertEqual(sum(r["size"] for r in inside), bucket["cost"]["bytes"])
            self.assertEqual(sum("released_ns" not in r for r in inside),
                             bucket["cost"]["leaked_count"])
            self.assertLessEqual(sum(bucket["parts"]), bucket["cost"][field])
            self.assertIn(end, (None, bucket["min"] - 1))  # no gaps
            end = bucket["max"]
            parts = [a + b for a, b in zip(parts, bucket["parts"])]
        self.assertEqual(len(rows), sum(b["cost"]["allocations"] for b in answer["buckets"]))
        self.assertEqual([site["value"] for site in answer["sites"]], parts)
        self.assertEqual(sorted(parts, reverse=True), parts)

    def test_parts_are_those_of_the_function_to_blame(self):
        answer = self.v1("demo.dat", "sizes", cost="bytes", top=32)
        total = self.v1("demo.dat", "summary")["bytes"]
        by_name = collections.Counter()
        for group in self.v1("demo.dat", "groups", by="stack", count=10**6)["groups"]:
            by_name[group["blame"]["function"]] += group["cost"]["bytes"]
        ours = collections.Counter()
        for site in answer["sites"]:
            ours[site["blame"]["function"]] += site["value"]
        self.assertEqual(by_name, ours)
        self.assertEqual(total, sum(sum(b["parts"]) for b in answer["buckets"]))

    def test_lifetimes_and_their_median(self):
        for file in FILES:
            for more in ({}, {"size_min": 30}, {"lifetime": "only_leaked"}):
                rows = self.rows(file, **more).values()
                answer = self.v1(file, "lifetimes", **more)
                lives = sorted(r["released_ns"] - r["at_ns"] for r in rows if "released_ns" in r)
                self.assertEqual(len(lives), answer["freed_count"])
                self.assertEqual(len(rows) - len(lives), answer["never_count"])
                self.assertEqual(sum(r["size"] for r in rows if "released_ns" not in r),
                                 answer["never_bytes"])
                self.assertEqual(lives[(len(lives) - 1) // 2] if lives else None,
                                 answer["median_ns"])
                for bucket in answer["buckets"]:
                    inside = [r for r in rows if "released_ns" in r and bucket["min_ns"] <=
                              r["released_ns"] - r["at_ns"] <= bucket["max_ns"]]
                    self.assertEqual(len(inside), bucket["count"])
                    self.assertEqual(sum(r["size"] for r in inside), bucket["bytes"])
                self.assertEqual(len(lives), sum(b["count"] for b in answer["buckets"]))

    def test_wrong_values(self):
        self.error("demo.dat", "sizes?cost=money", 400, "cost")
        self.error("demo.dat", "sizes?top=33", 400, "top")
        self.error("demo.dat", "lifetimes?size_min=x", 400, "size_min")


class Chains(BlockCase):
    def chains(self, file):
        """The realloc chains of a recording, from its events: lists of ids of allocations."""
        id_of = {(address(r["address"]), r["at_ns"]): n for n, r in self.rows(file).items()}
        live, chains = {}, []
        for e in mp.events(self.dir / file):
            if e["e"] == "free":
                live.pop(e["addr"], None)
            elif e["e"] == "alloc":
                live[e["addr"]] = [id_of[address(e["addr"]), e["t"]]]
            elif e["e"] == "realloc":
                chain = live.pop(e["old"])
                if len(chain) == 1:
                    chains.append(chain)
                chain.append(id_of[address(e["addr"]), e["t"]])
                live[e["addr"]] = chain
        return chains

    def test_what_reallocs_copied(self):
        seen = 0
        for file in FILES:
            rows, chains = self.rows(file), self.chains(file)
            sites = collections.defaultdict(lambda: collections.Counter())
            for chain in chains:
                site = sites[rows[chain[0]]["stack"]]
                site["chains"] += 1
                site["longest"] = max(site["longest"], len(chain))
                for old, new in zip((rows[n] for n in chain), (rows[n] for n in chain[1:])):
                    site["reallocations"] += 1
                    if old["address"] != new["address"]:
                        site["moved"] += 1
                        if not (old["is_mmaped"] and new["is_mmaped"]):
                            site["copied_bytes"] += min(old["size"], new["size"])
            answer = self.v1(file, "chains", sort_by="copied_bytes")
            self.assertEqual(len(sites), answer["total_count"])
            self.assertEqual(len(chains), answer["total_chains"])
            self.assertEqual(sum(s["copied_bytes"] for s in sites.values()),
                             answer["total_copied_bytes"])
            copied = [row["copied_bytes"] for row in answer["rows"]]
            self.assertEqual(sorted(copied, reverse=True), copied)
            for row in answer["rows"]:
                for name, value in sites[row["stack"]].items():
                    self.assertEqual(value, row[name], name)
                self.check_advice(row, rows, chains)
            seen += len(chains)
        self.assertGreater(seen, 2)  # or the test says nothing

    def check_advice(self, row, rows, chains):
        mine = [[rows[n] for n in c] for c in chains if rows[c[0]]["stack"] == row["stack"]]
        last = [chain[-1]["size"] for chain in mine]
        self.assertEqual(max(last), row["max_last_bytes"])
        self.assertAlmostEqual(sum(last) / len(last), row["last_bytes"], delta=0.5)
        enough = lambda n: sum(size <= n for size in last) * 10 >= len(last) * 9
        self.assertTrue(enough(row["reserve_bytes"]))
        self.assertFalse(row["reserve_bytes"] > 1 and enough(row["reserve_bytes"] // 2))
        saved = sum(min(old["size"], new["size"]) for chain in mine
                    for old, new in zip(chain, chain[1:])
                    if old["address"] != new["address"] and new["size"] <= row["reserve_bytes"]
                    and not (old["is_mmaped"] and new["is_mmaped"]))
        self.assertEqual(saved, row["saved_bytes"])
        self.assertAlmostEqual(saved / row["copied_bytes"] if row["copied_bytes"] else 0,
                               row["saved_share"], places=5)

    def test_the_chain_of_each_allocation(self):
        for file in FILES:
            rows = self.rows(file)
            for chain in self.chains(file)[:5]:
                for n in (chain[0], chain[-1]):
                    answer = self.v1(file, f"chain/{n}")
                    self.assertEqual(chain, [r["id"] for r in answer["allocations"]])
                    self.assertEqual(len(chain), answer["total_count"])
                    self.assertEqual([rows[n] for n in chain], answer["allocations"])
                    self.assertIn(str(rows[n]["stack"]), answer["stacks"])
                if len(chain) > 2:
                    answer = self.v1(file, f"chain/{chain[0]}", skip=1, count=1)
                    self.assertEqual(chain[1:2], [r["id"] for r in answer["allocations"]])
            alone = next(n for n, r in rows.items() if r["chain_length"] == 1)
            self.assertEqual([rows[alone]], self.v1(file, f"chain/{alone}")["allocations"])

    def test_wrong_values(self):
        for row in ("999999999", "x", "-1"):
            self.error("demo.dat", f"chain/{row}", 404, "row")
        self.error("demo.dat", "chains?sort_by=name", 400, "sort_by")


class Occupancy(BlockCase):
    def test_cells_hold_what_blocks_take(self):
        for file in FILES:
            rows = self.rows(file).values()
            duration = self.v1(file, "summary")["duration_ns"]
            for at in ({}, {"at": "0%"}, {"at": f"{duration // 2}ns"}, {"at": "100%"}):
                for cells in (1, 7, 600):
                    answer = self.v1(file, "occupancy", cells=cells, **at)
                    with self.subTest(file=file, cells=cells, **at):
                        self.check(answer, cells, rows)

    def check(self, answer, max_cells, rows):
        at = answer["at_ns"]
        alive = [r for r in rows if r["at_ns"] <= at < r.get("released_ns", 1 << 64)]
        self.assertEqual(len(alive), sum(r["blocks"] for r in answer["regions"]))
        self.assertLessEqual(sum(len(r["used"]) for r in answer["regions"]), max_cells)
        for region in answer["regions"]:
            cell, start, end = region["cell_bytes"], address(region["start"]), address(region["end"])
            used = collections.Counter()
            for row in alive:
                low = address(row["address"])
                high = low + max(row["usable"], 1)
                if not start <= low < end:
                    continue
                self.assertLessEqual(high, end)
                for n in range((low - start) // cell, (high - 1 - start) // cell + 1):
                    used[n] += (min(high, start + (n + 1) * cell) -
                                max(low, start + n * cell))
            self.assertEqual(sum(used.values()), region["used_bytes"])
            for n, share in enumerate(region["used"]):
                whole = min(cell, end - start - n * cell)
                self.assertAlmostEqual(used[n] / whole, share, delta=0.0000011)
                self.assertEqual(used[n] == 0, share == 0)
                self.assertEqual(used[n] == whole, share == 1)

    def test_the_heap_has_its_name(self):
        names = [r["name"] for r in self.v1("demo.dat", "occupancy")["regions"]]
        self.assertIn("[heap]", names)

    def test_wrong_values(self):
        self.error("demo.dat", "occupancy?cells=0", 400, "cells")
        self.error("demo.dat", "occupancy?cells=65537", 400, "cells")
        self.error("demo.dat", "occupancy?at=noon", 400, "at")


class Maps(BlockCase):
    PAGES = 37 * 4096  # as tests/programs/maps_memory.c has it

    def test_what_is_mapped_is_what_the_recorder_saw(self):
        for file in FILES:
            recorded = self.data(file, "maps")["maps"]
            answer = self.v1(file, "maps", state="present")
            seen = [m for m in answer["maps"] if m["seen"]]
            self.assertEqual(sum(m["size"] for m in recorded), sum(m["size"] for m in seen))
            at = {m["address"]: m for m in recorded}
            for m in seen:
                line = next(r for r in recorded
                            if r["address"] <= address(m["address"]) < r["address"] + r["size"])
                self.assertEqual(line["name"], m["name"])
                self.assertEqual("".join((
                    "r" if line["is_readable"] else "-", "w" if line["is_writable"] else "-",
                    "x" if line["is_executable"] else "-", "s" if line["is_shared"] else "p")),
                    m["perms"])
            self.assertTrue(set(at) <= {address(m["address"]) for m in seen})
            self.assertGreater(answer["looked_ns"], 0)

    def test_what_calls_made_and_removed(self):
        calls = {c["kind"]: c for c in
                 self.v1("maps.dat", "map_calls", order="dsc")["calls"]}
        answer = self.v1("maps.dat", "maps", state="removed", sort_by="made")
        self.assertEqual("memory map and calls", answer["source"])
        first, *rest = answer["maps"]
        # 37 pages were mapped, and moved or made longer; then all went.
        self.assertEqual(calls["mmap"]["at_ns"], first["made_ns"])
        self.assertEqual(calls["mmap"]["address"], first["address"])
        self.assertEqual(calls["mmap"]["stack"], first["stack"])
        self.assertEqual("rw-p", first["perms"])
        self.assertEqual(self.PAGES, first["size"])
        mine = [m for m in rest if m["made_ns"] == calls["mremap"]["at_ns"]]
        moved = calls["mremap"]["address"] != first["address"]
        self.assertEqual(3 * self.PAGES if moved else 2 * self.PAGES, sum(m["size"] for m in mine))
        self.assertEqual(calls["mremap" if moved else "munmap"]["at_ns"], first["removed_ns"])
        self.assertTrue(all(m["perms"] == "rw-p" for m in mine))
        self.assertTrue(all(m["removed"] and not m["seen"] for m in answer["maps"]))

    def test_pages_and_orders(self):
        everything = self.v1("maps.dat", "maps")
        self.assertEqual(everything["total_count"], len(everything["maps"]))
        sizes = sorted((m["size"] for m in everything["maps"]), reverse=True)
        page = self.v1("maps.dat", "maps", sort_by="size", order="dsc", skip=2, count=5)
        self.assertEqual(sizes[2:7], [m["size"] for m in page["maps"]])
        self.assertEqual(everything["total_count"], page["total_count"])
        for order in ("asc", "dsc"):
            made = [m["made_ns"] for m in self.v1("maps.dat", "maps", sort_by="made",
                                                  order=order)["maps"]]
            known = [n for n in made if n is not None]
            self.assertTrue(known)
            self.assertEqual(sorted(known, reverse=order == "dsc"), made[:len(known)])
        large = self.v1("maps.dat", "maps", size_min=100000)["maps"]
        self.assertEqual(sorted(n for n in sizes if n >= 100000),
                         sorted(m["size"] for m in large))

    def test_calls_are_those_of_the_events(self):
        kinds = ("mmap", "munmap", "mremap", "brk", "mallopt", "malloc_trim")
        events = [e for e in mp.events(self.maps) if e["e"] in kinds]
        answer = self.v1("maps.dat", "map_calls")
        self.assertTrue(answer["gathered"])
        self.assertEqual([(e["t"], e["e"]) for e in events],
                         [(c["at_ns"], c["kind"]) for c in answer["calls"]])
        for kind in kinds:
            some = self.v1("maps.dat", "map_calls", kind=kind)
            self.assertEqual([c for c in answer["calls"] if c["kind"] == kind], some["calls"])
        by_size = self.v1("maps.dat", "map_calls", sort_by="size", order="dsc", size_min=1)
        sizes = [c["bytes"] for c in by_size["calls"]]
        self.assertEqual(sorted(sizes, reverse=True), sizes)
        self.assertEqual(3 * self.PAGES, sizes[0])
        mallopt = self.v1("maps.dat", "map_calls", kind="mallopt")["calls"][0]
        self.assertEqual("M_MXFAST = 64, accepted", mallopt["detail"])
        self.assertIsNone(mallopt["address"])
        mapped = self.v1("maps.dat", "map_calls", kind="mmap")["calls"][0]
        self.assertEqual("rw- private, anonymous", mapped["detail"])
        self.assertEqual("main", mapped["blame"]["function"])

    def test_not_asked_for_and_nothing_happened_are_two_things(self):
        self.assertFalse(self.v1("demo.dat", "map_calls")["gathered"])

    def test_wrong_values(self):
        self.error("maps.dat", "map_calls?kind=open", 400, "kind")
        self.error("maps.dat", "maps?sort_by=resident", 400, "sort_by")
        self.error("maps.dat", "maps?state=gone", 400, "state")
        self.error("maps.dat", "maps?count=100001", 400, "count")


if __name__ == "__main__":
    mp.main()

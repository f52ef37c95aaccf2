"""A server on three recordings, for tests of what it answers."""
import pathlib
import shutil
import tempfile
import unittest

import jsonschema

import mp
from mp_server import Server


def naive_rows(path):
    """The allocations of a recording, paired here from its events: dicts in order of alloc."""
    rows, live = [], {}
    last = 0

    def end(addr, event):
        row = live.pop(addr, None)
        if row is not None:
            row["free"] = event["t"]
        return row

    for e in mp.events(path):
        last = max(last, e["t"])
        if e["e"] == "free" or e["e"] == "realloc_untracked":
            end(e.get("addr", e.get("old")), e)
        elif e["e"] == "realloc":
            end(e["old"], e)
        if e["e"] in ("alloc", "realloc"):
            row = {"alloc": e["t"], "free": None, "size": e["size"], "addr": e["addr"],
                   "tid": e["tid"], "depth": len(e["stack"])}
            rows.append(row)
            live[e["addr"]] = row
    return rows


class Schemas:
    """Checks answers against the types of the OpenAPI document."""

    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver("", document)

    def check(self, path, value):
        operation = self.document["paths"][path]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(value)

    def check_error(self, value):
        schema = {"$ref": "#/components/schemas/Error"}
        jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(value)


class ServerCase(unittest.TestCase):
    """Recordings and a server that all tests of the class ask."""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="mp-server-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.demo = cls.record("demo.dat", mp.program("demo"))
        cls.maps = cls.record("maps.dat", mp.program("maps_memory"),
                              MEMORY_PROFILER_GATHER_MMAP_CALLS="1")
        cls.work = cls.record("work.dat", mp.program("workload"), "1000", "3")
        cls.server = Server(cls.maps, cls.demo, cls.work)
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.end)
        cls.ids = {entry["file"]: entry["id"] for entry in cls.ready(cls.server)}
        cls.schemas = Schemas(cls.server.json("/api/v1/openapi.json"))

    @classmethod
    def record(cls, name, *argv, **env):
        path = cls.dir / name
        full = {**mp.clean_environment(), "LD_PRELOAD": str(mp.LIBRARY),
                "MEMORY_PROFILER_OUTPUT": str(path), **env}
        mp.run(argv, full, cwd=cls.dir)
        assert path.exists(), argv
        return path

    @staticmethod
    def ready(server):
        """/list, once everything is loaded; asking a recording waits for it."""
        for entry in server.json("/list"):
            server.get(f"/data/{entry['id']}/mallopts")
        return server.json("/list")

    def data(self, file, path, **parameters):
        return self.server.json(f"/data/{self.ids[file]}/{path}", **parameters)

    def v1(self, file, path, **parameters):
        return self.server.json(f"/api/v1/{self.ids[file]}/{path}", **parameters)

#!/usr/bin/env python3
"""`memory-profiler-cli cache`: stores of real recordings are listed and removed."""
import json
import pathlib
import subprocess

import mp

MAKE_STORE = mp.BUILD / "tests/truth/make_store"


class Cache(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.dir.resolve()
        self.xdg = self.folder / "xdg"
        self.env = {**mp.clean_environment(), "XDG_CACHE_HOME": str(self.xdg)}
        self.recording = self.folder / "app.dat"
        done = subprocess.run([mp.CLI, "run", "-o", self.recording, "--", mp.program("demo")],
                              capture_output=True, check=False, env=self.env, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        self.beside = self.folder / "app.dat.store"

    def cache(self, *args, code=0):
        done = subprocess.run([mp.CLI, "cache", *map(str, args)], capture_output=True, text=True,
                              check=False, env=self.env, timeout=60)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def listed(self, *files):
        return [json.loads(line) for line in self.cache("list", "--json", *files).splitlines()]

    def make_store(self):
        done = subprocess.run([MAKE_STORE, self.recording], capture_output=True, text=True,
                              check=False, env=self.env, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        return pathlib.Path(done.stdout.strip())

    def test_nothing_is_listed_as_nothing(self):
        self.assertEqual([], self.listed())
        self.assertEqual([], self.listed(self.recording))
        self.assertIn("0 stores", self.cache("list"))
        self.assertIn("removed 0 stores", self.cache("clear"))

    def test_a_store_beside_its_recording(self):
        self.assertEqual(self.beside.resolve(), self.make_store())
        self.assertEqual([], self.listed())
        (item,) = self.listed(self.recording)
        self.assertEqual("good", item["state"])
        self.assertEqual(str(self.beside.resolve()), item["store"])
        self.assertIsNone(item["names"])
        self.assertEqual(self.beside.stat().st_size, item["bytes"])
        self.assertEqual(self.recording.stat().st_size, item["recording_bytes"])
        self.assertTrue(item["program"].endswith("/demo"), item)
        self.assertGreater(item["rows"], 0)
        self.assertIn(str(self.beside.resolve()), self.cache("list", self.recording))
        with open(self.recording, "ab") as f:
            f.write(b"more")
        self.assertEqual(["stale"], [i["state"] for i in self.listed(self.recording)])
        self.cache("clear")  # of the cache folder: not this one
        self.assertTrue(self.beside.exists())
        self.assertIn("removed 1 store,", self.cache("clear", self.recording))
        self.assertFalse(self.beside.exists())
        self.assertTrue(self.recording.exists())

    def test_a_store_in_the_cache_folder(self):
        self.beside.mkdir()  # the name is taken
        store = self.make_store()
        self.assertEqual(self.xdg / "memory-profiler", store.parent)
        self.assertEqual(0o700, store.parent.stat().st_mode & 0o777)
        self.assertEqual(0o600, store.stat().st_mode & 0o777)
        self.assertEqual([str(store)], [i["store"] for i in self.listed()])
        self.assertEqual([str(store)], [i["store"] for i in self.listed(self.recording)])
        self.assertEqual([], self.listed(self.folder / "other.dat"))
        self.assertIn("removed 0 stores", self.cache("clear", self.folder / "other.dat"))
        self.recording.unlink()
        self.assertEqual(["stale"], [i["state"] for i in self.listed(self.recording)])
        self.assertIn("removed 1 store,", self.cache("clear"))
        self.assertFalse(store.exists())
        self.assertTrue(self.beside.is_dir())

    def test_damaged_and_old_stores_differ(self):
        self.beside.mkdir()
        store = self.make_store()
        data = store.read_bytes()
        store.write_bytes(data[:-1])
        self.assertEqual(["damaged"], [i["state"] for i in self.listed()])
        store.write_bytes(data[:8] + b"\xff" + data[9:])
        self.assertEqual(["version"], [i["state"] for i in self.listed()])
        self.assertIn("version", self.cache("list"))
        self.assertIn("removed 1 store,", self.cache("clear"))
        self.assertEqual([], self.listed())

    def test_usage(self):
        self.assertIn("neither list nor clear", self.cache("empty", code=2))
        self.cache(code=2)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Recordings made from recordings: strip, squeeze, repack, extract, analyze-size, postprocess."""
import fcntl
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import termios
import threading
import time

import mp
from test_death import DEATHS

# A page of figures that must not change when a recording is written anew.
TOTALS = ("allocations", "reallocations", "frees", "bytes_allocated", "live_count", "live_bytes",
          "peak_bytes", "peak_at_ns", "unknown_frees", "duplicate_allocations", "stacks", "ended",
          "deepest_stack", "truncated_stacks", "events", "threads", "modules", "complete",
          "duration_ns", "mmaps", "markers", "lost_events", "started_at", "samples")
WORKLOAD = """
import json, threading
keep = []
def work():
    for i in range(60):
        data = json.loads(json.dumps({str(k): [k] * 5 for k in range(100)}))
        if i % 10 == 0:
            keep.append(data)
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
GROWING = """
import threading, time
def work():
    while True:
        [bytearray(5000 + i) for i in range(50)]
        time.sleep(0.0005)
[threading.Thread(target=work).start() for _ in range(2)]
time.sleep(0.2)
print("ready", flush=True)
"""


def cli(*args, code=0, **how):
    """Runs a command; it must end with the given status. Returns (stdout, stderr)."""
    done = subprocess.run([mp.CLI, *map(str, args)], capture_output=True, text=True, check=False,
                          timeout=120, **how)
    if done.returncode != code:
        raise AssertionError(f"{args}: exit {done.returncode}, not {code}: {done.stderr}")
    return done.stdout, done.stderr


def plain(events):
    """Events without the names that a recording may carry."""
    for e in events:
        for frame in e.get("stack", []):
            frame.pop("symbols", None)
    return events


class Chains:
    """The chains of a recording as dump tells them: [first time, last time or None, [sizes]]."""

    def __init__(self, path):
        live, self.all = {}, []
        for e in mp.events(path):
            if e["e"] == "alloc":
                live[e["addr"]] = [e["t"], None, [e["size"]]]
                self.all.append(live[e["addr"]])
            elif e["e"] == "realloc":
                chain = live.pop(e["old"], None)
                if chain is None:
                    chain = [e["t"], None, []]
                    self.all.append(chain)
                chain[2].append(e["size"])
                live[e["addr"]] = chain
            elif e["e"] in ("free", "realloc_untracked") and e["addr"] in live:
                live.pop(e["addr"])[1] = e["t"]

    def sizes(self, keep):
        return sorted(tuple(c[2]) for c in self.all if keep(c))


class Base(mp.TestCase):
    def setUp(self):
        super().setUp()
        self.out = self.dir / "out.dat"

    def record_demo(self):
        return self.record([mp.program("demo")]).recording

    def record_python(self):
        script = self.dir / "work.py"
        script.write_text(WORKLOAD)
        return self.record(["/usr/bin/python3", script]).recording

    def start_growing(self, folder):
        """A program that allocates in two threads until it is killed."""
        script = self.dir / "grow.py"
        script.write_text(GROWING)
        child = subprocess.Popen(
            ["/usr/bin/python3", script], env=self.recorder_environment(folder), cwd=self.dir,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=mp.no_core_dump)
        child.stdout.readline()
        child.stdout.close()
        return child

    def record_killed(self):
        folder = self.new_folder()
        child = self.start_growing(folder)
        child.kill()
        child.wait()
        mp.wait_until_written(*folder.glob("*.dat"))
        return next(folder.glob("*.dat"))

    def assert_same_totals(self, a, b, but=()):
        x, y = mp.info(a), mp.info(b)
        for key in TOTALS:
            if key not in but:
                self.assertEqual(x[key], y[key], key)


class Repack(Base):
    def check(self, recording, *options):
        cli("repack", "-o", self.out, *options, recording)
        self.assert_same_totals(recording, self.out)
        before, after = mp.events(recording), mp.events(self.out)
        self.assertGreater(len(before), 100)
        self.assertEqual(before, after)

    def test_events_of_threads_are_the_same(self):
        self.check(self.record_demo())

    def test_events_of_python_are_the_same(self):
        recording = self.record_python()
        self.check(recording)
        self.assertLess(self.out.stat().st_size, recording.stat().st_size)

    def test_without_compression_and_back(self):
        recording = self.record_demo()
        self.check(recording, "--disable-compression")
        sizes = json.loads(cli("analyze-size", "--json", self.out)[0])
        stored = sum(e["stored_bytes"] for e in sizes["events"])
        self.assertGreaterEqual(stored, sum(e["bytes"] for e in sizes["events"]))
        again = self.dir / "again.dat"
        cli("repack", "-o", again, self.out)
        self.assertEqual(mp.events(recording), mp.events(again))
        self.assertLess(again.stat().st_size, self.out.stat().st_size)

    def test_other_programs(self):
        for name in ("loads_libraries", "maps_memory", "uses_c_api", "alloc_in_signal", "fibers"):
            with self.subTest(name):
                done = self.record([mp.program(name)])
                for recording in done.recordings:
                    cli("repack", "-o", self.out, recording)
                    self.assert_same_totals(recording, self.out)
                    self.assertEqual(mp.events(recording), mp.events(self.out))

    def test_killed_program_stays_killed(self):
        recording = self.record_killed()
        self.check(recording)
        self.assertIn(mp.info(self.out)["ended"], DEATHS)
        chunks = json.loads(cli("analyze-size", "--json", self.out)[0])["chunks"]
        self.assertNotIn("AREA", chunks)

    def test_growing_recording_gives_a_snapshot_of_one_moment(self):
        folder = self.new_folder()
        child = self.start_growing(folder)
        try:
            for command in (["repack"], ["strip"], ["strip", "-t", "0.001"]):
                cli(*command, "-o", self.out, next(folder.glob("*.dat")))
                facts = mp.info(self.out)
                self.assertEqual(0, facts["unknown_frees"], command)
                self.assertEqual(0, facts["duplicate_allocations"], command)
                self.assertEqual(0, facts["lost_blocks"], command)
        finally:
            child.kill()
            child.wait()

    def test_result_does_not_replace_its_source(self):
        recording = self.record_demo()
        before = recording.read_bytes()
        _, words = cli("repack", "-o", recording, recording, code=2)
        self.assertIn("the output is the recording itself", words)
        self.assertEqual(before, recording.read_bytes())
        cli("repack", "-o", self.dir / "copy.dat", recording)
        self.assertEqual(0o600, stat.S_IMODE((self.dir / "copy.dat").stat().st_mode))


class Strip(Base):
    def check(self, recording, threshold_s=None):
        options = [] if threshold_s is None else ["-t", str(threshold_s)]
        cli("strip", "-o", self.out, *options, recording)
        before, after = mp.info(recording), mp.info(self.out)
        for key in ("live_count", "live_bytes", "unknown_frees", "duplicate_allocations", "ended",
                    "mmaps", "munmaps", "markers", "lost_events", "duration_ns", "modules"):
            self.assertEqual(before[key], after[key], key)
        stripped = after["stripped"]
        count = ("allocations", "reallocations")
        self.assertEqual(sum(before[k] for k in count),
                         sum(after[k] for k in count) + stripped["allocations"])
        self.assertEqual(before["bytes_allocated"], after["bytes_allocated"] + stripped["bytes"])

        def keep(chain):
            if chain[1] is None:
                return True
            return threshold_s is not None and chain[1] - chain[0] >= threshold_s * 1e9
        self.assertEqual(Chains(recording).sizes(keep), Chains(self.out).sizes(lambda c: True))
        self.check_stacks(recording)
        return before, after

    def check_stacks(self, recording):
        """What is kept has the stacks that it had."""
        def stacks(path):
            return {(e["t"], e["addr"], e["e"]): [(f["addr"], f["module"]) for f in e["stack"]]
                    for e in mp.events(path, "alloc", "realloc", "free", "mmap", "stack")
                    if "stack" in e}
        full = stacks(recording)
        for key, frames in stacks(self.out).items():
            self.assertEqual(full[key], frames)

    def test_without_threshold_only_leaks_remain(self):
        _, after = self.check(self.record_demo())
        self.assertEqual(0, after["frees"])
        self.assertIsNone(after["stripped"]["threshold_ns"])
        self.assertGreater(after["stripped"]["allocations"], 100)

    def test_with_threshold(self):
        recording = self.record_python()
        for threshold in (0, 0.0001, 0.002, 0.05, 1000):
            with self.subTest(threshold):
                before, after = self.check(recording, threshold)
                self.assertEqual(int(threshold * 1e9), after["stripped"]["threshold_ns"])
                if threshold == 0:
                    self.assertEqual(before["frees"], after["frees"])

    def test_killed_program(self):
        self.check(self.record_killed())
        self.check(self.record_killed(), 0.01)

    def test_other_programs(self):
        for name in ("loads_libraries", "uses_c_api", "alloc_in_signal", "realloc_fails",
                     "toggles_by_signal"):
            with self.subTest(name):
                for recording in self.record([mp.program(name)]).recordings:
                    self.check(recording)

    def test_twice_adds_up(self):
        recording = self.record_demo()
        cli("strip", "-t", "0.0005", "-o", self.out, recording)
        first = mp.info(self.out)["stripped"]
        again = self.dir / "again.dat"
        cli("strip", "-o", again, self.out)
        both, at_once = mp.info(again), self.dir / "at_once.dat"
        cli("strip", "-o", at_once, recording)
        once = mp.info(at_once)
        self.assertEqual(once["stripped"]["allocations"], both["stripped"]["allocations"])
        self.assertEqual(once["stripped"]["bytes"], both["stripped"]["bytes"])
        self.assertGreaterEqual(both["stripped"]["allocations"], first["allocations"])
        self.assertEqual(once["live_bytes"], both["live_bytes"])

    def test_squeeze_is_strip(self):
        recording = self.record_demo()
        cli("strip", "-o", self.out, recording)
        squeezed = self.dir / "squeezed.dat"
        cli("squeeze", "--tmpfile", self.dir / "scratch", "-o", squeezed, recording)
        self.assertEqual(self.out.read_bytes(), squeezed.read_bytes())
        self.assertFalse((self.dir / "scratch").exists())

    def test_threshold_must_be_a_time(self):
        for bad in ("", "x", "-1", "1s", "nan", "1e400"):
            _, text = cli("strip", "-o", self.out, "-t", bad, "in.dat", code=2)
            self.assertIn("seconds", text)


class Extract(Base):
    def test_files_are_those_of_the_machine(self):
        recording = self.record_demo()
        folder = self.dir / "new" / "files"
        text, _ = cli("extract", "-o", folder, recording)
        files = [p for p in folder.rglob("*") if p.is_file()]
        self.assertGreaterEqual(len(files), 2)
        self.assertIn(f"{len(files)} files", text)
        for path in files:
            original = pathlib.Path("/") / path.relative_to(folder)
            self.assert_cut(original.read_bytes(), path.read_bytes())
            self.assertEqual(*(subprocess.run(["nm", "-D", "--line-numbers", p], check=True, capture_output=True).stdout
                               for p in (original, path)))
        self.assertIn(folder / mp.program("demo").lstrip("/"), files)

    def assert_cut(self, original, kept):
        """The same, with zeros in place of code and data."""
        self.assertEqual(len(original), len(kept))
        differing = [k for was, k in zip(original, kept) if was != k]
        self.assertEqual(set(), set(differing) - {0})
        self.assertGreater(len(differing), len(kept) // 100)

    def test_existing_files_stay_without_force(self):
        recording = self.record_demo()
        folder = self.dir / "files"
        cli("extract", "-o", folder, recording)
        victim = next(p for p in folder.rglob("*") if p.is_file())
        victim.write_text("mine")
        _, text = cli("extract", "-o", folder, recording, code=1)
        self.assertIn("--force", text)
        self.assertEqual("mine", victim.read_text())
        cli("extract", "--force", "-o", folder, recording)
        self.assertNotEqual(b"mine", victim.read_bytes())

    def test_links_in_the_folder_are_not_followed(self):
        recording = self.record_demo()
        folder, elsewhere = self.dir / "files", self.dir / "elsewhere"
        folder.mkdir()
        elsewhere.mkdir()
        for top in {p.parts[1] for p in map(pathlib.Path, ("/lib64/x", "/lib/x", mp.program("x")))}:
            (folder / top).symlink_to(elsewhere)
        cli("extract", "-o", folder, recording)
        self.assertEqual([], list(elsewhere.iterdir()))


class AnalyzeSize(Base):
    def test_sums_are_right(self):
        recording = self.record_python()
        sizes = json.loads(cli("analyze-size", "--json", recording)[0])
        facts = mp.info(recording)
        self.assertEqual(recording.stat().st_size, sizes["file_bytes"])
        self.assertEqual(sizes["file_bytes"], sizes["unused_bytes"]
                         + sum(c["bytes"] for c in sizes["chunks"].values()))
        by_name = {e["name"]: e for e in sizes["events"]}
        self.assertEqual(facts["allocations"], sum(by_name[k]["count"] for k in
                                                   ("malloc", "calloc", "aligned")
                                                   if k in by_name))
        stored = sum(e["stored_bytes"] for e in sizes["events"])
        self.assertLess(abs(stored - facts["event_bytes"]), 300)
        lives = sizes["lifetimes"]
        self.assertEqual(facts["live_count"], lives["leaked"]["count"])
        self.assertEqual(facts["live_bytes"], lives["leaked"]["bytes"])
        self.assertEqual(facts["allocations"] + facts["reallocations"],
                         sum(b["count"] for b in lives.values()))
        self.assertEqual(facts["bytes_allocated"], sum(b["bytes"] for b in lives.values()))

    def test_text_names_what_is_large(self):
        text, _ = cli("analyze-size", self.record_demo())
        for word in ("FILE_DATA", "malloc", "< 1 ms", "leaked"):
            self.assertIn(word, text)


class Postprocess(Base):
    def frames(self, path):
        return [f for e in mp.events(path) for f in e.get("stack", [])]

    def names(self, path):
        return {s["function"] for f in self.frames(path) for s in f.get("symbols", [])}

    def test_names_instead_of_binaries(self):
        recording = self.record_demo()
        cli("postprocess", "-o", self.out, recording)
        self.assert_same_totals(recording, self.out)
        self.assertEqual(mp.events(recording), plain(mp.events(self.out)))
        facts = mp.info(self.out)
        self.assertEqual(0, facts["embedded_files"])
        self.assertTrue(facts["has_symbols"])
        self.assertLess(self.out.stat().st_size, recording.stat().st_size / 4)
        self.assertLessEqual({"main", "words_add", "read_line"}, self.names(self.out))
        place = next(s for f in self.frames(self.out) for s in f.get("symbols", [])
                     if s["function"] == "words_add")
        lines = (mp.SRC / "tests/programs/demo.c").read_text().splitlines()
        self.assertTrue(place["source"].endswith("demo.c"))
        self.assertIn("must(", lines[place["line"] - 1])

    def test_names_come_from_the_recording_alone(self):
        """Nothing of the machine is needed: the program is gone."""
        copy = self.dir / "gone"
        shutil.copy(mp.program("demo"), copy)
        recording = self.record([copy]).recording
        copy.unlink()
        cli("postprocess", "--only-recording", "-o", self.out, recording)
        self.assertLessEqual({"main", "words_add"}, self.names(self.out))
        again = self.dir / "again.dat"
        cli("postprocess", "--only-recording", "-o", again, self.out)
        self.assertEqual(mp.events(self.out), mp.events(again))

    def test_names_of_what_strip_left_out_stay(self):
        recording = self.record_demo()
        stripped = self.dir / "stripped.dat"
        cli("strip", "-o", stripped, recording)
        text, _ = cli("postprocess", "-o", self.out, stripped)
        full, _ = cli("postprocess", "-o", self.dir / "full.dat", recording)
        self.assertEqual(mp.info(stripped)["stripped"], mp.info(self.out)["stripped"])

        def n_places(line):
            return int(line.split(" of ")[1].split(" places")[0].replace(" ", ""))
        self.assertGreater(n_places(text), 0.6 * n_places(full))

    @mp.needs_tool("objcopy")
    def test_debug_files_that_are_named(self):
        folder = self.dir / "debug"
        folder.mkdir()
        stripped = self.dir / "stripped_demo"
        subprocess.run(["objcopy", "--only-keep-debug", mp.program("demo"),
                        folder / "demo.debug"], check=True)
        subprocess.run(["objcopy", "--strip-all", mp.program("demo"), stripped], check=True)
        recording = self.record([stripped]).recording
        cli("postprocess", "--only-recording", "-o", self.out, recording)
        self.assertNotIn("words_add", self.names(self.out))
        cli("postprocess", "--only-recording", "-d", folder, "-d", "/nonexistent", "-o", self.out,
            recording)
        self.assertIn("words_add", self.names(self.out))

    def strings(self, path):
        """All bytes of a recording, decompressed."""
        flat = self.dir / "flat.dat"
        cli("repack", "--disable-compression", "-o", flat, path)
        return flat.read_bytes()

    def record_secret(self):
        folder = self.dir / "secret_folder"
        folder.mkdir()
        copy = folder / "secret_program"
        shutil.copy(mp.program("demo"), copy)
        return self.record([copy, "secret_argument"], env={"SECRET_VARIABLE": "secret_value"},
                           cwd=folder).recording

    def test_partial_leaves_no_paths(self):
        recording = self.record_secret()
        host = os.uname().nodename.encode()
        before = self.strings(recording)
        cli("postprocess", "-a", "partial", "-o", self.out, recording)
        after = self.strings(self.out)
        for word in (b"secret_folder", b"secret_argument", b"SECRET_VARIABLE", b"secret_value",
                     b"/lib", b"/usr/", b"tests/programs", host):
            self.assertIn(word, before)
            self.assertNotIn(word, after)
        self.assertIn(b"secret_program", after)
        self.assertIn("words_add", self.names(self.out))
        self.assert_same_totals(recording, self.out)

    def test_full_leaves_no_names(self):
        recording = self.record_secret()
        cli("postprocess", "-a", "full", "-o", self.out, recording)
        after = self.strings(self.out)
        for word in (b"secret", b"SECRET", b"libc", b"demo", b"words_add", b"main", b"pthread",
                     os.uname().nodename.encode(), os.uname().release.encode()):
            self.assertNotIn(word, after)
        names = self.names(self.out)
        self.assertTrue(all(n is None or n.startswith("fn_") for n in names), names)
        self.assert_same_totals(recording, self.out)
        # the same thing has the same name, different ones have different ones
        cli("postprocess", "-o", self.dir / "open.dat", recording)
        pairs = set()
        for a, b in zip(self.frames(self.dir / "open.dat"), self.frames(self.out)):
            pairs |= {(x["function"], y["function"])
                      for x, y in zip(a.get("symbols", []), b.get("symbols", []))}
        self.assertEqual(len(pairs), len({a for a, _ in pairs}))
        self.assertEqual(len(pairs), len({b for _, b in pairs}))

    def test_anonymize_needs_a_level(self):
        _, text = cli("postprocess", "-a", "much", "-o", self.out, "in.dat", code=2)
        self.assertIn("partial", text)


class Robust(Base):
    COMMANDS = (["repack"], ["strip"], ["strip", "-t", "0.001"], ["postprocess", "-a", "partial"])

    def run_all(self, recording, what):
        """No command crashes; a result that was made can be read."""
        for command in (*self.COMMANDS, ["extract", "-f"]):
            out = self.dir / ("files" if command[0] == "extract" else "out.dat")
            done = subprocess.run([mp.CLI, *command, "-q", "-o", out, recording],
                                  capture_output=True, text=True, check=False, timeout=60)
            self.assertIn(done.returncode, (0, 1), f"{what} {command}: {done.stderr}")
            if done.returncode == 1:
                self.assertIn(str(recording), done.stderr)
            elif command[0] != "extract":
                facts = mp.info(out)
                self.assertEqual(0, facts["damaged_bytes"], f"{what} {command}: {facts['notes']}")
        done = subprocess.run([mp.CLI, "analyze-size", recording], capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertIn(done.returncode, (0, 1), f"{what}: {done.stderr}")

    def small(self):
        return self.record([mp.program("known_blocks"), "2000", "100"],
                           options={"INCLUDE_BINARIES": 0}).recording

    def test_cut_files(self):
        data = self.small().read_bytes()
        cut = self.dir / "cut.dat"
        rng = random.Random(7)
        for length in [0, 1, 127, 128, 4095, 4096, 4128] + rng.sample(range(4096, len(data)), 25):
            cut.write_bytes(data[:length])
            self.run_all(cut, f"cut at {length}")

    def test_flipped_bits(self):
        recording = self.small()
        packed = self.dir / "packed.dat"
        cli("strip", "-t", "0.00001", "-o", packed, recording)
        named = self.dir / "named.dat"
        cli("postprocess", "-o", named, packed)
        bad = self.dir / "bad.dat"
        rng = random.Random(11)
        for source in (recording, named):
            data = source.read_bytes()
            for i in range(25):
                changed = bytearray(data)
                for _ in range(1 + i % 5):
                    changed[rng.randrange(128, len(data))] ^= 1 << rng.randrange(8)
                bad.write_bytes(changed)
                self.run_all(bad, f"{source.name} flip {i}")

    def test_damage_is_reported_and_kept(self):
        recording = self.record_python()
        data = bytearray(recording.read_bytes())
        # the payload of an EVENTS chunk: behind its header and the header of the block
        at = data.index(b"MPCK\x03\x00", 4096) + 32 + 64 + 100
        data[at] ^= 0xff
        bad = self.dir / "bad.dat"
        bad.write_bytes(data)
        for command in self.COMMANDS:
            _, text = cli(*command, "-o", self.out, bad)
            self.assertIn("left out", text)
            facts = mp.info(self.out)
            self.assertEqual(0, facts["damaged_bytes"])
            self.assertFalse(facts["complete"])
            self.assertGreaterEqual(facts["lost_blocks"], 1, command)

    def test_foreign_files(self):
        text = self.dir / "text"
        text.write_text("hello")
        for path in (text, self.dir, "/dev/null", self.dir / "missing"):
            for command in (*self.COMMANDS, ["extract"]):
                _, words = cli(*command, "-o", self.dir / "result", path, code=1)
                self.assertIn(str(path), words)
                self.assertFalse((self.dir / "result").is_file())

    def test_usage(self):
        for command in ("repack", "strip", "squeeze", "postprocess", "extract"):
            cli(command, "in.dat", code=2)
            cli(command, "-o", "out", code=2)
            if command != "repack":  # takes all pieces of a run
                cli(command, "-o", "out", "a", "b", code=2)
            cli(command, "--nonsense", code=2)
            text, _ = cli(command, "--help")
            self.assertIn("--output", text)
        cli("analyze-size", code=2)

    def test_output_that_cannot_be_written(self):
        recording = self.small()
        for out in (self.dir / "no" / "x", self.dir, "/dev/null"):
            _, text = cli("repack", "-o", out, recording, code=1)
            self.assertIn(str(out), text)
        before = sorted(p.name for p in self.dir.iterdir())
        _, text = cli("repack", "--disable-compression", "-o", self.out, recording, code=1,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
        self.assertIn(str(self.out), text)
        self.assertEqual(before, sorted(p.name for p in self.dir.iterdir()))


class Long(Base):
    """What takes long: how it shows, and what it leaves when it is ended."""

    def setUp(self):
        super().setUp()
        self.recording = self.record([mp.program("known_blocks"), "3000000", "16"]).recording
        self.commands = {
            "strip": ["strip", "-t", "0.5", "-o", self.out],
            "squeeze": ["squeeze", "-o", self.out],
            "repack": ["repack", "-o", self.out],
            "postprocess": ["postprocess", "-o", self.out],
            "export": ["export", "--no-cache", "-f", "csv", "-o", self.out],
        }

    def test_interrupt_leaves_nothing(self):
        self.out.write_text("old")
        before = sorted(p.name for p in self.dir.iterdir())
        beside = sorted(p.name for p in self.recording.parent.iterdir())
        for name, command in self.commands.items():
            stopped = set()
            for delay_s in (0.05, 0.02, 0.1, 0.2, 0.01):
                for sig in (signal.SIGINT, signal.SIGTERM):
                    child = subprocess.Popen([mp.CLI, *map(str, command), self.recording],
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(delay_s)
                    child.send_signal(sig)
                    code = child.wait(60)
                    self.assertIn(code, (0, -sig), name)
                    self.assertEqual(before, sorted(p.name for p in self.dir.iterdir()), name)
                    self.assertEqual(beside, sorted(p.name for p in self.recording.parent.iterdir()))
                    if code == 0:
                        self.out.write_text("old")
                    else:
                        stopped.add(sig)
                        self.assertEqual("old", self.out.read_text(), name)
                if len(stopped) == 2:
                    break
            self.assertEqual(2, len(stopped), f"{name} ended before it could be interrupted")

    def test_interrupted_report_keeps_all_or_nothing(self):
        """Of the store, too: what is there afterwards can be opened."""
        store = pathlib.Path(f"{self.recording}.store")
        beside = {p.name for p in self.recording.parent.iterdir()}
        expected = cli("report", "--json", "--no-cache", self.recording)[0]
        stopped = set()
        for delay_s in (0.05, 0.02, 0.1, 0.2, 0.4, 0.01):
            for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                child = subprocess.Popen([mp.CLI, "report", "--json", self.recording],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay_s)
                child.send_signal(sig)
                code = child.wait(60)
                self.assertIn(code, (0, -sig))
                if code != 0 and not store.exists():
                    stopped.add(sig)
                made = {p.name for p in self.recording.parent.iterdir()} - beside
                self.assertLessEqual(made, {store.name, self.recording.name + ".symbols"})
                if store.exists():
                    listed = cli("cache", "list", "--json", self.recording)[0]
                    self.assertEqual("good", json.loads(listed)["state"])
                    self.assertEqual(expected, cli("report", "--json", self.recording)[0])
                cli("cache", "clear", self.recording)
            if len(stopped) == 3:
                break
        self.assertEqual(3, len(stopped), "it ended before it could be interrupted")

    def test_progress_on_a_terminal(self):
        """Stopped for longer than short jobs take, so that no machine is too fast to show it."""
        for name, command in {**self.commands, "info": ["info"], "dump": ["dump"],
                              "analyze-size": ["analyze-size"],
                              "report": ["report", "--no-cache"]}.items():
            shown = b""
            for delay_s in (0.05, 0.02, 0.1, 0.01, 0.2, 0.005, 0.05, 0.02):
                shown = self.on_terminal([*command, self.recording], delay_s)
                if re.search(rb"\[[#-]*\] +\d+%.*/s.*left", shown) or \
                        (name == "export" and re.search(rb"/s", shown)):
                    break
            else:
                self.fail(f"{name} showed no progress: {shown[-200:]}")
            self.assertIn(self.recording.name[:8].encode(), shown, name)
            self.assertIn(b"\r\x1b[K", shown, name)

    def test_progress_while_a_kept_store_is_asked(self):
        command = ["report", "--size-min=1", self.recording]
        cli(*command)
        began = time.monotonic()
        cli(*command)
        lasts_s = time.monotonic() - began
        for i in range(90):
            shown = self.on_terminal(command, lasts_s * (i % 30) / 30)
            if re.search(rb"looking at allocations \[[#-]*\] +\d+%.*/s.*left", shown):
                break
        else:
            self.fail(f"no progress: {shown[-200:]}")
        cli("cache", "clear", self.recording)

    def test_progress_while_the_server_reads(self):
        for delay_s in (0.05, 0.02, 0.1, 0.01, 0.2, 0.005, 0.05, 0.02):
            shown = self.on_terminal(["server", "--port=0", "--no-cache", self.recording], delay_s,
                                     end_after_s=1.5)
            if re.search(rb"reading .* \[[#-]*\] +\d+%.*/s.*left", shown):
                break
        else:
            self.fail(f"no progress: {shown[-200:]}")

    def test_no_progress_where_it_is_in_the_way(self):
        for command in self.commands.values():
            _, text = cli(*command, self.recording)
            self.assertEqual("", text)
        self.assertEqual(b"", self.on_terminal(["strip", "-q", "-o", self.out, self.recording], 0.05))

    def on_terminal(self, args, stop_after_s, end_after_s=None):
        """What a command shows on a terminal as its stderr, when it is stopped for a while."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        child = subprocess.Popen(
            [mp.CLI, *map(str, args)], stderr=slave, stdout=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm"}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
        os.close(slave)
        time.sleep(stop_after_s)
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        child.send_signal(signal.SIGCONT)
        if end_after_s:
            threading.Timer(end_after_s, child.terminate).start()
        shown = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            shown += more
        os.close(master)
        self.assertEqual(0, child.wait(60))
        return shown


if __name__ == "__main__":
    mp.main()

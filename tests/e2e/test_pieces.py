#!/usr/bin/env python3
"""Recordings in pieces: what begins one, what they are called, and that together they are whole."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import mp
import mp_server

FIGURES = ("allocations", "reallocations", "frees", "bytes_allocated", "live_bytes", "live_count",
           "unknown_frees", "duplicate_allocations", "lost_events", "threads")


def sizes_of(paths, low, high):
    return [e["size"] for e in mp.allocations(paths) if low <= e["size"] < high]


class Obeying:
    """tests/programs/obeys under the recorder; use as a context."""

    def __init__(self, test, output, **options):
        self.folder = test.new_folder()
        self.env = test.recorder_environment(self.folder, OUTPUT=f"{self.folder}/{output}",
                                             WRITE_BINARIES_TO_OUTPUT=0, LOG="info", **options)
        self.argv = [mp.program("obeys")]
        self.cwd = test.dir

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=self.env, text=True, cwd=self.cwd)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        self.code = self.process.wait(mp.TIMEOUT_S)
        self.process.stdout.close()
        if kind is None and self.code != 0:
            raise AssertionError(f"the program ended with {self.code}\n{self.log()}")

    def log(self):
        return "".join(p.read_text() for p in self.folder.glob("log.*"))

    def do(self, *commands):
        for command in commands:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n"

    def new_piece(self):
        """Off and on, as `kill -USR1` from outside does."""
        n = self.log().count("recording to")
        for wanted in ("recording is switched off", "recording goes on"):
            before = self.log().count(wanted)
            self.process.send_signal(signal.SIGUSR1)
            mp.wait_for(lambda w=wanted, b=before: self.log().count(w) > b)
        mp.wait_for(lambda: self.log().count("recording to") > n)
        self.do("~7 1")  # the main thread notices at its next event

    def pieces(self):
        return by_number(self.folder)


def by_number(folder):
    return sorted(folder.glob("*.dat"), key=lambda p: mp.info(p)["piece"])


def together(paths):
    done = subprocess.run([mp.CLI, "info", "--json", "--together", *map(str, paths)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Toggling(mp.TestCase):
    """Each switch to "on" begins a piece, whatever the name."""

    def test_a_fixed_name_gets_a_number(self):
        with Obeying(self, "app.dat") as program:
            program.do("+1 21001", "t+2 21002")
            program.new_piece()
            program.do("+3 21003", "-1")
            program.new_piece()
            program.do("t-2", "+4 21004", "-3")
        names = [p.name for p in program.pieces()]
        self.assertEqual(["app.dat", "app.1.dat", "app.2.dat"], names)
        self.assertEqual([[21001, 21002], [21003], [21004]],
                         [sizes_of([p], 21000, 21010) for p in program.pieces()])

    def test_names_with_counter_and_time(self):
        for output in ("part_%n.dat", "at_%t_%p.dat", "%n", "plain"):
            with self.subTest(output=output):
                with Obeying(self, output) as program:
                    for _ in range(3):
                        program.new_piece()
                files = [p for p in program.folder.iterdir() if not p.name.startswith("log")]
                self.assertEqual(4, len(files), files)
                self.assertEqual([1, 2, 3, 4], sorted(mp.info(p)["piece"] for p in files))
                self.assertEqual(4, together(files)["pieces"])

    def test_blocks_that_live_across_pieces(self):
        with Obeying(self, "app_%n.dat") as program:
            program.do("+1 22001", "+2 22002", "t+3 22003", "+4 22004")
            program.new_piece()
            program.do("-2", "=4 22014")
            program.new_piece()
            program.do("t-3", "-1", "=4 22024")
            program.new_piece()
            program.do("+5 22005", "-4")
        pieces = program.pieces()
        live = [s for s in mp.live_sizes(pieces) if 22000 < s < 22100]
        self.assertEqual([22005], live)
        facts = together(pieces)
        self.assertEqual(0, facts["unknown_frees"])
        self.assertEqual(0, facts["untracked_frees"])
        self.assertEqual(0, facts["lost_events"])
        for p in pieces[1:]:  # each alone: frees of what came before are no mystery
            alone = mp.info(p)
            self.assertEqual(0, alone["unknown_frees"])
            self.assertEqual(0, alone["duplicate_allocations"])
        self.assertEqual([2, 3], [mp.info(p)["untracked_frees"] for p in pieces[1:3]])

    def test_a_thread_keeps_its_number(self):
        with Obeying(self, "app.dat") as program:
            program.do("t+1 23001")
            program.new_piece()
            program.do("t+2 23002")
            program.new_piece()
        facts = together(program.pieces())
        self.assertEqual(2, facts["threads"])
        tids = {e["tid"] for e in mp.allocations(program.pieces()) if 23000 < e["size"] < 23010}
        self.assertEqual(1, len(tids))

    def test_many_pieces_with_an_idle_thread(self):
        with Obeying(self, "app.dat") as program:
            program.do("t+1 24001")
            for i in range(8):
                program.new_piece()
                program.do(f"+2 {24010 + i}")
            fds = os.listdir(f"/proc/{mp.find_writer(program.pieces()[-1])}/fd")
            self.assertLessEqual(len(fds), 12)
            program.do("t-1", "t+1 24002")
        self.assertEqual([24001] + [24010 + i for i in range(8)] + [24002],
                         sizes_of(program.pieces(), 24000, 24100))
        self.assertEqual(0, together(program.pieces())["unknown_frees"])


class Names(mp.TestCase):
    def test_no_earlier_recording_is_replaced(self):
        ids = []
        for _ in range(4):
            with Obeying(self, "x") as program:
                pass
            target = self.dir / "k.dat"
            seen = self.record([mp.program("known_blocks")], folder=self.dir,
                               options={"OUTPUT": target})
            self.assertEqual(0, seen.code)
            ids.append(mp.info(target)["pid"])
        kept = {mp.info(p)["pid"] for p in self.dir.glob("k.dat*") if p.suffix != ".store"}
        self.assertEqual(set(ids), kept)
        self.assertEqual(ids[-1], mp.info(self.dir / "k.dat")["pid"])

    def test_a_second_run_leaves_the_pieces_of_the_first(self):
        folder = None
        for _ in range(2):
            program = Obeying(self, "app.dat")
            if folder:
                program.env["MEMORY_PROFILER_OUTPUT"] = f"{folder}/app.dat"
            folder = folder or program.folder
            with program:
                program.new_piece()
        files = [p for p in folder.iterdir() if p.name.startswith("app")]
        self.assertEqual(4, len(files), files)
        self.assertEqual(2, len({mp.info(p)["pid"] for p in files}))


class Rotation(mp.TestCase):
    def compare(self, program, rotated, whole):
        facts = together(rotated)
        single = mp.info(whole)
        for key in FIGURES:
            self.assertEqual(single[key], facts[key], key)
        return facts

    def test_by_size_under_load(self):
        argv = [mp.program("workload"), "150000", "4"]
        expected = self.bare(argv)
        counted, totals = self.counted(argv)
        self.assertEqual(expected.code, counted.code)
        seen = self.record(argv, options={"ROTATE_SIZE": "2M", "WRITE_BINARIES_TO_OUTPUT": 0,
                                          "OUTPUT": f"{self.dir}/r/%n.dat"},
                           folder=self.make("r"))
        self.assert_same_behaviour(seen, expected)
        whole = self.record(argv, options={"WRITE_BINARIES_TO_OUTPUT": 0,
                                           "OUTPUT": f"{self.dir}/w/%n.dat"},
                            folder=self.make("w"))
        pieces = by_number(seen.folder)
        self.assertGreaterEqual(len(pieces), 3, seen.log)
        self.assertEqual(totals["allocations"], sum(mp.info(p)["allocations"] for p in pieces))
        facts = self.compare(argv, pieces, whole.recording)
        self.assertEqual(totals, {key: facts[key] for key in mp.COUNTS})
        self.assert_nothing_lost(facts)
        self.assertEqual(0, facts["untracked_frees"])
        self.assertTrue(facts["complete"])

    def make(self, name):
        folder = self.dir / name
        folder.mkdir()
        return folder

    def test_one_thread_gives_the_same_peak_and_stacks(self):
        argv = [mp.program("workload"), "400000", "1"]
        seen = self.record(argv, options={"ROTATE_SIZE": "2M", "WRITE_BINARIES_TO_OUTPUT": 0})
        whole = self.record(argv, options={"WRITE_BINARIES_TO_OUTPUT": 0})
        pieces = by_number(seen.folder)
        self.assertGreaterEqual(len(pieces), 3, seen.log)
        facts, single = together(pieces), mp.info(whole.recording)
        for key in FIGURES + ("peak_bytes", "stacks", "deepest_stack"):
            self.assertEqual(single[key], facts[key], key)
        self.assertEqual(self.sites([whole.recording]), self.sites(pieces))

    def sites(self, paths):
        done = subprocess.run([mp.CLI, "report", "--json", "--limit", "all", "--no-cache",
                               *map(str, paths)], capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        keys = ("allocations", "bytes", "leaked_bytes", "temporary")
        return [{k: v for k, v in site.items() if k in keys}
                for name, sites in sorted(report.items())
                if isinstance(sites, list) for site in sites if isinstance(site, dict)]

    def test_by_time(self):
        with Obeying(self, "app_%n.dat", ROTATE_INTERVAL=1) as program:
            program.do("+1 25001")
            mp.wait_for(lambda: len(list(program.folder.glob("*.dat"))) >= 3)
            program.do("+2 25002", "-1")
            mp.wait_for(lambda: len(list(program.folder.glob("*.dat"))) >= 5)
        facts = together(program.pieces())
        self.assertEqual(0, facts["unknown_frees"] + facts["untracked_frees"])
        self.assertEqual([25001, 25002], sizes_of(program.pieces(), 25000, 25010))

    def test_the_oldest_pieces_are_removed(self):
        for output in ("app_%n.dat", "app.dat"):
            with self.subTest(output=output):
                with Obeying(self, output, KEEP=2) as program:
                    for i in range(5):
                        program.do(f"+1 {26000 + i}")
                        program.new_piece()
                    program.do("+1 26005")
                pieces = program.pieces()
                self.assertEqual([5, 6], [mp.info(p)["piece"] for p in pieces])
                self.assertEqual([26004, 26005], sizes_of(pieces, 26000, 26010))
                facts = together(pieces)
                self.assertEqual(0, facts["unknown_frees"])

    def test_nothing_else_is_removed(self):
        with Obeying(self, "app_%n.dat", KEEP=1) as program:
            other = program.folder / "app_0.dat"
            mp.wait_for(other.exists)
            other.unlink()
            other.write_bytes(b"mine")
            program.new_piece()
        self.assertEqual(b"mine", other.read_bytes())

    def test_killed_while_rotating(self):
        folder = self.new_folder()
        env = self.recorder_environment(folder, ROTATE_SIZE="2M", WRITE_BINARIES_TO_OUTPUT=0)
        totals = folder / "totals"
        program = subprocess.Popen([mp.program("toggle_storm"), "0", "60000"], cwd=self.dir,
                                   env=env, stdout=subprocess.DEVNULL)
        mp.wait_for(lambda: len(list(folder.glob("*.dat"))) >= 4)
        program.kill()
        program.wait()
        self.assertFalse(totals.exists())
        facts = together(by_number(folder))
        self.assertGreater(facts["allocations"], 10000)
        self.assertEqual(0, facts["lost_events"])
        self.assertEqual(0, facts["untracked_frees"])
        self.assertLessEqual(facts["live_count"], 64 + 8, "64 boxes and 4 threads hold blocks")

    def test_a_missing_piece_is_said(self):
        with Obeying(self, "app_%n.dat") as program:
            for i in range(3):
                program.do(f"+{i} {27000 + i}")
                program.new_piece()
            program.do("-1")
        pieces = program.pieces()
        facts = together([pieces[3], pieces[0], pieces[2]])
        self.assertTrue(any("1 piece is missing between these" in n for n in facts["notes"]),
                        facts["notes"])
        self.assertEqual(0, facts["unknown_frees"])
        self.assertEqual(1, facts["untracked_frees"])


class Readers(mp.TestCase):
    def make(self):
        with Obeying(self, "app_%n.dat") as program:
            program.do("+1 28001")
            program.new_piece()
            program.do("+2 28002", "-1")
        return program.pieces()

    def cli(self, *args):
        return subprocess.run([mp.CLI, *map(str, args)], capture_output=True, text=True,
                              check=False)

    def test_pieces_of_different_runs_are_refused(self):
        one, two = self.make(), self.make()
        done = self.cli("report", one[0], two[1])
        self.assertEqual(2, done.returncode)
        self.assertIn("different runs", done.stderr)
        self.assertIn(str(one[0]), done.stderr)
        done = self.cli("report", one[0], one[0])
        self.assertEqual(2, done.returncode)
        self.assertIn("are the same piece", done.stderr)

    def test_report_export_and_repack(self):
        pieces = self.make()
        for _ in range(2):  # the second time from the cache
            done = self.cli("report", *reversed(pieces))
            self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue((pieces[0].parent / "app_0.dat.pieces.store").exists())
        self.assertEqual(0, self.cli("report", pieces[1]).returncode)
        self.assertEqual(0, self.cli("export", "-f", "csv", "-o", self.dir / "x.csv",
                                     *pieces).returncode, "export")
        whole = self.dir / "whole.dat"
        done = self.cli("repack", "-q", "-o", whole, *pieces)
        self.assertEqual(0, done.returncode, done.stderr)
        one, many = mp.info(whole), together(pieces)
        for key in FIGURES:
            self.assertEqual(many[key], one[key], key)
        self.assertEqual([28001, 28002], sizes_of([whole], 28000, 28010))

    def test_rewritten_pieces_still_fit(self):
        pieces = self.make()
        packed = self.dir / "packed.dat"
        self.assertEqual(0, self.cli("repack", "-q", "-o", packed, pieces[1]).returncode)
        facts = together([pieces[0], packed])
        many = together(pieces)
        for key in FIGURES:
            self.assertEqual(many[key], facts[key], key)

    def test_server_shows_pieces_as_one(self):
        one, two = self.make(), self.make()
        with mp_server.Server(*one, *two) as server:
            listed = mp.wait_for(lambda: self.loaded(server))
            self.assertEqual(2, len(listed), listed)

    def loaded(self, server):
        listed = server.get("/list").json()
        return listed if all(e.get("state", "ready") == "ready" for e in listed) else None

    def test_names_come_from_the_piece_that_has_the_binary(self):
        program = shutil.copy(mp.program("obeys"), self.dir / "gone")
        running = Obeying(self, "app_%n.dat")
        running.argv = [program]
        running.env["MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT"] = "1"
        with running:
            running.do("+1 29001")
            time.sleep(1)  # the binaries are embedded in the first piece
            running.new_piece()
            running.do("+2 29002")
        os.unlink(program)
        second = running.pieces()[1]
        done = self.cli("report", "--json", "--no-cache", second)
        self.assertIn('"obey"', done.stdout)


class HowTo(mp.TestCase):
    def test_the_command_of_the_documentation(self):
        """watch -n 1800 'kill -USR1 $PID && sleep 1 && kill -USR1 $PID' begins a piece each time."""
        with Obeying(self, "profiling_%e_%t.dat") as program:
            for i in range(3):
                program.do(f"+{i} {20500 + i}")
                subprocess.run(["sh", "-c", "kill -USR1 $PID && sleep 1 && kill -USR1 $PID"],
                               env={**os.environ, "PID": str(program.process.pid)}, check=True)
                mp.wait_for(lambda n=i + 1: program.log().count("recording goes on") >= n)
            program.do("+9 20509")
        self.assertEqual(4, len(program.pieces()))
        self.assertEqual([20500, 20501, 20502, 20509], sizes_of(program.pieces(), 20500, 20510))


if __name__ == "__main__":
    mp.main()

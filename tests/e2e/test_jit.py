#!/usr/bin/env python3
"""Stacks through code that a JIT compiler made: right to the last frame, and named.

node says itself what its stack is: Error.stack at the call that allocates. Every JavaScript frame of
the recording must be there, in its place, and no other.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import mp

NODE = shutil.which("node")
# Each function is a frame of its own, and has a name in the map for perf.
FLAGS = ["--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining",
         "--max-inlined-bytecode-size=0", "--max-inlined-bytecode-size-cumulative=0"]
OURS = re.compile(r"(fun|each|reviver)\d+|leaf")
N_STACKS = 1500


class PerfMap:
    """Names of the functions at run-time addresses; of two at one address the later one."""

    def __init__(self, path):
        self.functions = []
        for line in path.read_text(errors="replace").splitlines():
            start, size, name = line.split(" ", 2)
            self.functions.append((int(start, 16), int(size, 16), name))
        self.known = {}

    def get(self, addr):
        if addr not in self.known:
            found = [name for start, size, name in self.functions if start < addr <= start + size]
            self.known[addr] = found[-1] if found else ""
        return self.known[addr]


# What V8 puts before the name of a function in its map: "JS" since version 10.4.
KINDS = "(?:JS|Function|LazyCompile|Eval|Script)"


def function_in_map(name):
    """JS:*fun3 file.js:1:2 -> fun3"""
    found = re.match(KINDS + r":[~*^+']?(\S+)", name)
    return found.group(1) if found else ""


def functions_in_error(text):
    """The script's own functions of an Error.stack, innermost first."""
    names = re.findall(r"^\s+at (?:new )?([\w.$<>]+)", text, re.M)
    return [n for n in (name.rsplit(".", 1)[-1] for name in names) if OURS.fullmatch(n)]


class Node(mp.TestCase):
    def setUp(self):
        super().setUp()
        if not NODE:
            self.skipTest("there is no node")

    def test_stacks_are_those_of_the_runtime(self):
        truth = self.dir / "truth.json"
        script = mp.SRC / "tests/programs/known_stacks.js"
        seen = self.record([NODE, *FLAGS, script, str(N_STACKS), truth])
        self.assertEqual(0, seen.code, seen.stderr)
        path = pathlib.Path("/tmp/perf-%s.map" % seen.recording.name.split("_")[0])
        self.addCleanup(lambda: path.unlink(missing_ok=True))
        perf_map = PerfMap(path)
        wanted = {size: functions_in_error(text) for size, text in json.loads(truth.read_text())}
        n_equal = n_cut = 0
        for size, stack in self.allocations(seen.recording):
            names = [perf_map.get(int(f["addr"], 16)) for f in stack["frames"]]
            if size not in wanted or not any(re.match(KINDS + ":", name) for name in names):
                continue  # V8 itself happened to allocate as much
            found = [n for n in map(function_in_map, names) if OURS.fullmatch(n)]
            if stack["end"] != "complete":
                n_cut += 1
                self.assertEqual(wanted[size][:len(found)], found)
                continue
            self.assertEqual(wanted[size], found)
            n_equal += 1
        self.assertGreaterEqual(n_equal + n_cut, N_STACKS)
        self.assertLess(n_cut, N_STACKS // 50)

    def allocations(self, recording):
        """(size, stack) of each allocation"""
        stacks = {}
        with subprocess.Popen([mp.CLI, "dump", recording], stdout=subprocess.PIPE, text=True,
                              env=mp.clean_environment()) as dump:
            for line in dump.stdout:
                if line.startswith('{"e":"stack"'):
                    event = json.loads(line)
                    stacks[event["id"]] = event
                elif '"e":"alloc"' in line:
                    event = json.loads(line)
                    yield event["size"], stacks[event["stack"]]

    def test_hardly_any_stack_is_cut(self):
        seen = self.record([NODE, mp.SRC / "bench/programs/jit/parse.js"])
        self.assertEqual(0, seen.code, seen.stderr)
        facts = mp.info(seen.recording)
        self.assertGreater(facts["guessed_stacks"], facts["events"] // 5)
        self.assertLess(sum(facts["truncated_stacks"].values()), facts["events"] // 50)


class Llvm(mp.TestCase):
    def test_functions_announced_to_gdb_have_names(self):
        if not shutil.which("lli") or not shutil.which("clang"):
            self.skipTest("there is no lli")
        bitcode = self.dir / "blocks.bc"
        subprocess.run(["clang", "-O1", "-emit-llvm", "-c", "-o", bitcode,
                        mp.SRC / "bench/programs/jit/blocks.c"], check=True)
        for kind in ("mcjit", "orc"):
            seen = self.record([shutil.which("lli"), f"-jit-kind={kind}", bitcode])
            self.assertEqual(0, seen.code, seen.stderr)
            text = subprocess.run([mp.CLI, "export", "--format", "collapsed", "--cost=allocations",
                                   seen.recording], check=True, capture_output=True, text=True,
                                  env=mp.clean_environment()).stdout
            found = {line.rsplit(" ", 1)[0].split("];")[-1] for line in text.splitlines()
                     if "make " in line and ";recurse;" in line}
            self.assertEqual({"main" + ";recurse" * n + ";make" for n in range(1, 6)}, found, kind)


if __name__ == "__main__":
    mp.main()

#!/usr/bin/env python3
"""Stacks are exact: programs whose call chains are known, and what the recording says of them.

The programs are in tests/programs/stacks; the size of an allocation tells which one it is. A chain
is written innermost first: names of the program's own functions, "(libc)" for any number of frames
in that library, "(none)" for code in no file. It must be right to the last frame, or end early
with a reason; a frame that is not there or not in its place fails.
"""
import collections
import json
import pathlib
import re
import subprocess
import unittest

import mp

# What is around main.
START = ["(libc)", "_start"]
MAIN = ["main", *START]

Stack = collections.namedtuple("Stack", "chain end n_certain n")


def library_name(path):
    """libc.so.6 -> (libc), ld-linux-x86-64.so.2 -> (ld)"""
    return "(" + re.split(r"[.-]", pathlib.Path(path).name)[0] + ")"


def bare_name(name):
    """(anonymous namespace)::circle::draw(int) -> draw"""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"\(.*", "", name) if not name.startswith("operator()") else name
    return name.rsplit("::", 1)[-1]


class Names:
    """Function names of the modules that were built here, by addr2line; others stay libraries."""

    def __init__(self):
        self.known = {}

    def learn(self, frames):
        wanted = collections.defaultdict(set)
        for module, offset in frames:
            if module and mp.BUILD in pathlib.Path(module).parents:
                if (module, offset) not in self.known:
                    wanted[module].add(offset)
        for module, offsets in wanted.items():
            offsets = sorted(offsets)
            # addr - 1 lies inside the instruction that was executing
            asked = "".join(f"{offset - 1:#x}\n" for offset in offsets)
            answer = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", module], text=True,
                                  input=asked, capture_output=True, check=True).stdout
            # Per address: itself, then name and line of each inlined function, then of the real one.
            for offset, lines in zip(offsets, re.split(r"^0x[0-9a-f]+\n", answer, flags=re.M)[1:]):
                self.known[module, offset] = bare_name(lines.splitlines()[-2])

    def get(self, module, offset):
        if not module:
            return "(none)"
        return self.known.get((module, offset)) or library_name(module)


def stacks_by_size(recording):
    """{size: [stacks of its allocations, in order]}, for sizes that mark something."""
    raw, sizes = {}, collections.defaultdict(list)
    dump = subprocess.run([mp.CLI, "dump", str(recording)], capture_output=True, text=True,
                          check=True, timeout=120)
    for line in dump.stdout.splitlines():
        event = json.loads(line)
        if event["e"] == "stack":
            event["frames"] = [(f["module"], int(f["offset"] or "0", 16)) for f in event["frames"]]
            raw[event["id"]] = event
        elif event["e"] == "alloc":
            sizes[event["size"]].append(raw[event["stack"]])
    names = Names()
    names.learn(frame for found in sizes.values() for stack in found for frame in stack["frames"])
    result = {}
    for size, found in sizes.items():
        result[size] = [make_stack(names, stack) for stack in found]
    return result


def make_stack(names, stack):
    chain = []
    for module, offset in stack["frames"]:
        name = names.get(module, offset)
        if not (name.startswith("(lib") or name == "(ld)") or chain[-1:] != [name]:
            chain.append(name)
    return Stack(chain, stack["end"], stack["n_certain"], len(stack["frames"]))


class Stacks(mp.TestCase):
    """Runs a program in all variants; what must hold is in the subclasses."""

    def check_each_variant(self, name, check, arguments=lambda level: []):
        """Calls check() with self.stacks for each build, walked with and without the fast path."""
        for level in ("O0", "O2"):
            for fast in (1, 0):
                with self.subTest(program=f"{name}_{level}", USE_SHADOW_STACK=fast):
                    argv = [mp.program(f"stacks/{name}_{level}"), *arguments(level)]
                    seen = self.record(argv, options={"USE_SHADOW_STACK": fast})
                    if seen.code == 77:
                        self.skipTest(seen.stdout.decode().strip())
                    self.assertEqual(0, seen.code, seen.stdout + seen.stderr)
                    self.stacks = stacks_by_size(seen.recording)
                    check()

    def assert_chain(self, size, *chains, end="complete", n_certain=None):
        """The allocations of this size have these stacks, one after the other."""
        found = self.stacks.get(size, [])
        self.assertEqual(list(chains), [stack.chain for stack in found], f"size {size}")
        for stack in found:
            self.assertEqual(end, stack.end, f"size {size}: {stack.chain}")
            self.assertEqual(stack.n if n_certain is None else n_certain, stack.n_certain,
                             f"size {size}: {stack.chain}")


class C(Stacks):
    def test_shapes(self):
        self.check_each_variant("stack_shapes", self.check)

    def check(self):
        self.check_plain()
        self.check_signals()
        self.check_other_stacks()
        self.check_outside_main()

    def check_plain(self):
        self.assert_chain(1001, ["leaf", "middle", "run_plain", *MAIN])
        self.assert_chain(1002, ["recurse"] * 10000 + ["run_recursion", *MAIN])
        self.assert_chain(1003, ["compare", "(libc)", "run_qsort", *MAIN])
        for size, name in ((1004, "uses_alloca"), (1005, "uses_array"), (1006, "uses_aligned")):
            self.assert_chain(size, *[[name, "run_frames", *MAIN]] * 2)
        self.assert_chain(1007, ["jumps", "ends_in_call", "run_longjmp", *MAIN])
        self.assert_chain(1008, ["run_longjmp", *MAIN])

    def check_signals(self):
        outside = ["run_signals", *MAIN]
        self.assert_chain(
            1010, ["on_signal", "(libc)", "run_signal", *outside],
            ["on_signal", "(libc)", "on_signal_twice", "(libc)", "run_nested_signal", *outside])
        self.assert_chain(1011, ["on_signal_outside", "(libc)", "run_alternate_stack", *outside])
        self.assert_chain(1012, ["on_fault", "(libc)", "faults", "run_fault", *outside])

    def check_other_stacks(self):
        thread = ["in_thread", "(libc)"]
        self.assert_chain(1013, *[["in_fiber"] * 100 + ["fiber", "(libc)"]] * 2)
        self.assert_chain(1014, *[["yields", "fiber", "(libc)"]] * 2)
        self.assert_chain(1015, ["run_fiber", *MAIN], ["run_fiber", *thread])
        self.assert_chain(1016, thread)
        self.assert_chain(1017, ["in_small_thread", "(libc)"])

    def check_outside_main(self):
        self.assert_chain(1020, ["before_main", *START])
        self.assert_chain(1021, ["after_main", "(ld)", *START])
        self.assert_chain(1022, ["at_exit", *START])


class Cpp(Stacks):
    def test_shapes(self):
        self.check_each_variant("stack_shapes_cpp", self.check)

    def check(self):
        self.check_exceptions()
        self.check_calls()
        self.check_static_objects()

    def check_exceptions(self):
        through = ["passes_through", "passes_through", "passes_through", "catches", *MAIN]
        self.assert_chain(2001, ["handles", "catches", *MAIN])
        # Destructors run while the exception passes: the frames inside are gone already.
        self.assert_chain(2002, *[["~guard", *through[n:]] for n in range(3)])
        self.assert_chain(2003, ["catches", *MAIN])
        self.assert_chain(2900 + 128, ["(libstdc++)", "throws", *through])
        self.assert_chain(2004, ["rethrows", "run_rethrow", *MAIN])
        self.assert_chain(2005, ["run_rethrow", *MAIN])

    def check_calls(self):
        self.assert_chain(2010, ["draw", "calls_virtual", "run_virtual", *MAIN])
        self.assert_chain(2011, ["name", "calls_through_thunk", "run_virtual", *MAIN])
        self.assert_chain(2020, ["(libstdc++)", "uses_new", *MAIN])
        # How many frames the library's templates make depends on the level.
        (stack,) = self.stacks[2021]
        self.assertEqual(["calls_function", "run_lambda", *MAIN], stack.chain[-5:])
        self.assertEqual("complete", stack.end)
        (stack,) = self.stacks[2030]
        self.assertEqual("in_thread", stack.chain[0])
        self.assertEqual(["(libstdc++)", "(libc)"], stack.chain[-2:])
        self.assertEqual("complete", stack.end)

    def check_static_objects(self):
        (stack,) = self.stacks[2040]
        self.assertEqual("global", stack.chain[0])
        self.assertEqual(START, stack.chain[-2:])
        self.assertNotIn("main", stack.chain)
        self.assertEqual("complete", stack.end)
        self.assert_chain(2041, ["~global", *START])


class Odd(Stacks):
    def test_frames(self):
        self.check_each_variant("stack_odd", self.check)

    def check(self):
        self.check_rare_rules()
        self.check_no_rules()
        self.check_wrong_rules()
        self.check_made_code()

    def whole(self, name):
        return ["callee", name, "run_" + name, *MAIN]

    def check_rare_rules(self):
        for size, name in ((3001, "odd_cfa_in_rbx"), (3002, "odd_cfa_by_expression"),
                           (3003, "odd_ra_in_register"), (3004, "odd_huge_frame")):
            self.assert_chain(size, self.whole(name))
        self.assert_chain(3014, ["callee", "odd_on_stack", "run_on_stack", *MAIN])

    def check_no_rules(self):
        # Proven by what lies around, but not by rules: said to be uncertain from there on.
        self.assert_chain(3005, self.whole("odd_fp"), n_certain=2)
        self.assert_chain(3006, ["callee", "odd_bare"], end="no_info")
        self.assert_chain(3007, ["callee", "odd_bare"], end="no_info")

    def check_wrong_rules(self):
        for size, name, end in ((3008, "odd_lies_function", "bad_info"),
                                (3009, "odd_lies_data", "not_code"),
                                (3010, "odd_lies_zero", "not_code"),
                                (3011, "odd_lies_unmapped", "bad_memory"),
                                (3012, "odd_lies_no_progress", "no_progress"),
                                (3013, "odd_lies_scratch", "bad_info")):
            self.assert_chain(size, ["callee", name], end=end)

    def check_made_code(self):
        registered = ["callee", "(none)", "run_jit", "run_registered", *MAIN]
        self.assert_chain(3020, *[registered] * 20)
        self.assert_chain(3021, *[registered] * 20)
        self.assert_chain(3022, ["callee", "(none)"], end="no_info")
        self.assert_chain(3023, ["callee", "(none)", "run_jit", "run_unregistered", *MAIN],
                          n_certain=2)


def swap_libraries(level):
    return [mp.program(f"stacks/libstack_swap_{name}_{level}.so") for name in ("one", "two")]


class Libraries(Stacks):
    def test_two_at_one_address(self):
        self.check_each_variant("stack_swap", self.check, swap_libraries)

    def test_two_at_one_address_unloaded_behind_our_back(self):
        self.check_each_variant("stack_swap", self.check,
                                lambda level: [*swap_libraries(level), "hidden"])

    def test_two_at_one_address_in_two_threads(self):
        self.check_each_variant("stack_swap", self.check_threads,
                                lambda level: [*swap_libraries(level), "threads"])

    def check_threads(self):
        for size, name in ((4003, "one"), (4004, "two")):
            expected = ["inner_" + name, "swap_call", "calls_library", "uses", "swaps_" + name,
                        "(libc)"]
            found = collections.Counter(
                (tuple(stack.chain), stack.end) for stack in self.stacks[size])
            self.assertEqual([(tuple(expected), "complete")], list(found))
            self.assertEqual(0, found.total() % 300)  # so many for each try

    def check(self):
        outside = ["calls_library", "uses", *MAIN]
        self.assert_chain(4001, *[["inner_one", "swap_call", *outside]] * 30)
        self.assert_chain(4002, *[["inner_two", "swap_call", *outside]] * 30)
        for size, name in ((4300, "loaded_one"), (4700, "loaded_two")):
            stacks = self.stacks[size]
            self.assertEqual(30, len(stacks))
            for stack in stacks:
                own = [part for part in stack.chain if not part.startswith("(")]
                self.assertEqual([name, "opens", "uses", "main", "_start"], own)
                self.assertEqual("complete", stack.end)


if __name__ == "__main__":
    if subprocess.run(["addr2line", "--version"], capture_output=True, check=False).returncode:
        raise unittest.SkipTest("addr2line is not installed")
    mp.main()

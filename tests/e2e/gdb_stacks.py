"""Runs inside gdb: the stack of each call of some functions, as gdb sees it.

usage: gdb -batch -x gdb_stacks.py --args PROGRAM [ARGUMENT]...
$MP_GDB_FUNCTIONS is JSON: [[offset in the program, size, whether calls with NULL count], ...].
$MP_GDB_OUT gets a line of JSON for each call that none of the functions makes:
[[path, offset], ...], innermost caller first.
"""
import json
import os

import gdb

FUNCTIONS = json.loads(os.environ["MP_GDB_FUNCTIONS"])
ranges = []  # (start, end, path, base)
last = {}  # thread: (stack pointer and caller, function) of its last call


def find_module(pc):
    for start, end, path, base in ranges:
        if start <= pc < end:
            return path, pc - base
    return None


def read_mappings():
    ranges.clear()
    base = {}
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="ascii") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            if len(words) == 6:
                start, end = (int(x, 16) for x in words[0].split("-"))
                path = words[5].strip()
                base.setdefault(path, start)
                ranges.append((start, end, path, base[path]))


def stack():
    """Where the callers of the function go on."""
    places = []
    frame = gdb.newest_frame().older()
    while frame is not None and frame.is_valid():
        if frame.type() != gdb.INLINE_FRAME:
            place = find_module(frame.pc())
            if place is None:
                read_mappings()
                place = find_module(frame.pc())
            places.append(place or ("", frame.pc()))  # gdb's guess beyond the first frame
        frame = frame.older()
    return places


def is_inside(place):
    return place[0] == PROGRAM and any(at < place[1] <= at + size for at, size, _ in FUNCTIONS)


class Entry(gdb.Breakpoint):
    def __init__(self, offset, counts_null):
        super().__init__(f"*{base_of_program() + offset}", internal=True)
        self.counts_null = counts_null

    def stop(self):
        if not self.counts_null and not int(gdb.parse_and_eval("$rdi")):
            return False
        places = stack()
        place = (int(gdb.parse_and_eval("(long)$rsp")), tuple(places[:1]))
        before = last.get(gdb.selected_thread().num)
        last[gdb.selected_thread().num] = (place, self.location)
        if before and before[0] == place and before[1] != self.location:
            return False  # one function jumped to the next
        if not any(map(is_inside, places)):
            out.write(json.dumps(places) + "\n")
        return False


def base_of_program():
    return next(base for _, _, path, base in ranges if path == PROGRAM)


with open(os.environ["MP_GDB_OUT"], "w", encoding="ascii") as out:
    for setting in ("pagination off", "debuginfod enabled off", "backtrace past-main on",
                    "backtrace past-entry on", "confirm off", "print thread-events off"):
        gdb.execute("set " + setting)
    gdb.execute("starti", to_string=True)
    PROGRAM = os.path.realpath(gdb.current_progspace().filename)
    read_mappings()
    for function in FUNCTIONS:
        Entry(function[0], function[2])
    gdb.execute("continue", to_string=True)

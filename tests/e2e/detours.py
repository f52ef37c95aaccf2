"""What the recorder decides about functions of allocators, held against objdump's view of the file.

The rules are those of src/arch/x86_64/detour.h, from the disassembly: a function whose first
instructions are moved elsewhere must have them complete, movable, and jumped into by nobody; a
function that is refused must have a reason that can be seen.
"""
import bisect
import re
import subprocess

import mp

JUDGE = mp.BUILD / "tests/truth/judge_detours"
JUMP_BYTES = 5
LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t *(.*)$")
PREFIX = re.compile(r"^(?:bnd|notrack|repz|repnz|rep|lock|data16|addr32|cs|ds|es|ss|rex\.?\w*) ")
PADDING = re.compile(r"(?:data16 |cs )*(?:nopw?|nopl|int3|xchg +%ax,%ax)\b|lea +0x0\(%rsi")
TARGET = re.compile(r"\*|^([0-9a-f]+)\b")


class Instruction:
    def __init__(self, addr, n_bytes, text):
        self.addr = addr
        self.end = addr + n_bytes
        self.text = text
        while PREFIX.match(text) and not PADDING.match(text):
            text = text.split(" ", 1)[1].lstrip()
        self.name, _, operands = text.partition(" ")
        self.is_branch = self.name[0] == "j" or self.name in ("call", "loop", "loope", "loopne")
        target = TARGET.match(operands.strip()) if self.is_branch else None
        self.is_indirect = self.is_branch and bool(target) and not target[1]
        self.target = int(target[1], 16) if target and target[1] else None
        self.is_memory = self.is_indirect and "(%rip)" in operands  # the address that it holds is fixed

    @property
    def is_movable(self):
        return not (self.is_indirect and not self.is_memory or self.name in ("ud2", "hlt", "int3", "endbr64", "(bad)", "jrcxz",
                                                      "jecxz", "loop", "loope", "loopne"))


class Listing:
    """All instructions of a file."""

    def __init__(self, path):
        text = subprocess.run(["objdump", "-d", "-w", "-z", path],
                              capture_output=True, text=True, check=True).stdout
        self.code = [Instruction(int(m[1], 16), len(m[2].split()), m[3])
                     for m in map(LINE.match, text.splitlines()) if m]
        self.code.sort(key=lambda i: i.addr)
        self.starts = [i.addr for i in self.code]
        self.jumps = sorted((i.target, i.addr, i.name) for i in self.code if i.target is not None)

    def between(self, start, end):
        return self.code[bisect.bisect_left(self.starts, start):bisect.bisect_left(self.starts, end)]

    def jumps_into(self, start, end):
        return self.jumps[bisect.bisect_left(self.jumps, (start,)):bisect.bisect_left(self.jumps, (end,))]


def reasons_against(listing, start, n_bytes):
    """(jump_at, end, why not): what the disassembly says about a function; why not is a set."""
    body = listing.between(start, start + n_bytes)
    why = set()
    at = 4 if body[0].name == "endbr64" else 0
    end, last = start + at, None
    for i in body[1 if at else 0:]:
        if end >= start + at + JUMP_BYTES:
            break
        if not i.is_movable:
            why.add("cannot be moved")
        end, last = i.end, i
    n_missing = start + at + JUMP_BYTES - end
    if n_missing > 0:
        behind = listing.between(end, end + n_missing)
        if last is None or last.name not in ("jmp", "ret") or not behind or not all(
                PADDING.match(i.text) for i in behind):
            why.add("too short")
    for target, origin, name in listing.jumps_into(start, end):
        is_inside = start <= origin < start + n_bytes
        if (start + at <= target and (target > start or is_inside and name != "call")) or (
                target == start and is_inside and name != "call"):
            why.add("a jump leads")
    if any(i.is_indirect and i.name == "jmp" and not i.is_memory for i in body):
        why.add("target is not known")
    return at, end - start, why


def compare(path):
    """(number of functions, how many of them are refused, [what the two say differently])"""
    listing = Listing(path)
    lines = subprocess.run([JUDGE, path], capture_output=True, text=True, check=True).stdout.splitlines()
    n_refused, differing = 0, []
    for addr, n_bytes, name, jump_at, end, why in {tuple(line.split("\t")) for line in lines}:
        at, behind, theirs = reasons_against(listing, int(addr, 16), int(n_bytes))
        n_refused += why != ""
        if why == "" and (theirs or (at, behind) != (int(jump_at), int(end))):
            differing.append(f"{name} at {addr}: accepted [{jump_at}, {end}), objdump: [{at}, {behind}) {theirs}")
        if why and not any(reason in why for reason in theirs):
            differing.append(f"{name} at {addr}: refused ({why}), objdump: {theirs or 'fine'}")
    return len(lines), n_refused, differing

#!/usr/bin/env python3
"""Fails when a file, function, parameter list or nesting is too big, or a file name is not unique.

usage: check_limits.py [root]
Relies on the layout that clang-format enforces: a function body is what stands between a line "{"
and a line "}". Exceptions: tools/limits.allow, one "path:what" per line; it is meant to be empty.
"""
import pathlib
import re
import sys

FILE_LINES = {".c": 1000, ".S": 1000, ".h": 400}
FUNCTION_LINES = 100
PARAMETERS = 6
FOREIGN_CALLBACK = re.compile(r"\benum MHD_Result\b")  # a library says what its callbacks take
PARAMETERS_OF_A_CPU = 7  # in src/arch/<cpu>/: a system call has a number and six arguments
CPU_FOLDER = re.compile(r"src/arch/[^/]+/")
NESTING = 4
TOPS = ("src", "include", "tests", "bench", "tools")

COMMENT_OR_TEXT = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.S | re.X)
BLOCK_BEFORE = re.compile(r"(?:\)\s+|\belse\s+|\bdo\s+|[:;{}]\s*|^\s*)$")
CONTROL = re.compile(r"\b(?:if|for|while|switch)\b|\belse\s*$|\bdo\s*$")


def blank(source):
    """The source without comments and literals; every line stays on its line."""
    return COMMENT_OR_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)


def functions(lines):
    """(line number of the body's "{", signature, lines of the body) of each function."""
    start = None
    for i, line in enumerate(lines):
        if line.rstrip() == "{":
            start = i
        elif line.rstrip() == "}" and start is not None:
            head = []
            for above in reversed(lines[:start]):
                if not above.strip() or above.rstrip().endswith((";", "}", "\\")) or \
                        above.startswith("#"):
                    break
                head.insert(0, above)
            yield start + 1, " ".join(head), lines[start + 1:i]
            start = None


def count_parameters(signature):
    """Parameters in the last outermost parentheses; "..." is not counted."""
    depth, text = 0, ""
    for c in signature:
        if c == "(":
            depth += 1
            if depth == 1:
                text = ""
                continue
        elif c == ")":
            depth -= 1
        if depth >= 1:
            text += c if depth == 1 or c != "," else " "
    parts = [p.strip() for p in text.split(",")]
    return len([p for p in parts if p not in ("", "void", "...")])


def deepest(body):
    """Greatest nesting of a body: braces of blocks, plus a last control statement without any."""
    stack, depth, most = [], 0, 0
    for line in body:
        for pos, c in enumerate(line):
            if c == "{":
                initialiser = (stack and stack[-1]) or not BLOCK_BEFORE.search(line[:pos])
                stack.append(initialiser)
            elif c == "}" and stack:
                stack.pop()
            depth = stack.count(False)
            most = max(most, depth)
        bare = CONTROL.search(line) and line.rstrip().endswith((")", "else", "do"))
        if bare:
            most = max(most, depth + 1)
    return most


def check_file(rel, source):
    suffix = pathlib.PurePath(rel).suffix
    lines = blank(source).splitlines()
    if len(lines) > FILE_LINES[suffix]:
        yield 1, "file", f"{len(lines)} lines (at most {FILE_LINES[suffix]})"
    if suffix == ".S":
        return
    for no, signature, body in functions(lines):
        if len(body) > FUNCTION_LINES:
            yield no, "function", f"function of {len(body)} lines (at most {FUNCTION_LINES})"
        n = count_parameters(signature)
        most = PARAMETERS_OF_A_CPU if CPU_FOLDER.match(rel) else PARAMETERS
        if n > most and not FOREIGN_CALLBACK.search(signature):
            yield no, "parameters", f"{n} parameters (at most {most})"
        n = deepest(body)
        if n > NESTING:
            yield no, "nesting", f"nesting of {n} (at most {NESTING})"


def check(root):
    allow_file = root / "tools/limits.allow"
    allow = set()
    if allow_file.exists():
        allow = {line.strip() for line in allow_file.read_text().splitlines()
                 if line.strip() and not line.startswith("#")}
    found, names = [], {}
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in FILE_LINES or not path.is_file():
                continue
            rel = path.relative_to(root).as_posix()
            for no, what, text in check_file(rel, path.read_text(errors="replace")):
                if f"{rel}:{what}" not in allow:
                    found.append(f"{rel}:{no}: {text}")
            if top == "src" and not CPU_FOLDER.match(rel):
                if path.name in names:
                    found.append(f"{rel}:1: there is {names[path.name]} already")
                names.setdefault(path.name, rel)
    return found


if __name__ == "__main__":
    problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))

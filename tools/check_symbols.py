#!/usr/bin/env python3
"""Holds the recorder's dynamic symbols to what its two lists say.

usage: check_symbols.py libmemory_profiler.so [exports.map imports.allow]
Exported must be exactly what exports.map names; undefined only what imports.allow names.
This is what makes "no malloc, no stdio, no exit in the target" true instead of hoped.
"""
import fnmatch
import re
import subprocess
import sys

# The start files of the toolchain refer to these in every shared object, weakly.
TOOLCHAIN = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__",
             "__cxa_finalize"}


def dynamic_symbols(library, which):
    out = subprocess.run(["nm", "-D", which, library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    symbols = set()
    for line in out.splitlines():
        *_, kind, name = line.split()
        if kind != "A":  # the name of a version node
            symbols.add(name.split("@")[0])
    return symbols


def read_exports(text):
    """The patterns between global: and local: of a linker version script."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", text, flags=re.S)
    patterns, visible = [], True
    for token in re.findall(r"global\s*:|local\s*:|[^\s{};]+(?=\s*;)|\{", text):
        if token.startswith(("global", "{")):
            visible = True
        elif token.startswith("local"):
            visible = False
        elif visible:
            patterns.append(token)
    return patterns


def read_allowed(text):
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {line for line in lines if line}


def compare(exported, imported, patterns, allowed):
    found = []
    for name in sorted(exported):
        if not any(fnmatch.fnmatchcase(name, p) for p in patterns):
            found.append(f"exports {name}, which is not in exports.map")
    for pattern in patterns:
        if not fnmatch.filter(exported, pattern):
            found.append(f"does not define {pattern} of exports.map")
    for name in sorted(imported - allowed - TOOLCHAIN):
        found.append(f"uses {name}, which is not in imports.allow")
    return found


def main(argv):
    if len(argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    library = argv[1]
    exports, imports = argv[2:] or ("src/record/exports.map", "src/record/imports.allow")
    with open(exports) as f:
        patterns = read_exports(f.read())
    with open(imports) as f:
        allowed = read_allowed(f.read())
    problems = compare(dynamic_symbols(library, "--defined-only"),
                       dynamic_symbols(library, "--undefined-only"), patterns, allowed)
    for problem in problems:
        print(f"{library}: {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv))

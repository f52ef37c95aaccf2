#!/usr/bin/env python3
"""Fails when a function of src/ that other files could call is called by none.

usage: check_unused.py BUILD_FOLDER
It reads the object files of a build. A function passes when another file of src/ refers to it (also
in code that this build leaves out, such as `if (CONFIG_AUDIT)`), when its own file calls it and a
test does too, when the recorder exports it, or when tools/unused.allow gives a reason. A function
that only its own file calls should be static; one that only tests call is dead code.
"""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
BODY_LINE = re.compile(r"^[ \t].+$", re.M)  # prototypes and definitions begin in the first column
ENTRY_POINTS = {"main"}


def object_symbols(build):
    """({function: source file}, {function: source files that refer to it})."""
    objects = sorted(str(p) for p in build.glob("*.p/src_*.o"))
    if not objects:
        sys.exit(f"check_unused.py: {build} has no object files: run `make` first")
    defined, users = {}, {}
    for line in subprocess.check_output(["nm", "-A", *objects], text=True).splitlines():
        file, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        source = pathlib.Path(file).name.removesuffix(".o")
        if kind == "T":
            defined[name] = source
        elif kind == "U":
            users.setdefault(name, set()).add(source)
    return defined, users


def allowed(path):
    """{function: reason} of lines `function: reason`."""
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def bodies(root):
    """{file of src/: its lines that are inside functions}."""
    return {p: "\n".join(BODY_LINE.findall(COMMENT.sub("", p.read_text())))
            for p in (root / "src").rglob("*") if p.suffix in (".c", ".h", ".S", ".def")}


def calls(text, name):
    return len(re.findall(rf"\b{name}\b", text))


def check(root, build):
    defined, users = object_symbols(build)
    sources = {p.relative_to(root).as_posix().replace("/", "_"): p for p in (root / "src").rglob("*")
               if p.suffix in (".c", ".S")}
    exported = (root / "src/record/exports.map").read_text()
    exported += "".join(p.read_text() for p in (root / "src/record").rglob("*.def"))
    tests = "".join(COMMENT.sub("", p.read_text()) for top in ("tests", "bench")
                    for p in (root / top).rglob("*.[ch]"))
    body = bodies(root)
    reasons = allowed(root / "tools/unused.allow")
    found = []
    for name, source in sorted(defined.items()):
        if source not in sources or users.get(name, set()) - {source} or name in ENTRY_POINTS:
            continue
        if calls(exported, name):
            continue
        path = sources[source]
        if any(name in text and calls(text, name) for p, text in body.items() if p != path):
            continue
        in_file = calls(COMMENT.sub("", path.read_text()), name) - 1
        in_tests = calls(tests, name)
        if in_file and in_tests or reasons.pop(name, None):
            continue
        why = ("only its own file calls it: make it static" if in_file
               else "only tests call it" if in_tests else "nothing calls it")
        found.append(f"{path.relative_to(root)}:1: {name}(): {why}")
    found += [f"tools/unused.allow:1: {name} needs no exception" for name in sorted(reasons)]
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check(pathlib.Path("."), pathlib.Path(sys.argv[1]))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))

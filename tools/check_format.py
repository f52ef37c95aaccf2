#!/usr/bin/env python3
"""Fails when clang-format 14 would change a C file; prints where. --fix changes the files instead.

usage: check_format.py [--fix] [root]
"""
import pathlib
import re
import shutil
import subprocess
import sys

MAJOR = 14  # Debian 12's; other versions lay out differently
TOPS = ("src", "include", "tests", "bench", "tools")
SUFFIXES = (".c", ".h", ".cc", ".cpp")


def find_tool():
    for name in (f"clang-format-{MAJOR}", "clang-format"):
        path = shutil.which(name)
        if not path:
            continue
        version = subprocess.run([path, "--version"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        m = re.search(r"version (\d+)", version)
        if m and int(m[1]) == MAJOR:
            return path
    sys.exit(f"check_format.py: clang-format {MAJOR} is needed and not on PATH")


def main(argv):
    fix = "--fix" in argv
    rest = [a for a in argv[1:] if a != "--fix"]
    root = pathlib.Path(rest[0] if rest else ".")
    files = [str(p) for top in TOPS for p in sorted((root / top).rglob("*"))
             if p.suffix in SUFFIXES and p.is_file()]
    if not files:
        return 0
    how = ["-i"] if fix else ["--dry-run", "-Werror"]
    return subprocess.run([find_tool(), "--style=file", *how, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))

#!/usr/bin/env python3
"""Fails when a program or library needs a newer glibc, or other shared libraries, than it should.

usage: check_glibc.py VERSION FILE...       VERSION: 2.17, the newest glibc that may be needed
       check_glibc.py --replaced SOURCE VERSION FILE...
Reads what the dynamic linker reads: the versions of symbols, and the names of libraries. The second
form is for programs of an ordinary build: functions of a newer glibc must be defined in SOURCE
(src/release/old_glibc.c), which the release build adds; libraries do not matter.
"""
import re
import subprocess
import sys

# glibc's own: every system has them.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
         "ld-linux-aarch64.so.1"}


def key(version):
    return [int(n) for n in version.split(".")]


def complaints(path, newest):
    """What is wrong with one file, as text."""
    text = subprocess.run(["readelf", "--wide", "--version-info", "--dynamic", path], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    for version in sorted(set(re.findall(r"Name: GLIBC_([0-9.]+)", text)), key=key):
        if key(version) > key(newest):
            yield f"needs glibc {version}, newer than {newest}"
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if library not in GLIBC:
            yield f"needs {library}"


def not_replaced(path, newest, source):
    """Functions of a newer glibc that the release build does not replace, as text."""
    with open(source, encoding="utf-8") as file:
        defined = set(re.findall(r"(?m)^(?:HIDDEN )?\w[\w ]*[ *](\w+)\(", file.read()))
    text = subprocess.run(["readelf", "--wide", "--dyn-syms", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    for name, version in sorted(set(re.findall(r" UND (\w+)@GLIBC_([0-9.]+)", text))):
        if key(version) > key(newest) and name not in defined:
            yield f"{name} is of glibc {version}, newer than {newest}, and {source} does not define it"


def main(argv):
    source = None
    if len(argv) > 2 and argv[1] == "--replaced":
        source, argv = argv[2], argv[2:]
    if len(argv) < 3 or not re.fullmatch(r"\d+\.\d+", argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    found = [f"{path}: {what}" for path in argv[2:] for what in
             (not_replaced(path, argv[1], source) if source else complaints(path, argv[1]))]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv))

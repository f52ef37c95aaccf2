#!/usr/bin/env python3
"""Fails when a program or library needs a newer glibc, or other shared libraries, than it should.

usage: check_glibc.py VERSION FILE...       VERSION: 2.17, the newest glibc that may be needed
Reads what the dynamic linker reads: the versions of symbols, and the names of libraries.
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


def main(argv):
    if len(argv) < 3 or not re.fullmatch(r"\d+\.\d+", argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    found = [f"{path}: {what}" for path in argv[2:] for what in complaints(path, argv[1])]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv))

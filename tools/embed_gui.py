#!/usr/bin/env python3
"""Bundles the web GUI and writes a C file that holds it.

usage: embed_gui.py SOURCE_ROOT OUTPUT.c
Installs the pinned npm packages into ui/node_modules when the lock file changed, runs the bundler,
and leaves OUTPUT.c alone when nothing changed, so that nothing is compiled again.
"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

FILES = {  # name: content type
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "questions.txt": "text/plain; charset=utf-8",
}
REMEDY = "without network or Node, build without the GUI: meson configure BUILD -Dgui=disabled"


def run(command, folder):
    result = subprocess.run(command, cwd=folder, check=False, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}\n{REMEDY}")
    return result.stdout


def install_packages(ui):
    """npm ci, unless what it would install is there already."""
    stamp = ui / "node_modules" / ".installed-lock"
    lock = (ui / "package-lock.json").read_bytes()
    if stamp.exists() and stamp.read_bytes() == lock:
        return
    run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], ui)
    stamp.write_bytes(lock)


def c_array(name, data):
    lines = [f"static const uint8_t {name}[] = {{"]
    for i in range(0, len(data), 20):
        lines.append("\t" + ",".join(str(b) for b in data[i:i + 20]) + ",")
    return "\n".join(lines + ["};"])


def c_source(folder):
    parts = ["/* Made by tools/embed_gui.py from ui/. */", '#include "gui/gui_files.h"', ""]
    rows = []
    for i, (name, content_type) in enumerate(FILES.items()):
        plain = (folder / name).read_bytes()
        parts.append(c_array(f"file_{i}", gzip.compress(plain, 9, mtime=0)))
        rows.append(f'\t{{"{name}", "{content_type}", file_{i}, sizeof(file_{i}), {len(plain)}}},')
    parts += ["", "static const struct gui_file table[] = {", *rows, "};", "",
              "const struct gui_file *gui_files(size_t *n)", "{",
              "\t*n = sizeof(table) / sizeof(table[0]);", "\treturn table;", "}", ""]
    return "\n".join(parts)


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    ui, output = pathlib.Path(argv[1], "ui"), pathlib.Path(argv[2])
    install_packages(ui)
    with tempfile.TemporaryDirectory() as folder:
        run(["node", "tools/bundle.mjs", folder], ui)
        text = c_source(pathlib.Path(folder))
    if not output.exists() or output.read_text() != text:
        partial = output.with_suffix(".partial")
        partial.write_text(text)
        os.replace(partial, output)


if __name__ == "__main__":
    main(sys.argv)

#!/usr/bin/env python3
"""Writes a C file that holds a text: embed_text.py NAME INPUT OUTPUT"""
import pathlib
import sys

name, source, output = sys.argv[1:]
lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
quoted = [line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") for line in lines]
text = "\n".join(f'\t"{line}\\n"' for line in quoted)
pathlib.Path(output).write_text(
    f'/* Made from {pathlib.Path(source).name}. */\n#include "script/script_i.h"\n\n'
    f"const char {name}[] =\n{text};\n", encoding="utf-8")

#!/usr/bin/env python3
"""Makes the manual pages *.1 from *.1.md beside this script. --check: fails when one is stale.

The Markdown they are written in is small: # title, ## section, paragraphs, **bold**, *italic*,
``` blocks, and "term" lines followed by ": definition" lines.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def inline(text):
    """Bold and italic to roff; dashes and leading dots stay what they are."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"\*\*((?:[^*]|\*(?!\*))+\*?)\*\*", r"\\fB\1\\fR", text)
    text = re.sub(r"\*([^*]+)\*", r"\\fI\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def convert(source):
    out, lines, i = [], source.splitlines(), 0
    while i < len(lines):
        line = lines[i]
        title = re.match(r"# (\S+)\((\d)\)", line)
        if title:
            out.append(f'.TH {title[1]} {title[2]} "" "memory-profiler" "User Commands"')
        elif line.startswith("## "):
            out.append(f".SH {line[3:]}")
        elif line.startswith("```"):
            if line == "```sh":
                out.append('.\\" run')  # tests/e2e/test_docs.py does
            out.append(".EX")
            i += 1
            while not lines[i].startswith("```"):
                code = lines[i].replace("\\", "\\e").replace("-", "\\-")
                out.append("\\&" + code if code.startswith(".") else code)
                i += 1
            out.append(".EE")
        elif i + 1 < len(lines) and lines[i + 1].startswith(": "):
            out += [".TP", inline(line), inline(lines[i + 1][2:])]
            i += 1
            while i + 1 < len(lines) and lines[i + 1].startswith("  "):
                i += 1
                out.append(inline(lines[i].strip()))
        elif not line.strip():
            if out and not out[-1].startswith((".TH", ".SH", ".PP", ".EE")):
                out.append(".PP")
        else:
            out.append(inline(line))
        i += 1
    text = "\n".join(out)
    text = re.sub(r"\.PP\n(?=\.(SH|TP|PP))", "", text)  # a paragraph must hold something
    return f'.\\" Made by make_man.py; change the .md instead.\n{text}\n'


def main(argv):
    stale = 0
    for path in sorted(HERE.glob("*.1.md")):
        target = path.with_suffix("")
        text = convert(path.read_text())
        if "--check" in argv:
            if not target.exists() or target.read_text() != text:
                print(f"{target}: stale; run docs/man/make_man.py")
                stale += 1
        else:
            target.write_text(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

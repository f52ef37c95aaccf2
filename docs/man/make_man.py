#!/usr/bin/env python3
"""Makes the manual pages *.1 from *.1.md beside this script. --check: fails when one is stale.
--variables ENVIRONMENT.md OUTPUT: makes memory-profiler.7, which the build does.

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
            manual = "User Commands" if title[2] == "1" else "Miscellaneous"
            out.append(f'.TH {title[1]} {title[2]} "" "memory-profiler" "{manual}"')
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


def variables(document):
    """docs/ENVIRONMENT.md in the form that convert() reads."""
    head, *sections = re.split(r"(?m)^## ", document)
    intro = re.sub(r"(?s)<!--.*?-->", "", head.partition("\n")[2]).strip()
    out = ["# MEMORY-PROFILER(7)", "", "## NAME", "",
           "memory-profiler - environment variables that control the recorder", "", "## DESCRIPTION", "",
           intro, "", "## VARIABLES", ""]
    for section in sections:
        name, default, *text = [line for line in section.splitlines() if line.strip()]
        out += [name, f": {default}. " + text[0] if text else f": {default}."]
        out += ["  " + line.strip() for line in text[1:]] + [""]
    out += ["## SEE ALSO", "", "**memory-profiler-cli-run**(1)", ""]
    return re.sub(r"`([^`]+)`", r"**\1**", "\n".join(out))


def main(argv):
    stale = 0
    if argv[1:2] == ["--variables"]:
        text = variables(pathlib.Path(argv[2]).read_text())
        pathlib.Path(argv[3]).write_text(convert(text))
        return 0
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

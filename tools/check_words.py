#!/usr/bin/env python3
"""Fails when a header, a source, a test or a document uses a word that docs/GLOSSARY.md retired,
when a word has two entries in the glossary, or when an entry names a file that does not exist.

usage: check_words.py [root]
The glossary's section "Retired words" has one line for each: `- birth, born: say allocation`. A
retired word is found as a part of an identifier too (birth_ns). There is no list of exceptions. An
entry of the section "Words" begins with its words in bold: `- **stack id** (`record/stack.h`): ...`.
"""
import pathlib
import re
import subprocess
import sys

WHERE = ("src", "include", "tests", "bench", "docs", "tools", "README.md", "ui")
SUFFIXES = (".c", ".h", ".S", ".def", ".md", ".py", ".sh", ".ts", ".tsx", ".mjs", ".1", ".5", ".7", ".build")
SKIPPED = ("docs/GLOSSARY.md", "tools/check_words.py")
ENTRY = re.compile(r"^- ([a-z_, ]+): (.+)$")
WORDS = re.compile(r"^- \*\*(.+?)\*\*")
FILE = re.compile(r"`((?:\w+/)+[\w.-]+\.(?:c|h|def|md|py))`")


def retired(glossary):
    """{word: what to say instead} of the section "Retired words"."""
    words, inside = {}, False
    for line in glossary.read_text().splitlines():
        inside = line == "## Retired words" if line.startswith("## ") else inside
        m = ENTRY.match(line) if inside else None
        for word in m[1].split(", ") if m else ():
            words[word] = m[2]
    if not words:
        sys.exit(f"check_words.py: {glossary} has no section \"Retired words\"")
    return words


def files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", *WHERE], capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [
        p.relative_to(root).as_posix() for top in WHERE for p in root.glob(f"{top}/**/*")]
    return [root / n for n in names
            if n.endswith(SUFFIXES) and n not in SKIPPED and "node_modules" not in n and (root / n).is_file()]


def entries(glossary):
    """One complaint for each word with two entries, and for each file that does not exist."""
    found, seen = [], {}
    root = glossary.parents[1]
    text = glossary.read_text().partition("\n## Retired words")[0]
    for no, line in enumerate(text.splitlines(), 1):
        m = WORDS.match(line)
        for word in re.sub(r"\(.*?\)", "", m[1]).split(",") if m else ():
            first = seen.setdefault(word.strip().lower(), no)
            if first != no:
                found.append(f"docs/GLOSSARY.md:{no}: \"{word.strip()}\" has an entry in line {first}")
        found += [f"docs/GLOSSARY.md:{no}: no such file: {name}" for name in FILE.findall(line)
                  if not any((root / top / name).is_file() for top in ("src", ""))]
    return found


def check(root):
    words = retired(root / "docs/GLOSSARY.md")
    pattern = re.compile(r"(?<![A-Za-z])(" + "|".join(sorted(words, key=len, reverse=True)).replace(" ", r"\s+")
                         + r")(?![a-z])", re.I)
    found = entries(root / "docs/GLOSSARY.md")
    for path in files(root):
        for no, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for m in pattern.finditer(line):
                word = re.sub(r"\s+", " ", m[1].lower())
                found.append(f"{path.relative_to(root)}:{no}: \"{m[1]}\": {words[word]}")
    return found


if __name__ == "__main__":
    problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))

#!/usr/bin/env python3
"""Fails when a generated document is stale, a document links to a file that does not exist or states
another version number than the code, or an example of code is not in the file that it was copied
from: a block after <!-- from src/a.c -->.

usage: check_docs.py [root]
"""
import pathlib
import re
import sys

import gen_env_docs

EXAMPLE = re.compile(r"^<!-- from (\S+) -->\n```\w+\n(.*?)^```$", re.S | re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")

# document, the sentence that states a version, the file that defines the version, its macro
VERSIONS = [
    ("docs/STORE.md", r"^# The store, version (\d+)$", "src/store/columns.h", "STORE_VERSION"),
    ("docs/STORE.md", r"\| version: (\d+)\. Its offset", "src/store/columns.h", "STORE_VERSION"),
    ("docs/STORE.md", r"\| version: (\d+)\. Raised", "src/store/names_file.c", "NAMES_VERSION"),
    ("docs/FORMAT.md", r"^# The recording format, version (\d+)$", "src/format/format.h", "FORMAT_VERSION_MAJOR"),
    ("docs/FORMAT.md", r"\| version_major: (\d+)\.", "src/format/format.h", "FORMAT_VERSION_MAJOR"),
    ("docs/FORMAT.md", r"\| version_minor: (\d+)\.", "src/format/format.h", "FORMAT_VERSION_MINOR"),
    ("docs/FORMAT.md", r"^\| (\d+)\.\d+ \| this page \|$", "src/format/format.h", "FORMAT_VERSION_MAJOR"),
    ("docs/FORMAT.md", r"^\| \d+\.(\d+) \| this page \|$", "src/format/format.h", "FORMAT_VERSION_MINOR"),
    ("docs/REPORT.md", r"`schema` is (\d+)", "src/cli/report_json.h", "REPORT_JSON_SCHEMA"),
    ("docs/EXPORTS.md", r"file format (\d+)", "src/export/export_heaptrack.c", "HEAPTRACK_FORMAT"),
]

# Man pages need not state a version; where one does, the number must be right.
MAN_VERSIONS = [
    (r"store\S*,? version \W*(\d+)", "src/store/columns.h", "STORE_VERSION"),
    (r"format\S*,? version \W*(\d+)", "src/format/format.h", "FORMAT_VERSION_MAJOR"),
]


def broken_links(root):
    found = []
    for path in [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md")),
                 *sorted(root.glob("tests/*.md")), *sorted(root.glob("bench/*.md"))]:
        text = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S)
        for no, line in enumerate(text.splitlines(), 1):
            for target in LINK.findall(line):
                if "://" not in target and not target.startswith("mailto:") \
                        and not (path.parent / target).exists():
                    found.append(f"{path.relative_to(root)}:{no}: no such file: {target}")
    return found


def defined(root, source, macro):
    """The number that a macro is defined as, or None."""
    path = root / source
    m = re.search(rf"^#define {macro} (\d+)", path.read_text(), re.M) if path.exists() else None
    return m and m[1]


def wrong_versions(root):
    found = []
    for document, pattern, source, macro in VERSIONS:
        path = root / document
        if not path.exists():
            continue
        stated, is_defined = re.search(pattern, path.read_text(), re.M), defined(root, source, macro)
        if not stated or stated[1] != is_defined:
            found.append(f"{document}: states {macro} as {stated and stated[1]}, {source} has {is_defined}")
    for path in sorted([*root.glob("docs/man/*.md"), *root.glob("docs/man/*.[0-9]")]):
        for pattern, source, macro in MAN_VERSIONS:
            for stated in re.finditer(pattern, path.read_text(), re.I):
                if stated[1] != defined(root, source, macro):
                    found.append(f"{path.relative_to(root)}: states {macro} as {stated[1]}, "
                                 f"{source} has {defined(root, source, macro)}")
    return found


def squeezed(text):
    return " ".join(text.split())


def stale_examples(root):
    found = []
    for path in sorted(root.glob("docs/**/*.md")):
        text = path.read_text()
        for m in EXAMPLE.finditer(text):
            source = root / m[1]
            if not source.exists() or squeezed(m[2]) not in squeezed(source.read_text()):
                no = text.count("\n", 0, m.start()) + 1
                found.append(f"{path.relative_to(root)}:{no}: not in {m[1]}: copy the example again")
    return found


def check(root):
    problems = broken_links(root) + wrong_versions(root) + stale_examples(root)
    for problem in problems:
        print(problem)
    stale = gen_env_docs.main(["", "--check", str(root / "src/record/options.def"),
                               str(root / "docs/ENVIRONMENT.md")])
    return bool(problems) or bool(stale)


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

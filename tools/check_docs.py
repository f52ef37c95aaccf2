#!/usr/bin/env python3
"""Fails when a generated document is stale or a document links to a file that is not there.

usage: check_docs.py [root]
"""
import pathlib
import re
import sys

import gen_env_docs

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


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


def check(root):
    problems = broken_links(root)
    for problem in problems:
        print(problem)
    stale = gen_env_docs.main(["", "--check", str(root / "src/record/options.def"),
                               str(root / "docs/ENVIRONMENT.md")])
    return bool(problems) or bool(stale)


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

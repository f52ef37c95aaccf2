#!/usr/bin/env python3
"""Fails when a commit message does not follow CONTRIBUTING.md.

usage: check_commits.py [ROOT]            the descendants of the commit that added this file
       check_commits.py --message FILE    one message, as the commit-msg hook gets it (`make hooks`)

The subject reads `area: imperative summary`: one or two areas ("query, store:"), each a folder of
src/ or one of AREAS; at most 60 columns; no full stop. A change of more than 10 lines has a body
after a blank line, with lines of at most 76 columns. Lines that cannot be broken (one word) and
quoted ones (indented by 4 blanks or a tab) may be longer. Merges and reverts keep git's subject.
Where there is no history to check (a tarball, a shallow clone), the script says so and passes.
"""
import pathlib
import re
import subprocess
import sys

AREAS = {"ui", "docs", "tests", "tools", "bench", "build", "ci", "include", "tree"}
MAX_AREAS = 2
SUBJECT_COLUMNS = 60
BODY_COLUMNS = 76
TRIVIAL_LINES = 10  # changed lines that need no body
SUBJECT = re.compile(r"([a-z][a-z0-9_, -]*): (.+)")
TRAILER = re.compile(r"[A-Z][A-Za-z-]+: .+")
# First words that are not imperatives. A script cannot parse English; the list and the endings
# catch what was common in the history: articles, nouns in the plural, "adds", "added", "adding".
NOT_VERBS = {"a", "an", "the", "one", "two", "three", "all", "every", "each", "no", "not", "some",
             "it", "this", "that", "these", "those", "what", "when", "where", "which", "how", "why",
             "if", "for", "from", "in", "of", "on", "to", "with", "without", "new", "more", "less",
             "wip"}
NOT_VERB_ENDINGS = re.compile(r"(ing|ed|[^s]s)$")
VERBS = {"bring", "ring", "string", "wing", "bed", "embed", "exceed", "feed", "heed", "need",
         "proceed", "seed", "shed", "shred", "speed", "spread", "succeed", "weed", "alias", "bias",
         "canvas", "focus"}


class NoHistory(Exception):
    """There is nothing to check, and why."""


def git(root, *arguments):
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], check=False, text=True,
                              errors="replace", capture_output=True)
    except FileNotFoundError as error:
        raise NoHistory("git is not installed") from error
    if done.returncode != 0:
        raise NoHistory((done.stderr.strip().splitlines() or ["git failed"])[0])
    return done.stdout


def summary_problem(summary):
    """What is wrong with the text after the area, or None."""
    word = summary.split()[0]
    if not re.fullmatch(r"[a-z][a-z'-]*", word):
        return f"the summary begins with '{word}', not with a verb in lower case"
    if word not in VERBS and (word in NOT_VERBS or NOT_VERB_ENDINGS.search(word)):
        return f"'{word}' is not an imperative: write what the commit does (add, fix, rename ...)"
    return None


def subject_problems(subject, areas):
    """Complaints about the first line; areas: names that may stand before the colon."""
    if re.match(r'(Revert|Reapply) "', subject):
        return
    if len(subject) > SUBJECT_COLUMNS:
        yield f"the subject has {len(subject)} columns (at most {SUBJECT_COLUMNS})"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    m = SUBJECT.fullmatch(subject)
    if not m or not m[2].strip():
        yield "the subject is not `area: imperative summary`"
        return
    names = m[1].split(", ")
    if len(names) > MAX_AREAS:
        yield f"{len(names)} areas (at most {MAX_AREAS}; `tree:` for a change of the whole tree)"
    for name in names:
        if name not in areas:
            yield f"'{name}' is no area; areas are: {' '.join(sorted(areas))}"
    problem = summary_problem(m[2])
    if problem:
        yield problem


def body_problems(lines, n_changed):
    """Complaints about what follows the subject; n_changed: lines that the commit changes."""
    if lines and lines[0]:
        yield "the second line is not blank"
    for no, line in enumerate(lines, 2):
        is_quoted = line.startswith(("    ", "\t"))
        if len(line) > BODY_COLUMNS and " " in line.strip() and not is_quoted:
            yield f"line {no} has {len(line)} columns (at most {BODY_COLUMNS})"
    has_body = any(line.strip() and not TRAILER.fullmatch(line) for line in lines)
    if not has_body and n_changed > TRIVIAL_LINES:
        yield (f"no body, though {n_changed} lines change (more than {TRIVIAL_LINES}): say why, "
               "and what was seen or measured")


def problems_of(message, areas, n_changed):
    """Every complaint about one message."""
    lines = [line.rstrip() for line in message.strip("\n").split("\n")]
    if not lines[0]:
        return ["the message is empty"]
    return [*subject_problems(lines[0], areas), *body_problems(lines[1:], n_changed)]


def count_changed(numstat):
    """Sum of `added deleted path` lines. A binary file counts as more than a trivial change."""
    n = 0
    for added, deleted, _ in (line.split("\t", 2) for line in numstat.splitlines() if line):
        n += TRIVIAL_LINES + 1 if added == "-" else int(added) + int(deleted)
    return n


def folders_of_src(paths):
    return {m[1] for m in (re.match(r"src/([^/]+)/", path) for path in paths) if m}


def first_commit(root):
    """The commit that added this file: messages before it are not judged."""
    top = git(root, "rev-parse", "--show-toplevel").strip()
    if pathlib.Path(top).resolve() != pathlib.Path(root).resolve():
        raise NoHistory("the folder is not the top of a git repository")
    if git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise NoHistory("the clone is shallow")
    added = git(root, "log", "--diff-filter=A", "--format=%H", "--",
                "tools/check_commits.py").split()
    if not added:
        raise NoHistory("tools/check_commits.py is not committed yet")
    return added[-1]


def check(root):
    """Complaints about the commits of ROOT, each with the commit it is about."""
    first = first_commit(root)
    log = git(root, "log", "--no-merges", "--ancestry-path", "--reverse", "--numstat", "--no-renames",
              "--format=%x01%h%x02%B%x02", f"{first}..HEAD")
    commits = [entry.split("\2") for entry in log.split("\1")[1:]]
    # A folder that a later commit renames or removes was an area when the message was written.
    paths = [line.split("\t")[2] for _, _, numstat in commits for line in numstat.splitlines()
             if line]
    paths += git(root, "ls-tree", "-r", "--name-only", first, "src").splitlines()
    areas = AREAS | folders_of_src(paths)
    return [f"{name}: {problem}: {message.strip().splitlines()[0] if message.strip() else ''}"
            for name, message, numstat in commits
            for problem in problems_of(message, areas, count_changed(numstat))]


def check_message(path):
    """Complaints about the message in a file; size and areas are those of what is staged."""
    text = pathlib.Path(path).read_text(errors="replace")
    text = re.split(r"^# -+ >8 -+$", text, maxsplit=1, flags=re.M)[0]
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    if re.match(r"\s*(Merge |(fixup|squash|amend)! )", text):  # git's own; squashed later
        return []
    root = pathlib.Path(__file__).resolve().parents[1]
    areas = AREAS | {p.name for p in (root / "src").glob("*/")}
    try:
        n_changed = count_changed(git(".", "diff", "--cached", "--numstat", "--no-renames"))
    except NoHistory:
        n_changed = 0
    return problems_of(text, areas, n_changed)


def main(argv):
    if len(argv) > 1 and argv[1] == "--message":
        if len(argv) != 3:
            sys.exit(__doc__)
        problems = check_message(argv[2])
        print("".join(f"commit message: {p}\n" for p in problems), end="", file=sys.stderr)
        return bool(problems)
    try:
        problems = check(argv[1] if len(argv) > 1 else ".")
    except NoHistory as why:
        print(f"commit messages are not checked: {why}")
        return 0
    print("".join(f"{p}\n" for p in problems), end="")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv))

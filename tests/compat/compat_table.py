"""The table of docs/COMPATIBILITY.md: rows stand between two markers, explanations are written by hand.

A row that is not measured this time stays. A row with "differs" or with a loss needs an explanation: a
heading `### <name of the program>` below the table.
"""
import re

BEGIN = "<!-- table: begin -->"
END = "<!-- table: end -->"
COLUMNS = ("Program", "What runs", "Output", "Exit status", "Recordings", "Events", "Lost", "Cut stacks")
ROW = re.compile(r"^\| `([^`]+)` \|")
HEADING = re.compile(r"^### `?([^`\n]+?)`?$", re.M)


def split(document):
    """(text before the table, lines of the table, text after it)"""
    before, begin, rest = document.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no table between {BEGIN} and {END}")
    return before, table.strip().splitlines(), after


def old_rows(lines):
    return {m[1]: line for line in lines if (m := ROW.match(line))}


def explained(document):
    return set(HEADING.findall(document))


def row(cells):
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


def percent(share):
    """At least two digits that tell; 0 only if it is 0."""
    if share == 0:
        return "0"
    return "< 0.01 %" if share < 0.0001 else f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.0f} %"


def count(n):
    return f"{n:,}".replace(",", " ")


def row_of(program, verdict):
    """One line of the table; `program` is a Program, `verdict` a Verdict."""
    facts = verdict.facts
    reasons = ", ".join(sorted(facts.cut, key=facts.cut.get, reverse=True)[:2])
    cut = percent(facts.cut_share) + (f" ({reasons})" if reasons else "")
    lost = count(facts.lost) + "".join(f"; {count(n)} {what}" for n, what in (
        (len(facts.incomplete), "incomplete"), (facts.ended_early, "ended early")) if n)
    return row((f"`{program.name}`", program.title, verdict.output, verdict.exit_status,
                count(facts.recordings), count(facts.events), lost, cut))


def is_clean(line):
    """A row without "differs" and without a loss."""
    cells = [c.strip() for c in line.strip("|").split(" | ")]
    return "differs" not in line and cells[6] == "0"


def unexplained(document):
    """Names of rows that differ or lost something, and have no heading below the table."""
    _, lines, after = split(document)
    known = explained(after)
    return [name for name, line in old_rows(lines).items() if not is_clean(line) and name not in known]


def with_rows(document, new, order):
    """The document with the rows of `new` ({name: line}) put in, in the order of the names of `order`.

    Rows of programs that are no longer in `order` go.
    """
    before, lines, after = split(document)
    rows = {**old_rows(lines), **new}
    table = [row(COLUMNS), row(["---"] * len(COLUMNS)), *(rows[n] for n in order if n in rows)]
    return before + BEGIN + "\n" + "\n".join(table) + "\n" + END + after

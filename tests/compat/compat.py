#!/usr/bin/env python3
"""Runs real programs bare and recorded, compares, and writes the table of docs/COMPATIBILITY.md.

usage: compat.py [--only NAME,NAME...] [--list] [--keep] [--show] [--no-table]
Exit status 1 if a program differs or loses something and docs/COMPATIBILITY.md does not say why.
"""
import argparse
import dataclasses
import difflib
import os
import re
import subprocess
import sys

import compat_table
from compat_programs import PROGRAMS
from compat_run import Facts, Runner, mp
from compat_sources import fetch

DOCUMENT = mp.SRC / "docs/COMPATIBILITY.md"
SOURCES = mp.BUILD.parent / "compat/sources"


@dataclasses.dataclass
class Verdict:
    output: str
    exit_status: str
    facts: Facts
    why: list

    @property
    def is_same(self):
        return self.output == self.exit_status == "same" and not self.facts.lost \
            and not self.facts.incomplete


def difference(name, bare, recorded):
    lines = list(difflib.unified_diff(bare.splitlines(), recorded.splitlines(),
                                      f"{name} bare", f"{name} recorded", n=0, lineterm=""))
    return [f"    {line}" for line in lines[:400]]


def compare(bare, recorded):
    """A Verdict, with a line for everything that differs."""
    why = []
    if recorded.code != bare.code:
        why.append(f"exit status {bare.code}, recorded {recorded.code}")
    streams = [name for name in ("stdout", "stderr") if getattr(bare, name) != getattr(recorded, name)]
    for name in streams:
        why += difference(name, getattr(bare, name), getattr(recorded, name))
    if len(recorded.left_behind) > len(bare.left_behind):
        why.append(f"left behind: {bare.left_behind}, recorded {recorded.left_behind}")
        streams.append("processes")
    if recorded.strange_files:
        why.append(f"files left behind: {recorded.strange_files[:5]}")
        streams.append("files")
    if not recorded.facts.recordings:
        why.append("no recording at all")
        streams.append("recording")
    why += recorded.facts.incomplete[:5]
    if recorded.facts.lost:
        why.append(f"{recorded.facts.lost} events lost")
    output = f"differs: {', '.join(streams)}" if streams else "same"
    status = "same" if recorded.code == bare.code else f"differs: {recorded.code} for {bare.code}"
    return Verdict(output, status, recorded.facts, why)


def judge(runner, program, show):
    """What is not the same in one pair of runs may be chance: it has to differ in two pairs."""
    for _ in range(1 + program.second_tries):
        bare = runner.run(program, False)
        if not re.search(program.expect, bare.stdout):
            raise AssertionError(f"{program.name} does not work bare: no {program.expect!r} in\n"
                                 f"{bare.stdout}\n{bare.stderr}")
        recorded = runner.run(program, True)
        if show:
            print(f"--- stdout\n{bare.stdout}\n--- stderr\n{bare.stderr}\n---", flush=True)
        verdict = compare(bare, recorded)
        if verdict.is_same:
            break
        print("\n".join(verdict.why), flush=True)
    facts = verdict.facts
    print(f"  {'same' if verdict.is_same else 'DIFFERS'}: exit {bare.code}, {len(bare.stdout)} bytes of output, "
          f"{facts.recordings} recordings, {facts.events} events, {facts.lost} lost, cut {facts.cut}, "
          f"{facts.file_bytes >> 10} KiB; {bare.seconds:.1f} s bare, {recorded.seconds:.1f} s recorded",
          flush=True)
    return verdict


def chosen(only):
    names = [p.name for p in PROGRAMS]
    unknown = [n for n in only if n not in names]
    if unknown:
        sys.exit(f"compat.py: no such program: {', '.join(unknown)}; there are: {', '.join(names)}")
    return [p for p in PROGRAMS if not only or p.name in only]


def note(row_by_name):
    """Writes rows into the table. A program's row is there as soon as the program is done."""
    order = [p.name for p in PROGRAMS]
    DOCUMENT.write_text(compat_table.with_rows(DOCUMENT.read_text(), row_by_name, order))


def run_all(options):
    """({name: row}, names of programs that could not be judged)"""
    rows, failed = {}, []
    runner = Runner(SOURCES, options.keep)
    try:
        for program in chosen(options.only):
            print(f"{program.name}: {program.title}", flush=True)
            if program.needs_root and os.geteuid() != 0:
                print("  not run: only root can", flush=True)
                continue
            try:
                for source in program.sources:
                    fetch(source, SOURCES)
                rows[program.name] = compat_table.row_of(program, judge(runner, program, options.show))
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                print(f"  FAILED: {error}", flush=True)
                failed.append(program.name)
                continue
            if not options.no_table:
                note({program.name: rows[program.name]})
    finally:
        runner.close()
    return rows, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=lambda s: s.split(","), default=[], help="names of programs, by commas")
    parser.add_argument("--list", action="store_true", help="list the programs")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folders")
    parser.add_argument("--show", action="store_true", help="print what the bare runs print")
    parser.add_argument("--no-table", action="store_true", help="leave docs/COMPATIBILITY.md as it is")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{p.name:20} {p.title}" for p in PROGRAMS))
        return 0
    rows, failed = run_all(options)
    order = [p.name for p in PROGRAMS]
    document = compat_table.with_rows(DOCUMENT.read_text(), rows, order)
    missing = [n for n in compat_table.unexplained(document) if n in rows]
    for name in missing:
        print(f"{name}: differs, and {DOCUMENT.name} has no heading \"### {name}\" that says why")
    for name in failed:
        print(f"{name}: does not run here")
    return 1 if missing or failed else 0


if __name__ == "__main__":
    sys.exit(main())

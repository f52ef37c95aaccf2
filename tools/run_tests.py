#!/usr/bin/env python3
"""Runs the Meson tests of a set of build folders and closes with one line of totals.

usage: run_tests.py all|soak [arguments for meson test]
Fails when a test failed, when a run had no test at all, or when meson itself failed.
"""
import json
import pathlib
import subprocess
import sys

# set: (heading, build folder, arguments of `meson test`)
RUNS = {
    "all": [
        # a loaded machine is no failure: the limits are there for what hangs
        ("tests, release", "build/release", ["--no-suite", "soak", "--timeout-multiplier", "3"]),
        ("unit tests and fuzz corpora, ASan+UBSan", "build/asan",
         ["--suite", "unit", "--suite", "fuzz-corpus", "--timeout-multiplier", "3"]),
        ("unit and stress tests, TSan", "build/tsan",
         ["--suite", "unit", "--suite", "stress", "--timeout-multiplier", "3"]),
    ],
    "soak": [
        ("soak tests, release", "build/release", ["--suite", "soak"]),
    ],
}
PASSED = {"OK", "EXPECTEDFAIL"}


def tsan_wrapper():
    """TSan of gcc 12 dies under kernels that randomise too many bits; switch that off if we may."""
    probe = subprocess.run(["setarch", "-R", "true"], check=False, capture_output=True)
    return ["--wrapper", "setarch -R"] if probe.returncode == 0 else []


def read_results(path):
    """The entries of a testlog.json (one JSON object per line); none when meson wrote no log."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def skip_reason(entry):
    text = (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def summary(results):
    """results: list of (folder, entry). The closing line, and the lines on skipped tests."""
    passed = [r for r in results if r[1]["result"] in PASSED]
    skipped = [r for r in results if r[1]["result"] == "SKIP"]
    failed = len(results) - len(passed) - len(skipped)
    notes = [f"skipped: {e['name']} ({folder}): {skip_reason(e)}" for folder, e in skipped]
    line = f"{len(passed)} passed, {failed} failed"
    if skipped:
        line += f", {len(skipped)} skipped"
    return line, notes, failed


def main(argv):
    if len(argv) < 2 or argv[1] not in RUNS:
        print(__doc__, file=sys.stderr)
        return 2
    results, broken = [], False
    for heading, folder, args in RUNS[argv[1]]:
        print(f"\n== {heading}", flush=True)
        log = pathlib.Path(folder, "meson-logs", "testlog.json")
        log.unlink(missing_ok=True)
        log_with_wrapper = log.with_name("testlog-setarch.json")
        log_with_wrapper.unlink(missing_ok=True)
        extra = tsan_wrapper() if folder == "build/tsan" else []
        code = subprocess.run(
            ["meson", "test", "-C", folder, "--print-errorlogs", *args, *extra, *argv[2:]],
            check=False).returncode
        entries = read_results(log) + read_results(log_with_wrapper)
        if not entries:
            print(f"{folder}: no test ran")
            broken = True
        results += [(folder, e) for e in entries]
        broken = broken or code != 0
    line, notes, failed = summary(results)
    print()
    for note in notes:
        print(note)
    if broken and not failed:
        print("a run ended badly outside its tests: see above")
    print(line)
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

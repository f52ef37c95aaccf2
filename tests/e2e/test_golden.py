"""Recordings of earlier builds say what they said then.

    test_golden.py             compares
    test_golden.py --update    writes the answers of this build: look at the difference before you commit
    test_golden.py --record    records anew, as root (a new format version): then --update

golden/figures.dat is tests/programs/known_figures.c, postprocessed: it has names and no binaries.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import mp

GOLDEN = pathlib.Path(__file__).parent / "golden"
RECORDING = GOLDEN / "figures.dat"
# file: the command that makes it. JSON may gain names; what is there must stay.
ANSWERS = {
    "figures.dump": ["dump"],
    "figures.csv": ["export", "--no-cache", "-f", "csv"],
    "figures.collapsed": ["export", "--no-cache", "-f", "collapsed", "--cost=peak"],
    "figures.info.json": ["info", "--json"],
    "figures.report.json": ["report", "--json", "--no-cache", "--limit", "all"],
}


def answer(arguments):
    done = subprocess.run([mp.CLI, *arguments, RECORDING.name], cwd=GOLDEN, capture_output=True, check=False,
                          env=mp.clean_environment(), timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def lost(old, new, path=""):
    """Where new lacks something of old, or differs from it."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [p for key in old for p in (lost(old[key], new[key], f"{path}.{key}") if key in new else [f"{path}.{key}"])]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [p for i, item in enumerate(old) for p in lost(item, new[i], f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]


class Golden(mp.TestCase):
    def test_answers_are_the_same(self):
        for name, arguments in ANSWERS.items():
            with self.subTest(name):
                old, new = (GOLDEN / name).read_bytes(), answer(arguments)
                if name.endswith(".json"):
                    self.assertEqual([], lost(json.loads(old), json.loads(new)))
                else:
                    self.assertEqual(old.decode(), new.decode())

    def test_a_change_is_noticed(self):
        self.assertEqual([".a[1].b: 1 became 2"], lost({"a": [0, {"b": 1}]}, {"a": [0, {"b": 2, "c": 3}]}))
        self.assertEqual([".a"], lost({"a": 1}, {}))
        self.assertEqual(1, len(lost([1], [1, 2])))


def record():
    source = mp.SRC / "tests/programs/known_figures.c"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "known_figures"
        subprocess.run(["cc", "-g", "-O0", f"-ffile-prefix-map={source.parent}=/src", f"-ffile-prefix-map={folder}=/src",
                        "-o", program, source], check=True, cwd=folder)
        script = ('hostname golden; mkdir -p /tmp/g; mount -t tmpfs none /tmp/g; cp "$1" /tmp/g; cp "$2" /tmp/g/l.so;'
                  ' cd /tmp/g; env -i MEMORY_PROFILER_OUTPUT=/tmp/g/r.dat LD_PRELOAD=/tmp/g/l.so ./known_figures;'
                  ' exec "$3" postprocess -q -o "$4" /tmp/g/r.dat')
        subprocess.run(["unshare", "--uts", "--mount", "--cgroup", "sh", "-ec", script, "sh", program, mp.LIBRARY, mp.CLI, RECORDING],
                       check=True)


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    elif "--update" in sys.argv:
        for file, command in ANSWERS.items():
            (GOLDEN / file).write_bytes(answer(command))
    else:
        mp.main()

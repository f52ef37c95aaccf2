"""Runs one program bare and recorded, and says what differs.

A program is a bash script of programs/. It runs twice in a fresh folder of the same name, once bare
and once recorded, and must print what is to be compared. The script puts `under` before each
command that is to be recorded: `under` starts the command with the recorder, or bare.
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import mp  # noqa: E402

MARK = "MP_COMPAT_RUN"
ALIVE_AFTER_END_S = 10
FORBADE_ITSELF = "the recorder gave up before the program ended"
SHELL_SAYS = r"\S+\.sh: line \d+: +\d+ "  # bash names the process that a signal ended

UNDER_BARE = """#!/bin/sh
exec "$@"
"""
UNDER_RECORDER = """#!/bin/sh
export MEMORY_PROFILER_OUTPUT='{recordings}/%e_%p_%n.dat' MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 \\
	MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT={binaries}
LD_PRELOAD='{library}' exec "$@"
"""


@dataclasses.dataclass
class Program:
    """name.sh of programs/, and what is known about it.

    expect: what the output must match, so that it shows more than that nothing works in both runs.
    hide: patterns of what is never the same twice (process ids, times); each match becomes "~".
    sources: Debian source packages that the script finds below $SOURCES.
    second_tries: how often both runs are repeated if they differ, in case it was chance.
    binaries: the recordings embed binaries; switched off where there are very many recordings.
    """
    name: str
    title: str
    expect: str
    limit_s: int = 120
    hide: tuple = ()
    sources: tuple = ()
    binaries: bool = False
    needs_root: bool = False
    second_tries: int = 1

    @property
    def script(self):
        return HERE / "programs" / f"{self.name}.sh"


@dataclasses.dataclass
class Facts:
    """What the recordings of a run say, added up."""
    recordings: int = 0
    events: int = 0
    lost: int = 0
    ended_early: int = 0  # in order, because the program forbade itself system calls
    incomplete: list = dataclasses.field(default_factory=list)
    cut: dict = dataclasses.field(default_factory=dict)
    file_bytes: int = 0

    def add(self, one):
        self.recordings += 1
        self.events += one["events"]
        self.lost += one["lost_events"]
        self.file_bytes += one["file_bytes"]
        for reason, n in one["truncated_stacks"].items():
            self.cut[reason] = self.cut.get(reason, 0) + n
        wrong = [key for key in ("lost_blocks", "damaged_bytes", "unknown_frees",
                                 "duplicate_allocations") if one[key]]
        if not wrong and FORBADE_ITSELF in one["notes"]:
            self.ended_early += 1
        elif not one["complete"] or wrong:
            self.incomplete.append(f"{one['file']}: complete {one['complete']}, {wrong}, "
                                   f"ended {one['ended']}, {one['notes']}")

    @property
    def cut_share(self):
        return sum(self.cut.values()) / self.events if self.events else 0.0


@dataclasses.dataclass
class Run:
    code: object
    stdout: str
    stderr: str
    seconds: float
    left_behind: list
    facts: Facts = None
    strange_files: list = dataclasses.field(default_factory=list)


def processes_of(folder, mark):
    """Living processes of a run: by their environment, by what they map, or by their working folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if (mark in (process / "environ").read_bytes()
                    or bytes(folder) in (process / "maps").read_bytes()
                    or os.readlink(process / "cwd").startswith(str(folder))):
                found.append((int(process.name), (process / "comm").read_text().strip()))
    return found


def end_all(folder, mark):
    """What still runs shortly after the script has ended; it is killed then."""
    end = time.monotonic() + ALIVE_AFTER_END_S
    while (left := processes_of(folder, mark)) and time.monotonic() < end:
        time.sleep(0.1)
    for pid, _ in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def hidden(text, patterns):
    for pattern in (SHELL_SAYS, *patterns):
        text = re.sub(pattern, "~", text, flags=re.M)
    return text


def infos(paths):
    """What `info --json` says of each; of a file that it refuses, that."""
    try:
        found = mp.info(*paths)
    except AssertionError as error:
        if len(paths) > 1:
            return [one for path in paths for one in infos([path])]
        return [{"file": paths[0].name, "events": 0, "lost_events": 0, "truncated_stacks": {},
                 "file_bytes": paths[0].stat().st_size, "lost_blocks": 0, "damaged_bytes": 0,
                 "unknown_frees": 0, "duplicate_allocations": 0, "complete": False,
                 "ended": "?", "notes": [str(error)]}]
    return found if isinstance(found, list) else [found]


class Runner:
    """Runs programs in one scratch folder, which is the same for both runs."""

    def __init__(self, sources, keep):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="mp-compat-"))
        os.chmod(self.root, 0o755)
        self.sources = sources
        self.keep = keep
        self.library = shutil.copy(mp.LIBRARY, self.root)
        os.chmod(self.library, 0o755)

    def close(self):
        if not self.keep:
            shutil.rmtree(self.root, ignore_errors=True)

    def prepare(self, program, is_recorded):
        """A fresh folder for a run; any user may write in its folder of recordings."""
        folder = self.root / program.name
        shutil.rmtree(folder, ignore_errors=True)
        for name, mode in (("bin", 0o755), ("work", 0o1777), ("recordings", 0o1777)):
            (folder / name).mkdir(parents=True)
            os.chmod(folder / name, mode)
        under = folder / "bin/under"
        under.write_text(UNDER_BARE if not is_recorded else UNDER_RECORDER.format(
            recordings=folder / "recordings", binaries=int(program.binaries), library=self.library))
        under.chmod(0o755)
        return folder

    def environment(self, program, is_recorded, mark):
        folder = self.root / program.name
        notes = self.root / f"{program.name}.notes"  # what the bare run leaves for the recorded one
        if not is_recorded:
            shutil.rmtree(notes, ignore_errors=True)
        notes.mkdir(exist_ok=True)
        path = f"{folder}/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:{os.environ.get('PATH', '')}"
        return {**mp.clean_environment(), "PATH": path,
                "HOME": str(folder / "work"), "TMPDIR": "/tmp", "WORK": str(folder / "work"),
                "NOTES": str(notes), "ROOT": str(self.root), "IS_RECORDED": str(int(is_recorded)),
                "SOURCES": str(self.sources),
                "PORT": "18437", MARK: mark}

    def run(self, program, is_recorded):
        folder = self.prepare(program, is_recorded)
        mark = f"{os.getpid()}.{program.name}"
        began = time.monotonic()
        try:
            done = mp.run(["bash", program.script], self.environment(program, is_recorded, mark),
                          cwd=folder / "work", timeout=program.limit_s * (2 if is_recorded else 1))
            code, out, err = done.code, done.stdout, done.stderr
        except mp.Hang as hang:
            code, out, err = "hangs", b"", str(hang).encode()
        seconds = time.monotonic() - began
        left = end_all(folder, f"{MARK}={mark}".encode())
        text = [hidden(t.decode(errors="replace"), program.hide) for t in (out, err)]
        run = Run(code, *text, seconds, left)
        if is_recorded:
            self.read_recordings(folder / "recordings", run)
        if not self.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return run

    def read_recordings(self, folder, run):
        paths = sorted(p for p in folder.iterdir() if re.search(r"\.dat(\.old(\.\d+)?)?$", p.name))
        run.strange_files = sorted(p.name for p in folder.iterdir() if p not in paths)
        run.facts = Facts()
        mp.wait_until_written(*paths)
        for start in range(0, len(paths), 200):
            for one in infos(paths[start:start + 200]):
                run.facts.add(one)

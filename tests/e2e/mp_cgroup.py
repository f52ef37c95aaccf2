"""A memory cgroup for tests and benchmarks, version 1 or 2 of the kernel's interface."""
import os
import pathlib
import time


class Cgroup:
    """A memory cgroup below that of this process. create() gives None where none can be made."""

    def __init__(self, path, limit_file, procs):
        self.path, self.limit_file, self.procs = path, limit_file, procs

    @staticmethod
    def create(budget_bytes):
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            is_v1 = "memory" in controllers.split(",")
            if not is_v1 and controllers:
                continue
            root = "/sys/fs/cgroup/memory" if is_v1 else "/sys/fs/cgroup"
            path = pathlib.Path(root + name) / f"mp-{os.getpid()}"
            limit = "memory.limit_in_bytes" if is_v1 else "memory.max"
            try:
                path.mkdir()
            except OSError:
                continue
            try:
                with open(path / limit, "r+", encoding="ascii") as file:  # not there in a common folder
                    file.write(str(budget_bytes))
                return Cgroup(path, limit, path / "cgroup.procs")
            except OSError:
                path.rmdir()
        return None

    def used_mib(self):
        """Anonymous and mapped bytes of its processes."""
        stat = dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())
        names = ("anon", "file_mapped") if "anon" in stat else ("rss", "mapped_file")
        return sum(int(stat[n]) for n in names) / 2 ** 20

    def remove(self):
        for _ in range(50):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)
        return None

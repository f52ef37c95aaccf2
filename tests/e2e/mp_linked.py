"""Programs with allocators linked in, for tests: made of Debian's static libraries."""
import pathlib
import subprocess
import tempfile

import mp

SOURCES = pathlib.Path(mp.SRC) / "tests/programs"


def library(name):
    """The path of a static library of the compiler's."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True,
                          check=True).stdout.strip()
    mp.require(name, "/" in path)
    return path


class LinkedTestCase(mp.TestCase):
    """Builds programs with allocators linked in."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mp-allocators-")
        cls.here = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, name, *argv):
        """Runs a compiler; the result is in the folder of the class."""
        target = self.here / name
        done = subprocess.run([*map(str, argv), "-o", str(target)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return target

    def prefixed_jemalloc(self, prefix="_rjem_"):
        """Debian's static jemalloc with a prefix before all of its names, as Rust crates have it."""
        target = self.here / f"lib{prefix}jemalloc.a"
        if target.exists():
            return target
        archive = library("libjemalloc.a")
        names = subprocess.run(["nm", "--defined-only", "-g", archive], capture_output=True, text=True,
                               check=True).stdout
        defined = sorted({line.split()[2] for line in names.splitlines() if len(line.split()) == 3})
        renamed = self.here / "renamed"
        renamed.write_text("".join(f"{name} {prefix}{name}\n" for name in defined))
        subprocess.run(["objcopy", f"--redefine-syms={renamed}", archive, target], check=True)
        return target

    def c_program(self, name, *argv):
        return self.build(name, "gcc", "-g", "-fno-builtin", SOURCES / "linked_allocator.c", *argv,
                          "-lpthread", "-lstdc++", "-lm", "-ldl")

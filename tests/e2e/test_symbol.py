#!/usr/bin/env python3
"""Names, files and lines are right: src/symbol against addr2line, and against the sources.

The programs are in tests/programs/symbols and are built here, in many ways. At marked places they
print an address themselves; what is there is written below. All other addresses of their code are
compared with what addr2line says.
"""
import ctypes.util
import functools
import http.server
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import threading

import mp

RESOLVE = mp.BUILD / "tests/e2e/resolve_addresses"
SOURCES = mp.SRC / "tests/programs/symbols"

# tag: innermost first, function and a text that is in the source line
MARKS = {
    "c_inlined": [("innermost", "/* c_inlined */"), ("middle", "/* middle calls innermost */"),
                  ("outer", "/* outer calls middle */")],
    "c_static": [("internal", "/* c_static */")],
    "c_main": [("main", "/* c_main */")],
    "cpp_template": [("shapes::box<T>::get", "/* box::get marks */"),
                     ("shapes::box<T>::twice", "/* box::twice calls get */")],
    "cpp_anonymous": [("(anonymous namespace)::hidden::method", "/* cpp_anonymous */")],
    "cpp_operator": [("point::operator<", "/* cpp_operator */")],
    "cpp_local_class": [("f", "/* cpp_local_class */")],
}


def tool(*argv, text=None, cwd=None, env=None):
    done = subprocess.run([str(a) for a in argv], input=text, capture_output=True, text=True,
                          errors="replace", cwd=cwd, env=env, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{argv}: {done.stderr}")
    return done.stdout


def build_id(path):
    found = re.search(r"Build ID: (\w+)", tool("readelf", "-n", path))
    return found[1] if found else None


class Frame:
    def __init__(self, function, raw, source, line, column, kind):
        self.function, self.raw, self.source = function, raw, source
        self.line, self.column = int(line), int(column)
        self.is_inline = kind == "inline"

    def __repr__(self):
        return f"{self.function} at {self.source}:{self.line}{' (inline)' * self.is_inline}"


def resolve(path, addresses, *options, env=None):
    """({address: [frames]}, origin)"""
    asked = "".join(f"{a:#x}\n" for a in addresses)
    origin, *lines = tool(RESOLVE, *options, path, text=asked, env=env).splitlines()
    found, current = {}, None
    for line in lines:
        if "\t" in line:
            current.append(Frame(*line.split("\t")))
        else:
            current = found.setdefault(int(line, 16), [])
    return found, origin


def addr2line(path, addresses):
    """{address: [(function, source, line)]}; unknown is None, None, 0"""
    asked = "".join(f"{a:#x}\n" for a in addresses)
    answer = tool("addr2line", "-a", "-i", "-f", "-C", "-e", path, text=asked)
    found = {}
    for address, lines in zip(addresses, re.split(r"^0x[0-9a-f]+\n", answer, flags=re.M)[1:]):
        lines = lines.splitlines()
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            source, _, line = re.sub(r" \(discriminator.*", "", place).rpartition(":")
            frames.append((None if function == "??" else function,
                           None if source == "??" else source, 0 if line == "?" else int(line)))
        found[address] = frames
    return found


def own_functions(path, sources):
    """Every address of the functions that have lines in these sources."""
    addresses = []
    for line in tool("nm", "-S", "--defined-only", path).splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[2] in "tTwW":
            start, size = int(parts[0], 16), int(parts[1], 16)
            addresses.append((start, size))
    answer = addr2line(path, [start for start, _ in addresses])
    result = set()
    for start, size in addresses:
        if any(place and pathlib.Path(place).name in sources for _, place, _ in answer[start]):
            result.update(range(start, start + size))
    return sorted(result)


def unclone(name):
    """Without what only the ELF symbol of a piece of a function has."""
    return re.sub(r" \[clone [^]]*\]|\.(cold|part|isra|constprop)[.0-9]*", "", name)


def path_of(name):
    """Without return type, parameters, template arguments and the numbers of lambdas."""
    name = unclone(name).replace("(anonymous namespace)", "ANONYMOUS")
    name = re.sub(r"\boperator(\(\)|<|->)", lambda m: "operator" + m[1].encode().hex(), name)
    before = None
    while before != name:
        before, name = name, re.sub(r"\([^()]*\)( const)?|<[^<>]*>|(?<=\{lambda)#\d+", "", name)
    return name.split(" ")[-1]


def leaf(name):
    return path_of(name).split("::")[-1]


@functools.lru_cache(None)
def defines(path, function):
    """The source has the body of that function: its head is on the line before a brace."""
    return bool(re.search(rf"\b{re.escape(function)}\([^;\n]*\)( const)?\n\s*\{{",
                          pathlib.Path(path).read_text()))


def same_place(ours, theirs):
    """addr2line 2.40 takes file 1 of a DWARF 5 line table for the main file, which it need not be:
    then the right file is the one with the function in it."""
    if theirs[1] is None or theirs[2] == 0:
        return True
    if ours.line != theirs[2]:
        return False
    name = leaf(ours.function)
    return pathlib.Path(ours.source).name == pathlib.Path(theirs[1]).name or \
        (defines(ours.source, name) and not defines(theirs[1], name))


def same_name(ours, theirs):
    """The whole demangled name, wherever DWARF has a linkage name. gcc leaves it out for what no
    other file can call. Then addr2line shows the ELF symbol of a function with code of its own,
    which has parameters, and nothing but DW_AT_name of one that was inlined."""
    if re.match(r"_Z|_R", ours.raw):
        return ours.function == unclone(theirs)
    if theirs == ours.raw:
        return ours.function.endswith(theirs)
    return path_of(ours.function) == path_of(theirs)


def same_name_in_dwarf_2(ours, theirs):
    """DWARF 2 has no namespaces, and no way to tell of code in two sections but a made-up name."""
    return same_name(ours, theirs) or \
        ours.function.removeprefix("__second_sect_of_") == \
        path_of(theirs).removeprefix("ANONYMOUS::")


def same_names(ours, theirs, same_name=same_name):
    """addr2line replaces the innermost name by that of the ELF symbol when that starts later than
    the function in DWARF does; the names around it tell."""
    same = [same_name(o, t[0] or "?") for o, t in zip(ours, theirs)]
    return all(same) or (len(same) > 1 and all(same[1:]) and
                         unclone(theirs[0][0]) == unclone(theirs[-1][0]))


@functools.lru_cache(None)
def scratch():
    return tempfile.TemporaryDirectory()


def built(name, *flags, compiler="gcc", tag=""):
    """The program of that name, built once with these flags."""
    folder = pathlib.Path(scratch().name)
    out = folder / re.sub(r"[^\w.]+", "_", "-".join([name, compiler, *flags, tag]))
    if not out.exists():
        if compiler.startswith("rustc"):
            tool(compiler, *flags, SOURCES / name, "-o", out, cwd=folder)
        else:
            tool(compiler, "-Wl,--build-id", *flags, SOURCES / name, "-o", out, cwd=folder)
    return out


def cpp_of(compiler):
    return {"gcc": "g++", "clang": "clang++"}[compiler]


class Symbols(mp.TestCase):
    same_name = staticmethod(same_name)

    def setUp(self):
        super().setUp()
        self.folder = self.dir / "symbols"
        self.folder.mkdir()

    def compare(self, path, addresses, truth_path, *options):
        """Ours at path is as addr2line's at truth_path, which has the same code."""
        if not options:
            options = ("--build-id", build_id(path))
        ours, origin = resolve(path, addresses, *options)
        theirs = addr2line(truth_path, addresses)
        differ = []
        for address in addresses:
            o, t = ours[address], theirs[address]
            if len(o) != len(t) or not same_names(o, t, self.same_name) or \
                    not all(map(same_place, o, t)):
                differ.append(f"{address:#x}: ours {o}, addr2line {t}")
        self.assertGreater(len(addresses), 100)
        self.assertEqual([], differ[:5], f"{len(differ)} of {len(addresses)} differ; {origin}")
        return ours


class SameAsAddr2line(Symbols):
    def test_compilers_and_versions(self):
        for compiler in ("gcc", "clang"):
            for version in (4, 5):
                for level in ("-O0", "-O2"):
                    for name in ("names.c", "names.cpp"):
                        cc = compiler if name == "names.c" else cpp_of(compiler)
                        with self.subTest(f"{cc} {version} {level}"):
                            path = built(name, "-g", f"-gdwarf-{version}", level, compiler=cc)
                            self.compare(path, own_functions(path, (name, "names.hpp")), path)

    def test_old_versions(self):
        for version in (2, 3):
            with self.subTest(version):
                self.same_name = same_name_in_dwarf_2 if version == 2 else same_name
                path = built("names.cpp", "-O2", f"-gdwarf-{version}", "-gstrict-dwarf",
                             compiler="g++")
                self.compare(path, own_functions(path, ("names.cpp", "names.hpp")), path)

    def test_64_bit_dwarf(self):
        """addr2line 2.40 reads it only in part; the code is the same without it."""
        plain = built("names.cpp", "-O2", "-g", compiler="g++")
        path = built("names.cpp", "-O2", "-g", "-gdwarf64", compiler="g++")
        self.compare(path, own_functions(plain, ("names.cpp", "names.hpp")), plain)

    def test_sections_per_function(self):
        """What the linker leaves out keeps its DIEs, with addresses that mean nothing."""
        path = built("names.cpp", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections",
                     compiler="g++")
        self.compare(path, own_functions(path, ("names.cpp", "names.hpp")), path)

    @mp.needs_tool("rustc")
    def test_rust(self):
        for flags in (("-g",), ("-O", "-g"),
                      ("-O", "-g", "-C", "symbol-mangling-version=v0")):
            with self.subTest(flags):
                path = built("names.rs", *flags, compiler="rustc")
                addresses = own_functions(path, ("names.rs",))
                ours = self.compare(path, addresses[::3], path)
                names = {f.function for frames in ours.values() for f in frames}
                self.assertTrue(any("closure" in n for n in names), names)
                self.assertTrue(any(re.search(r"\bgeneric\b", n) for n in names), names)
                self.assertEqual([], [n for n in names if re.search(r"::h[0-9a-f]{16}", n)])


class SameAsSource(Symbols):
    def check(self, path, name):
        marks = dict(line.split() for line in tool(path).splitlines())
        marks = {tag: int(address, 16) for tag, address in marks.items()}
        ours, _ = resolve(path, marks.values(), "--build-id", build_id(path))
        wanted = {tag for tag in MARKS if tag.startswith("c_" if name == "names.c" else "cpp_")}
        self.assertLessEqual(wanted, set(marks))
        for tag in wanted:
            frames = ours[marks[tag]]
            self.assertEqual(len(MARKS[tag]), len(frames), f"{tag}: {frames}")
            for i, (frame, (function, text)) in enumerate(zip(frames, MARKS[tag])):
                self.check_frame(tag, frame, function, text)
                self.assertEqual(i < len(frames) - 1, frame.is_inline)
        return ours, marks

    def check_frame(self, tag, frame, function, text):
        plain = re.sub(r"<(int|long)>", "<T>", frame.function)
        self.assertRegex(plain, r"(^|::|\s)" + re.escape(function) + r"(\(|$)", f"{tag}: {frame}")
        line = pathlib.Path(frame.source).read_text().splitlines()[frame.line - 1]
        self.assertIn(text, line, f"{tag}: {frame}")
        self.assertGreater(frame.column, 0)

    def test_marked_places(self):
        for compiler in ("gcc", "clang"):
            for version in (4, 5):
                for level in ("-O1", "-O2"):
                    for name in ("names.c", "names.cpp"):
                        cc = compiler if name == "names.c" else cpp_of(compiler)
                        with self.subTest(f"{cc} {version} {level}"):
                            path = built(name, "-g", f"-gdwarf-{version}", level, compiler=cc)
                            self.check(path, name)

    def test_lambdas_are_named_by_the_function_around_them(self):
        """gcc gives them no linkage name, and the function that has them may have none either."""
        call = r"::(\{lambda[^}]*\}|\$_\d+)::operator\(\)(\(int\) const)?"
        for compiler in ("g++", "clang++"):
            for flags in (("-O0",), ("-O2",), ("-O2", "-gdwarf-4")):
                path = built("names.cpp", "-g", *flags, compiler=compiler)
                marks = dict(line.split() for line in tool(path).splitlines())
                for tag, name in {
                        "cpp_lambda": r"with_lambda(\(\))?" + call,
                        "cpp_lambda_member": r"keeper::run\(\)" + call,
                        "cpp_lambda_nested":
                            r"\(anonymous namespace\)::nesting(\(\))?" + call + call}.items():
                    with self.subTest(f"{compiler} {flags} {tag}"):
                        at = int(marks[tag], 16)
                        frames = resolve(path, [at], "--build-id", build_id(path))[0][at]
                        self.assertRegex(frames[0].function, f"^{name}$")
                        line = pathlib.Path(frames[0].source).read_text().splitlines()
                        self.assertIn(f"/* {tag} */", line[frames[0].line - 1])


class WhereSymbolsAre(Symbols):
    """The same program with its symbols in other places; names must be the same."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.full = built("names.cpp", "-g", "-O2", compiler="g++")
        cls.id = build_id(cls.full)
        cls.addresses = own_functions(cls.full, ("names.cpp", "names.hpp"))

    def copy(self, name="program"):
        return pathlib.Path(shutil.copy(self.full, self.folder / name))

    def assert_same(self, path, *options):
        return self.compare(path, self.addresses, self.full, *options)

    def assert_nothing(self, path, *options):
        found, origin = resolve(path, self.addresses, *options)
        self.assertEqual([], [f for f in found.values() if f])
        self.assertIn("no symbols", origin)
        return origin

    def split_off(self):
        """program, stripped, and program.debug, with a debuglink between them"""
        path = self.copy()
        debug = self.folder / "program.debug"
        tool("objcopy", "--only-keep-debug", path, debug)
        tool("strip", "-s", path)
        tool("objcopy", f"--add-gnu-debuglink={debug}", path)
        return path, debug

    def test_compressed(self):
        for kind, mark in (("zlib-gabi", "ZLIB"), ("zlib-gnu", r"\.zdebug_info"), ("zstd", "ZSTD")):
            with self.subTest(kind):
                path = self.copy()
                tool("objcopy", f"--compress-debug-sections={kind}", path)
                self.assertRegex(tool("readelf", "-tW", path), mark)
                self.assert_same(path)

    def test_embedded(self):
        self.assert_same("/nonexistent/program", "--embedded", self.full, "--no-local")
        self.assert_same("/nonexistent/program", "--embedded", self.full, "--build-id", self.id)
        self.assert_nothing("/nonexistent/program", "--embedded", self.full, "--build-id",
                            "00" * 20)

    def test_debuglink(self):
        path, debug = self.split_off()
        self.assert_same(path, "--build-id", self.id)
        (self.folder / ".debug").mkdir()
        debug.rename(self.folder / ".debug/program.debug")
        self.assert_same(path, "--build-id", self.id)

    def test_debuglink_without_build_id(self):
        """Then the file's checksum must be right."""
        path = built("names.cpp", "-g", "-O2", "-Wl,--build-id=none", compiler="g++")
        whole = self.folder / "whole"
        shutil.copy(path, whole)
        addresses = own_functions(whole, ("names.cpp", "names.hpp"))
        debug, stripped = self.folder / "whole.debug", self.folder / "stripped"
        tool("objcopy", "--only-keep-debug", whole, debug)
        tool("objcopy", "-S", f"--add-gnu-debuglink={debug}", whole, stripped)
        where = self.folder / "elsewhere"
        where.mkdir()
        debug.rename(where / "whole.debug")
        self.compare("/nonexistent/x", addresses, whole, "--embedded", stripped, "--debug", where)
        with open(where / "whole.debug", "ab") as f:
            f.write(b"x")
        found, _ = resolve("/nonexistent/x", addresses, "--embedded", stripped, "--debug", where)
        self.assertEqual([], [f for f in found.values() if f])
        # not in the recording, no build-id: nothing says that the file on disk is the one
        found, _ = resolve(whole, addresses)
        self.assertEqual([], [f for f in found.values() if f])
        # unless the user says it
        self.compare(whole, addresses, whole, "--debug", whole)

    def test_debug_folder_by_build_id(self):
        path, debug = self.split_off()
        tree = self.folder / "tree/.build-id" / self.id[:2]
        tree.mkdir(parents=True)
        debug.rename(tree / f"{self.id[2:]}.debug")
        self.assert_nothing(path, "--build-id", self.id)
        self.assert_same(path, "--build-id", self.id, "--debug", self.folder / "tree")

    def test_debug_file_or_folder_by_any_name(self):
        path, debug = self.split_off()
        other = self.folder / "elsewhere"
        other.mkdir()
        debug.rename(other / "some.file")
        self.assert_same(path, "--build-id", self.id, "--debug", other / "some.file")
        self.assert_same(path, "--build-id", self.id, "--debug", other)
        self.assert_same("/nonexistent/program", "--build-id", self.id, "--debug", other)

    def test_wrong_debug_file_is_not_used(self):
        path, debug = self.split_off()
        foreign = built("names.c", "-g", "-O2")
        tool("objcopy", "--only-keep-debug", foreign, debug)
        self.assert_nothing(path, "--build-id", self.id)
        self.assert_nothing(path, "--build-id", self.id, "--debug", debug)
        self.assert_nothing(path, "--build-id", self.id, "--debug", self.folder)

    def test_elf_symbols_only(self):
        path = self.copy()
        tool("strip", "-g", path)
        found, origin = resolve(path, self.addresses, "--build-id", self.id)
        theirs = addr2line(path, self.addresses)
        self.assertIn("no lines", origin)
        for address in self.addresses:
            self.assertEqual([theirs[address][0][0]], [f.function for f in found[address]])
            self.assertEqual(0, found[address][0].line)

    def test_nothing_outside_a_symbol(self):
        """Between functions there is padding, which belongs to none of them."""
        path = self.copy()
        tool("strip", "-g", path)
        inside, gaps = set(), set()
        for line in tool("nm", "-S", path).splitlines():
            parts = line.split()
            if len(parts) == 4 and parts[2] in "tTwW":
                start, size = int(parts[0], 16), int(parts[1], 16)
                inside.update(range(start, start + size))
                gaps.update(range(start + size, (start + size + 15) & ~15))
        gaps = sorted(gaps - inside)
        self.assertGreater(len(gaps), 10)
        found, _ = resolve(path, gaps, "--build-id", self.id)
        sized = [a for a in gaps if found[a]]
        unsized = {line.split()[-1] for line in tool("nm", path).splitlines()}
        self.assertTrue(all(found[a][0].raw in unsized for a in sized))
        self.assertFalse([a for a in sized if found[a][0].function.startswith("shapes::")])

    def test_no_symbols_at_all(self):
        path = self.copy()
        tool("strip", "-s", path)
        tool("objcopy", "--remove-section=.gnu_debuglink", path)
        self.assertIn("stripped", self.assert_nothing(path, "--build-id", self.id))

    @mp.needs_tool("xz")
    def test_mini_debug_info(self):
        """As gdb's manual tells to make it."""
        path = self.copy()
        mini = self.folder / "mini"
        tool("objcopy", "-S", "--remove-section", ".comment", "--keep-symbol=main", path, mini)
        tool("objcopy", "--only-keep-debug", path, mini)
        tool("objcopy", "--strip-debug", mini)
        tool("xz", "-f", mini)
        tool("strip", "-s", path)
        tool("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", path)
        found, origin = resolve(path, self.addresses, "--build-id", self.id)
        symbols = self.copy("symbols")
        tool("strip", "-g", symbols)
        theirs = addr2line(symbols, self.addresses)
        self.assertIn(".gnu_debugdata", origin)
        for address in self.addresses:
            self.assertEqual([theirs[address][0][0]], [f.function for f in found[address]])

    @mp.needs_tool("dwz")
    def test_dwz(self):
        a, b = self.copy("a"), self.copy("b")
        common = self.folder / "common.dwz"
        tool("dwz", "-m", common, a, b, cwd=self.folder)
        self.assertIn("gnu_debugaltlink", tool("readelf", "-SW", a))
        self.assert_same(a, "--build-id", self.id)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        common.rename(elsewhere / "common.dwz")
        self.assert_same(a, "--build-id", self.id, "--debug", elsewhere)

    def test_replaced_on_disk(self):
        path = self.copy("libx.so")
        shutil.copy(built("names.c", "-g", "-O2"), path)
        origin = self.assert_nothing(path, "--build-id", self.id)
        self.assertIn("another build-id", origin)
        kept = self.copy("libx.so.before")
        self.assert_same(path, "--build-id", self.id, "--debug", kept)

    def test_no_local_files(self):
        self.assert_nothing(self.full, "--build-id", self.id, "--no-local")

    def test_odd_paths(self):
        for path in ("/dev/zero", "/dev/stdin", "/", "[vdso]", "", "/proc/self/mem"):
            with self.subTest(path):
                self.assert_nothing(path, "--build-id", self.id)


class Debuginfod(Symbols):
    """A server that has the debug file; the real client library asks it."""

    def setUp(self):
        super().setUp()
        mp.require("libdebuginfod", ctypes.util.find_library("debuginfod"))
        asked = self.asked = []
        folder = self.folder

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=folder)

            def log_message(self, *_):
                asked.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def env(self):
        return {**mp.clean_environment(), "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"),
                "DEBUGINFOD_URLS": f"http://127.0.0.1:{self.server.server_port}/"}

    def ask(self, path, addresses, *options):
        return resolve(path, addresses, *options, env=self.env())

    def test_debug_file_from_server(self):
        full = built("names.cpp", "-g", "-O2", compiler="g++")
        addresses = own_functions(full, ("names.cpp", "names.hpp"))
        stripped = self.folder / "stripped"
        tool("objcopy", "-S", full, stripped)
        where = self.folder / "buildid" / build_id(full)
        where.mkdir(parents=True)
        shutil.copy(full, where / "debuginfo")
        found, _ = self.ask(stripped, addresses, "--build-id", build_id(full))
        self.assertEqual([], [f for f in found.values() if f])
        self.assertEqual([], self.asked, "only when asked for")
        found, origin = self.ask(stripped, addresses, "--build-id", build_id(full), "--debuginfod")
        theirs = addr2line(full, addresses)
        self.assertTrue(self.asked)
        self.assertIn("cache", origin)
        for address in addresses:
            self.assertTrue(same_names(found[address], theirs[address]), found[address])

    def test_commands_ask_only_with_the_option(self):
        program = self.folder / "known_names"
        tool("objcopy", "-S", mp.program("known_names"), program)
        where = self.folder / "buildid" / build_id(program)
        where.mkdir(parents=True)
        shutil.copy(mp.program("known_names"), where / "debuginfo")
        recording = self.record([program]).recording
        out = self.dir / "out.dat"
        for argv in (("report", "--no-cache", "--json", recording),
                     ("export", "-f", "collapsed", "--no-cache", recording),
                     ("postprocess", "-o", out, recording)):
            self.asked.clear()
            for option, is_named in ((), False), (("--debuginfod",), True):
                text = tool(mp.CLI, *argv, *option, env=self.env())
                if argv[0] == "postprocess":
                    text = tool(mp.CLI, "report", "--no-cache", "--json", out)
                self.assertEqual(is_named, "inlined_twice" in text, (argv, option))
                self.assertEqual(is_named, bool(self.asked), (argv, option))
                shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def test_wrong_file_from_server(self):
        full = built("names.cpp", "-g", "-O2", compiler="g++")
        where = self.folder / "buildid" / build_id(full)
        where.mkdir(parents=True)
        shutil.copy(built("names.c", "-g", "-O2"), where / "debuginfo")
        addresses = own_functions(full, ("names.cpp", "names.hpp"))
        found, _ = self.ask("/nonexistent", addresses, "--build-id", build_id(full), "--debuginfod")
        self.assertTrue(self.asked)
        self.assertEqual([], [f for f in found.values() if f])


class Damaged(Symbols):
    """Files that are cut off or have wrong bytes give fewer names, and nothing worse."""

    def test_cut_and_flipped(self):
        chance = random.Random(4)
        for name, compiler in (("names.cpp", "g++"), ("names.cpp", "clang++")):
            full = built(name, "-g", "-O2", compiler=compiler)
            whole = full.read_bytes()
            addresses = own_functions(full, ("names.cpp", "names.hpp"))[::5]
            path = self.folder / "damaged"
            for i in range(100):
                damaged = bytearray(whole)
                if i % 4 == 0:
                    del damaged[chance.randrange(len(damaged)):]
                else:
                    for _ in range(1 << i % 9):
                        damaged[chance.randrange(64, len(damaged))] = chance.randrange(256)
                path.write_bytes(damaged)
                found, _ = resolve("/nonexistent", addresses, "--embedded", path)
                self.assertEqual(len(addresses), len(found))


class Split(Symbols):
    """.dwo and .dwp: the code is that of the program without -gsplit-dwarf."""

    def build(self, compiler, version, *more):
        plain = built("names.cpp", "-g", f"-gdwarf-{version}", "-O2", compiler=compiler)
        path = self.folder / "program"
        tool(compiler, "-g", f"-gdwarf-{version}", "-O2", "-gsplit-dwarf", *more,
             "-Wl,--build-id", "-c", SOURCES / "names.cpp", "-o", "program.o", cwd=self.folder)
        tool(compiler, "program.o", "-Wl,--build-id", "-o", path, cwd=self.folder)
        tool("objcopy", "-O", "binary", "-j", ".text", plain, self.folder / "text1")
        tool("objcopy", "-O", "binary", "-j", ".text", path, self.folder / "text2")
        self.assertEqual((self.folder / "text1").read_bytes(),
                         (self.folder / "text2").read_bytes())
        return path, plain, own_functions(plain, ("names.cpp", "names.hpp"))

    def test_dwo(self):
        for compiler in ("g++", "clang++"):
            for version in (4, 5):
                with self.subTest(f"{compiler} {version}"):
                    path, plain, addresses = self.build(compiler, version)
                    self.assertTrue((self.folder / "program.dwo").exists())
                    self.compare(path, addresses, plain)
                    elsewhere = self.folder / "elsewhere"
                    elsewhere.mkdir(exist_ok=True)
                    (self.folder / "program.dwo").rename(elsewhere / "program.dwo")
                    found, origin = resolve(path, addresses, "--build-id", build_id(path))
                    self.assertTrue(all(len(f) == 1 for f in found.values()))
                    self.compare(path, addresses, plain, "--build-id", build_id(path),
                                 "--debug", elsewhere)

    def test_dwp(self):
        # not llvm-dwp for gcc's DWARF 5: 14 may eat all memory over it
        for compiler, version, maker in (("g++", 4, "dwp"), ("clang++", 5, "llvm-dwp-14")):
            mp.require(maker, mp.find_tool(maker))
            with self.subTest(f"{compiler} {version} {maker}"):
                path, plain, addresses = self.build(compiler, version)
                tool(maker, "-e", path, "-o", self.folder / "program.dwp", cwd=self.folder)
                (self.folder / "program.dwo").unlink()
                self.compare(path, addresses, plain)

    def test_foreign_dwo(self):
        """The name is right, the id is not."""
        path, _, addresses = self.build("g++", 5)
        tool("g++", "-g", "-O1", "-gsplit-dwarf", "-DOTHER", "-c", SOURCES / "names.cpp", "-o",
             "program.o", cwd=self.folder)
        found, _ = resolve(path, addresses, "--build-id", build_id(path))
        self.assertTrue(all(len(f) == 1 for f in found.values()))


if __name__ == "__main__":
    mp.main()

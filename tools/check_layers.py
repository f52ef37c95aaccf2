#!/usr/bin/env python3
"""Fails when a file includes a folder that it may not see, or names a CPU outside src/arch/.

usage: check_layers.py [root]
docs/ARCHITECTURE.md explains the table. Files below tests/ follow the folder that they test.
"""
import pathlib
import re
import sys

MAY = {  # folder of src/: folders it may include besides itself
    "base": "", "arch": "base", "format": "base", "unwind": "base arch",
    "record": "base arch format unwind",
    "util": "base", "symbol": "base util", "store": "base util",
    "recording": "base util format", "ingest": "base util format recording store",
    "open": "base util format symbol recording store ingest",
    "rewrite": "base util format symbol recording ingest open",
    "query": "base util store",
    "gui": "base util", "report": "base util store query",
    "export": "base util store query gui", "serve": "base util store query report export gui script",
    "script": "base util store query report export",
    "gather": "base util format", "release": "base",
    "cli": "base util format gather recording ingest open rewrite store query report export script serve",
}
# folder outside src/: what it may include. "" = no folder of src/: these programs know the
# recorder only from outside.
OUTSIDE = {
    "tests/harness": "harness", "tests/programs": "", "tests/truth": "",
    "tests/e2e": "harness base format util recording ingest open rewrite symbol store query report cli", "bench": " ".join(MAY),
}
# Tests that join what is apart: one world writes and the other reads, names of any origin.
JOINED = {
    "tests/harness/store_synth.h": "base util store",
    "tests/harness/recording_fuzz.h": "base format",
    "tests/fuzz/fuzz_script.c": "harness base util store query script",
    "tests/fuzz/fuzz_texts.c": "harness base util store query symbol",
    "tests/fuzz/fuzz_recording.c": "harness base format util recording ingest rewrite",
    "tests/unit/test_recording.c": "harness base format util recording ingest",
    "tests/unit/test_recorder.c": "harness base arch format unwind record util recording ingest open",
    "tests/unit/test_suppressions.c": "harness base util store open query",
    "tests/truth/pairs_check.c": "base format util recording ingest open",
    "tests/truth/make_store.c": "base format util store recording ingest open",
    "tests/truth/store_check.c": "base format util store recording ingest open",
    "tests/truth/judge_detours.c": "base arch record",
}
PUBLIC = "memory_profiler.h"  # the only header in include/
# Third-party headers, and the files of src/ that wrap them for all others. Two files share a header
# where they do different things with the library: compress a file, compress an answer, unpack a page.
USERS = {
    "lz4": ("src/format/compress.c",), "pcre2": ("src/query/query_regex.c",),
    "lua": ("src/script/lua_api.h",), "lauxlib": ("src/script/lua_api.h",), "lualib": ("src/script/lua_api.h",),
    "microhttpd": ("src/serve/serve.c", "src/serve/serve_i.h"), "libiberty": ("src/symbol/demangle.c",),
    "gelf": ("src/symbol/elf_file_i.h",), "libelf": ("src/symbol/elf_file_i.h",),
    "lzma": ("src/symbol/elf_file.c",), "zstd": ("src/serve/encoder.c", "src/symbol/elf_file.c"),
    "zlib": ("src/export/gzip_out.c", "src/gui/gui_files.c", "src/serve/encoder.c"),
}
CPU_NAMES = re.compile(r"__x86_64__|__amd64__|__i386__|__aarch64__|__arm__|__riscv|__mips")
CPU_NAMES_ALLOWED = ("src/arch/", "src/base/compiler.h")
INCLUDE = re.compile(r'\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def folder_under_test(root, path):
    """The folder of src/ that tests/unit/test_<module>.c or tests/fuzz/fuzz_<module>.c tests."""
    module = re.sub(r"^(test|fuzz)_", "", path.stem)
    stems = {p.stem.removesuffix("_i"): p.relative_to(root).parts[1]
             for p in sorted((root / "src").rglob("*.[chS]"))}
    words = module.split("_")
    for n in range(len(words), 0, -1):  # ring_wraps -> ring_wraps, then ring
        name = "_".join(words[:n])
        if name in stems:
            return stems[name]
        if name in MAY:
            return name
    return None


def allowed(root, path):
    """(own folder, folders that may be included, folder whose private headers may be)."""
    rel = path.relative_to(root)
    if rel.as_posix() in JOINED:
        return rel.parts[1], JOINED[rel.as_posix()].split(), None
    if rel.parts[0] == "src":
        here = rel.parts[1]
        return here, [here, *MAY.get(here, "").split()], here
    if rel.parts[:2] in (("tests", "unit"), ("tests", "fuzz")):
        here = folder_under_test(root, path)
        return rel.parts[1], ["harness", *([here, *MAY[here].split()] if here else [])], here
    outside = "/".join(rel.parts[:2]) if rel.parts[0] == "tests" else rel.parts[0]
    return outside, OUTSIDE.get(outside, "").split(), None


def complaint(root, path, name, here, may, private):
    """Why `path` may not include "name", or None."""
    folder, slash, file = name.partition("/")
    if name == PUBLIC:
        return None
    if name.endswith(".c"):
        return "a .c is not a header"
    if not slash:
        beside = (path.parent / name).exists() and not path.is_relative_to(root / "src")
        return None if beside else "write folder/file.h"
    if folder not in may:
        return f"{here}/ may not include {folder}/"
    if folder == "arch" and "/" in file and here != "arch":
        return f"{name} belongs to one CPU: include arch/arch.h or arch/cpu.h"
    if file.endswith("_i.h") and folder != private:
        return f"{name} is private to {folder}/"
    return None


def module_of(rel):
    """src/ingest/stream_i.h, stream.h and stream.c are one module: src/ingest/stream."""
    return re.sub(r"(_i)?\.[chS]$", "", rel)


def cycles(includes):
    """Groups of modules that include each other, directly or through others (Tarjan)."""
    order, low, on_stack, stack, groups = {}, {}, set(), [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(includes[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], order[other])
        if low[node] != order[node]:
            return
        group = []
        while not group or group[-1] != node:
            group.append(stack.pop())
            on_stack.discard(group[-1])
        if len(group) > 1:
            groups.append(sorted(group))

    for node in sorted(includes):
        if node not in order:
            visit(node)
    return groups


def check_cycles(root):
    """One complaint for each group of modules of src/ that form a cycle."""
    includes = {}
    for path in sorted((root / "src").rglob("*.[chS]")):
        rel = path.relative_to(root).as_posix()
        own = includes.setdefault(module_of(rel), set())
        for line in path.read_text(errors="replace").splitlines():
            m = INCLUDE.match(line)
            other = module_of("src/" + m[1]) if m and m[1] else None
            if other and other != module_of(rel) and (root / "src" / m[1]).exists():
                own.add(other)
                includes.setdefault(other, set())
    return [f"{group[0]}.h:1: modules include each other in a circle: "
            + " ".join(name.removeprefix("src/") for name in group) for group in cycles(includes)]


def check(root):
    found = []
    files = [p for top in ("src", "tests", "bench") for p in sorted((root / top).rglob("*"))
             if p.suffix in (".c", ".h", ".S", ".cc", ".cpp", ".def") and p.is_file()]
    for path in files:
        rel = path.relative_to(root).as_posix()
        here, may, private = allowed(root, path)
        if rel.startswith("src/") and here not in MAY:
            found.append(f"{rel}:1: {here}/ has no row in tools/check_layers.py")
            continue
        for no, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if (CPU_NAMES.search(line) and rel.startswith("src/")
                    and not rel.startswith(CPU_NAMES_ALLOWED)):
                found.append(f"{rel}:{no}: CPU names stay in src/arch/")
            m = INCLUDE.match(line)
            if not m:
                continue
            if m[1]:
                why = complaint(root, path, m[1], here, may, private)
                if why:
                    found.append(f"{rel}:{no}: {why}")
            for third in USERS if m[2] and rel.startswith("src/") else ():
                if m[2].startswith(third) and rel not in USERS[third]:
                    found.append(f"{rel}:{no}: only {' '.join(USERS[third])} may include <{m[2]}>")
    return found


def check_document(root):
    """docs/ARCHITECTURE.md shows the same table of folders."""
    path = root / "docs/ARCHITECTURE.md"
    if not path.exists():
        return []
    rows = dict(re.findall(r"^\| (\w+) \| ([\w -]+) \| [^|]*\|$", path.read_text(), re.M))
    return [f"docs/ARCHITECTURE.md:1: {folder}/ may include {may or 'nothing'} (check_layers.py), not {rows.get(folder)}"
            for folder, may in MAY.items() if rows.get(folder, "").replace("-", "").split() != may.split()]


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--cycles"]
    top = pathlib.Path(arguments[0] if arguments else ".")
    problems = check(top) + check_document(top) + (check_cycles(top) if "--cycles" in sys.argv else [])
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))

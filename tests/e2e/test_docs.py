#!/usr/bin/env python3
"""Runs the examples of the documents: they work as written, or the document is wrong.

A block marked sh runs as a whole, and so does a console block without its sample output: only the
lines that start with "$ " are commands. A lua block is a script that runs on app.dat, which a block
before it recorded. In a man page the lines between .EX and .EE run where the
line above is `.\\" run`. All other blocks are only shown. Each document has a folder of its own, with
the two binaries and ./your_application, where its blocks run in order.

A first command `memory-profiler-cli server` is started on a free port and ended after the block; in
the other commands of the block "localhost:8080" becomes that port.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(sh|console|lua)\n(.*?)^```$", re.S | re.M)
MAN = re.compile(r'^\.\\" run\n\.EX\n(.*?)^\.EE$', re.S | re.M)
SERVER = re.compile(r"(?:\./)?memory-profiler-cli server .*\n")
TIMEOUT_S = 60


def blocks(path):
    """(line number, script) of each runnable block of a document."""
    text = path.read_text()
    if path.suffix == ".md":
        for m in FENCE.finditer(text):
            script = m[2]
            if m[1] == "console":
                script = "".join(line[2:] for line in script.splitlines(True)
                                 if line.startswith("$ "))
            elif m[1] == "lua":
                script = f"memory-profiler-cli script -d app.dat - <<'LUA'\n{script}LUA\n"
            yield text.count("\n", 0, m.start()) + 1, script
    else:
        for m in MAN.finditer(text):
            yield text.count("\n", 0, m.start()) + 1, m[1].replace("\\-", "-").replace("\\e", "\\")


def prepare(folder, build, src):
    (folder / "target").mkdir()
    (folder / "target/release").symlink_to(build)
    for name in ("libmemory_profiler.so", "memory-profiler-cli"):
        (folder / name).symlink_to(build / name)
    (folder / "your_application").symlink_to(build / "tests/programs/demo")
    for name in ("include", "docs", "README.md"):
        (folder / name).symlink_to(src / name)
    (folder / ".curlrc").write_text("fail\n")  # an HTTP error fails the example


def start_server(command, folder, env):
    """(process, port) of a server that answers."""
    server = subprocess.Popen(f"exec {command.strip()} --port 0", shell=True, cwd=folder, env=env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = server.stdout.readline()
    port = re.search(r":(\d+)/", line)
    if not port:
        server.kill()
        raise RuntimeError(f"{command.strip()}: no address: {line!r}")
    return server, port[1]


def run_block(script, folder, env):
    """(exit status, output) of one block."""
    serves = SERVER.match(script)
    server = None
    if serves:
        server, port = start_server(serves[0], folder, env)
        script = script[serves.end():].replace("localhost:8080", f"localhost:{port}")
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
    finally:
        if server:
            server.terminate()
            server.stdout.close()
            server.wait(TIMEOUT_S)
    return done.returncode, done.stdout


def run_document(path, build, src):
    """How many blocks ran; the text of the first failure or None."""
    n = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, build, src)
        env = {key: value for key, value in os.environ.items()
               if not key.startswith("MEMORY_PROFILER_")}
        env.update(HOME=name, PATH=f"{build}:{env['PATH']}")
        for line, script in blocks(path):
            n += 1
            status, output = run_block(script, folder, env)
            if status != 0:
                where = f"{path.relative_to(src)}:{line}"
                return n, f"{where}: exit {status}\n{script}--- output\n{output}"
    return n, None


def main():
    build, src = pathlib.Path(os.environ["MP_BUILD"]), pathlib.Path(os.environ["MP_SRC"])
    documents = [src / "README.md", *sorted((src / "docs").rglob("*.md")),
                 *sorted((src / "docs/man").glob("*.[1-8]"))]
    total, failures = 0, []
    for path in documents:
        n, failure = run_document(path, build, src)
        total += n
        if failure:
            failures.append(failure)
    print("\n".join(failures), f"{total} blocks run, {len(failures)} documents failed", sep="\n")
    if total == 0:
        print("no runnable block was found: the marks must have changed")
    return int(bool(failures) or total == 0)


if __name__ == "__main__":
    sys.exit(main())

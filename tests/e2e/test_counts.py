#!/usr/bin/env python3
"""Counts are exact: real programs, recorded, give the numbers of an independent counter."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import mp

PERL = r"""
use strict;
my (%h, @a);
for my $i (1 .. 30000) {
    $h{"key$i"} = [$i, "value" x ($i % 10)];
    push @a, join(",", map { $_ * $i } 1 .. 3);
}
my $n = 0;
for my $k (sort keys %h) {
    $n += length($h{$k}[1]);
    delete $h{$k} if $k =~ /7/;
}
my $t = join("\n", @a);
$t =~ s/(\d+),/$1;/g;
my $e = join(",", map { "$_=$ENV{$_}" } grep { !/^(MEMORY_PROFILER|MP_|LD_PRELOAD)/ } sort keys %ENV);
print "$n ", length($t), " ", scalar(keys %h), " $e\n";
"""

PYTHON = r"""
import collections, json, os, re
d = {str(i): [i] * (i % 9) for i in range(10000)}
text = json.dumps(d)
words = collections.Counter(re.findall(r"\d{2}", text))
class Item:
    def __init__(self, n):
        self.n = n
        self.text = "x" * (n % 300)
items = sorted((Item(i) for i in range(10000)), key=lambda item: item.text)
print(len(text), json.loads(text) == d, words.most_common(3), sum(len(i.text) for i in items))
print("LD_PRELOAD" in os.environ)
"""

SQL = """
create table t(a integer primary key, b text, c real);
begin;
%s
commit;
create index i on t(b);
select count(*), sum(length(b)) from t where b like '%%7%%';
select substr(b, 1, 6), count(*) from t group by 1 order by 2 desc, 1 limit 5;
delete from t where a %% 3 = 0;
vacuum;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 20000)
  select sum(n), group_concat(distinct n %% 10) from r;
"""

NODE = r"""
const items = [];
for (let i = 0; i < 20000; i++) items.push({i, text: 'x'.repeat(i % 100), b: Buffer.alloc(i % 2000)});
console.log(items.length, JSON.parse(JSON.stringify(items.map(o => o.text))).length);
console.log(require('zlib').inflateSync(require('zlib').deflateSync(Buffer.alloc(1e6, 'abc'))).length);
"""


class Counts(mp.TestCase):
    def write(self, name, text):
        """In a folder where nothing else appears: python lists the folder of its script."""
        path = self.dir / "input" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    @mp.needs_tool("jq")
    def test_jq_on_a_large_file(self):
        items = [{"id": i, "name": f"item number {i}", "tags": [f"t{j}" for j in range(i % 7)],
                  "price": i * 1.25, "nested": {"a": [i, i + 1], "b": None}} for i in range(30000)]
        path = self.write("big.json", json.dumps(items))
        query = ("map(select(.id % 3 == 0)) | group_by(.tags | length)"
                 " | map({n: length, total: (map(.price) | add)})")
        self.assert_exact(["jq", query, path], at_least=100000)

    @mp.needs_tool("sqlite3")
    def test_sqlite3(self):
        rows = "\n".join(f"insert into t values({i},'text {i} {'x' * (i % 100)}',{i * 0.5});"
                         for i in range(10000))
        script = self.write("script.sql", SQL % rows)
        self.assert_exact(["sqlite3", ":memory:", f".read {script}"], at_least=100000)

    @mp.needs_tool("perl")
    def test_perl(self):
        self.assert_exact(["perl", self.write("p.pl", PERL)], at_least=100000)

    @mp.needs_tool("/usr/bin/python3")
    def test_python3_on_malloc(self):
        # Once in some sixty runs python asks for a few bytes more: hashes of addresses.
        seen, _ = self.assert_exact_in_one_run(
            ["/usr/bin/python3", "-B", self.write("p.py", PYTHON)],
            at_least=100000, env={"PYTHONMALLOC": "malloc"})
        self.assertTrue(seen.stdout.endswith(b"False\n"), "our entry stays out of LD_PRELOAD")

    def make_repository(self):
        repository = self.dir / "repository"
        env = {**mp.clean_environment(), "GIT_CONFIG_NOSYSTEM": "1"}
        stream = []
        for i in range(1, 301):
            body = "\n".join(map(str, range(i % 50, i * 3)))
            stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1700000000 + i} "
                          f"+0000\ndata <<E\ncommit {i}\nE\nM 100644 inline file{i % 20}.txt\n"
                          f"data <<E\n{body}\nE\n")
        for command, text in ((["init", "-q", "-b", "main", repository], None),
                              (["-C", repository, "fast-import", "--quiet"], "\n".join(stream)),
                              (["-C", repository, "-c", "pack.threads=1", "repack", "-adfq"], None)):
            subprocess.run(["git", *map(str, command)], env=env, input=text, text=True, check=True,
                           timeout=60)
        return repository

    @mp.needs_tool("git")
    def test_git(self):
        git = ["git", "-C", self.make_repository(), "-c", "pack.threads=1"]
        env = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
        for command, at_least in (
                (["log", "-p", "--stat", "-M", "--format=fuller", "main"], 20000),
                (["fsck", "--full", "--strict"], 2000),
                (["blame", "main", "--", "file3.txt"], 2000),
                (["pack-objects", "--all", "--stdout", "--window=50", "--threads=1"], 2000)):
            with self.subTest(command=command[0]):
                self.assert_exact(git + command, at_least=at_least, env=env)

    def test_c_plus_plus_program(self):
        self.assert_exact([mp.program("containers")], at_least=100000)

    def test_rust_program(self):
        mp.require("rustc", os.path.exists(mp.program("containers_rs")))
        self.assert_exact([mp.program("containers_rs")], at_least=100000)

    def test_many_threads(self):
        self.assert_exact([mp.program("workload"), "100000", "8"], at_least=400000)

    @mp.needs_tool("node")
    def test_node(self):
        node = shutil.which("node")
        self.assert_exact_in_one_run([node, self.write("script.js", NODE)], at_least=10000)

    @mp.needs_tool("redis-server")
    def test_redis(self):
        folder = self.new_folder()
        port = free_port()
        server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--dir", str(folder)],
            env={**self.recorder_environment(folder), **self.both(folder)},
            stdout=subprocess.DEVNULL, cwd=self.dir)
        self.addCleanup(server.kill)
        with connect(port) as client:
            replies = client.makefile("rb")
            for i in range(5000):
                client.sendall(b"SET key%d %s\r\nDEL key%d\r\n" % (i, b"v" * (i % 900), i // 2))
            for _ in range(10000):
                self.assertNotEqual(b"", replies.readline())
        server.send_signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(mp.TIMEOUT_S))
        self.assert_equals_counter(self.collect(mp.Result(0, b"", b""), folder), 10000)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(port):
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.02)  # there is nothing to wait on before the server listens
    raise AssertionError(f"nobody listens on port {port}")


if __name__ == "__main__":
    mp.main()

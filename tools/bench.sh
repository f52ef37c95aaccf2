#!/bin/sh
# Builds what bench/ measures with and runs it. Arguments: the build folder, then those of record.py.
set -eu
build=$1
ninja -C "$build" bench_programs
printf '\n== bench/unwind.c: stacks\n'
"$build/bench/bench_unwind"
printf '\n== bench/record.py: whole programs\n'
bench/record.py "$@"
printf '\n== bench/ingest.py: opening recordings\n'
bench/ingest.py "$build"
printf '\n== bench/query.py: asking the server\n'
bench/query.py "$build"

#!/bin/sh
# Records the bundled demo program and shows where its memory went.
set -eu
build=$1
recording=$build/demo.dat

rm -f "$recording"
"$build/memory-profiler-cli" run -o "$recording" -- "$build/tests/programs/demo"
echo
"$build/memory-profiler-cli" report --limit 3 "$recording"
echo
echo "The recording is $recording. The server and the GUI are not in this version yet."

#!/bin/sh
# Records the bundled demo program and shows what the recording holds.
set -eu
build=$1
recording=$build/demo.dat

rm -f "$recording"
"$build/memory-profiler-cli" run -o "$recording" -- "$build/tests/programs/demo"
echo
"$build/memory-profiler-cli" info "$recording"
echo
echo "The recording is $recording. This version records and counts; the analysis, the server and" \
	"the GUI are not in it yet."

#!/bin/sh
# Records the bundled demo program, prints the report and serves the recording until Ctrl-C.
# Arguments: the build folder, then those of `memory-profiler-cli server` (such as -p 8081).
set -eu
build=$1
shift
recording=$build/demo.dat

rm -f "$recording" "$recording".*
"$build/memory-profiler-cli" run -o "$recording" -- "$build/tests/programs/demo"
echo
"$build/memory-profiler-cli" report "$recording"
echo
echo "The recording is $recording. Ctrl-C ends the server."
exec "$build/memory-profiler-cli" server "$@" "$recording"

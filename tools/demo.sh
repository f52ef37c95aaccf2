#!/bin/sh
# Records the bundled demo program, prints the report and serves the recording until Ctrl-C.
# Arguments: the build folder, then those of `memory-profiler-cli server` (such as -p 8081).
set -eu
build=$1
shift
recording=$build/demo.dat

rm -f "$recording" "$recording".*
"$build/memory-profiler-cli" run -o "$recording" -- "$build/tests/programs/demo_node"
echo
"$build/memory-profiler-cli" report "$recording"
echo
cat <<-TEXT
	The recording is $recording. The address below opens the GUI. What to look at first:
	  1. Overview: the first card names the leak, SeenCache::remember. Click it.
	  2. Flame graph: the frame is selected; the panel shows its growth and its source line.
	  3. Drag over the timeline: every page now counts only what was allocated in that time.
	Ctrl-C ends the server.
TEXT
exec "$build/memory-profiler-cli" server "$@" "$recording"

#!/bin/sh
# Runs each libFuzzer target for a number of seconds, from the checked-in corpus.
# New inputs go to <build>/corpus/<target>, findings to <build>/findings; both stay out of git.
set -eu
build=$1
seconds=$2
ran=0
mkdir -p "$build/findings"
for target in "$build"/tests/fuzz/fuzz_*; do
	if ! [ -f "$target" ] || ! [ -x "$target" ]; then
		continue
	fi
	name=$(basename "$target")
	seeds=tests/fuzz/corpus/${name#fuzz_}
	mkdir -p "$build/corpus/$name"
	printf '\n== %s for %s s\n' "$name" "$seconds"
	set -- "$build/corpus/$name"
	if [ -d "$seeds" ]; then
		set -- "$@" "$seeds"
	fi
	"$target" -max_total_time="$seconds" -print_final_stats=1 \
		-artifact_prefix="$build/findings/$name-" "$@"
	ran=$((ran + 1))
done
if [ "$ran" = 0 ]; then
	echo "make fuzz: no fuzz target was built" >&2
	exit 1
fi

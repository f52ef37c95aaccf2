#!/bin/sh
# Runs every executable script in bench/ with the build folder as its argument.
set -eu
build=$1
ran=0
for script in bench/*; do
	if [ -f "$script" ] && [ -x "$script" ]; then
		printf '\n== %s\n' "$script"
		"$script" "$build"
		ran=$((ran + 1))
	fi
done
if [ "$ran" = 0 ]; then
	echo "make bench: bench/ holds no executable script, so nothing was measured" >&2
	exit 1
fi

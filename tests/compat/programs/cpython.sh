# Each module of CPython's test suite by itself, two at a time; the outcome of each test is compared.
# $1: the allocator (PYTHONMALLOC); further arguments: modules, without them all.
. "$(dirname "$0")/common.sh"
export PYTHONMALLOC=$1 PYTHONDONTWRITEBYTECODE=1 WORK NOTES
shift
# Left out: what needs a display, another host or a debug build, takes minutes, or looks at gdb's output.
leave_out='test_(asyncio|concurrent_futures|cppext|email|gdb|idle|tcl|tkinter|tk|ttk.*|turtle|ssl|urllib2?_?net|urllibnet|timeout|smtpnet|nntplib|robotparser|regrtest|tools|peg_generator|c_analyzer|venv|ensurepip|distutils|lib2to3|zipfile64|largefile|bigmem|bigaddrspace|embed|freeze|importlib_metadata|support|unicodedata|multiprocessing_forkserver|multiprocessing_spawn)'
modules=${*:-$(cd /usr/lib/python3.11/test && ls -d test_*.py test_*/ | sed 's/\.py$//; s/\/$//' | grep -vxE "$leave_out")}
export limit=${SECONDS_PER_MODULE:-60}
mkdir out

# run MODULE RECORDER LIMIT: prints a line for each test.
run() {
	mkdir -p "$WORK/tmp.$1" && cd "$WORK/tmp.$1" || exit
	# shellcheck disable=SC2086 # no word or one
	TMPDIR="$WORK/tmp.$1" timeout -k 5 "$3" $2 /usr/bin/python3.11 -u -m test -v "$1" >"$WORK/out/$1" 2>&1 </dev/null
	printf '\nexit %s\n' $? >>"$WORK/out/$1" # the last line may have no end
	rm -rf "$WORK/tmp.$1"
	grep -aoE '^test\w* \([^)]*\)|\.\.\. (ok|skipped|FAIL|ERROR|expected failure|unexpected success)|^exit .*|^(FAIL|ERROR): .*|^Ran [0-9]+ tests?' \
		"$WORK/out/$1" | paste -sd' ' | sed 's/ \(test\w* (\|FAIL: \|ERROR: \|exit \|Ran \)/\n\1/g' | sort | sed "s/^/$1 /"
}

# Bare, a module that takes too long is left out of both runs; recorded, it has four times as long.
run_bare() {
	run "$1" "" "$limit" >"$NOTES/$1"
	grep -qxE "$1 exit (124|137)" "$NOTES/$1" && rm "$NOTES/$1"
}

# Many tests depend on time. What differs runs again, both ways: one pair must be the same.
run_recorded() {
	for _ in 1 2 3; do
		run "$1" under $((4 * limit)) >"$WORK/out/$1.recorded"
		cmp -s "$NOTES/$1" "$WORK/out/$1.recorded" && break
		run "$1" "" "$limit" >"$WORK/out/$1.bare"
		cmp -s "$WORK/out/$1.bare" "$WORK/out/$1.recorded" && cp "$NOTES/$1" "$WORK/out/$1.recorded" && break
	done
}

export -f run run_bare run_recorded
if [ "$IS_RECORDED" = 1 ]; then
	ls "$NOTES" | xargs -P 2 -I{} bash -c 'run_recorded {}'
	for module in $(ls "$NOTES"); do
		cat "out/$module.recorded"
	done
else
	printf '%s\n' $modules | xargs -P 2 -I{} bash -c 'run_bare {}'
	cat "$NOTES"/*
fi

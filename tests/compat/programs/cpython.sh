# Each module of CPython's test suite by itself, two at a time; the outcome of each test is compared.
# $1: the allocator (PYTHONMALLOC); further arguments: modules, without them all.
. "$(dirname "$0")/common.sh"
export PYTHONMALLOC=$1 PYTHONDONTWRITEBYTECODE=1 WORK
shift
# Left out: what needs a display, another host or a debug build, takes minutes, or looks at gdb's output.
leave_out='test_(asyncio|concurrent_futures|email|gdb|idle|tcl|tkinter|tk|ttk.*|turtle|ssl|urllib2?_?net|urllibnet|timeout|smtpnet|nntplib|robotparser|regrtest|tools|peg_generator|c_analyzer|venv|ensurepip|distutils|lib2to3|zipfile64|largefile|bigmem|bigaddrspace|embed|freeze|importlib_metadata|support|unicodedata|multiprocessing_forkserver|multiprocessing_spawn)'
modules=${*:-$(cd /usr/lib/python3.11/test && ls -d test_*.py | sed 's/\.py$//' | grep -vxE "$leave_out")}
mkdir out
# Bare, a module that takes too long is left out of both runs; recorded, it has four times as long.
limit=${SECONDS_PER_MODULE:-60}
if [ "$IS_RECORDED" = 1 ]; then
	limit=$((4 * limit))
	modules=$(printf '%s\n' $modules | grep -vxFf "$NOTES")
fi
export limit
one() {
	mkdir -p "$WORK/tmp.$1" && cd "$WORK/tmp.$1" || exit
	TMPDIR="$WORK/tmp.$1" timeout -k 5 "$limit" under /usr/bin/python3.11 -u -m test -v "$1" \
		>"$WORK/out/$1" 2>&1 </dev/null
	echo "exit $?" >>"$WORK/out/$1"
	rm -rf "$WORK/tmp.$1"
}
export -f one
printf '%s\n' $modules | xargs -P 2 -I{} bash -c 'one {}'
for module in $modules; do
	if grep -qxE 'exit (124|137)' "out/$module"; then
		[ "$IS_RECORDED" = 1 ] && echo "$module: out of time" || echo "$module" >>"$NOTES"
		continue
	fi
	grep -oE '^test\w* \([^)]*\)|\.\.\. (ok|skipped|FAIL|ERROR|expected failure|unexpected success)|^exit .*|^(FAIL|ERROR): .*|^Ran [0-9]+ tests?' \
		"out/$module" | paste -sd' ' | sed 's/ \(test\w* (\|FAIL: \|ERROR: \|exit \|Ran \)/\n\1/g' | sort | sed "s/^/$module /"
done

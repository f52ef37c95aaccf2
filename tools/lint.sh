#!/bin/sh
# Every check that needs no build. Runs all of them, then fails if one did.
set -u
failed=

check() {
	if "$@"; then
		echo "ok      $1"
	else
		echo "FAILED  $1"
		failed=yes
	fi
}

check tools/check_layers.py --cycles
check tools/check_words.py
check tools/check_limits.py
check tools/check_format.py
check tools/check_docs.py
check tools/check_commits.py
[ -z "$failed" ]

#!/bin/sh
# Makes git check the message of each commit. A hook that somebody else wrote stays as it is.
set -eu
cd "$(dirname "$0")/.."
hook=$(git rev-parse --git-path hooks)/commit-msg

if [ -e "$hook" ] && ! grep -q 'tools/check_commits.py' "$hook"; then
	echo "$hook exists: add 'tools/check_commits.py --message \"\$1\"' to it by hand" >&2
	exit 1
fi
mkdir -p "$(dirname "$hook")"
cat >"$hook" <<-'HOOK'
	#!/bin/sh
	# Installed by `make hooks`. `git commit --no-verify` skips it once.
	[ ! -x tools/check_commits.py ] || exec tools/check_commits.py --message "$1"
HOOK
chmod +x "$hook"
echo "installed $hook"

# bash, dash and busybox do the same: pipes, subshells, traps, job control, here documents.
. "$(dirname "$0")/common.sh"
cat >a.sh <<'EOF'
f() { [ "$1" -le 1 ] && echo 1 || echo $(($1 * $(f $(($1 - 1))))); }
f 10
trap 'echo TERM' TERM; kill -TERM $$
trap 'echo EXIT' EXIT
(exit 3); echo $?
seq 1000 | while read -r i; do echo $((i % 7)); done | sort | uniq -c | awk '{ print $1 }'
cat <<X | tr a-z A-Z
here $(echo document)
X
sleep 5 & kill $!; wait $!; echo $?
sh -c 'kill -9 $$' 2>/dev/null; echo $?
sh -c 'kill -USR1 $$' 2>/dev/null; echo $?
sh -c 'kill -USR2 $$' 2>/dev/null; echo $?
for i in 1 2 3 4; do (echo "$i" >"f$i") & done; wait; cat f1 f2 f3 f4
ulimit -n 12; echo x | cat | cat
exec 9>out9; echo nine >&9; cat out9
ls /proc/self/fd | wc -l
exit 5
EOF
for shell in "bash --norc" dash "busybox sh"; do
	# shellcheck disable=SC2086 # a command and its argument
	under $shell a.sh 2>err; echo "$shell: exit $?"
	sed 's/[0-9]\+//g' err
done
under bash -ic 'echo interactive; set -m; sleep 0.1 & wait; fg 2>/dev/null; exit 2' 2>/dev/null; echo "exit $?"
under busybox find /etc -name 'host*' | sort | cksum
under busybox awk 'BEGIN { for (i = 0; i < 100000; i++) s = s + i; print s }'
under busybox tar c /etc/hostname 2>/dev/null | under busybox tar t

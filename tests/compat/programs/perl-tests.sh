# Perl's own tests of the language, of operators and of system calls, on Debian's perl.
. "$(dirname "$0")/common.sh"
mkdir lib && cp -rL /usr/share/perl/5.*.*/. /usr/lib/*/perl-base/. /usr/lib/*/perl/5.*.*/. lib/
cp -r "$SOURCES/perl/t" . && cd t || exit
printf '#!/bin/sh\nexec under /usr/bin/perl "$@"\n' >perl && chmod +x perl
for t in base/*.t cmd/*.t io/fork.t io/pipe.t io/exec.t io/dup.t io/socket.t op/fork.t op/exec.t op/alarm.t op/kill0.t op/die.t \
	op/magic.t op/sprintf.t op/pack.t op/sort.t op/hash.t op/sselect.t op/threads.t op/sysio.t op/split.t op/substr.t \
	re/regexp.t re/pat.t re/subst.t uni/*.t; do
	[ -f "$t" ] || continue
	timeout 120 ./perl -I../lib "$t" >out 2>err </dev/null
	echo "$t exit $?: $(grep -c '^ok' out) ok, $(grep -c '^not ok' out) not ok"
	grep '^not ok' out | grep -v TODO
done

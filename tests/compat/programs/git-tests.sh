# A part of git's own test suite, on Debian's git; its helper is built from the source, once.
. "$(dirname "$0")/common.sh"
options="CFLAGS=-O1 NO_CURL=1 NO_OPENSSL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PERL="
# shellcheck disable=SC2086 # $options are words
[ -d "$SOURCES/git/templates/blt" ] ||
	{ make -s -j2 -C "$SOURCES/git" $options t/helper/test-tool GIT-BUILD-OPTIONS && make -s -C "$SOURCES/git/templates"; } \
		>build.log 2>&1 || { tail build.log; exit 1; }
cp -r "$SOURCES/git/t" "$SOURCES/git/templates" "$SOURCES/git/git-sh-i18n.sh" "$SOURCES/git/GIT-BUILD-OPTIONS" .
mkdir -p bin && printf '#!/bin/sh\nexec under /usr/bin/git "$@"\n' >bin/git && chmod +x bin/git
cd t || exit
export GIT_TEST_INSTALLED=$WORK/bin GIT_TEST_EXEC_PATH=/usr/lib/git-core GIT_TEST_TEMPLATE_DIR=/usr/share/git-core/templates
for t in t0001 t1300 t3200 t3400 t4013 t5300 t6030 t7600; do
	script=$(echo $t-*.sh)
	timeout 300 sh "./$script" >"../$t.out" 2>&1
	echo "$script exit $?: $(grep -c '^ok' "../$t.out") ok, $(grep -c '^not ok' "../$t.out") not ok"
	grep -h '^not ok' "../$t.out"
done

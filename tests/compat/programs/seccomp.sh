# libseccomp's own tests: filters that allow, refuse, trap and kill.
. "$(dirname "$0")/common.sh"
cp -a "$SOURCES/libseccomp/." src && cd src || exit
{ ./configure -q && make -s && make -s -C tests check-build; } >../build.log 2>&1 || { tail ../build.log; exit 1; }
cd tests || exit
for t in $(ls | grep -E '^[0-9]+-(live|sim|basic)[^.]*$'); do
	[ -x "$t" ] && [ ! -d "$t" ] || continue
	under ./"$t" >../out 2>../err
	echo "$t $? $(cksum <../out)"
done
for t in 20-live-basic_die 21-live-basic_allow 24-live-arg_allow 31-basic-version_check; do
	for action in KILL TRAP ERRNO TRACE ALLOW LOG; do
		under ./$t $action >/dev/null 2>&1
		echo "$t $action $?"
	done
done

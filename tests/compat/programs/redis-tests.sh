# A part of redis' own test suite, with a server built from Debian's source, once.
. "$(dirname "$0")/common.sh"
[ -x "$SOURCES/redis/src/redis-server" ] ||
	make -s -j2 -C "$SOURCES/redis" MALLOC=libc OPT=-O1 >build.log 2>&1 || { tail build.log; exit 1; }
cp -a "$SOURCES/redis/." src && cd src || exit
for name in redis-server redis-cli redis-benchmark; do
	mv src/$name src/$name.real
	printf '#!/bin/sh\nexec under "%s" "$@"\n' "$PWD/src/$name.real" >src/$name
	chmod +x src/$name
done
for part in unit/type/string unit/type/list unit/type/hash unit/expire unit/scan unit/multi unit/other unit/dump integration/rdb; do
	./runtest --single "$part" --clients 1 --baseport "$PORT" --portcount 500 >out 2>&1
	echo "$part: exit $?, $(grep -c '\[ok\]' out) ok, $(grep -c '\[err\]' out) errors"
	grep -h '\[err\]' out
done

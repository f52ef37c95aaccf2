# A part of postgres' regression tests, from Debian's source, on Debian's server.
. "$(dirname "$0")/common.sh"
bin=$(echo /usr/lib/postgresql/*/bin); mkdir pg && chown nobody pg
as_user under "$bin/initdb" -D "$WORK/pg/data" -A trust -U me --no-sync -E UTF8 --locale=C >init.log 2>&1 || exit
printf "listen_addresses = '127.0.0.1'\nport = %s\nunix_socket_directories = '%s'\nfsync = off\n" "$PORT" "$WORK/pg" >>pg/data/postgresql.conf
as_user under "$bin/pg_ctl" -D "$WORK/pg/data" -l "$WORK/pg/log" -w -s start || exit
export PGHOST=$WORK/pg PGPORT=$PORT PGUSER=me PGDATABASE=regression PGTZ=PST8PDT PGDATESTYLE='Postgres, MDY' PGOPTIONS='-c intervalstyle=postgres_verbose'
psql -qd postgres -c 'create database regression'
cp -r "$SOURCES/postgresql-15/src/test/regress" regress && chmod -R a+rX regress && cd regress || exit
export PG_ABS_SRCDIR=$PWD PG_LIBDIR=$PWD PG_DLSUFFIX=.so PG_ABS_BUILDDIR=$PWD
for t in boolean char name varchar text int2 int4 int8 oid float4 float8 bit numeric uuid enum money rangetypes strings numerology \
	point lseg line box path polygon circle date time timetz timestamp timestamptz interval inet macaddr regex \
	create_table create_index join aggregates subselect union arrays hash_func plpgsql json jsonb xml with window temp; do
	timeout 60 under psql -X -a -q -v VERBOSITY=default -f sql/$t.sql >$t.out 2>&1 </dev/null
	echo "$t $? $(sed -E 's/pg_temp_[0-9]+|[0-9.]+ ms//g' $t.out | cksum)"
done
as_user "$bin/pg_ctl" -D "$WORK/pg/data" -w -s stop; echo "stop $?"

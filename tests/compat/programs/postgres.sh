# A cluster of its own: initdb, pgbench with two clients, a restart, a crash of one backend, recovery.
. "$(dirname "$0")/common.sh"
bin=$(echo /usr/lib/postgresql/*/bin); mkdir pg && chown nobody pg
as_user under "$bin/initdb" -D "$WORK/pg/data" -A trust -U me --no-sync -E UTF8 --locale=C >init.log 2>&1
echo "initdb $?"
cat >>pg/data/postgresql.conf <<EOF
listen_addresses = '127.0.0.1'
port = $PORT
unix_socket_directories = '$WORK/pg'
fsync = off
EOF
as_user under "$bin/pg_ctl" -D "$WORK/pg/data" -l "$WORK/pg/log" -w -s start
echo "start $?"
export PGHOST=$WORK/pg PGPORT=$PORT PGUSER=me PGDATABASE=postgres
under "$bin/pgbench" -i -q -s 2 >/dev/null 2>&1
echo "pgbench -i $?"
under "$bin/pgbench" -c 2 -j 2 -t 1000 2>/dev/null | grep -E 'processed|failed'
under psql -Atc 'select count(*), sum(abalance) - (select sum(delta) from pgbench_history) from pgbench_accounts'
under psql -Atc 'select sum(i) from generate_series(1, 300000) i; create table t as select md5(i::text) m from generate_series(1, 50000) i; create index on t (m); select count(distinct left(m, 2)) from t'
psql -Atc 'select pg_sleep(60)' >/dev/null 2>&1 &
sleep 1
backend=$(psql -Atc "select pid from pg_stat_activity where query like '%pg_sleep(60)' and pid <> pg_backend_pid()")
kill -9 "$backend"
wait %1
for _ in $(seq 100); do psql -Atc 'select 1' 2>/dev/null && break; sleep 0.2; done
psql -Atc 'select count(*) from t'
as_user under "$bin/pg_ctl" -D "$WORK/pg/data" -w -s restart -l "$WORK/pg/log"
echo "restart $?"
psql -Atc "vacuum full t" -c "select count(*) from t"
as_user "$bin/pg_ctl" -D "$WORK/pg/data" -w -s stop
echo "stop $?"

# Load, snapshots by fork, a rewrite of the log, active defragmentation, SIGTERM.
. "$(dirname "$0")/common.sh"
under redis-server --port "$PORT" --bind 127.0.0.1 --daemonize yes --dir "$WORK" --pidfile "$WORK/pid" --appendonly yes \
	--logfile "$WORK/log"
echo "start $?"
wait_port "$PORT"
cli() { redis-cli -p "$PORT" "$@"; }
for test in set,get lpush,lpop sadd,spop hset zadd,zpopmin mset; do
	redis-benchmark -p "$PORT" -q -n 20000 -r 10000 -c 20 -t "$test" >/dev/null
	echo "$test $?"
done
redis-benchmark -p "$PORT" -q -n 5000 -r 5000 -c 10 -d 2000 -t set >/dev/null
cli save
cli bgsave >/dev/null
cli bgrewriteaof | head -c 10; echo
cli eval 'for i = 1, 20000 do redis.call("set", "k" .. i, string.rep("x", i % 300)) end return redis.call("get", "k7")' 0
cli debug sleep 0.1
cli memory purge
cli flushall
sleep 1
pid=$(cat pid)
cli shutdown
wait_gone "$pid"
under redis-check-rdb dump.rdb | grep -c 'looks OK'
grep -cE 'crashed|BUG' log

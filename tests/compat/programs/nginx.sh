# Master and two workers of another user: load, reload, upgrade of the configuration, an orderly end.
. "$(dirname "$0")/common.sh"
mkdir -p www logs && head -c 200000 /dev/urandom >www/big && echo hello >www/index.html
chmod -R a+rX .
cat >nginx.conf <<EOF
user www-data;
worker_processes 2;
pid $WORK/nginx.pid;
error_log $WORK/logs/error.log notice;
events { worker_connections 256; }
http {
	access_log $WORK/logs/access.log;
	gzip on;
	server { listen 127.0.0.1:$PORT; root $WORK/www; location /back/ { proxy_pass http://127.0.0.1:$PORT/; } }
}
EOF
under nginx -p "$WORK" -c "$WORK/nginx.conf" -t 2>&1 | grep -c successful
under nginx -p "$WORK" -c "$WORK/nginx.conf"
echo "start $?"
wait_port "$PORT"
ab -q -n 3000 -c 20 "http://127.0.0.1:$PORT/index.html" | grep -E '^(Complete|Failed)'
ab -q -k -n 1000 -c 10 "http://127.0.0.1:$PORT/back/big" | grep -E '^(Complete|Failed)'
pid=$(cat nginx.pid)
under nginx -p "$WORK" -c "$WORK/nginx.conf" -s reload
echo "reload $?"
sleep 1
ab -q -n 1000 -c 10 "http://127.0.0.1:$PORT/" | grep -E '^(Complete|Failed)'
kill -QUIT "$pid"; wait_gone "$pid"
grep -cE 'alert|emerg|exited on signal' logs/error.log

. "$(dirname "$0")/common.sh"
mkdir -p www && echo hello >www/index.html && head -c 200000 /dev/urandom >www/big
chmod -R a+rX .
for mpm in prefork event; do
	cat >$mpm.conf <<EOF
ServerName localhost
Listen 127.0.0.1:$PORT
PidFile $WORK/$mpm.pid
ErrorLog $WORK/$mpm.log
DocumentRoot $WORK/www
User www-data
Group www-data
LoadModule mpm_${mpm}_module /usr/lib/apache2/modules/mod_mpm_$mpm.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
EOF
	under /usr/sbin/apache2 -d "$WORK" -f "$WORK/$mpm.conf" -k start
	echo "$mpm start $?"
	wait_port "$PORT"
	ab -q -n 2000 -c 20 "http://127.0.0.1:$PORT/index.html" | grep -E '^(Complete|Failed)'
	ab -q -k -n 500 -c 5 "http://127.0.0.1:$PORT/big" | grep -E '^(Complete|Failed)'
	pid=$(cat $mpm.pid)
	under /usr/sbin/apache2 -d "$WORK" -f "$WORK/$mpm.conf" -k graceful
	echo "graceful $?"
	sleep 1
	ab -q -n 500 -c 5 "http://127.0.0.1:$PORT/" | grep -E '^(Complete|Failed)'
	under /usr/sbin/apache2 -d "$WORK" -f "$WORK/$mpm.conf" -k stop
	echo "stop $?"
	wait_gone "$pid"
	grep -oE 'exit signal.*|segfault' $mpm.log
done

# Programs that detach: setsid, start-stop-daemon, a double fork that closes all descriptors, fds kept by number.
. "$(dirname "$0")/common.sh"
cat >daemon.py <<'EOF'
import os, signal, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
os.umask(0)
os.closerange(0, 256)
assert os.open("/dev/null", os.O_RDWR) == 0
os.dup2(0, 1); os.dup2(0, 2)
work = sys.argv[1]
stop = []
for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(s, lambda number, _: stop.append(number))
with open(work + "/pid.new", "w") as f:
    f.write(str(os.getpid()))
os.rename(work + "/pid.new", work + "/pid")
blocks = []
while signal.SIGTERM not in stop:
    blocks = [bytearray(n) for n in range(2000)]
    time.sleep(0.02)
with open(work + "/stopped", "w") as f:
    f.write(" ".join(map(str, sorted(set(stop)))))
EOF
under python3.11 daemon.py "$WORK"; echo "start $?"
for _ in $(seq 100); do [ -f pid ] && break; sleep 0.1; done
pid=$(cat pid)
ls /proc/"$pid"/task | wc -l; ls /proc/"$pid"/fd | wc -l
for s in HUP USR1 USR2; do kill -$s "$pid"; sleep 0.2; done
kill "$pid"; wait_gone "$pid"; cat stopped; echo
under start-stop-daemon --start --background --make-pidfile --pidfile "$WORK/pid2" --exec /usr/bin/sleep -- 1000; echo "start $?"
sleep 0.5
start-stop-daemon --stop --pidfile "$WORK/pid2" --retry 5 | sed 's/[0-9]\+/N/'; echo "stop $?"
under setsid -w sh -c 'ps -o sid= -p $$ | grep -cw $$'; echo "setsid $?"
under nohup sh -c 'exec sleep 0.1' >/dev/null 2>&1; echo "nohup $?"

# cron and its job, in a mount namespace of its own, so that no job of the machine runs.
. "$(dirname "$0")/common.sh"
cat >inside.sh <<'EOF'
mount -t tmpfs none /var/spool/cron && mkdir -p /var/spool/cron/crontabs
mount -t tmpfs none /etc/cron.d && mount --bind /dev/null /etc/crontab
echo "@reboot root echo ran >$WORK/ran; id -un >>$WORK/ran" >/etc/cron.d/job
chmod 644 /etc/cron.d/job
rm -f /run/crond.reboot
mount -t tmpfs none /run
under cron -f -L 0 &
pid=$!
for i in $(seq 100); do [ -s "$WORK/ran" ] && break; sleep 0.1; done
sleep 0.5
kill $pid; wait $pid 2>/dev/null; echo "cron $?"
EOF
unshare --mount bash inside.sh; cat ran

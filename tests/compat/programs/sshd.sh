# A server with privilege separation and a seccomp sandbox before the login; logins, a copy, a refusal.
. "$(dirname "$0")/common.sh"
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f host_key
ssh-keygen -q -t ed25519 -N '' -f user_key
mkdir keys && cp user_key.pub keys/authorized && chmod -R go-w keys
cat >sshd_config <<EOF
ListenAddress 127.0.0.1
Port $PORT
HostKey $WORK/host_key
AuthorizedKeysFile $WORK/keys/authorized
StrictModes no
PidFile $WORK/sshd.pid
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
Subsystem sftp /usr/lib/openssh/sftp-server
EOF
under /usr/sbin/sshd -f sshd_config -E sshd.log
echo "start $?"
wait_port "$PORT"
options="-F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=$WORK/known -o LogLevel=ERROR"
for i in 1 2 3; do
	# shellcheck disable=SC2086 # $options are words
	under ssh $options -i user_key -p "$PORT" 127.0.0.1 "echo login $i; exit $i"
	echo "exit $?"
done
head -c 3000000 /dev/zero >big
# shellcheck disable=SC2086
under scp -q $options -i user_key -P "$PORT" big "127.0.0.1:$WORK/copy"
echo "scp $?"; cmp big copy && echo the same
# shellcheck disable=SC2086
under ssh $options -i host_key -p "$PORT" 127.0.0.1 true
echo "refused $?"
# shellcheck disable=SC2086
su -s /bin/sh nobody -c "true"; echo "su $?"
pid=$(cat sshd.pid)
kill "$pid"; wait_gone "$pid"
sed 's/^.*\(Server listening\|Accepted\|Received signal\|fatal\|error\)/\1/; s/port [0-9]*//; s/SHA256.*//' sshd.log | grep -v Connection

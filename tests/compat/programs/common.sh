# What several scripts of this folder need. Sourced, with bash.
set -u

# A command as a normal user with a home of its own.
as_user() (
	mkdir -p "$WORK/home" && chown 65534:65534 "$WORK/home" && cd "$WORK/home" || exit
	if [ "$(id -u)" = 0 ]; then
		HOME=$WORK/home setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
)

# Waits until something listens on the port; at most 30 s.
wait_port() {
	for _ in $(seq 300); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		sleep 0.1
	done
	echo "nothing listens on the port" >&2
	return 1
}

# Waits until a process is gone, or a minute.
wait_gone() {
	for _ in $(seq 600); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	echo "still there" >&2
	return 1
}

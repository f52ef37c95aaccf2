. "$(dirname "$0")/common.sh"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z' GIT_PAGER=cat
under git init -q -b main one && cd one || exit
for i in $(seq 30); do
	for j in $(seq 20); do echo "$i $j $((i * j))" >>"file$((j % 7))"; done
	under git add . && under git commit -q -m "commit $i"
done
under git log --oneline --stat | tail -3
under git log -p | cksum
under git blame file3 | cksum
under git checkout -q -b side HEAD~10 && echo more >other && under git add other && under git commit -q -m side
under git merge -q -m merged main; echo "merge $?"
under git rebase -q main >/dev/null 2>&1; echo "rebase $?"
under git gc -q --aggressive; echo "gc $?"
under git fsck --full 2>/dev/null; echo "fsck $?"
under git clone -q --no-local . ../two; echo "clone $?"
under git -C ../two rev-parse HEAD
under git daemon --reuseaddr --listen=127.0.0.1 --port="$PORT" --base-path="$WORK" --export-all --detach --pid-file="$WORK/pid"
wait_port "$PORT"
under git clone -q "git://127.0.0.1:$PORT/one/" ../three; echo "clone $?"
kill "$(cat ../pid)"; wait_gone "$(cat ../pid)"
under git -C ../three archive --format=tar HEAD | cksum
under git grep -c '7 7' | tail -2
under git no-such-command 2>/dev/null; echo "exit $?"

# Fork, clone, signals, mappings, seccomp, pipes, timers, threads; each stressor checks itself (--verify).
. "$(dirname "$0")/common.sh"
for s in fork vfork clone sigfd signal sigsuspend sigsegv sigpending sigq mmap mmapfork mremap mlock malloc brk bigheap pthread \
	seccomp exec wait zombie daemon pipe dup open timer itimer prctl ptrace kill rlimit switch session \
	shm memfd userfaultfd membarrier futex sem procfs getdent affinity schedpolicy set personality unshare env stack stackmmap; do
	under stress-ng --$s 1 --${s}-ops 60 --timeout 5 --verify --quiet --temp-path "$WORK" >out 2>&1
	echo "$s $?"
	grep -E 'fail|abort' out | sed 's/\[[0-9]*\]//'
done

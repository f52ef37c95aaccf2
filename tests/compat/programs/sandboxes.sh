# User, mount, pid and network namespaces; a pid namespace ends with its first process.
. "$(dirname "$0")/common.sh"
work='for i in 1 2 3; do echo $i | sed s/./x/; done; echo $((6*7))'
as_user under unshare --user --map-root-user --mount --uts --ipc --net sh -c "$work"; echo "unshare $?"
as_user under unshare --user --map-root-user --fork --pid --mount-proc sh -c "$work"; echo "pid namespace $?"
under unshare --fork --pid --mount-proc sh -c "echo \$\$; exit 7"; echo "as root $?"
under bwrap --ro-bind / / --dev /dev --proc /proc --bind "$ROOT" "$ROOT" --unshare-all --die-with-parent sh -c "$work"; echo "bwrap $?"
under bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib64 /lib64 --symlink usr/lib /lib --bind "$ROOT" "$ROOT" --unshare-pid sh -c "$work"; echo "bwrap without the rest $?"
under firejail --quiet --noprofile --net=none sh -c "$work"; echo "firejail $?"
under chroot / sh -c "$work"; echo "chroot $?"
under setpriv --no-new-privs sh -c "$work"; echo "no new privileges $?"
under prlimit --nofile=16 --fsize=20000000 --as=400000000 sh -c "$work"; echo "limits $?"
under timeout 1 sleep 5; echo "timeout $?"

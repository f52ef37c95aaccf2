# sudo, su, setpriv, newgrp-like changes of user; set-user-id programs run without the recorder.
. "$(dirname "$0")/common.sh"
under sudo -n id -un; echo "sudo $?"
under sudo -n -u nobody sh -c 'id -un; echo $HOME | cut -c1-5'; echo "sudo -u $?"
under su -s /bin/sh nobody -c 'id -un; id -gn'; echo "su $?"
as_user under su root -c true </dev/null 2>/dev/null; echo "su refused $?"
as_user under sudo -n true 2>/dev/null; echo "sudo refused $?"
as_user under passwd -S 2>/dev/null | cut -d' ' -f1; echo "passwd ${PIPESTATUS[0]}"
under setpriv --reuid=nobody --regid=nogroup --clear-groups python3.11 -c 'import os; x = [bytes(i) for i in range(5000)]; print(os.getuid(), os.getgid())'
under python3.11 -c '
import os, threading
threads = [threading.Thread(target=lambda: [bytes(i) for i in range(3000)]) for _ in range(4)]
for t in threads: t.start()
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
for t in threads: t.join()
print(os.getresuid(), os.access("/etc/shadow", os.R_OK))
try: os.setuid(0)
except PermissionError as e: print(e)'
echo "exit $?"
under chage -l root | head -1 | cut -d: -f1

# gdb recorded; gdb on a recorded program: breakpoint, call, step, core.
. "$(dirname "$0")/common.sh"
cat >a.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int twice(int x) { char *p = malloc(x); memset(p, 1, x); free(p); return 2 * x; }
int main(void) { int s = 0; for (int i = 1; i < 20; i++) s += twice(i); printf("%d\n", s); abort(); }
EOF
gcc -g -O0 a.c -o a || exit
cat >commands <<'EOF'
set debuginfod enabled off
set confirm off
break twice if x == 7
run
bt
info threads
print twice(21)
next
finish
delete
continue
bt
EOF
echo "gdb recorded, and its program:"
under gdb -batch -nx -x commands ./a 2>err | grep -E '^#|^\$|Value|SIGABRT|^[0-9]+$|Thread' | sed 's/0x[0-9a-f]*/ADDRESS/g; s/process [0-9]*/process/; s/LWP [0-9]*/LWP/'
echo "gdb bare, on a recorded program:"
under ./a >/dev/null 2>&1
under sleep 20 &
pid=$!
sleep 1
gdb -p $pid -batch -nx -iex 'set debuginfod enabled off' -ex 'info inferiors' -ex 'print (int)getppid() > 0' -ex detach 2>/dev/null | grep -oE '^\$.*|detached'
kill $pid; wait $pid 2>/dev/null; echo "exit $?"

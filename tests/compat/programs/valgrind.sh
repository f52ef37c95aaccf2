. "$(dirname "$0")/common.sh"
printf '#include <stdlib.h>\nint main(void) { char *p = malloc(10); free(p); p = malloc(7); return !p; }\n' >a.c
gcc -g a.c -o a || exit
under valgrind -q --leak-check=full --error-exitcode=9 ls / | wc -l; echo "memcheck ${PIPESTATUS[0]}"
under valgrind --tool=none -q ./a; echo "none $?"

. "$(dirname "$0")/common.sh"
under strace -f -c -o counts sh -c 'echo one; (echo two); ls / | wc -l' >out
echo "exit $?"; head -2 out
under sh -c 'echo a; sh -c "kill -9 \$\$"; echo $?' >/dev/null 2>&1; echo "exit $?"
strace -f -o trace -e trace=execve,exit_group under python3.11 -c 'import os; os.system("true"); print(1)'
echo "exit $?"; grep -c 'exit_group(0)' trace
under strace -o trace2 -e trace=none -e signal=all sh -c "kill -HUP \$\$"; echo "exit $?"

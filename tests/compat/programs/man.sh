# man and its filters use libseccomp, and begin with the question whether the kernel knows it.
. "$(dirname "$0")/common.sh"
export MANPATH=$WORK/man MANWIDTH=80
mkdir -p man/man1 && printf '.TH ONE 1\n.SH NAME\none \\- first\n.SH TEXT\n%s\n' "$(seq 300)" >man/man1/one.1
under mandb -q -c man 2>/dev/null; echo "mandb $?"
under man -w one; echo "man -w $?"
under man -P cat one | cksum; echo "man ${PIPESTATUS[0]}"
under apropos -M "$WORK/man" first; echo "apropos $?"
under man -w no-such-page 2>/dev/null; echo "exit $?"

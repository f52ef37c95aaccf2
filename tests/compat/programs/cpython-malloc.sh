set -- malloc
. "$(dirname "$0")/cpython.sh"

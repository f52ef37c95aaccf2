set -- default
. "$(dirname "$0")/cpython.sh"

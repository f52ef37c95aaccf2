. "$(dirname "$0")/common.sh"
for sandbox in off on on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny; do
	printf '%s\n' '{"execute":"qmp_capabilities"}' '{"execute":"query-status"}' '{"execute":"quit"}' |
		under qemu-system-x86_64 -machine pc,accel=tcg -m 64 -display none -nodefaults -S -sandbox "$sandbox" -qmp stdio >out 2>err
	echo "$sandbox: exit $?, $(grep -c return out) answers"; cat err
	grep -o '"status": "[a-z]*"' out
done

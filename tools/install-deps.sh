#!/bin/sh
# Installs the missing Debian packages of the given groups (build, test, compat), and only those.
# What is already there counts, wherever it came from: a tool on PATH, a library the compiler finds.
# As root or through sudo; elsewhere it says what is needed and stops. DEPS=skip make ... avoids it.
set -eu

# group package probe...
#   a word  = this tool is on PATH
#   lib:F   = the C compiler finds the file F      rt:F = clang finds its run-time library F
#   /F      = the file exists
packages() {
	cat <<-LIST
	build build-essential gcc g++ make ar
	build meson meson
	build ninja-build ninja
	build pkg-config pkg-config
	build python3 python3
	build nodejs node
	build npm npm
	build liblz4-dev lib:liblz4.a
	build libelf-dev lib:libelf.so
	build liblzma-dev lib:liblzma.so
	build libiberty-dev lib:libiberty.a
	build libcmocka-dev lib:libcmocka.so
	build libpcre2-dev lib:libpcre2-8.so
	build zlib1g-dev lib:libz.so
	build libmicrohttpd-dev lib:libmicrohttpd.so
	build libzstd-dev lib:libzstd.so
	build liblua5.4-dev lib:liblua5.4.so
	test clang clang
	test libclang-rt-14-dev rt:libclang_rt.fuzzer-$(uname -m).a
	test clang-format-14 clang-format-14
	test binutils nm addr2line readelf objcopy dwp
	test llvm-14 llvm-dwp-14
	test libdebuginfod1 lib:libdebuginfod.so.1
	test dwz dwz
	test man-db man
	test sudo sudo
	test xz-utils xz
	test git git
	test jq jq
	test sqlite3 sqlite3
	test perl perl
	test curl curl
	test rustc rustc
	test gdb gdb
	test heaptrack heaptrack heaptrack_print
	test redis-server redis-server redis-cli
	test valgrind valgrind ms_print
	test libjemalloc-dev jeprof lib:libjemalloc.a
	test libgoogle-perftools-dev lib:libtcmalloc_minimal.a
	test libmimalloc-dev lib:libmimalloc.so
	test libcapstone-dev lib:libcapstone.so
	test golang-go go
	test python3-jsonschema jsonschema
	test chromium chromium
	test zstd zstd
	test iproute2 ip
	test tmux tmux
	test util-linux unshare nsenter
	test libunwind-dev lib:libunwind.so
	compat apache2-bin apache2
	compat apache2-utils ab
	compat bubblewrap bwrap
	compat busybox busybox
	compat cargo cargo
	compat chromium-sandbox /usr/lib/chromium/chrome-sandbox
	compat cron cron
	compat default-jdk-headless javac
	compat docker.io docker
	compat dpkg-dev dpkg-source
	compat ffmpeg ffmpeg
	compat firefox-esr firefox-esr
	compat firejail firejail
	compat gperf gperf
	compat imagemagick mogrify
	compat libpython3.11-testsuite /usr/lib/python3.11/test/test_os.py
	compat libreoffice-calc-nogui soffice /usr/lib/libreoffice/program/libsclo.so
	compat libreoffice-writer-nogui soffice /usr/lib/libreoffice/program/libswlo.so
	compat nginx-light nginx
	compat openssh-server /usr/sbin/sshd
	compat postgresql pg_ctlcluster
	compat qemu-system-x86 qemu-system-x86_64
	compat strace strace
	compat stress-ng stress-ng
	compat tcl tclsh
	LIST
}

present() {
	for probe in "$@"; do
		case $probe in
		lib:*) found=$(cc -print-file-name="${probe#lib:}" 2>/dev/null) || return 1 ;;
		/*) [ -e "$probe" ] && found=$probe || return 1 ;;
		rt:*) found=$(clang -print-file-name="${probe#rt:}" 2>/dev/null) || return 1 ;;
		*) found=$(command -v "$probe") || return 1 ;;
		esac
		case $found in */*) ;; *) return 1 ;; esac # -print-file-name echoes what it did not find
	done
}

missing() {
	packages | while read -r group package probes; do
		case " $groups " in *" $group "*) ;; *) continue ;; esac
		# shellcheck disable=SC2086 # probes are words
		present $probes || echo "$package"
	done
}

groups=${*:-build test}
want=$(missing | tr '\n' ' ')
want=${want% }
[ -n "$want" ] || exit 0

echo "memory-profiler needs these packages, which are missing: $want"
if ! command -v apt-get >/dev/null; then
	echo "There is no apt-get here: install what corresponds to them and run make again" \
		"(DEPS=skip if they are there but not found)." >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null; then
	as_root=sudo
else
	echo "Not root and no sudo: ask somebody who is to run: apt-get install $want" >&2
	exit 1
fi
# The servers among the packages of compat are run by its scripts only.
policy=/usr/sbin/policy-rc.d
case " $groups " in
*" compat "*)
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
		$as_root chmod +x $policy
		trap '$as_root rm -f $policy' EXIT
	fi
	;;
esac
# shellcheck disable=SC2086 # $want is a list of words
{
	$as_root apt-get update -q
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $want
}
left=$(missing | tr '\n' ' ')
if [ -n "$left" ]; then
	echo "Still missing after the installation: $left" >&2
	exit 1
fi

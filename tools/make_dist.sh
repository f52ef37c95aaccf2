#!/bin/sh
# Packs what `make dist` (tgz) and `make deb` (deb) have built: make_dist.sh BUILD tgz|deb TARGET
# Checks first that the programs run on old systems: the recorder on glibc 2.17, the others on 2.28.
set -eu
build=$1 kind=$2 target=$3
src=$(cd "$(dirname "$0")/.." && pwd)
programs="memory-profiler-cli memory-profiler-gather"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$src/meson.build")

"$src/tools/check_glibc.py" 2.17 "$build/libmemory_profiler.so"
"$src/tools/check_symbols.py" "$build/libmemory_profiler.so" \
	"$src/src/record/exports.map" "$src/src/record/imports.allow"
for p in $programs; do
	"$src/tools/check_glibc.py" 2.28 "$build/$p"
done

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

make_tgz() {
	cp "$build/libmemory_profiler.so" "$root"
	for p in $programs; do
		cp "$build/$p" "$root"
	done
	strip --strip-unneeded "$root"/*
	tar -C "$root" --owner=0 --group=0 -czf "$target" libmemory_profiler.so $programs
}

make_deb() {
	DESTDIR=$root meson install -C "$build" --no-rebuild --quiet --strip
	# the documents as Debian wants them
	gzip -9nr "$root/usr/share/man"
	mkdir -p "$root/DEBIAN"
	cp "$src/LICENSE-MIT" "$root/usr/share/doc/memory-profiler/copyright"
	cat > "$root/DEBIAN/control" <<-CONTROL
	Package: memory-profiler
	Version: $version
	Architecture: $(dpkg --print-architecture)
	Maintainer: The memory-profiler developers <memory-profiler@localhost>
	Installed-Size: $(du -sk "$root/usr" | cut -f1)
	Depends: libc6 (>= 2.28)
	Suggests: binutils
	Section: devel
	Priority: optional
	Description: memory profiler for programs of any size
	 A library that is preloaded into a program records every allocation and free
	 with its call stack. The command memory-profiler-cli reports on recordings and
	 serves them in a web browser.
	CONTROL
	dpkg-deb --root-owner-group --build "$root" "$target" > /dev/null
}

make_"$kind"
echo "$target"

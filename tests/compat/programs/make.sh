# ./configure && make && make check of a program of Debian: a deep tree of short processes.
. "$(dirname "$0")/common.sh"
cp -a "$SOURCES/hello/." src && cd src || exit
under ./configure -q --disable-dependency-tracking --disable-nls >../out 2>../err
echo "configure $?"
wc -l <../err
under make -s -j2 V=0 >../out 2>../err
echo "make $?"
under ./hello
under make -s check >../out 2>&1
echo "check $?"; grep -E '^# (PASS|FAIL)' ../out

#!/bin/sh
# --best and --bcj make smaller images, which other tools can read.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
have unsquashfs || skip_all 'unsquashfs is not installed'
mkdir tree
head -c 600000 "$(command -v sqpack)" >tree/program
seq 30000 >tree/numbers

size() { wc -c <"$1"; }

# holds NAME IMAGE: checks that unsquashfs and sqpack both extract the original
# tree
holds() {
	rm -rf got
	t "$1: unsquashfs" 0 unsquashfs -q -n -d got "$2"
	t "$1: the same tree" 0 diff -r tree got
	rm -rf got
	t "$1: sqpack -x" 0 sqpack -x got "$2"
	t "$1: the same tree again" 0 diff -r tree got
	t "$1: it can be rebuilt" 0 sqpack --rebuild-check "$2"
}

sqpack -F xz -o plain tree
t 'xz with all filters' 0 sqpack -p3 -F xz \
    --bcj x86,powerpc,ia64,arm,armthumb,sparc -o image tree
holds 'xz with all filters' image
shows 'the check names them' '^built by: -F xz --bcj x86,powerpc,ia64,arm,'
sqpack -lv image >list.out
shows 'and so does the list' \
    'xz, dictionary 131072, filter x86, filter powerpc, .* filter sparc' \
    list.out
t 'it is no larger' 0 test "$(size image)" -le "$(size plain)"
sqpack -f -p1 -F xz --bcj x86,powerpc,ia64,arm,armthumb,sparc -o one tree
same 'the same for one thread' one image
case $(uname -m) in
x86_64)
	sqpack -f --no-pad -F xz -o plain tree
	sqpack -f --no-pad -F xz --bcj x86 -o image tree
	t 'a program for x86 is smaller' 0 \
	    test "$(size image)" -lt "$(size plain)" ;;
*) skip 'not x86: the program may not become smaller' ;;
esac

# Tables are not machine code, and some readers know no filters.
# blocks FLAGS: counts the xz streams in the image whose block headers have them
blocks() {
	LC_ALL=C grep -obUaP \
	    "\\xfd7zXZ\\0\\0\\x01\\x69\\x22\\xde\\x36(?s:.)[$1]" image | wc -l
}
mkdir names
(cd names && seq -f 'a file with a long name, number %g' 3000 |
	tr '\n' '\0' | xargs -0 touch)
sqpack -f -F xz --bcj x86,powerpc,ia64,arm,armthumb,sparc -o image names
t 'tables are compressed by xz' 0 test "$(blocks '\x00\xc0')" -ge 20
t 'and not filtered' 0 test "$(blocks '\x01\xc1')" -eq 0

# liblzma finds better matches here than our encoder, with a filter or without
mkdir numbers
seq 60000 >numbers/file
sqpack -f -F xz --bcj x86 -o image numbers
t 'numbers are compressed by xz' 0 test "$(blocks '\x00\xc0')" -ge 3
t 'and not filtered' 0 test "$(blocks '\x01\xc1')" -eq 0

t 'the best gzip' 0 sqpack -f -F gzip --best -o image tree
holds 'the best gzip' image
sqpack -f --no-pad -F gzip --best -o image tree
sqpack -f --no-pad -F gzip -L 9 -o plain tree
t 'it is 1.3 % smaller' 0 test $(($(size image) * 1000)) -le \
    $(($(size plain) * 987))
if have mksquashfs; then
	mksquashfs tree theirs -comp gzip -noappend -nopad -no-progress \
	    >/dev/null 2>&1
	t 'and smaller than from mksquashfs' 0 \
	    test $(($(size image) * 1000)) -le $(($(size theirs) * 987))
else
	skip 'mksquashfs is not installed'
fi
for o in '--bcj x86 -F zstd' '-F xz --bcj mips' '-F xz -L 3' \
    '-F gzip -L 3 --best'; do
	# shellcheck disable=SC2086
	t "refused: $o" 1 sqpack $o -o bad tree
done
t 'no image is created from these' 1 test -e bad
done_testing

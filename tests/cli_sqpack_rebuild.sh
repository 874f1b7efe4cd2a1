#!/bin/sh
# An image can be rebuilt byte for byte from its own tree, with the settings
# found in it; any data that does not come from the tree is detected.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

PATH=$PATH:/usr/sbin:/sbin
mkdir -p tree/d/e tree/z
for i in 1 2 3 4 5 6; do
	seq $i$i 50000 >tree/d/large$i
	seq $((i * 700)) >tree/d/e/small$i
	seq $((i * 600)) >tree/z/small$i
done
: >tree/empty
truncate -s 400000 tree/d/hole
truncate -s 500000 tree/d/another-hole
cp tree/d/hole tree/z
truncate -s 300 tree/d/e/small-hole
head -c 400000 /dev/urandom >tree/d/random
cp tree/d/large1 tree/z/twin
cp tree/z/small3 tree/d
ln tree/d/large2 tree/z/hard
mkfifo tree/z/fifo
touch -d '2001-09-09 01:46:40 UTC' tree/d/large6 tree/z
setfattr -n user.a -v b tree/z/small2 2>/dev/null
setfattr -n user.c -v b tree/d/e 2>/dev/null
setfattr -n user.a -v d tree/d/hole 2>/dev/null

check() { sqpack --rebuild-check "$@"; }

printf 'z/small6\nd/large4\nd/e/small1\nd/hole\n' >list
for o in '-F zstd -L 3' '-F zstd -L 15' '-F gzip' '-F gzip -L 12' \
    '-F gzip -L 6 --no-probe' '-F lz4' '-F lz4hc -b 4K' \
    '-F xz --no-fragments' '-F lzo -L 2 --no-duplicates' '-F none --no-pad' \
    '-F gzip --raw data,xattrs --no-export' \
    '-F lz4 --raw inodes,fragments --no-xattrs --all-root --mtime 7' \
    '-F zstd -L 1 --order list'; do
	case $o in
	*lzo*)
		sqpack -F lzo --dry-run tree/z 2>/dev/null || continue ;;
	esac
	# shellcheck disable=SC2086
	sqpack -f $o -o image tree
	t "$o: it can be rebuilt from its tree" 0 check -p3 image
	shows 'is reported' "^equal: $(stat -c %s image) bytes"
	t 'also with one thread' 0 check -q -p1 image
	is 'in one line' "$(cat .t.out)" "equal: $(stat -c %s image) bytes"
	sqpack -f -F zstd -L 2 -o again image
	t 'and so can its copy' 0 check again
done
(cd tree && tar -cf - z d .) | sqpack -f -F zstd -L 1 -o image -
t 'of an archive' 0 check image
(cd tree && tar -cf - z d .) | sqpack -f -F zstd -L 1 --order list -o image -
t 'of an archive, in list order' 0 check image
{ cat .t.out image; } >program	# after something other than a program
t 'of a file that is not an image' 1 check program

# Small files that no compressor shortens: the fragment blocks are stored
# uncompressed, although that was not requested.  Earlier versions then set the
# flags 0x20 and 0x8.
mkdir tiny random
echo hi >tiny/a
for i in 1 2 3 4 5 6; do
	head -c $((i * 900)) /dev/urandom >random/$i
done
for tree in tiny random; do
	for o in '-F zstd -L 1' '-F gzip -b 4K' '-F lz4' '-F none' \
	    '-F lz4 --raw fragments' '-F none --no-fragments'; do
		# shellcheck disable=SC2086
		sqpack -f $o -o image $tree
		t "$tree, $o" 0 check image
		[ "$(le image 16 4)" != 0 ] || continue
		poke image 24 2 $(($(le image 24 2) | 0x28))
		t "$tree, $o, as in earlier versions" 0 check image
	done
done
sqpack -f -F lz4 -o image tiny
poke image 24 2 $(($(le image 24 2) | 0x8))
t 'a flag that is not true' 1 check image

# Settings for which the format has no field
sqpack -f -F gzip -L 12 --no-probe -o image tree
t 'listed in full' 0 sqpack -lv image
shows 'the padding is shown' '^more settings: level=12 no-probe$'
sqpack -f -F gzip -o image tree
sqpack -lv image >list.out
is 'nothing else is stored there' "$(grep -c '^more settings' list.out)" 0
is 'and nothing anywhere else' \
    "$(tail -c +$(($(le image 40 8) + 1)) image | tr -d '\0' | wc -c)" 0
sqpack -f -F gzip -L 12 --no-pad -o image tree
t 'an image without padding' 1 check image
t 'needs its level to be given' 0 check -L 12 image
shows 'is reported' 'L 12 (as given) .*; the image cannot record'
sqpack -f -F gzip -L 12 -o image tree
used=$(le image 40 8)
poke image $((used + 7)) 1 120
t 'other text in its place' 1 check image
shows 'is not guessed' 'does not support the settings in the padding' .t.err

# Data that does not come from the tree
sqpack -f -F gzip -o image tree
cp image spoilt
poke spoilt 8 4 77
t 'only another time is accepted' 0 check spoilt
cp image spoilt
printf x >>spoilt
t 'a byte after it' 1 check spoilt
shows 'is a difference' "^different: byte $(stat -c %s image), where the rebuilt"
cp image spoilt
poke spoilt $((used = $(le image 40 8) + 1)) 1 1
t 'a byte in the padding' 1 check spoilt
shows 'is found' "^different: byte $used, in the padding"
sqpack -f -F zstd -L 3 -o spoilt tree
poke spoilt 98 4 4
t 'a different level' 1 check spoilt
shows 'shows in the data' '^different: byte [0-9]*, in the data of '
# bytes in a fragment block that belong to no file; only a rebuild detects them
mkdir one
seq 2000 >one/a
sqpack -f -F none -o whole one
printf 'tail\n' >>one/a
sqpack -f -F none -o spoilt one
at=$(grep -obaF tail spoilt | head -n 1 | cut -d: -f1)
size=$(stat -c %s one/a)
inode=$(grep -obaP "$(printf '\\x%02x\\x%02x' $((size & 255)) \
    $((size >> 8)))\\x00\\x00" spoilt | cut -d: -f1 | tail -n 1)
poke spoilt "$inode" 4 $((size - 5))
is 'the file is the shorter one' "$(sqpack --cat a spoilt | wc -c)" \
    $((size - 5))
t 'bytes that belong to no file' 1 check spoilt
shows 'are found' "^different: byte "
t 'they are in the data' 0 test "$at" -lt "$(le spoilt 64 8)"
head -c 5000 image >short
t 'a damaged image' 1 check short
sqpack -f -F gzip --no-probe -o spoilt tree
poke spoilt 130 4 $((0xffffffff))
t 'a damaged block' 1 check spoilt
shows 'is named' 'offset 96: ' .t.err

if have mksquashfs; then
	mksquashfs tree theirs -noappend -no-progress -comp lzo \
	    -Xalgorithm lzo1x_1 >/dev/null 2>&1
	t 'options that sqpack does not support' 1 check theirs
	shows 'are named' "does not support the image's compressor options" .t.err
	mksquashfs tree theirs -noappend -no-progress -comp gzip \
	    >/dev/null 2>&1
	t 'an image from mksquashfs' 0 check theirs
	shows 'is recognized' '^built by mksquashfs: -comp gzip'
	# the first name belongs to the last data
	mkdir before
	seq 30000 >before/0
	# without a file in $HOME, which may not be set
	t 'mksquashfs appends' 0 \
	    mksquashfs before theirs -no-progress -no-recovery
	t 'one that was appended to' 1 check theirs
	shows 'differs' '^different: byte '
else
	skip 'mksquashfs is not installed'
fi
t 'two tasks' 1 sqpack --rebuild-check -l image
t 'two images' 1 check image image
t 'and an output' 1 check -o out image

# another compression of the same data, as by another version of the library
ln -s "$(command -v sqpack)" mksquashfs
./mksquashfs tree other -noappend -quiet -no-progress -comp zstd \
    -Xcompression-level 3
poke other 98 4 4
t 'another compression' 1 check other
shows 'is said to be that' 'the data is the same there.*libzstd [0-9]'
./mksquashfs tree other -noappend -quiet -no-progress -comp xz -Xdict-size 50%
t 'another dictionary' 0 check other
shows 'is recognized' '-comp xz -Xdict-size 65536 '
./mksquashfs tree other -noappend -quiet -no-progress -comp lz4 -noD \
    -no-fragments
at=$(grep -obaF 12345 other | head -n 1 | cut -d: -f1)
poke other "$at" 1 65
t 'other data, which the rebuild has, too' 0 check other
done_testing

#!/bin/sh
# Tests --rebuild-check of images that mksquashfs and gensquashfs made.  Other
# versions than those in PATH are in the folders that COLDPRESS_MKSQUASHFS and
# COLDPRESS_GENSQUASHFS name.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
PATH=${COLDPRESS_GENSQUASHFS:+$COLDPRESS_GENSQUASHFS:}$PATH
have mksquashfs || skip_all 'mksquashfs is not installed'
mkdir -p tree/sub tree/many tree/tails
seq 90000 >tree/large
cp tree/large tree/sub/twin
head -c 200000 /dev/zero >tree/zeros
truncate -s 500000 tree/hole
head -c 700 /dev/zero >tree/few
i=0
while [ $i -lt 300 ]; do
	seq $i $((i + i % 70)) >tree/many/$i
	i=$((i + 1))
done
# tails of one length, some of which begin a fragment block
i=0
while [ $i -lt 20 ]; do
	seq $((i * 1000)) 99999 | head -c 5280 >tree/tails/$i
	i=$((i + 1))
done
ln tree/large tree/hard
ln -s large tree/link
mkfifo tree/fifo
setfattr -n user.z -v 1 tree/large 2>/dev/null || :
setfattr -n user.a -v 2 tree/large 2>/dev/null || :
for o in '-comp xz' '-comp gzip' '-comp gzip -Xcompression-level 3' \
    '-comp lzo' '-comp lz4' '-comp lz4 -Xhc -no-fragments' '-comp zstd' \
    '-comp zstd -Xcompression-level 3 -b 16K -nopad' \
    '-comp xz -Xbcj x86 -no-xattrs' '-comp lzo -noI -noD' \
    '-comp lz4 -noF -noX -noId -no-exports' '-comp lz4 -no-duplicates'; do
	# shellcheck disable=SC2086
	mksquashfs tree image -noappend -quiet -no-progress $o \
	    >/dev/null 2>&1 || continue
	t "rebuilt: $o" 0 sqpack --rebuild-check image
	shows 'recognized' '^built by mksquashfs: -comp '
done
# mksquashfs 4.4 leaves a field undefined
at=$(le image 56 8)
if [ "$at" != -1 ] && [ "$at" -lt "$(stat -c %s image)" ]; then
	poke image $((at + 12)) 4 32767
	t 'an undefined field' 0 sqpack --rebuild-check image
	shows 'is mentioned' '4 bytes of the table of attributes are undefined'
else
	skip 'no attributes here'
fi
# one byte that no file contains
at=$(($(stat -c %s image) - 1))
printf x | dd of=image bs=1 seek=$at conv=notrunc 2>/dev/null
t 'a byte in the padding' 1 sqpack --rebuild-check image
shows 'is found' 'in the padding'
if have gensquashfs; then
	for o in '-c xz' '-c zstd' '-c lz4' '-c gzip' '-c lzo' \
	    '-c zstd -X level=4' '-c lzo -X level=2' '-c lzo -b 4096' \
	    '-c xz -b 4096' '-c lz4 -b 4096' '-c gzip -b 4096' \
	    '-c zstd -b 8192' '-c zstd -T' '-c lz4 -T -j 1'; do
		# shellcheck disable=SC2086
		gensquashfs -q -f $o -D tree image 2>/dev/null || continue
		t "gensquashfs: $o" 0 sqpack --rebuild-check image
		shows 'recognized' '^built by gensquashfs: -F '
	done
	at=$(($(stat -c %s image) - 1))
	printf x | dd of=image bs=1 seek=$at conv=notrunc 2>/dev/null
	t 'a byte in its padding' 1 sqpack --rebuild-check image
	shows 'is found' 'in the padding'
else
	skip 'gensquashfs is not installed'
fi
sqpack -q -f -F lz4 -o image tree
t 'our own' 0 sqpack --rebuild-check image
shows 'is still our own' '^built by: -F lz4'
done_testing

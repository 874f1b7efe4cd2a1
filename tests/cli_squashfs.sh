#!/bin/sh
# Every file in an image has the same digest as in the tree, whatever the
# compressor and block size; damage is reported, and hostile images are handled.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mksquashfs || skip_all 'mksquashfs is not installed'
walk=$BIN/tests/squashfs_walk

# one block, less, more, holes, empty files, duplicates, links, odd names, many
# levels
mkdir -p tree/a/b/c/d tree/many
seq 200000 >tree/a/large
head -c 300000 /dev/urandom >tree/a/random
head -c 131072 tree/a/large >tree/a/exact
head -c 5000 tree/a/large >tree/a/b/tail
cp tree/a/large tree/a/b/c/twin
ln tree/a/random tree/a/b/c/d/hard
ln -s nowhere tree/a/soft
mkfifo tree/a/fifo
: >tree/empty
truncate -s 3000000 tree/a/hole
printf x >"tree/a/ odd	name"
i=0
while [ $i -lt 300 ]; do
	seq $i >tree/many/f$i
	i=$((i + 1))
done
(cd tree && find . -type f -exec sha256sum {} +) | sed 's|  \./|  |' |
    sort >want

# good NAME IMAGE [OFFSET]: checks the digests, with one thread and with three
good() {
	for p in 1 3; do
		"$walk" "$2" $p sha256 "${3:-0}" >got.raw 2>err
		is "$1, $p threads: status" $? 0
		sort got.raw >got
		same "$1, $p threads: digests" got want
	done
}

# make IMAGE OPTION...
make() {
	make_img=$1
	shift
	rm -f "$make_img"
	mksquashfs tree "$make_img" -no-progress -no-recovery "$@" \
	    >/dev/null 2>&1
}

for c in gzip lzma xz lz4 lzo zstd; do
	if make img -comp $c; then
		if [ $c = lzo ] && "$walk" img 2>&1 | grep -q 'this build'; then
			skip 'lzo is not in this build'
		else
			good "$c" img
		fi
	else
		skip "mksquashfs has no $c"
	fi
done
for b in 4096 65536 1048576; do
	make img -b $b && good "blocks of $b" img
done
make img -noI -noD -noF -noX && good 'nothing compressed' img
make img -always-use-fragments && good 'tails in fragments' img
make img -no-fragments -no-duplicates && good 'no fragments' img
make img -comp xz -Xbcj x86 && good 'xz for x86' img
make img -no-exports -no-xattrs -nopad && good 'no more than needed' img
(head -c 12345 /dev/zero && cat img) >moved && good 'at an offset' moved 12345
(cat img && head -c 777 /dev/urandom) >signed &&
    good 'something after it' signed
if have gensquashfs; then
	for c in gzip xz lz4 zstd; do
		rm -f img
		gensquashfs -q -c $c -D tree img >/dev/null 2>&1 &&
		    good "gensquashfs $c" img
	done
else
	skip 'gensquashfs is not installed'
fi

# Damage in 'random', which is stored uncompressed, goes unnoticed, so a
# compressed block of 'large' is damaged.
rm -rf one && mkdir one && cp tree/a/large one/ && cp tree/a/b/tail one/z
rm -f img && mksquashfs one img -no-progress -no-fragments >/dev/null 2>&1
printf '\377\377\377\377\377\377' |
    dd of=img bs=1 seek=200 conv=notrunc 2>/dev/null
t 'a bad block' 1 "$walk" img 2
is 'is reported, with the file' \
    "$("$walk" img 2 2>&1 >/dev/null | grep -c 'large: the block cannot be decompressed')" 1
is 'and the other file is read' "$("$walk" img 2 2>/dev/null | sed 's/.* //')" z
size=$(wc -c <img)
head -c $((size / 2)) img >half
t 'half an image' 1 "$walk" half 2
head -c 50 img >half
t 'half a superblock' 1 "$walk" half 2
t 'no image' 1 "$walk" want 2

# every eighth byte of a small image is changed in turn: the status is 0 or 1,
# and nothing hangs
rm -rf one && mkdir -p one/d && seq 3000 >one/d/f && echo x >one/g
rm -f img && mksquashfs one img -no-progress -comp gzip -nopad >/dev/null 2>&1
size=$(wc -c <img) i=0 odd=0
while [ $i -lt "$size" ]; do
	cp img flip
	byte=$(od -An -tu1 -j $i -N 1 img | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((byte ^ 85)))" |
	    dd of=flip bs=1 seek=$i conv=notrunc 2>/dev/null
	timeout 300 "$walk" flip 2 >/dev/null 2>&1
	[ $? -le 1 ] || odd=$((odd + 1))
	i=$((i + 8))
done
is 'a flipped byte never causes a crash' $odd 0
done_testing

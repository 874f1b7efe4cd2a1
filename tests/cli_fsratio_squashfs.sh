#!/bin/sh
# Compares fsratio with mksquashfs: the exact data area, and the image.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have fsratio || skip_all 'no fsratio'
have mksquashfs || skip_all 'no mksquashfs'
mksquashfs -version 2>/dev/null | grep -Eq 'version 4\.(5|6)\.1' ||
    skip_all 'mksquashfs is neither 4.5.1 nor 4.6.1'

# at IMAGE OFFSET SIZE: prints a number from its superblock
at() { od -An -tu"$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# data IMAGE: prints the size of its data area, which ends at the inode table
data() {
	d_head=96
	[ $(($(at "$1" 24 2) & 1024)) = 0 ] ||
		d_head=$((98 + ($(at "$1" 96 2) & 32767)))
	echo $(($(at "$1" 64 8) - d_head))
}

column() {
	awk -F , -v c="$1" '/^#/ { next } !n { for (i = 1; i <= NF; i++)
	    at[$i] = i; n = 1; next } { print $at[c] }' "$2"
}

# beside TREE BLOCK ALGORITHM OPTION...: compares fsratio with mksquashfs
beside() {
	b_tree=$1 b_block=$2 b_name=$3
	shift 3
	rm -f img
	if ! mksquashfs "$b_tree" img "$@" -b "$b_block" -all-root \
	    -no-progress -noappend >log 2>&1; then
		skip "mksquashfs makes no $b_name"
		return
	fi
	to out.csv fsratio -q --csv --fs squashfs --block "$b_block" \
	    -a "$b_name" "$b_tree"
	is "$b_tree, $b_block, $b_name: data to the byte" \
	    "$(column physical_B out.csv)" "$(data img)"
	b_got=$(column image_B out.csv) b_want=$(wc -c <img)
	is "$b_tree, $b_block, $b_name: image within 0.2 % and a page" \
	    "$(echo "$b_got $b_want" | awk '{ d = $1 - $2; d = d < 0 ? -d : d
	        if (d <= 0.002 * $2 + 4096) print "yes"
	        else print $1 " for " $2 }')" yes
}

# Tests every case that has a special rule.
mkdir -p odd/a/z odd/a-b odd/many odd/empty
seq 100000 >odd/large			# four blocks and a tail
cp odd/large odd/a-b/twin
head -c 131072 odd/large >odd/a/block
head -c 131071 odd/large >odd/a/below
head -c 300000 /dev/urandom >odd/a/noise
{ head -c 200000 /dev/urandom; head -c 400000 /dev/zero; echo; } >odd/holes
truncate -s 1M odd/sparse
head -c 5000 /dev/zero >odd/zeros
: >odd/a/z/nothing
for i in $(seq 700); do
	seq "$i" "$((i * 3))" >"odd/many/$i-a-name-that-is-of-some-length"
done
for i in $(seq 100 140); do cp "odd/many/$i"-* "odd/a/z/copy-$i"; done
ln odd/large odd/a-b/link
ln -s ../large odd/a/symbolic
ln odd/a/symbolic odd/a/z/symbolic
mkfifo odd/pipe

# Also compares some of this machine's files, up to about 6 MB.
mkdir real
n=0
for d in /usr/share/doc/* /usr/share/perl/*; do
	[ "$n" -lt 6000 ] || break
	[ -d "$d" ] || continue
	cp -R "$d" real/ 2>/dev/null
	n=$(du -sk real | cut -f 1)
done

for tree in odd real; do
	beside $tree 131072 gzip -comp gzip
	beside $tree 131072 lz4 -comp lz4
	beside $tree 131072 zstd -comp zstd
	beside $tree 131072 xz -comp xz
	beside $tree 131072 off -noI -noD -noF -noX
	beside $tree 4096 gzip-1 -comp gzip -Xcompression-level 1
	beside $tree 1048576 zstd-3 -comp zstd -Xcompression-level 3
	beside $tree 65536 lz4hc -comp lz4 -Xhc
	if fsratio --fs squashfs -q -a lzo odd/empty >/dev/null 2>&1; then
		beside $tree 131072 lzo -comp lzo
	else
		skip 'fsratio was built without LZO'
	fi
done

# Blocks of zeros are not holes if the file has disk space allocated for them.
mkdir zeros
for i in $(seq 500); do
	{ head -c 12288 /dev/zero; echo "$i"; } >"zeros/$i"
done
sync zeros/*
# So many files that are shorter than their inodes need many tables.
mkdir short
awk 'BEGIN { srand(3); for (i = 0; i < 6000; i++) {
    f = "short/" i; printf "%.*s", 1 + i % 111, rand() rand() rand() rand() \
        rand() rand() rand() rand() rand() rand() rand() rand() rand() rand() >f
    close(f) } }'
for tree in zeros short; do
	rm -f img
	mksquashfs $tree img -b 4096 -all-root -no-progress -noappend >log 2>&1
	to out.csv fsratio -q --csv --fs squashfs --block 4096 -a gzip $tree
	is "dense files of zeros, and short files: $tree to the byte" \
	    "$(($(column physical_B out.csv) + $(column metadata_B out.csv)))" \
	    "$(at img 40 8)"
done

rm -f img
mksquashfs odd/a odd/many img -all-root -no-progress -noappend >log 2>&1
to out.csv fsratio -q --csv --fs squashfs -a gzip odd/a odd/many
is 'two directories: data to the byte' "$(column physical_B out.csv)" \
    "$(data img)"
done_testing

#!/bin/sh
# A tree and its images have the same manifest, whatever the image settings;
# rows show how files are stored and, for a damaged image, which data is lost.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have coldwalk || skip_all 'no coldwalk'
PATH=$PATH:/usr/sbin:/sbin
have mksquashfs || skip_all 'no mksquashfs'

mkdir -p tree/sub/deep tree/many tree/a tree/empty
seq 200000 >tree/large
cp tree/large tree/sub/twin
head -c 131072 tree/large >tree/block
head -c 300000 /dev/urandom >tree/noise
ln tree/noise tree/sub/deep/hard
ln -s nowhere tree/soft
mkfifo tree/fifo
truncate -s 3000000 tree/hole
truncate -s 700000 tree/holes
printf x | dd of=tree/holes bs=1 seek=400000 conv=notrunc 2>/dev/null
: >tree/zero
printf 1 >"tree/new
line"
printf 2 >'tree/back\slash'
printf 3 >"$(printf 'tree/cr\rx')"
printf 4 >'tree/ front'
printf 5 >'tree/a,"b"'
printf 6 >"$(printf 'tree/\377\376')"
printf 7 >tree/a-b
printf 8 >tree/a/b
printf 9 >tree/a.b
i=0
while [ $i -lt 300 ]; do
	seq $i >tree/many/$i
	i=$((i + 1))
done
setfattr -n user.some -v thing tree/large 2>/dev/null || :
mknod tree/device c 1 3 2>/dev/null || :
(cd tree && find . -type f -print0 | sed -z 's|^\./||' | sort -z |
    xargs -0 sha256sum --) >want
t 'the tree' 0 to got coldwalk tree
same 'its manifest' got want

# make OPTION...: creates img
make() {
	rm -f img
	mksquashfs tree img -no-progress -no-recovery "$@" >/dev/null 2>&1
}
# good NAME ARGUMENT...: coldwalk ARGUMENT... writes the tree's manifest
good() {
	good_name=$1
	shift
	for p in 1 3; do
		t "$good_name, $p threads" 0 to got coldwalk -p$p "$@"
		same "$good_name, $p threads: the manifest" got want
	done
}
while read -r options; do
	# shellcheck disable=SC2086
	if make $options; then
		case $options in
		*lzo*) coldwalk img 2>&1 | grep -q 'this build' && continue ;;
		esac
		good "$options" img
	else
		skip "mksquashfs cannot: $options"
	fi
done <<EOF2
-comp gzip -b 4096
-comp gzip -b 1M
-comp lzo -b 64K
-comp lz4 -Xhc
-comp xz -b 32K
-comp lzma -b 4096
-comp zstd
-noI -noD -noF -noX
-comp zstd -noI -noF
-no-fragments -no-exports
-always-use-fragments -no-duplicates
-no-xattrs -nopad
-no-sparse
EOF2
make -comp zstd
{
	head -c 12345 /dev/urandom
	cat img
} >moved
good 'after something else' --offset 12345 moved
{
	cat img
	head -c 777 /dev/urandom
} >signed
good 'before a signature' signed
if have gensquashfs; then
	rm -f img
	gensquashfs -q -c xz -D tree img >/dev/null 2>&1
	good 'by gensquashfs' img
else
	skip 'gensquashfs is not installed'
fi

# Rows: how files are stored.
make -comp zstd
t 'rows' 0 to rows coldwalk --csv img
# value FILE PATH COLUMN
value() {
	grep -av '^#' "$1" | awk -F , -v path="$2" -v column="$3" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["path"] == path { print $at[column]; exit }'
}
row() {
	for column in type size_B blocks fragment duplicate_of error; do
		printf '%s ' "$(value rows "$1" $column)"
	done
}
is 'a file of blocks' "$(row sub/twin)" 'file 1288895 10  large  '
is 'the first of its twins has no other' "$(row large)" 'file 1288895 10    '
is 'a hole has no blocks' "$(row hole)" 'file 3000000 0    '
is 'one of these exists' "$(row holes)" 'file 700000 1    '
is 'a hard link' "$(row sub/deep/hard)" 'file 300000 3  noise  '
is 'a small file' "$(row many/17 | sed 's/ [0-9]* *$/ N/')" 'file 42 0 N'
t 'is in a fragment block' 0 test "$(value rows many/17 fragment)" -ge 0
is 'a link' "$(row soft)" 'link 0 0    '
is 'a pipe' "$(row fifo)" 'other 0 0    '
is 'its blocks, stored' "$(value rows noise compressed_B)" 300000
t 'or compressed' 0 test "$(value rows large compressed_B)" -lt 600000
t 'a hash' 0 grep -q "^$(value rows large hash)  large$" want
t 'the time of the first read' 0 test -n "$(value rows large first_read_s)"
# Here, the file's tail is in its own block or in a fragment block.
data=$(($(od -An -tu8 -j 64 -N 8 img) - 96))
stored=$(coldwalk --csv --summary img | tail -n 1 | cut -d , -f 10)
is 'all blocks are read once' "$stored" "$data"

printf './many//17\nsub/deep/hard\nsoft\nfifo\nmany\nnone\n' >list
for what in tree img; do
	t "a list, $what" 1 to got told coldwalk --files-from list "$what"
	is "two are read, $what" "$(sed 's/.*  //' got | tr '\n' ' ')" \
	    'many/17 sub/deep/hard '
	is "the others are reported, $what" "$(sed 's/coldwalk: //' err)" \
	    'fifo: not a regular file
many: Is a directory
none: No such file or directory
soft: is a symbolic link'
done
printf '../img\n' >list
t 'a name outside the tree' 1 to got coldwalk --files-from list tree
printf 'new\nline\0' >list
t 'NULs' 0 to got coldwalk -0 --files-from list img
is 'the line is escaped' "$(sed 's/.*  //' got)" 'new\nline'

# Damage: every bad block is listed, with its position, the affected files and
# the reason.
rm -rf some && mkdir some
seq 60000 >some/one
cp some/one some/twin
seq 7 70000 >some/two
for i in 1 2 3; do
	seq $i 500 >some/small$i
done
mksquashfs some bad -comp zstd -b 64K -no-progress >/dev/null 2>&1
# Blocks begin with zstd's magic number; the last data block is a fragment
# block.
inodes=$(od -An -tu8 -j 64 -N 8 bad | tr -d ' ')
LC_ALL=C grep -abo "$(printf '\050\265\057\375')" bad | cut -d : -f 1 |
    awk -v end="$inodes" '$1 < end' >places
spoil() {
	printf '\377\377\377\377\377\377\377\377' |
	    dd of=spoilt bs=1 seek=$(($1 + 8)) conv=notrunc 2>/dev/null
}
cp bad spoilt
for n in 2 4 8; do
	spoil "$(sed -n ${n}p places)"
done
last=$(tail -n 1 places)
spoil "$last"
# The file `one' has six blocks, the last of which is not in a fragment block.
for n in 2 4 8; do
	place=$(sed -n ${n}p places)
	case $n in
	8) files='two' ;;
	*) files='one twin' ;;
	esac
	for file in $files; do
		echo "coldwalk: spoilt: offset $place: $file: the block cannot be decompressed"
	done
done >want.bad
for file in small1 small2 small3; do
	echo "coldwalk: spoilt: offset $last: $file: the block cannot be decompressed"
done >>want.bad
for p in 1 2; do
	t "a damaged image, $p threads" 1 to got told coldwalk -p$p spoilt
	same "bad blocks are reported in order, $p threads" err want.bad
done
t 'rows of a damaged image' 1 to rows coldwalk --csv spoilt
is 'say so' "$(value rows two error)" 'damaged'
is 'and have no hash' "$(value rows two hash)" ''
t 'a manifest of the rest' 1 coldwalk -o left spoilt
same 'is written' left got
head -c $((inodes / 2)) bad >half
t 'half of it' 1 told coldwalk half
is 'a message' "$(cat err)" \
    "coldwalk: half: the file ends before the image's tables begin"

# A hostile image: a file's tail is so far outside its fragment block that
# 32-bit arithmetic overflows.
rm -rf some && mkdir some
head -c 700 tree/large >some/file
rm -f img && mksquashfs some img -noI -noF -noD -always-use-fragments \
    -no-progress >/dev/null 2>&1
inodes=$(od -An -tu8 -j 64 -N 8 img | tr -d ' ')
# The metadata block's header and the inode's common part are followed by the
# start of the data, the fragment block's number and the offset in that block.
for bytes in '\360\377\377\377' '\377\377\377\377' '\001\000\000\000' \
    '\000\000\002\000'; do
	cp img hostile
	# shellcheck disable=SC2059
	printf "$bytes" | dd of=hostile bs=1 seek=$((inodes + 2 + 16 + 8)) \
	    conv=notrunc 2>/dev/null
	t "an offset outside, $bytes" 1 to got told coldwalk hostile
	is "no line, $bytes" "$(cat got)" ''
	t "is reported, $bytes" 0 grep -q '^coldwalk: hostile: offset .*file: ' err
done

# Tests a table that claims to be larger than the image, and a directory that
# contains itself.
cp bad hostile
printf '\377\377\377\377\377\377\377\177' |
    dd of=hostile bs=1 seek=72 conv=notrunc 2>/dev/null
t 'tables outside' 1 told coldwalk hostile
t 'with a message' 0 grep -q 'out of place' err

# Memory use stays bounded: there are far more 1 MiB blocks than would fit.
if sanitized coldwalk; then
	skip "a sanitizer's memory is not coldwalk's"
else
	rm -rf some && mkdir some
	seq 9000000 >some/a
	head -c 40000000 some/a >some/b
	mksquashfs some img -b 1M -comp lz4 -no-progress -noappend \
	    >/dev/null 2>&1
	rss=$(coldwalk -p8 --csv --summary img | grep -v '^#' | awk -F , '
	    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	    { print $at["maxrss_KiB"] }')
	t 'at most 64 MiB, with 8 threads' 0 test "$rss" -lt 65536
fi

# No more threads are started than requested, even if each thread needs memory.
if have strace && strace -o /dev/null true 2>/dev/null; then
	t '-p1024' 0 strace -f -qq -e trace=clone,clone3 -o threads \
	    coldwalk -p1024 --summary img
	t 'starts 1,024 threads at most' 0 test \
	    "$(grep -c 'clone.*) = [0-9]' threads)" -le 1030
else
	skip 'strace cannot be used here'
fi

# Progress is shown if there is a terminal, which coldwalk opens because stdout
# may be a file.
if have script; then
	rm -rf some && mkdir some
	truncate -s 1500M some/hole
	mksquashfs some img -noappend -no-progress >/dev/null 2>&1
	script -qec 'coldwalk --hash md5 img >sum' /dev/null >shown </dev/null
	t 'progress with rate and time left' 0 grep -Eaq \
	    '[0-9.]+ %  .*iB  .*iB/s  [0-9]+:[0-9]+ left' shown
	script -qec 'coldwalk -q --hash md5 img >sum' /dev/null >shown </dev/null
	is '-q: none' "$(cat shown)" ''
	coldwalk --hash md5 img 2>shown >sum
	is 'nor without a terminal' "$(cat shown)" ''
else
	skip 'script is not installed'
fi
done_testing

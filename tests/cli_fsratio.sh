#!/bin/sh
# Tests the sizes that fsratio predicts, for different contents and options.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/btrfs.sh
. "$SRC/tests/btrfs.sh"

have fsratio || skip_all 'no fsratio'

# row ALGORITHM COLUMN FILE: prints a value from the CSV row for all sizes
row() {
	awk -F , -v a="$1" -v c="$2" '/^#/ { next }
	    !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
	    $at["algorithm"] == a && $at["size_from_B"] == "" { print $at[c] }' "$3"
}

mkdir -p tree/a/b tree/empty
seq 100000 >tree/numbers			# 588,895 bytes: five records
printf x >tree/a/one
head -c 3000 /dev/zero >tree/a/zeros
: >tree/a/b/nothing
ln tree/numbers tree/a/again
ln -s ../numbers tree/a/link
mkfifo tree/a/pipe
truncate -s 1M tree/a/b/sparse

to out.csv fsratio --csv --fs zfs-fuse --ashift 9 -a off,lzjb,gzip-6 tree
is 'hard links count as one file' "$(row off files out.csv)" 5
is 'apparent sizes' "$(row off apparent_B out.csv)" \
    $((588895 + 1 + 3000 + 1048576))
logical=$((5 * 131072 + 512 + 3072 + 8 * 131072))
meta=$(row off metadata_B out.csv)
is 'records, and a single copy of their metadata' \
    "$(($(row off logical_B out.csv) - meta / 2))" "$logical"
is 'zeros become holes with compression' \
    "$(($(row lzjb logical_B out.csv) - $(row lzjb metadata_B out.csv) / 2))" \
    $((5 * 131072 + 512))
is 'and nothing points to them' "$(($(row lzjb metadata_B out.csv) < meta))" 1
is 'gzip is less than lzjb' "$(($(row gzip-6 allocated_B out.csv) < \
    $(row lzjb allocated_B out.csv)))" 1
is 'off has the ratio 1' "$(row off compressratio out.csv)" 1.00

to again.csv fsratio --csv --fs zfs-fuse --ashift 9 -p 1 -a off,lzjb,gzip-6 \
    tree
for f in out again; do
	grep -v '^#' $f.csv | cut -d , -f 2- >$f.rows
done
same 'the same with one thread' out.rows again.rows

to twelve.csv fsratio --csv --fs zfs-fuse --ashift 12 -a gzip-6 tree
is 'larger sectors: the same ratio' \
    "$(row gzip-6 compressratio twelve.csv)" "$(row gzip-6 compressratio out.csv)"
is 'and hides the padding' "$(($(row gzip-6 padding_B twelve.csv) > \
    $(row gzip-6 padding_B out.csv)))" 1

# A record that does not fit has no influence on the next one.
mkdir noise words noise_words
head -c 4096 /dev/urandom >noise/a
seq 200000 | tr 0-9 'aehilnorst' | head -c 1048576 >words/b
cp noise/a words/b noise_words
data() {
	data_sum=0
	for data_dir; do
		to data.csv fsratio --csv -p "${threads-1}" --ashift 9 \
		    --recordsize 1M -a zstd-3 "$data_dir"
		data_sum=$((data_sum + $(row zstd-3 allocated_B data.csv) -
		    $(row zstd-3 metadata_B data.csv)))
	done
	echo $data_sum
}
for threads in 1 2 3; do
	is "noise, then words: as much as both alone, with $threads threads" \
	    "$(data noise_words)" "$(data noise words)"
done

to sizes.csv fsratio --csv --by-size -a lz4 tree
is 'the size classes hold all files' "$(awk -F , '!/^#/ && $4 != "" &&
    $5 != "files" { n += $5 } END { print n }' sizes.csv)" \
    "$(row lz4 files sizes.csv)"
# Records of up to 112 bytes are embedded in their pointers.
mkdir short
printf x >short/a
head -c 60 tree/numbers >short/b
head -c 5000 /dev/urandom >short/c
to sizes.csv fsratio --csv --by-size -a lz4 short
is 'embedded files have no ratio, and no padding' "$(awk -F , '!/^#/ &&
    $4 ~ /^[0-9]+$/ { print $4, $9, $11, "[" $13 "]" }' sizes.csv)" \
    '0 0 0 []
32 0 0 []
4096 8192 3072 [0.6104]'
is 'nor do they reduce that of other files' "$(row lz4 padding_B sizes.csv)" \
    3072
to table fsratio --by-size -a lz4 short
is 'a table shows a dash' "$(awk 'NR > 1 { print $2, $7, $9 }' table)" \
    '0+ 0 -
32+ 0 -
4096+ 3072 0.61
all 3072 '"$(awk -F , 'END { printf "%.2f", $13 }' sizes.csv)"
to table fsratio tree
is 'a table for people' "$(sed -n '1s/ .*//p' table)" algorithm
is 'with the algorithms of OpenZFS' "$(grep -c '^zstd-3 \|^lz4 ' table)" 2
t 'all of them' 0 fsratio -a all -q tree
to rows.json fsratio --json -a lz4 tree
is 'JSON lines' "$(grep -c '^{.*"algorithm":"lz4"' rows.json)" 1
mkdir none
t 'an empty directory' 0 fsratio none

# Other filesystems.
to b.csv fsratio --csv --fs btrfs --threads 3 -a off,zlib-3,zstd-3 tree
is 'btrfs: hard links count as one file' "$(row off files b.csv)" 5
# `numbers' and `zeros' take whole sectors; `one' is stored in a leaf, and
# `sparse' not at all
is 'btrfs: whole sectors, and leaves' "$(row off physical_B b.csv)" \
    $((589824 + 4096 + 1))
mkdir zeros
head -c 1048576 /dev/zero >zeros/a
to zeros.csv fsratio --csv --fs btrfs -a zlib-3 zeros
is 'btrfs: pieces of 128 KiB take a sector each' \
    "$(row zlib-3 physical_B zeros.csv)" $((8 * 4096))
is 'btrfs: the uncompressed size does not depend on the algorithm' \
    "$(row zlib-3 logical_B b.csv)" "$(row zstd-3 logical_B b.csv)"
to again.csv fsratio --csv --fs btrfs --processes 1 -a off,zlib-3,zstd-3 tree
for f in b again; do
	grep -v '^#' $f.csv | cut -d , -f 2- >$f.rows
done
same 'btrfs: the same with one thread' b.rows again.rows
to sizes.csv fsratio --csv --fs btrfs --by-size -a zstd-1 tree
is 'btrfs: the size classes hold all bytes' "$(awk -F , '!/^#/ && $4 != "" &&
    $5 != "files" { n += $8 } END { print n }' sizes.csv)" \
    "$(row zstd-1 physical_B sizes.csv)"

# On real filesystems, `single' takes 8 nodes, `many' 216 to 225 (n = 15) and
# `mixed' 165 to 171 (n = 8, mean 168).
mkdir single
printf x >single/one
to one.csv fsratio --csv --fs btrfs -a zstd-3 single
is 'btrfs: each tree has a node' "$(row zstd-3 metadata_B one.csv)" \
    $((2 * 8 * 16384))
to one.csv fsratio --csv --fs btrfs --metadata single -a zstd-3 single
is 'btrfs: and one copy of it, if requested' \
    "$(row zstd-3 metadata_B one.csv)" $((8 * 16384))
many_small many
to many.csv fsratio --csv --fs btrfs --force -a zstd-3 many
is 'btrfs: leaves are filled as by a real copy' \
    "$(row zstd-3 metadata_B many.csv | awk '{ n = $1 / 2 / 16384
    print (n > 214 && n < 228) ? "yes" : n }')" yes
long_and_short mixed
to mixed.csv fsratio --csv --fs btrfs --force -a zstd-3 mixed
is 'btrfs: files too short to be compressed are stored later' \
    "$(row zstd-3 metadata_B mixed.csv | awk '{ n = $1 / 2 / 16384
    print (n > 166 && n < 172) ? "yes" : n }')" yes

# A piece that is or seems incompressible affects the pieces after it: the rest
# of its 512 KiB chunk or, without force, the rest of the file.
mkdir hard
{ seq 20000 | head -c 110000; head -c 280000 /dev/urandom; seq 300000; } |
    head -c 1048576 >hard/noise
to soft.csv fsratio --csv --fs btrfs -a zlib-3,off hard
to forced.csv fsratio --csv --fs btrfs --force -a zlib-3 hard
is 'btrfs: force also compresses the second chunk' \
    "$(($(row zlib-3 physical_B forced.csv) < 131072 + 3 * 131072 + 300000)) \
$(($(row zlib-3 physical_B soft.csv) >= $(row zlib-3 physical_B forced.csv)))" \
    '1 1'
rm hard/noise
head -c 300000 /dev/urandom >hard/noise
seq 300000 >>hard/noise
to soft.csv fsratio --csv --fs btrfs -a zlib-3,off hard
is 'btrfs: noise at the beginning prevents compression' \
    "$(row zlib-3 physical_B soft.csv)" "$(row off physical_B soft.csv)"

to s.csv fsratio --csv --fs squashfs -p 3 -a off,gzip,zstd-1 tree
to again.csv fsratio --csv --fs squashfs -p 1 -a off,gzip,zstd-1 tree
for f in s again; do
	grep -v '^#' $f.csv | cut -d , -f 2- >$f.rows
done
same 'squashfs: the same with one thread' s.rows again.rows
is 'squashfs: zeros are holes' "$(row off physical_B s.csv)" \
    $((588895 + 1))
is 'squashfs: an image of whole pages' "$(($(row gzip image_B s.csv) % 4096))" 0
is 'squashfs: of data, tables and padding' "$(row gzip image_B s.csv)" \
    $(($(row gzip physical_B s.csv) + $(row gzip metadata_B s.csv) +
    $(row gzip padding_B s.csv)))
cp tree/numbers tree/twin
cp tree/a/one tree/another
to twins.csv fsratio --csv --fs squashfs -a off tree
is 'squashfs: duplicates are stored once' \
    "$(row off physical_B twins.csv)" "$(row off physical_B s.csv)"
is 'squashfs: but both count as files' "$(row off files twins.csv)" 7
rm tree/twin tree/another
to table fsratio --fs squashfs tree
is 'squashfs: a table for people' \
    "$(sed -n '1s/.* \(image\) .*/\1/p' table)" image
to rows.json fsratio --fs squashfs --json -a xz tree
is 'squashfs: JSON' "$(grep -c '"algorithm":"xz".*"image_B":' rows.json)" 1
t 'all of btrfs' 0 fsratio --fs btrfs -a all -q tree
t 'all of squashfs' 0 fsratio --fs squashfs --block 1M -a all -q tree/a
for fs in btrfs squashfs; do
	t "$fs: an empty directory" 0 fsratio --fs $fs none
	t "$fs: two directories" 0 fsratio --fs $fs none tree
done

# Files in /sys are shorter than their reported size of one page.
if [ -r /sys/class/net/lo/statistics/rx_bytes ]; then
	for fs in zfs btrfs squashfs; do
		t "$fs: a file that became shorter" 1 fsratio --fs $fs -a off \
		    /sys/class/net/lo/statistics
		is "$fs: is reported once" "$(grep -c \
		    'rx_bytes: was truncated while it was being read' .t.err)" 1
	done
else
	skip 'there is no /sys'
fi

# Holes count as zeros, but not on btrfs, and terabytes of them are processed
# quickly.
mkdir sparse dense odd
head -c 300000 /dev/urandom >sparse/a
truncate -s 3M sparse/a
cat sparse/a >dense/a
# An inode table compresses better if its times are equal.
touch -d @1000000000 sparse/a dense/a sparse dense
for fs in zfs:lz4 zfs-fuse:lzjb sqpack:gzip-1; do
	a=${fs#*:} fs=${fs%:*}
	for d in sparse dense; do
		to $d.csv fsratio --csv --fs "$fs" -a "off,$a" $d
		grep -v '^#' $d.csv | cut -d , -f 2- >$d.rows
	done
	same "$fs: a hole counts as zeros" sparse.rows dense.rows
done
rm -rf dense
to sparse.csv fsratio --csv --fs btrfs -a off sparse
is 'btrfs: a chunk that is a hole is not stored' \
    "$(row off physical_B sparse.csv)" 524288
printf x | dd of=sparse/a bs=1 seek=2000000 conv=notrunc status=none
to sparse.csv fsratio --csv --fs btrfs -a off sparse
is 'btrfs: one with a byte of data is' "$(row off physical_B sparse.csv)" \
    $((2 * 524288))
truncate -s 100000 sparse/a
truncate -s 3M sparse/a
if truncate -s 1T sparse/a 2>/dev/null; then
	to huge.csv fsratio --csv --ashift 9 -a off,lz4 sparse
	is 'a terabyte of holes: stored as such' \
	    "$(($(row off logical_B huge.csv) - $(row off metadata_B huge.csv) /
	    2))" 1099511627776
	is 'or not at all' "$(($(row lz4 allocated_B huge.csv) < 1000000))" 1
else
	skip 'files here cannot have a terabyte'
fi
if truncate -s 10T sparse/a 2>/dev/null; then
	# squashfs's image contains the numbers of 84 million blocks
	for fs in 3:zfs:lz4 3:btrfs:zlib-1 30:squashfs:zstd-1 30:sqpack:gzip-1
	do
		limit=${fs%%:*} a=${fs##*:} fs=${fs#*:}
		fs=${fs%:*}
		# shellcheck disable=SC2016
		t "$fs: ten terabytes of holes" 0 sh -c 'ulimit -t "$4" &&
		    exec fsratio --csv --fs "$1" -a "$2" "$3"' \
		    sh "$fs" "$a" sparse "$limit"
		is "$fs: take no space" "$(($(row "$a" physical_B .t.out) <=
		    524288))" 1
	done
else
	skip 'files here cannot have ten terabytes'
fi
rm -rf sparse

# Names are bytes; files that disappear or grow are handled.
printf x >"odd/$(printf 'a\377\nb')"
for fs in zfs btrfs squashfs; do
	t "$fs: a name that is not text" 0 fsratio --fs $fs -a off odd
	is "$fs: without a message" "$(wc -c <.t.err)" 0
done
i=0
while [ $i -lt 200 ]; do
	i=$((i + 1))
	head -c 30000 tree/numbers >odd/$i
done
for fs in zfs btrfs squashfs; do
	fsratio -q --fs $fs -a off,zstd-3 odd >out 2>err &
	child=$!
	i=0
	while [ $i -lt 200 ] && kill -0 $child 2>/dev/null; do
		i=$((i + 1))
		case $((i % 3)) in
		0)	rm -f odd/$i ;;
		1)	: >odd/$i ;;
		*)	seq 9000 >>odd/$i ;;
		esac
	done
	status=0
	wait $child || status=$?
	is "$fs: files that change have rows, and a message if noticed" \
	    "$(wc -l <out) $status" "3 $([ -s err ] && echo 1 || echo 0)"
	i=0
	while [ $i -lt 200 ]; do
		i=$((i + 1))
		head -c 30000 tree/numbers >odd/$i
	done
done

t 'no such directory' 1 fsratio tree/nowhere
t 'a file is not a directory' 1 fsratio tree/numbers
t 'an unknown algorithm' 1 fsratio -a brotli tree
t 'an algorithm that zfs-fuse does not have' 1 fsratio --fs zfs-fuse -a lz4 tree
shows 'is named' "zfs-fuse has no algorithm 'lz4'" .t.err
long=abcdefghijklmnopqrstuvwxyzabcdef
t 'a name of 32 letters' 1 fsratio -a "$long,lz4" tree
shows 'is not cut' "has no algorithm '$long,lz4'" .t.err
t 'a name of 31' 1 fsratio -a "${long#a},lz4" tree
shows 'is named alone' "has no algorithm '${long#a}'" .t.err
many=$(yes off | head -n 48 | paste -s -d ,)
t '48 algorithms' 0 fsratio -a "$many" short
t '49' 1 fsratio -a "$many,off" short
shows 'are too many' 'more than 48 algorithms' .t.err
t 'an unknown filesystem' 1 fsratio --fs ext5 tree
shows 'is named, too' "unknown filesystem 'ext5'" .t.err
t 'an unknown layout' 1 fsratio --layout raid5 tree
shows 'is named as well' "unknown layout 'raid5'" .t.err
for size in legacy auto 16k 1K; do
	t "dnodes of $size" 0 fsratio -a off --dnodesize $size short
done
t 'dnodes of 3k' 1 fsratio --dnodesize 3k short
shows 'are unknown' "unknown dnode size '3k'" .t.err
t 'a libzstd that is none' 1 fsratio --libzstd tree/numbers short
shows 'is no library' '^fsratio: tree/numbers: ' .t.err
t 'an invalid record size' 1 fsratio --recordsize 3000 tree
t 'an invalid sector size' 1 fsratio --ashift 8 tree
t 'an invalid block size' 1 fsratio --fs squashfs --block 2K tree
t 'sectors of btrfs' 1 fsratio --fs btrfs --ashift 9 tree
t 'records of squashfs' 1 fsratio --fs squashfs --recordsize 4K tree
t 'sizes of squashfs' 1 fsratio --fs squashfs --by-size tree
t 'blocks of zfs' 1 fsratio --block 4K tree
t 'force of zfs' 1 fsratio --force tree
t 'an algorithm that btrfs does not have' 1 fsratio --fs btrfs -a lz4 tree
t 'an algorithm that squashfs does not have' 1 \
    fsratio --fs squashfs -a zlib-3 tree
t 'rows of two formats' 1 fsratio --csv --json tree
t 'no operand' 1 fsratio
t 'help' 0 fsratio -h
t 'versions' 0 fsratio -V
if [ -e /dev/full ]; then
	t 'a full disk' 1 sh -c 'fsratio -a lz4 tree >/dev/full'
	is 'is reported once' "$(cat .t.err)" \
	    'fsratio: standard output: No space left on device'
fi
if [ "$(id -u)" != 0 ]; then
	chmod 000 tree/numbers
	t 'an unreadable file' 1 fsratio -a lz4 tree
	chmod 600 tree/numbers
else
	skip 'root may read everything'
fi
done_testing

#!/bin/sh
# fsratio: what a tree would take, whatever is in it and however it is asked.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have fsratio || skip_all 'no fsratio'

# row ALGORITHM COLUMN FILE: a value of the CSV, in the row of all sizes
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
is 'hard links are one file, and no links' "$(row off files out.csv)" 5
is 'bytes as they are seen' "$(row off apparent_B out.csv)" \
    $((588895 + 1 + 3000 + 1048576))
logical=$((5 * 131072 + 512 + 3072 + 8 * 131072))
meta=$(row off metadata_B out.csv)
is 'records, and their metadata without its copies' \
    "$(($(row off logical_B out.csv) - meta / 2))" "$logical"
is 'zeros are holes where there is compression' \
    "$(($(row lzjb logical_B out.csv) - meta / 2))" $((5 * 131072 + 512))
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
is 'larger sectors: the ratio is as before' \
    "$(row gzip-6 compressratio twelve.csv)" "$(row gzip-6 compressratio out.csv)"
is 'and hides the padding' "$(($(row gzip-6 padding_B twelve.csv) > \
    $(row gzip-6 padding_B out.csv)))" 1

to sizes.csv fsratio --csv --by-size -a lz4 tree
is 'files by size are all files' "$(awk -F , '!/^#/ && $4 != "" &&
    $5 != "files" { n += $5 } END { print n }' sizes.csv)" \
    "$(row lz4 files sizes.csv)"
to table fsratio tree
is 'a table for people' "$(sed -n '1s/ .*//p' table)" algorithm
is 'with the algorithms of OpenZFS' "$(grep -c '^zstd-3 \|^lz4 ' table)" 2
t 'all of them' 0 fsratio -a all -q tree
to rows.json fsratio --json -a lz4 tree
is 'JSON lines' "$(grep -c '^{.*"algorithm":"lz4"' rows.json)" 1
mkdir none
t 'an empty directory' 0 fsratio none

t 'no such directory' 1 fsratio tree/nowhere
t 'a file is none' 1 fsratio tree/numbers
t 'an unknown algorithm' 1 fsratio -a brotli tree
t 'one that zfs-fuse has not' 1 fsratio --fs zfs-fuse -a lz4 tree
t 'an unknown filesystem' 1 fsratio --fs ext5 tree
t 'a record of odd size' 1 fsratio --recordsize 3000 tree
t 'a sector of odd size' 1 fsratio --ashift 8 tree
t 'rows of two kinds' 1 fsratio --csv --json tree
t 'nothing to look at' 1 fsratio
t 'help' 0 fsratio -h
t 'versions' 0 fsratio -V
if [ -e /dev/full ]; then
	t 'a full disk' 1 sh -c 'fsratio -a lz4 tree >/dev/full'
fi
if [ "$(id -u)" != 0 ]; then
	chmod 000 tree/numbers
	t 'a file that may not be read' 1 fsratio -a lz4 tree
	chmod 600 tree/numbers
else
	skip 'root may read all'
fi
done_testing

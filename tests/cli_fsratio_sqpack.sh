#!/bin/sh
# fsratio predicts the size of sqpack's images to the byte.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

have fsratio || skip_all 'no fsratio'
have sqpack || skip_all 'no sqpack'

# column NAME FILE: prints the field of that name from the only row
column() {
	awk -F , -v c="$1" '/^#/ { next } !n { for (i = 1; i <= NF; i++)
	    at[$i] = i; n = 1; next } { print $at[c] }' "$2"
}

# number NAME FILE: prints the member of that name from a line of JSON
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2"; }

# foretold TREE BLOCK ALGORITHM OPTION...: compares the prediction with the
# image; the options are passed to sqpack
foretold() {
	f_tree=$1 f_block=$2 f_name=$3
	shift 3
	rm -f stats
	t "$f_tree, $f_block, $f_name: an image" 0 sqpack -f -q "$@" \
	    -b "$f_block" --all-root --no-xattrs --stats=stats -o img "$f_tree"
	to out.csv fsratio -q --csv --fs sqpack --block "$f_block" \
	    -a "$f_name" "$f_tree"
	is "$f_tree, $f_block, $f_name: all of it" \
	    "$(($(column image_B out.csv) - $(column padding_B out.csv)))" \
	    "$(number used_B stats)"
	is "$f_tree, $f_block, $f_name: with its padding" \
	    "$(column image_B out.csv)" "$(stat -c %s img)"
}

nasty_tree
# Data that barely shrinks is stored uncompressed; small files share fragments.
mkdir plain
awk 'BEGIN {
	srand(1)
	for (i = 0; i < 900000; i++)
		printf "%c", 33 + int(rand() * 94)
}' >plain/text
head -c 700000 /dev/urandom >plain/dense
i=0
while [ $i -lt 300 ]; do
	seq $i $((3 * i)) >plain/$i
	i=$((i + 1))
done

for tree in tree plain; do
	for block in 4K 8K 128K 1M; do
		foretold $tree $block zstd-1 -F zstd -L 1
		foretold $tree $block gzip-6 -F gzip -L 6
		foretold $tree $block lz4 -F lz4
		foretold $tree $block off -F none
	done
	foretold $tree 128K zstd-15 -F zstd
	foretold $tree 128K gzip-9 -F gzip
	foretold $tree 128K gzip-12 -F gzip -L 12
	foretold $tree 128K lz4hc -F lz4hc
	foretold $tree 128K xz -F xz
	if sqpack -F lzo --dry-run plain 2>/dev/null; then
		foretold $tree 128K lzo -F lzo
	fi
done
for threads in 1 3; do
	to out.csv fsratio -q --csv --fs sqpack -p $threads -a zstd-1,gzip-6 \
	    tree
	column image_B out.csv >images.$threads
done
same 'for any number of threads' images.1 images.3
done_testing

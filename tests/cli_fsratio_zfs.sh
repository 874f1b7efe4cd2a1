#!/bin/sh
# Tests fsratio's predictions for OpenZFS against sizes of real pools.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/zfs_trees.sh
. "$SRC/tests/zfs_trees.sh"

have fsratio || skip_all 'no fsratio'
zfs_trees

# near NAME GOT WANT PERMILLE: the two numbers differ by at most so much
near() {
	if awk -v a="$2" -v b="$3" -v limit="$4" 'BEGIN {
	    d = a > b ? a - b : b - a; exit !(d * 1000 <= b * limit) }'; then
		ok "$1"
	else
		not_ok "$1"
		echo "# got $2, more than $4 per mille from $3"
	fi
}

# `referenced' of these trees in pools of OpenZFS 2.3.2, and how far, in per
# mille, the prediction may be: the other libraries' versions of zlib and zstd
# compress differently, and with 512-byte sectors times matter.
while read -r tree ashift algorithm want limit; do
	to rows fsratio --csv --ashift "$ashift" -a "$algorithm" "$tree"
	near "$tree with $algorithm at ashift $ashift" \
	    "$(awk -F , 'END { print $9 }' rows)" "$want" "$limit"
done <<'EOF'
nothing 12 off 98304 0
nothing 9 lz4 24576 0
dirs 12 lz4 1089536 0
dirs 12 off 1089536 0
links 12 lz4 253952 0
links 9 lz4 151552 15
tiny 12 off 2281472 0
tiny 12 zle 2174976 0
tiny 12 lzjb 2277376 0
tiny 12 lz4 2273280 0
tiny 12 gzip-6 978944 10
tiny 12 zstd-3 1871872 20
tiny 9 lz4 352768 15
tiny 9 gzip-6 243200 15
mixed 12 off 9523200 0
mixed 12 zle 8040448 0
mixed 12 lzjb 8101888 0
mixed 12 lz4 8028160 0
mixed 12 gzip-6 5455872 5
mixed 12 zstd-3 5046272 5
mixed 9 off 9261056 3
mixed 9 lz4 7749632 3
mixed 9 zstd-3 4739584 5
EOF

done_testing

#!/bin/sh
# Compares fsratio with OpenZFS's user-space library, setting by setting.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/zfs_trees.sh
. "$SRC/tests/zfs_trees.sh"

have fsratio || skip_all 'no fsratio'
have zpcopy || skip_all \
    'no zpcopy: install libzfslinux-dev and zfs-dkms, and build with -DCOLDPRESS_OPENZFS=ON'
zfs_trees
mkdir pool

algorithms=off,zle,lzjb,lz4,gzip-6,zstd-1,zstd-3,zstd-9
algorithms=$algorithms,zstd-fast-10

# compare TREE PERMILLE FSRATIO-OPTIONS ZPCOPY-OPTIONS: for each algorithm, the
# size and the ratio
compare() {
	rm -f pool/*
	# shellcheck disable=SC2086
	to real zpcopy -t 100000 -c $algorithms $4 pool "$1"
	# shellcheck disable=SC2086
	to rows fsratio --csv -a $algorithms $3 "$1"
	paste -d , real rows | tail -n +2 >both
	while IFS=, read -r algorithm _ _ want _ ratio _ _ again _ _ _ _ _ \
	    got _ _ foretold _; do
		is "the same algorithm" "$algorithm" "$again"
		if awk -v a="$got" -v b="$want" -v limit="$2" 'BEGIN {
		    d = a > b ? a - b : b - a; exit !(d * 1000 <= b * limit) }'
		then
			ok "$1 with $algorithm $3: $want"
		else
			not_ok "$1 with $algorithm $3"
			echo "# got $got, more than $2 per mille from $want"
		fi
		if awk -v a="$foretold" -v b="$ratio" 'BEGIN {
		    exit !(a - b < 0.015 && b - a < 0.015) }'; then
			ok "its ratio: $ratio"
		else
			not_ok "its ratio: $foretold, not $ratio"
		fi
	done <both
}

for record in 16384 131072 1048576; do
	compare nothing 0 "--recordsize $record" "-r $record"
	compare mixed 3 "--recordsize $record" "-r $record"
	compare mixed 3 "--ashift 9 --recordsize $record" "-a 9 -r $record"
	compare mixed 5 "--layout raidz1:3 --recordsize $record" \
	    "-l raidz1:3 -r $record"
	compare mixed 5 "--layout raidz2:6 --recordsize $record" \
	    "-l raidz2:6 -r $record"
	compare mixed 5 "--ashift 9 --layout raidz3:8 --recordsize $record" \
	    "-a 9 -l raidz3:8 -r $record"
done
compare mixed 3 '--layout mirror' '-l mirror:2'
for n in 1 2 3; do
	compare mixed 3 "--copies $n" "-o copies=$n"
done
for which in all most some none; do
	compare mixed 3 "--redundant-metadata $which" \
	    "-o redundant_metadata=$which"
done
for size in legacy 1k 2k 4k 8k 16k; do
	compare links 20 "--dnodesize $size" "-o dnodesize=$size"
done
compare mixed 3 --dedup '-o dedup=on'
compare dirs 1 --no-embedded-data '-d embedded_data'
compare dirs 1 '' ''
compare links 10 '' ''
compare links 30 '--ashift 9' '-a 9'
done_testing

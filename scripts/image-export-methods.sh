# shellcheck shell=sh
# image-export-methods.sh - the rows of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A row is METHOD[.nodup][.sqpack].pTHREADS: each export by mksquashfs is also
# made by sqpack, for which no findings are tested.

# methods: prints name, mksquashfs's options, sqpack's options
methods() {
	printf 'none\t-noI -noD -noF -noX\t-F none\n'
	printf 'lz4\t-comp lz4\t-F lz4\n'
	printf 'lz4hc\t-comp lz4 -Xhc\t-F lz4hc\n'
	for methods_level in 1 2 3 4 5 6 7 8 9; do
		zstd $methods_level
	done
	for methods_level in 1 2 3 4; do
		zstd $methods_level | without_duplicates
	done
}
zstd() {
	printf 'zstd%d\t-comp zstd -Xcompression-level %d\t-F zstd -L %d\n' \
	    "$1" "$1" "$1"
}
without_duplicates() {
	sed "s/$tab/.nodup&/; s/$tab-F/ -no-duplicates&/
	    s/\$/ --no-duplicates/"
}

# table: prints every cell of a round, as TSV: id, threads, program, options
table() {
	for table_n in $threads; do
		methods | with_threads "$table_n"
	done
	table_first=${threads%% *} table_last=${threads##* }
	methods | sed -n '/^none/p' | without_duplicates |
	    with_threads "$table_first"
	for table_level in 10 11 12 13 14 15 16 17 18 19 22; do
		zstd $table_level | with_threads "$table_first"
		[ "$table_first" = "$table_last" ] ||
		    zstd $table_level | with_threads "$table_last"
	done
	# The study does not measure whether more threads would help.
	zstd 1 | with_threads $((table_last * 2))
}
with_threads() {
	awk -F '\t' -v OFS='\t' -v n="$1" '{
		print $1 ".p" n, n, "mksquashfs", $2
		print $1 ".sqpack.p" n, n, "sqpack", $3
	}'
}

# lacking ROW: tries the method on an empty tree
lacking() {
	mkdir -p "$study/try"
	rm -f "$study/try.sqsh"
	set -f
	# shellcheck disable=SC2046
	set -- $(field 3 "$1") $(field 4 "$1")
	set +f
	lacking_program=$1
	shift
	case $lacking_program in
	mksquashfs)
		mksquashfs "$study/try" "$study/try.sqsh" "$@" -no-progress
		;;
	sqpack)
		if [ "$enroot" = yes ]; then
			echo 'enroot calls mksquashfs'
			return 0
		fi
		sqpack -q "$@" -o "$study/try.sqsh" "$study/try"
		;;
	esac >"$study/try.log" 2>&1 ||
	    head -n 1 "$study/try.log" | tr '\t' ' '
}

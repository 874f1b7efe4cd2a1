# shellcheck shell=sh
# snap-startup-images.sh - the images compared; sourced
# SPDX-License-Identifier: BSD-2-Clause

# methods: prints the images' names and mksquashfs's options: the published ones
# and lz4
methods() {
	printf 'none\t-noI -noD -noF\ngzip\t-comp gzip\nlzo\t-comp lzo\n'
	printf 'lz4\t-comp lz4\nxz\t-comp xz\nzstd15\t-comp zstd\n'
}

# sqpack_methods SUFFIX: prints the same images with sqpack's options: .sqpack,
# and .sorted, which stores files in launch order
sqpack_methods() {
	printf '%s\t-F %s\n' "none$1" none "gzip$1" gzip "lzo$1" lzo \
	    "lz4$1" lz4 "xz$1" xz "zstd15$1" 'zstd -L 15'
}

# open_methods: prints variants requested by readers of the study: other
# settings for xz and zstd, and other block sizes
open_methods() {
	for open_dict in 8K 16K 32K 64K; do
		printf 'xz-d%s\t-comp xz -Xdict-size %s\n' $open_dict $open_dict
	done
	for open_level in 1 5 9 19 22; do
		printf 'zstd%d\t-comp zstd -Xcompression-level %d\n' \
		    $open_level $open_level
	done
	for open_block in 16K 64K 256K 1M; do
		printf 'zstd15-b%s\t-comp zstd -b %s\n' $open_block $open_block
		printf 'xz-b%s\t-comp xz -b %s\n' $open_block $open_block
	done
}

# with_kind KIND APP: prints the images as rows: id, kind, app, image, options
with_kind() {
	awk -F '\t' -v OFS='\t' -v kind="$1" -v app="$2" '{
		print app "." $1 (kind == "launch" ? "" : "." kind), kind, app,
		    $1, $2
	}'
}

table() {
	for table_app in $apps; do
		{
			echo try
			methods
			[ "$quick" = yes ] || {
				sqpack_methods .sqpack
				sqpack_methods .sorted
			}
		} | with_kind launch "$table_app"
		{
			echo try
			methods
		} | with_kind walk "$table_app"
		[ "$quick" = yes ] || methods | sed -n '/^zstd15/p' |
		    with_kind prewarm "$table_app"
	done
	case " $apps " in
	*' chromium '*) open_methods | with_kind launch chromium ;;
	esac
}

# rounds_of ID: prints the number of rounds from --few, except for the launches
# of chromium and the calculator, which the study also measured; this reduces
# the time from ten hours to two
rounds_of() {
	case $1 in
	*.walk | *.prewarm | *.sorted | *.sqpack | *.zstd15-* | *.xz-* | \
	    *.zstd1 | *.zstd5 | *.zstd9 | *.zstd19 | *.zstd22) ;;
	chromium.* | calculator.* | python.*)
		echo "$runs"
		return 0
		;;
	esac
	if [ "$few_runs" -lt "$runs" ]; then
		echo "$few_runs"
	else
		echo "$runs"
	fi
}

#!/bin/sh
# Runs the unit tests, and a round trip in every format, under memcheck.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have valgrind || skip_all 'no valgrind'

memcheck() {
	valgrind -q --error-exitcode=99 --leak-check=full \
	    --errors-for-leak-kinds=definite,possible "$@"
}

# Tests of instructions that valgrind's emulated processor lacks exit with 77.
passes_or_skips() { memcheck "$1" || [ $? = 77 ]; }

for unit in "${BIN:?}"/tests/test_*; do
	[ -x "$unit" ] || continue
	case $unit in
	*/test_proc | */test_proc_time)
		skip "${unit##*/}: valgrind makes a child that shares memory" \
		    'one that does not' ;;
	*)	t "$(basename "$unit")" 0 passes_or_skips "$unit" ;;
	esac
done
if have pzc; then
	seq 300000 >a
	for format in gzip zlib zstd lz4 xz lzma bzip2; do
		t "pzc -F $format" 0 to a.packed \
		    memcheck "$BIN/pzc" -F $format -p 2 -c a
		t "decompress $format" 0 to b memcheck "$BIN/pzc" -dc a.packed
		same "$format: the same" a b
		head -c 3000 a.packed >short
		t "truncated $format" 1 to b memcheck "$BIN/pzc" -dc short
	done
fi
if have coldwalk; then
	mkdir -p tree/sub
	seq 30000 >tree/a
	ln tree/a tree/sub/b
	t 'coldwalk of a tree' 0 to lines memcheck "$BIN/coldwalk" -p 2 tree
	t 'looking' 0 memcheck "$BIN/coldwalk" --resident --cold fadvise tree
	t 'rows' 0 to rows memcheck "$BIN/coldwalk" --json --hash md5 tree
	if have mksquashfs; then
		mksquashfs tree image -noappend -no-progress >/dev/null 2>&1
		t 'of an image' 0 to got memcheck "$BIN/coldwalk" -p 2 image
		same 'the same' got lines
		head -c 3000 image >short
		t 'decoding a piece' 1 to got memcheck "$BIN/coldwalk" short
	fi
fi
done_testing

#!/bin/sh
# The unit tests, and a round trip in every format, under memcheck.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have valgrind || skip_all 'no valgrind'

memcheck() {
	valgrind -q --error-exitcode=99 --leak-check=full \
	    --errors-for-leak-kinds=definite,possible "$@"
}

for unit in "${BIN:?}"/tests/test_*; do
	[ -x "$unit" ] || continue
	t "$(basename "$unit")" 0 memcheck "$unit"
done
if have pzc; then
	seq 300000 >a
	for format in gzip zlib zstd lz4 xz lzma bzip2; do
		t "pzc -F $format" 0 to a.packed \
		    memcheck "$BIN/pzc" -F $format -p 2 -c a
		t "unpack $format" 0 to b memcheck "$BIN/pzc" -dc a.packed
		same "$format: the same" a b
		head -c 3000 a.packed >short
		t "truncated $format" 1 to b memcheck "$BIN/pzc" -dc short
	done
fi
done_testing

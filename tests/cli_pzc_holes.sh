#!/bin/sh
# Holes of a sparse file are skipped, and the output is the same as from a pipe.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

truncate -s 40M sparse
[ "$(du -k sparse | cut -f 1)" -lt 1000 ] ||
    skip_all 'the filesystem has no holes'
# data at odd places, between blocks of holes of all sizes
seq 1 300000 | dd of=sparse bs=1000 seek=13000 conv=notrunc 2>/dev/null
printf x | dd of=sparse bs=1 seek=30000001 conv=notrunc 2>/dev/null
truncate -s 60000001 sparse
cp --sparse=always sparse ended
printf x >>ended
truncate -s 16777216 whole

for o in '' -1 -2 -9 -11 '-i -N' '-b 100' -R '-F zlib' '-F zip' \
    '-F lz4' '-F lz4 -9' '-F lz4 --legacy' '-F lz4 -b 64 --block-checksum' \
    '-F zstd' '-F zstd -1 -b 100' '-F zstd -i' -F\ xz\ -0 -F\ bzip2\ -1; do
	for f in sparse ended whole; do
		# shellcheck disable=SC2002,SC2086 # a pipe is the point
		cat "$f" | pzc $o -c >.want
		# shellcheck disable=SC2086
		t "$f: pzc $o" 0 to .got sh -c "pzc $o -c <$f"
		same "$f: pzc $o: the bytes" .got .want
	done
done
for f in gzip lz4 zstd; do
	pzc -F $f -c sparse >packed
	t "$f: reading it back" 0 to .got pzc -dc packed
	same "$f: what was read back" .got sparse
done
# from the middle, where someone else has read
{
	dd bs=1000003 count=1 2>/dev/null >/dev/null
	pzc -c
} <sparse >.got
tail -c +1000004 sparse | pzc -c >.want
same 'from the middle' .got .want

# 16 GiB would take a minute of processor time
truncate -s 16G huge
for o in -1 -6 -i -F\ zlib; do
	t "16 GiB of holes: pzc $o" 0 sh -c \
	    "ulimit -t 15; pzc -p 1 $o -c huge | tail -c 4 >tail4"
done
done_testing

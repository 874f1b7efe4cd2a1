#!/bin/sh
# Whichever of pzseek's calls fails: the result is an error or the right bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have pzseek-fault || skip_all 'pzseek-fault is not built'

mkdir d
cd d || exit
seq 60000 >../plain
gzip -c ../plain >f.gz
calls() { suffers "$@"; }
# as where a file has no owner, its mode is what it is
calls 'an index' -x chmod -o f.gz.pzi \
    pzseek-fault -q --make-index --spacing 64K f.gz
pzseek --make-index --spacing 64K f.gz
calls 'its use' pzseek-fault -q f.gz 100000:50000
calls 'without it' pzseek-fault -q --no-index f.gz 100000:5000
# an index that cannot be read is not used
calls 'a list' -x malloc,library,pread:EIO,openat,stat \
    pzseek-fault -l f.gz
rm f.gz.pzi
for f in gzip zstd lz4 xz bzip2; do
	pzc -F $f -c ../plain >../packed
	mv ../packed packed
	calls "$f" pzseek-fault -q -p 2 packed 100000:50000 -10:
	calls "$f, to a file" -x chmod -o out \
	    pzseek-fault -q -p 2 --verify -o out packed 200000:5
	calls "$f, a list" pzseek-fault -l --json packed
done
pzc -F zstd -i -b 64 -c ../plain >../packed
mv ../packed packed
calls 'a seek table' pzseek-fault --seek-table packed packed
calls 'a seek table, to a file' -x chmod -o out \
    pzseek-fault -o out --seek-table packed
# a frame of jobs, whose last one must be decoded to learn its size
head -c 5000000 /dev/zero | pzc -F zstd -1 -b 4096 >packed
calls 'jobs' pzseek-fault -q -p 2 packed -10:
done_testing

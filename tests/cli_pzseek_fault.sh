#!/bin/sh
# Each of pzseek's system calls fails in turn; the result is an error or the
# correct bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"

have pzseek-fault || skip_all 'pzseek-fault is not built'

seq 1 300000 >plain
gzip -c plain >f.gz
pzseek --make-index --spacing 64K f.gz
for f in gzip zstd lz4 xz; do
	pzc -F "$f" -b 256 -c plain >"f.$f"
done
pzc -i -b 256 -c plain >f.members
tail -c +1000001 plain | head -c 500000 >want

# A failure leaves nothing behind.
leaves() { [ ! -e "$1" ]; }

cp want want.out
for f in f.gz f.gzip f.zstd f.lz4 f.xz f.members; do
	for e in malloc:ENOMEM pread:EIO pread:short pread:EINTR openat:EMFILE \
	    write:ENOSPC write:short close:EIO linkat:EIO thread:EAGAIN; do
		each "$f" out "$e" pzseek-fault -p 2 -o out "$f" \
		    1000000:500000
	done
done
# of a file of several pieces, decoded by guesses
seq 1 700000 >plain
gzip -1c plain >f.gz
pzseek --make-index --spacing 64K --index want.index f.gz
for e in malloc:ENOMEM pread:EIO pread:short openat:EMFILE write:ENOSPC \
    write:short close:EIO linkat:EIO thread:EAGAIN; do
	each 'the index' index "$e" pzseek-fault -p 2 --make-index \
	    --spacing 64K --index index f.gz
done
done_testing

#!/bin/sh
# Whichever of pzc's calls fails, in each mode: the result is an error or the
# right output; no crash, no partial file, no lost input.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have pzc-fault || skip_all 'pzc-fault is not built'

mkdir d
cd d || exit
seq 1 20000 >f
# calls NAME OPTION... COMMAND...: a failure is an error, or a warning
calls() {
	c_name=$1
	shift
	suffers "$c_name" -a 1,2 "$@"
}

# ISA-L may make two different streams of the same data
calls 'pzc -1' sh -c 'pzc-fault -c -p2 -1b32 f >../f.gz || exit
    gzip -dc ../f.gz'
for o in '-2b32' '-6b64' '-9b32' '-11b32' -H '-ib32' -R -K '-F zlib' '-F zip' \
    '-F zstd -b32' '-F zstd -19' '-F zstd --seekable -b32' '-F lz4' \
    '-F lz4 -9' '-F bzip2' '-F xz -0 -b32' '-F lzma -0'; do
	# shellcheck disable=SC2086
	calls "pzc $o" pzc-fault -c -p2 $o f
done
calls 'in place' -o f.gz -i f pzc-fault -Yb32 f
calls 'beside it' -o f.gz pzc-fault -kYb32 f
cp f g
echo old >g.zst
calls 'over another' -i g -o g.zst pzc-fault -f -F zstd g
rm g g.zst
calls 'figures' -x malloc,openat,close -f write:ENOSPC,write:short \
    pzc-fault -c --stats=/dev/null f
for m in gzip zlib zip zstd lz4 bzip2 xz lzma; do
	pzc -F $m -c f >../packed
	mv ../packed packed
	calls "$m: -d" pzc-fault -dc -p2 packed
	calls "$m: -t" pzc-fault -t packed
	# a detail that could not be read is left out
	calls "$m: -l" -x malloc,pread:EIO,read:EIO,lseek pzc-fault -l packed
	rm packed
done
done_testing

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
    '-F lz4 -9' '-F bzip2' '-F xz -0 -b32' '-F xz -3 -b32' '-F lzma -0' \
    '-F lz4 -ib64' '-F bzip2 -i1' '-F xz -0ib32' '-b32 --slice 2/3'; do
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
# under the names of other programs
mkdir ../names
names=$(cd ../names && pwd)
for n in zstd lz4 bzip2 xz; do
	ln -s "$(command -v pzc-fault)" "$names/$n"
done
tr 1-5 6-9 <f >g
# as_peer NAME OPTION... COMMAND...: the same, with the statuses of these
as_peer() {
	c_name=$1
	shift
	suffers "$c_name" -a 1,2,11,14,27,31,36,39,44,66,68,70 "$@"
}
for o in '-D g' '--patch-from=g' '--size-hint=99999' \
    '--target-compressed-block-size=1000' '-vv --show-default-cparams'; do
	# shellcheck disable=SC2086
	as_peer "zstd $o" "$names/zstd" -qc $o f
done
for o in cover=k=46,d=8 fastcover=k=46,d=8,f=12 legacy; do
	as_peer "zstd --train-$o" -o dict "$names/zstd" -q "--train-$o" -B1K \
	    --maxdict=2K -o dict "$SRC/src/tools/pzc/pzc_file.c"
done
as_peer 'lz4 -D' "$names/lz4" -qc -D g f
as_peer 'lz4 -9D' "$names/lz4" -9qc -D g f
"$names/lz4" -qc -D g f >../packed
mv ../packed packed
as_peer 'lz4 -dD' "$names/lz4" -qdc -D g packed
rm packed
as_peer 'bzip2 -cvv' "$names/bzip2" -cvv f
truncate -s 1M f0
for n in zstd xz lz4; do
	"$names/$n" -qc f0 >../packed
	mv ../packed f0.packed
	as_peer "$n -dc, holes" -x malloc,openat "$names/$n" -qdc f0.packed
	rm f0.packed
done
"$names/zstd" -qc f0 >../packed
rm f0
mv ../packed f0.zst
as_peer 'zstd -d, holes' -o f0 "$names/zstd" -d f0.zst
rm -f g f0.zst
# The other options, in the long test only
[ "${COLDPRESS_FAULT_ALL:-0}" = 0 ] || {
	mkdir in
	seq 1 3000 >in/one
	seq 1 700 >in/two
	find in -type f | sort >files
	tr '\n' '\0' <files >files0
	for o in '-r --output-dir-mirror=out in' '--filelist=files -k' \
	    '-r --output-dir-flat=out in'; do
		# shellcheck disable=SC2086
		as_peer "zstd $o" -p out -p in "$names/zstd" $o
	done
	as_peer 'zstd --rm' -i in/one -o in/one.zst \
	    "$names/zstd" --rm in/one
	for o in --adapt --rsyncable '--long=24' '--single-thread -7' \
	    '-T3 -B64K --block-size=64K' '--ultra -20' --fast=3 --no-check \
	    --format=gzip --format=xz --format=lz4 '-M64M' '--stream-size=108894'
	do
		# shellcheck disable=SC2086
		as_peer "zstd $o" sh -c "$names/zstd"' -qc "$@" <f' sh $o
	done
	for o in '--x86 --lzma2=preset=1' --delta=dist=4\ --lzma2 \
	    '-T2 --block-list=20KiB,0' '-T2 --block-size=32KiB' \
	    '--memlimit-compress=32MiB -9' '--check=sha256' '--format=raw' \
	    '--format=lzma'; do
		# shellcheck disable=SC2086
		as_peer "xz $o" "$names/xz" -qc $o f
	done
	as_peer 'xz --files' -p in "$names/xz" -k --files=files
	as_peer 'xz --files0' -p in "$names/xz" -k --files0=files0
	"$names/xz" -qc f >../packed
	mv ../packed f.xz
	"$names/lz4" -qc f >../packed
	mv ../packed f.lz4
	"$names/zstd" -qc f >../packed
	mv ../packed f.zst
	for o in -l -lv -lvv --robot\ -l; do
		# shellcheck disable=SC2086
		as_peer "xz $o" "$names/xz" $o f.xz
	done
	as_peer 'zstd -lv' "$names/zstd" -lv f.zst
	as_peer 'lz4 --list' "$names/lz4" --list f.lz4
	as_peer 'lz4 -m' -p in "$names/lz4" -m in/one in/two
	as_peer 'lz4 -r' -p in "$names/lz4" -r in
	for o in -BD -B4 -BX --content-size -l --favor-decSpeed\ -12; do
		# shellcheck disable=SC2086
		as_peer "lz4 $o" "$names/lz4" -qc $o f
	done
	as_peer 'bzip2, two files' -p in "$names/bzip2" -k in/one in/two
	rm -rf in files files0 f.xz f.lz4 f.zst
}
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

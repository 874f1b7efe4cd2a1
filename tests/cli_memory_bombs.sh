#!/bin/sh
# Small files that expand to large ones, or to many names: with --memory, pzseek,
# coldwalk and sqpack stay near the limit, or end with an error that names it.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have lap || skip_all 'no lap to measure with'
! sanitized pzc || skip_all "a sanitizer's memory is not the tools'"

# within NAME MIB COMMAND...: the command, which may fail with a message, takes
# no more memory than that
within() {
	w_name=$1 w_most=$2
	shift 2
	rm -f rows
	w_status=0
	lap -q -n 1 --stdout out -o rows -l x -- "$@" 2>err || w_status=$?
	w_KiB=$(col rows maxrss_KiB)
	t "$w_name: ${w_KiB:-no} KiB" 0 test "${w_KiB:-9999999}" -le \
	    $((w_most << 10))
	case $w_status in
	0) ok "$w_name: succeeds" ;;
	1) shows "$w_name: an error names the limit" '--memory\|memory' err ;;
	*) is "$w_name: its status" $w_status 1 ;;
	esac
}

if have pzseek; then
	head -c 128M /dev/zero | pzc -F xz -9 -c >bomb.xz
	head -c 256M /dev/zero | pzc -F zstd -19 --long=27 -c >bomb.zst
	head -c 256M /dev/zero | gzip -1 >bomb.gz
	for f in bomb.xz bomb.zst bomb.gz; do
		for m in 8 32 200; do
			within "pzseek --memory ${m}M $f" $((m + 24)) \
			    pzseek -q --memory ${m}M $f 100000000:1000
			[ $w_status != 0 ] || is "$f: the bytes" \
			    "$(tr -d '\0' <out | wc -c) $(wc -c <out)" '0 1000'
		done
	done
	within 'pzseek --make-index of a bomb' 64 \
	    pzseek -q --make-index --index bomb.pzi bomb.gz
fi
if have sqpack; then
	mkdir -p tree/many
	(cd tree/many && seq -f '%.0f-a-name-that-takes-some-room' 30000 |
	    xargs touch)
	sqpack -q -F xz -o names tree
	rm -r tree
	mkdir tree
	head -c 256M /dev/zero | tr '\0' x >tree/large
	sqpack -q -F xz -b 1M -o large tree
	rm -r tree
	for image in names large; do
		for m in 2 8 64; do
			within "sqpack -l --memory ${m}M $image" \
			    $((m + 32)) sqpack -q -l --memory ${m}M $image
			! have coldwalk || within \
			    "coldwalk --memory ${m}M $image" $((m + 48)) \
			    coldwalk -q -p 2 --memory ${m}M $image
		done
	done
fi
done_testing

#!/bin/sh
# Each of fsratio's system calls fails in turn; the result is a message or the
# correct rows.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have fsratio-fault || skip_all 'fsratio-fault is not built'

mkdir -p tree/a
seq 100000 >tree/large
cp tree/large tree/twin
seq 1000 >tree/a/small
ln -s small tree/a/link

rows() { grep -v '^#' "$1" | cut -d , -f 2-; }

# each FS KIND:ERROR: makes each of the calls fail in turn
each() {
	e_kind=${2%:*} e_bad='' e_k=0
	fsratio -q --csv --fs "$1" -a off,zstd-1 -p 2 tree >whole
	rows whole >want
	while :; do
		e_k=$((e_k + 1)) e_status=0
		COLDPRESS_FAULT=$e_kind:$e_k:${2#*:} COLDPRESS_FAULT_COUNT=n \
		    fsratio-fault -q --csv --fs "$1" -a off,zstd-1 -p 2 tree \
		    >out 2>err || e_status=$?
		[ "$(sed -n "s/^$e_kind //p" n)" -ge "$e_k" ] || break
		case $e_status in
		0)	rows out >got
			cmp -s got want || e_bad="$e_bad $e_k" ;;
		1)	[ -s err ] || e_bad="$e_bad $e_k(silent)" ;;
		*)	e_bad="$e_bad $e_k($e_status)" ;;
		esac
	done
	is "$1: each of $((e_k - 1)) $e_kind fails" "$e_bad" ''
}

for fs in zfs btrfs squashfs; do
	for fault in malloc:ENOMEM openat:EACCES pread:EIO pread:short \
	    thread:EAGAIN write:ENOSPC; do
		each "$fs" "$fault"
	done
done
# filler of the same length stands only for a link that is gone
t 'a link that cannot be read' 1 env COLDPRESS_FAULT=readlinkat:1:EIO \
    fsratio-fault -q --fs squashfs -a zstd-1 tree
t 'a link that is gone' 0 env COLDPRESS_FAULT=readlinkat:1:ENOENT \
    fsratio-fault -q --fs squashfs -a zstd-1 tree
done_testing

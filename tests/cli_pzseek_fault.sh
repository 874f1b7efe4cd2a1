#!/bin/sh
# Every call of pzseek fails in its turn: an error, or the right bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have pzseek-fault || skip_all 'there is no pzseek-fault'

seq 1 300000 >plain
gzip -c plain >f.gz
pzseek --make-index --spacing 64K f.gz
for f in gzip zstd lz4 xz; do
	pzc -F "$f" -b 256 -c plain >"f.$f"
done
pzc -i -b 256 -c plain >f.members
tail -c +1000001 plain | head -c 500000 >want

# calls KIND: how many the last run made
calls() { sed -n "s/^$1 //p" n; }

# each NAME TARGET KIND:ERROR COMMAND...: every one of the calls fails
each() {
	e_name=$1 e_target=$2 e_kind=${3%:*} e_error=${3#*:}
	shift 3
	e_bad='' e_k=0
	while :; do
		e_k=$((e_k + 1))
		rm -f "$e_target"
		e_status=0
		COLDPRESS_FAULT=$e_kind:$e_k:$e_error \
		    COLDPRESS_FAULT_COUNT=n "$@" >.t.out 2>.t.err ||
		    e_status=$?
		[ "$(calls "$e_kind")" -ge "$e_k" ] || break
		case $e_status in
		0)	[ -e "$e_target" ] && cmp -s "$e_target" \
			    "want.$e_target" || e_bad="$e_bad $e_k" ;;
		1)	[ ! -e "$e_target" ] && [ -s .t.err ] ||
			    e_bad="$e_bad $e_k" ;;
		*)	e_bad="$e_bad $e_k($e_status)" ;;
		esac
	done
	is "$e_name: $e_kind, $e_error" "$e_bad" ''
}

cp want want.out
cp f.gz.pzi want.index
for f in f.gz f.gzip f.zstd f.lz4 f.xz f.members; do
	for e in malloc:ENOMEM pread:EIO pread:short pread:EINTR openat:EMFILE \
	    write:ENOSPC write:short close:EIO linkat:EIO thread:EAGAIN; do
		each "$f" out "$e" pzseek-fault -p 2 -o out "$f" \
		    1000000:500000
	done
done
for e in malloc:ENOMEM pread:EIO pread:short openat:EMFILE write:ENOSPC \
    write:short close:EIO linkat:EIO; do
	each 'the index' index "$e" pzseek-fault --make-index \
	    --spacing 64K --index index f.gz
done
done_testing

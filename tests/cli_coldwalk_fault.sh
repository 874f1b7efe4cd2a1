#!/bin/sh
# Each of coldwalk's system calls fails in turn; the result is an error or the
# correct lines.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"

have coldwalk-fault || skip_all 'coldwalk-fault is not built'

mkdir -p tree/sub
seq 1 100000 >tree/numbers
seq 1 100 >tree/sub/small
cp tree/numbers tree/sub/twin
ln tree/sub/small tree/name
truncate -s 300000 tree/hole
coldwalk tree >want
cp want want.sums

# There is no line for a file that cannot be read; all other lines are correct.
leaves() { [ ! -e "$1" ] || ! grep -qvxFf want "$1"; }

for e in malloc:ENOMEM openat:EMFILE pread:EIO pread:short pread:EINTR \
    write:ENOSPC write:short close:EIO linkat:EIO thread:EAGAIN; do
	each 'a tree' sums "$e" coldwalk-fault -p 2 -o sums tree
done
have mksquashfs && for comp in gzip xz; do
	mksquashfs tree $comp.img -comp $comp -b 64K -noappend -no-progress \
	    -processors 1 >/dev/null 2>&1 || break
	for e in malloc:ENOMEM openat:EMFILE pread:EIO pread:short \
	    pread:EINTR write:ENOSPC linkat:EIO thread:EAGAIN; do
		each "$comp" sums "$e" coldwalk-fault -p 2 -o sums $comp.img
	done
done

# Rows and the summary are complete, or there is an error.
leaves() { :; }
coldwalk --cold none --csv tree | grep -v '^#' | cut -d , -f 2-9 |
    sort >want.rows
for e in malloc:ENOMEM openat:EMFILE write:ENOSPC thread:EAGAIN; do
	each 'rows' rows "$e" sh -c 'coldwalk-fault --cold none --csv tree >all ||
	    exit; grep -v "^#" all | cut -d , -f 2-9 | sort >rows'
done
for e in malloc:ENOMEM openat:EMFILE pread:EIO write:ENOSPC; do
	coldwalk --resident tree | wc -w >want.words
	each 'looking' words "$e" sh -c 'coldwalk-fault --resident tree >all ||
	    exit; wc -w <all >words'
done
done_testing

#!/bin/sh
# Whichever of coldwalk's calls fails: the result is an error or all lines.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have coldwalk-fault || skip_all 'coldwalk-fault is not built'

mkdir -p d/tree/sub
cd d || exit
seq 20000 >tree/n
seq 100 >tree/sub/small
cp tree/n tree/sub/twin
ln tree/sub/small tree/name
ln -s n tree/link
truncate -s 200000 tree/hole
printf 'n\nsub/small\n' >list

# calls NAME OPTION... COMMAND...: whether eviction fails only makes the caches
# less cold
calls() {
	c_name=$1
	shift
	suffers "$c_name" -g '' "$@"
}

calls 'a tree' coldwalk-fault -q -p 2 tree
# without a file that cannot be read, the other lines are right
coldwalk --hash md5 tree >../want
cat >../check <<'X'
[ "$ORDEAL_STATUS" != 0 ] || cmp -s ../want sums || exit
! grep -qvxFf ../want sums
X
calls 'a file of lines' -o sums -c 'sh ../check' coldwalk-fault -q --hash md5 -p 1 -o sums tree
calls 'some files' coldwalk-fault -q --files-from list tree
printf '1\tn\t10\t5000\n2\tsub/small\t0\t9\n' >ranges
calls 'ranges' sh -c 'coldwalk-fault -q --cold none --csv --ranges \
    --files-from ranges tree >../all || exit
    grep -v "^#" ../all | cut -d , -f 2-4 | sort'
calls 'rows' sh -c 'coldwalk-fault -q --cold none --csv tree >../all || exit
    grep -v "^#" ../all | cut -d , -f 2-4 | sort'
calls 'a summary' -c : coldwalk-fault --cold none --summary tree
calls 'what is in memory' -c : coldwalk-fault --resident tree
if have mksquashfs; then
	mksquashfs tree image -b 32K -noappend -no-progress -processors 1 \
	    -comp gzip >/dev/null 2>&1
	calls 'an image' coldwalk-fault -q -p 2 image
	calls 'rows of an image' sh -c 'coldwalk-fault -q --csv image >../all ||
	    exit; grep -v "^#" ../all | cut -d , -f 2-4 | sort'
else
	skip 'no mksquashfs'
fi
done_testing

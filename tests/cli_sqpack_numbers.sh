#!/bin/sh
# Tests 300,000 names in a directory, a file larger than 4 GiB, and as many owners
# as fit in an image.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/sqpack_numbers.sh
. "$SRC/tests/sqpack_numbers.sh"

have python3 || skip_all 'no python3 to make an archive of many names'
names_hold 1 300000
sparse_holds 5G $(((5 << 30) + 4))
t 'its contents' 0 sqpack -x out image
is 'its end' "$(tail -c 4 out/sparse)" end
is 'its length' "$(stat -c %s out/sparse)" $(((5 << 30) + 4))
t 'it is still sparse' 0 test "$(stat -c %b out/sparse)" -lt 10000

# owners N: prints an archive whose files have N different users and groups
owners() {
	python3 - "$1" <<'EOF'
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode='w|') as t:
    for i in range(int(sys.argv[1])):
        f = tarfile.TarInfo('%d/%d' % (i % 300, i))
        f.uid, f.gid = i, i // 2
        t.addfile(f)
EOF
}
owners 65535 | t '65,535 owners' 0 sqpack -f -F lz4 -o image -
t 'they can be read' 0 sqpack -lv image
shows 'and all are there' '65535'
owners 65536 | t 'one more' 1 sqpack -o none -
shows 'is reported' \
    '65536 different users and groups; squashfs supports at most 65535' .t.err
t 'there is no image' 1 test -e none
done_testing

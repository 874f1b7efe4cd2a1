#!/bin/sh
# Tests 300,000 names in a directory, and a file larger than 4 GiB.
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
done_testing

#!/bin/sh
# Whichever of winwait's calls fails: the result is an error or the row.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/ordeal.sh"

have winwait-fault || skip_all 'winwait-fault is not built'

mkdir d
cd d || exit
# a pipe has no errors to read
calls() {
	c_name=$1
	shift
	suffers "$c_name" -a 1,125,126,127 -x read:EIO -c : "$@"
}
calls 'a line' winwait-fault --criterion line --csv -- sh -c 'echo; sleep 30'
calls 'rows' -o rows -o rows.provenance \
    winwait-fault --criterion line -o rows --match '^b' -- \
    sh -c 'echo a; echo b; sleep 30'
done_testing

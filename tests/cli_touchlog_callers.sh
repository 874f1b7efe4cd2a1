#!/bin/sh
# Whichever of touchlog's calls fails: the result is an error or the whole list.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have touchlog-fault || skip_all 'touchlog-fault is not built'

mkdir -p d/tree
cd d || exit
seq 3000 >tree/a
seq 100 >tree/b
# waitpid(2) with WNOHANG cannot be interrupted; without rights, nothing can be watched, but options are read
calls() {
	c_name=$1
	shift
	suffers "$c_name" -a 1,125,126,127 -x wait "$@"
}
calls 'help' touchlog-fault -h
calls 'version' touchlog-fault -V
if touchlog -q --format list --root tree -- cat tree/a >../list 2>/dev/null; then
	calls 'a list' touchlog-fault -q --format list --root tree -- \
	    cat tree/a tree/b
	calls 'to a file' -o list touchlog-fault -q -o list --root tree -- \
	    cat tree/a
else
	skip 'no right to watch files'
fi
done_testing

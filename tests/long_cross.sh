#!/bin/sh
# Builds for another compiler, C library or processor, which COLDPRESS_CROSS
# names: the unit tests pass, and all formats have the ordinary bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

TMPDIR=/var/tmp "$SRC/scripts/cross" "$COLDPRESS_CROSS" >log 2>&1 || {
	status=$?
	sed 's/^/# /' log
	[ $status = 77 ] || not_ok "$COLDPRESS_CROSS"
	exit $status
}
ok "$COLDPRESS_CROSS"
done_testing

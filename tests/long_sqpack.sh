#!/bin/sh
# Tests an image with a million names.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/sqpack_numbers.sh
. "$SRC/tests/sqpack_numbers.sh"

have python3 || skip_all 'no python3 to make an archive of many names'
names_hold 100 10000
done_testing

# shellcheck shell=sh
# During -r, a directory is exchanged for a link that leads out of the tree.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/exchange.sh"

attack 1000
done_testing

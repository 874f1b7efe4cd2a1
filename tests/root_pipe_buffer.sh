#!/bin/sh
# The pipe-buffer experiment, small: its table, and nothing left behind.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have lap || skip_all 'no lap'
have mbuffer || skip_all 'no mbuffer'
COLDPRESS_BIN=${BIN:?}
export COLDPRESS_BIN

ours() {
	losetup -a | grep -c "$PWD" || :
	find /sys/fs/cgroup -maxdepth 2 -name 'coldpress.*' | wc -l
}

before=$(ours)
sh "$SRC/scripts/pipe-buffer" --quick -i 2000 -o r.csv >table 2>log
status=$?
[ $status != 77 ] || skip_all "$(tail -n 1 log)"
is 'it ends well' $status 0
for order in small-first big-first mixed; do
	t "$order: reading alone" 0 grep -q "^$order *cat *none" table
	for buffer in 64K 1M 16M 64M 512M; do
		t "$order: gzip behind $buffer" 0 \
		    grep -q "^$order *gzip *$buffer *2 " table
	done
done
is 'nothing is left behind' "$(ours)" "$before"
done_testing

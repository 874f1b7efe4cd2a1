#!/bin/sh
# Tests the pipe-buffer experiment on a small scale: its table, and removal of
# its files and mounts.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have lap || skip_all 'no lap'
have mbuffer || skip_all 'no mbuffer'

ours() {
	losetup -a | grep -c "$PWD" || :
	sed -n 's/^series	/coldpress./p' ./*.csv.d/plan 2>/dev/null |
	    while read -r ours_group; do
		find /sys/fs/cgroup -maxdepth 2 -name "$ours_group"
	done
}

before=$(ours)
sh "$SRC/scripts/pipe-buffer" --quick -i 2000 -o r.csv >table 2>log
status=$?
[ $status != 77 ] || skip_all "$(tail -n 1 log)"
is 'it succeeds' $status 0
for order in small-first big-first mixed; do
	t "$order: reading alone" 0 grep -q "^$order *cat *none" table
	for buffer in 64K 1M 16M 64M 512M; do
		t "$order: gzip after $buffer" 0 \
		    grep -q "^$order *gzip *$buffer *2 " table
	done
done
is 'nothing is left' "$(ours)" "$before"

# Tests a name with a blank and a bracket, and SIGKILL, after which the next run
# removes the leftovers.
odd='a [b]'
setsid sh "$SRC/scripts/pipe-buffer" --quick -n 1 -i 50 -o "$odd.csv" \
    --rows 'mixed.none.cat mixed.64K.gzip' >/dev/null 2>&1 &
killed=$!
some() { [ "$(ours)" != "$before" ]; }
await some
kill -s KILL -- -$killed
wait $killed 2>/dev/null
t 'there are leftovers' 0 some
t 'the next run' 0 to table sh "$SRC/scripts/pipe-buffer" --quick -o "$odd.csv"
t 'measures' 0 grep -q '^mixed *gzip *64K *1 ' table
is 'and removes it' "$(ours)" "$before"
t 'warm reads' 1 sh "$SRC/scripts/pipe-buffer" --warm -o w.csv
done_testing

#!/bin/sh
# Whichever of lapcmp's calls fails: the result is an error or the right output.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have lapcmp-fault || skip_all 'lapcmp-fault is not built'

mkdir d
cd d || exit
awk 'BEGIN {
	print "series,cell,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal"
	for (i = 1; i <= 12; i++)
		for (l = 1; l <= 3; l++)
			printf "s,%d,%c,k=%d,%d,all,cold,%.6f,0.5,0.25,0,\n",
			    l, 96 + l, i % 2, i, l + i / 100
}' >rows.csv
for o in '' --csv --json --holm '--across --all' '-r b --trim' '-k k' \
    '--test ranks --holm --csv'; do
	# shellcheck disable=SC2086
	suffers "lapcmp $o" lapcmp-fault $o rows.csv
done
suffers 'standard input' sh -c 'lapcmp-fault <rows.csv'
done_testing

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
suffers 'a pipe' sh -c 'cat rows.csv | lapcmp-fault'
{ echo 1.5user 0.2system 0:01.8elapsed; printf 'real 2\nuser 1\nsys 1\n'; } >timed
printf '9,ns,duration_time,9,1,,\n.4,msec,task-clock,4,1,,\n' >counted
printf 'command,mean,user,system,parameter_n\na,1,1,1,2\nb,1,2,1,2\n' >hyper
printf '{"label":"a","run":%d,"wall_s":1.5,"series":"s"}\n' 1 2 >lines
echo '{"results":[{"command":"a","times":[1,2],"exit_codes":[0,null],' \
    '"parameters":{"n":"1"}}]}' >results
for f in timed counted hyper lines results; do
	lapcmp "$f" >/dev/null 2>&1 || continue	# built without yajl
	suffers "$f" lapcmp-fault "$f"
done
done_testing

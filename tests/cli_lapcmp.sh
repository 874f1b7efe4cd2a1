#!/bin/sh
# lapcmp compares pairs, and reports differences that are not resolved.
# SPDX-License-Identifier: BSD-2-Clause
# Commands that lap runs expand their own variables.
# shellcheck disable=SC2016
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# rows SERIES LABEL CELL N EXPRESSION: prints rows whose wall clock is a
# function of the run i
rows() {
	awk -v s="$1" -v l="$2" -v c="$3" -v n="$4" "BEGIN {
		for (i = 1; i <= n; i++)
			printf \"%s,%d,%s,,%d,all,cold,%.6f,0.5,0.25,0,\\n\",
			    s, c, l, i, $5
	}"
}
head='series,cell,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal'

# cell COLUMN LABEL METRIC: prints a value from the output of the last lapcmp
# --csv
cell() {
	awk -F, -v name="$1" -v label="$2" -v metric="$3" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label && $at["metric"] == metric { print $at[name] }' \
	    .t.out
}

# A difference of 2 % is detected in pairs despite a tenfold drift.
{
	echo "$head"
	rows s1 b 2 20 '1.02 * (1 + i / 2) * (1 + (i % 3 - 1) / 1000)'
	rows s1 a 1 20 '1 + i / 2'
	rows s1 c 3 20 '(1 + i / 2) * (i % 2 ? 1.1 : 1 / 1.1)'
	rows s1 d 4 5 '2 * (1 + i / 2)'
} >rows.csv
t 'rows' 0 lapcmp --csv rows.csv
is 'the first command is the reference' "$(cell verdict a wall_s)" reference
is 'slower' "$(cell verdict b wall_s)" slower
is 'by two percent' "$(cell ratio b wall_s | cut -c1-4)" 1.02
is 'its interval' "$(cell conf_pct b wall_s)" 95.16
is 'not resolved' "$(cell verdict c wall_s)" 'not resolved'
is 'half the width' "$(cell half_pct c wall_s)" 9.545
is 'what may go undetected' "$(cell unseen_pct c wall_s)" 10.000
is 'nothing, if something was detected' "$(cell unseen_pct b wall_s)" ''
is 'too few' "$(cell verdict d wall_s) $(cell ratio_lo d wall_s)" \
    'not resolved '
is 'their ratio is reported' "$(cell ratio d wall_s)" 2.000000
is 'user and system time' "$(cell median_s b cpu_s)" 0.750000000
is 'equal is not resolved' "$(cell verdict b cpu_s)" 'not resolved'
t 'another reference' 0 lapcmp --csv -r b rows.csv
is 'then the other is faster' "$(cell verdict a wall_s)" faster
t 'no such reference' 1 lapcmp -r nope rows.csv
shows 'is named' "no rows have the label 'nope'" .t.err
t 'no such stage' 1 lapcmp -s 7 rows.csv
shows 'is named, too' "no rows for stage '7'" .t.err
t 'no such file' 1 lapcmp rows.csv nowhere
shows 'is an error' 'nowhere: No such file' .t.err
is 'and nothing is compared' "$(cat .t.out)" ''
t 'a full disk' 1 to /dev/full lapcmp rows.csv
t 'a full disk, rows' 1 to /dev/full lapcmp --csv rows.csv
t 'standard input' 0 sh -c 'lapcmp <rows.csv'
t 'text' 0 lapcmp rows.csv
shows 'says uncorrected' '6 comparisons, each at 5 % on its own$'
shows 'says too few' '^d .*not resolved (no interval with fewer than 6 pairs)$'
shows 'reports what may go undetected' '^c .*not resolved (+-10.0 %)$'
shows 'and how many pairs would' \
    '^wall_s: a difference of 1 % takes some [0-9]* pairs c, .* 4 of 5 cases$'
is 'also in rows' "$(lapcmp --csv rows.csv >.t.out
    cell pairs_needed c wall_s)" "$(lapcmp rows.csv |
    sed -n 's/^wall_s: .* some \([0-9]*\) pairs.*/\1/p')"
t 'fewer for a larger effect' 0 lapcmp --csv --effect 10 rows.csv
is 'far fewer' "$(cell pairs_needed c wall_s)" 41
t 'an effect of zero' 1 lapcmp --effect 0 rows.csv
t 'by signs' 0 lapcmp --test sign rows.csv
shows 'how many pairs decide more' \
    '^not resolved with 20 pairs: .* decides more is 23$'
t 'Holm' 0 lapcmp --holm rows.csv
shows 'says Holm' '6 comparisons, family-wise error 5 % (Holm)$'
t 'JSON' 0 lapcmp --json rows.csv
is 'a line for each' "$(grep -c '^{"group":"cache=cold".*}$' .t.out)" 8

# Holm's method does not confirm a single verdict among many that is due to
# chance.
{
	echo "$head"
	rows s1 a 1 8 1
	rows s1 b 2 8 '1.1'
	for l in c d e f g h; do
		rows s1 "$l" 3 8 'i % 2 ? 1.1 : 0.9'
	done
} >many.csv
t 'one of many' 0 lapcmp --csv many.csv
is 'uncorrected it is slower' "$(cell verdict b wall_s)" slower
is 'the test that decided' "$(cell test b wall_s)" 'signed ranks'
t 'one of many, by Holm' 0 lapcmp --csv --holm many.csv
is 'p is 2 of 256' "$(cell p b wall_s)" 0.007812500000
is 'corrected it may be chance' "$(cell verdict b wall_s)" 'not resolved'
is 'its interval agrees' "$(cell ratio_lo b wall_s)" ''
{
	echo "$head"
	rows s1 a 1 8 1
	rows s1 b 2 8 0.5
} >holm.csv
t 'two comparisons' 0 lapcmp --holm holm.csv
# one of two is resolved: Holm requires 5 / 2 percent, which 8 pairs can reach
shows 'an interval that agrees' '^b .*0.5000..0.5000 .*faster$'
awk -F, -v OFS=, 'NR > 1 && $3 == "b" { $8 += 0.001 * $5 } 1' holm.csv >six.csv
t 'only six pairs' 0 sh -c "awk -F, 'NR == 1 || \$5 <= 6' six.csv |
    lapcmp --holm"
shows 'no verdict without an interval' \
    '^b .*not resolved (no interval with fewer than 7 pairs)$'

# The signed-rank test detects a difference that the sign test misses: 9 of 12
# pairs, including the larger ones.
{
	echo "$head"
	rows s1 a 1 12 1
	rows s1 b 2 12 'i <= 3 ? 0.999 : 1 + i / 100'
} >ranks.csv
t 'by signs' 0 lapcmp --csv --test sign ranks.csv
is 'not resolved' "$(cell verdict b wall_s) $(cell test b wall_s)" \
    'not resolved sign'
t 'by ranks' 0 lapcmp --csv ranks.csv
is 'slower' "$(cell verdict b wall_s)" slower
t 'no such test' 1 lapcmp --test student ranks.csv

# A run is counted once, even if it occurs several times.
t 'rows given twice' 0 lapcmp --csv six.csv six.csv
is 'are counted once' "$(cell pairs b wall_s) $(cell n a wall_s)" '8 8'
t 'is reported' 0 sh -c 'lapcmp six.csv six.csv 2>&1 >/dev/null |
    grep "16 rows repeat a run"'
t 'one row given twice' 0 sh -c '{ sed 2q rows.csv; cat rows.csv; } | lapcmp'
shows 'is one row' '1 row repeats a run .* and was counted once$' .t.err

# Times below the clock's resolution are equal; if they were excluded, the other
# pairs would determine the verdict.
{
	echo "$head"
	rows s1 a 1 20 1 | awk -F, -v OFS=, '{ $9 = 0
	    $10 = $5 % 2 ? "0.00" : "0.01" } 1'
	rows s1 b 2 20 1 | awk -F, -v OFS=, '{ $9 = 0
	    $10 = $5 % 4 < 2 ? "0.00" : "0.01" } 1'
} >zero.csv
t 'times of 0' 0 lapcmp --csv zero.csv
is 'all pairs count' "$(cell pairs b cpu_s) $(cell verdict b cpu_s)" \
    '20 not resolved'
is 'by signs, since ratios are infinite' "$(cell test b cpu_s)" sign
t 'in text' 0 lapcmp zero.csv
shows 'says so' '^1 by the sign test: times of 0, '

# An interval that is wide, or has no end, is described by what is known.
{
	echo "$head"
	rows s1 a 1 7 1
	rows s1 b 2 7 'i % 2 ? 10.713 : 0.5'
	rows s1 c 3 7 'i % 2 ? 2 : 0'
} >wide.csv
t 'wide intervals' 0 lapcmp --test sign wide.csv
shows 'are a factor' '^b .*not resolved (up to 11 times)$'
shows 'or have no limit' '^c .*not resolved (no limit)$'
shows 'more of the same does not help' \
    '^not resolved with 7 pairs: .* decides more is 9$'

# Both runs of a pair come from the same series.
{
	echo "$head"
	rows s1 a 1 8 1
	rows s2 b 1 8 2
} >series.csv
t 'two series' 0 lapcmp series.csv
shows 'have no pairs' '^b .*no pairs'
t 'unless requested' 0 lapcmp --across --csv series.csv
is 'then they are compared' "$(cell verdict b wall_s)" slower
cp series.csv joined.csv

# Rows of another tool are compared as independent runs, and not at all if the
# machine drifts.
awk 'BEGIN {
	print "label,run,wall_s"
	for (i = 1; i <= 12; i++) print "a," i "," 1 + i / 100
	for (i = 1; i <= 12; i++) print "b," i "," 1.12 + i / 100
}' >other.csv
t 'rows without a series' 0 lapcmp other.csv
shows 'are not paired' \
    '^b .* 0 .*not resolved (not interleaved, the runs drift)$'
shows 'with a way out' '(--across pairs rows by run number)$'
t 'nor in rows' 0 lapcmp --csv other.csv
is 'so there is no verdict' "$(cell pairs b wall_s) $(cell verdict b \
    wall_s) $(cell test b wall_s)" '0 not resolved rank sum'
t 'unless requested' 0 lapcmp --across other.csv
shows 'then there is one' '^b .* slower$'
shows 'and what it may mean' '^pairs are by run number only: a drift '
awk -F , -v OFS=, 'NR > 1 {
	$3 = ($1 == "a" ? 1 : 1.1) + $2 * 7 % 13 / 100
} 1' other.csv >steady.csv
t 'without a drift' 0 lapcmp steady.csv
shows 'there is a verdict' '^b .* 0 .* slower (not interleaved)$'
awk -F , 'NR == 1 || $2 <= 3' steady.csv >three.csv
t 'three runs each' 0 lapcmp three.csv
shows 'are too few' '^b .* not resolved (not interleaved, no interval)$'
awk -F , -v OFS=, '{ sub(/^b/, "c") } NR > 1 {
	$3 = 1 + ($2 * 7 + ($1 == "c") * 3) % 13 / 100
} 1' steady.csv >equal.csv
t 'equal runs' 0 lapcmp equal.csv
shows 'are not resolved' '^c .* not resolved (not interleaved, +-[0-9.]* %)$'
shows 'and how many would' '^wall_s: .* takes some [0-9]* runs c, '
{
	echo "$head"
	rows s3 a 1 8 1
	rows s3 b 2 8 3
} >more.csv
t 'several files' 0 lapcmp --csv joined.csv more.csv
is 'pairs of the series that has both' "$(cell pairs b wall_s) $(cell ratio b \
    wall_s)" '8 3.000000'

# Tests groups, failures, outliers and trimmed means.
{
	echo "$head"
	rows s1 a 1 6 1 | sed 's/,,/,fs=x;n=1,/'
	rows s1 b 2 6 2 | sed 's/,,/,fs=x;n=2,/'
} >keys.csv
{
	echo "$head"
	rows s1 d 4 6 1 | sed 's/,,/,n=2,/'
	rows s1 b 2 6 3 | sed 's/,,/,n=1,/'
	rows s1 c 3 6 2 | sed 's/,,/,n=2,/'
	rows s1 a 1 6 1 | sed 's/,,/,n=1,/'
} >groups.csv
t 'keys make groups' 0 lapcmp keys.csv
shows 'without the reference there are no pairs' '^b .*no pairs'
shows 'and the reason' '^2 comparisons have no pairs: .*equal keys'
t 'each group has a reference' 0 lapcmp --csv groups.csv
is 'the first label in it' "$(cell verdict b wall_s) $(cell ref c \
    wall_s) $(cell verdict d wall_s) $(cell pairs d wall_s)" \
    'slower c faster 6'
t 'as text' 0 lapcmp groups.csv
shows 'says so' '^ratio: .*, to the first of each group; '
t 'the reference requested' 0 lapcmp --csv -r a groups.csv
is 'is that of all groups' "$(cell ref d wall_s) $(cell pairs d wall_s)" 'a 0'
t 'only some keys' 0 lapcmp --csv -k fs,cache keys.csv
is 'make one group' "$(cell group b wall_s) $(cell verdict b wall_s)" \
    'cache=cold;fs=x slower'
t 'no keys' 0 lapcmp --csv -k '' keys.csv
is 'all rows together' "$(cell group b wall_s)$(cell verdict b wall_s)" slower
{
	echo "$head"
	rows s1 a 1 10 1
	rows s1 b 2 10 'i == 3 ? 9 : 1' | sed '3s/,0,$/,1,/;5s/,0,$/,,9/'
} >fail.csv
t 'failed runs' 0 lapcmp --csv fail.csv
is 'are counted and not compared' "$(cell n b wall_s) $(cell failed b \
    wall_s) $(cell max_s b wall_s)" '8 2 1.000000000'
t 'unless requested' 0 lapcmp --csv --all fail.csv
is 'then they are' "$(cell n b wall_s) $(cell max_s b wall_s)" \
    '10 9.000000000'
{
	echo "$head,steal_s"
	rows s1 a 1 10 'i == 3 ? 9 : 1 + i / 100' |
	    awk -F, '{ print $0 "," ($8 > 8 ? 4.5 : 0) }'
} >out.csv
t 'an outlier' 0 lapcmp out.csv
shows 'and its cause' '^outlier: a, run 3: 8.4. x the median; steal 50 %$'
printf 'label,run,wall_s\na,1,1\na,2,2\na,3,3\na,4,4\na,5,100\n' >five.csv
t 'trimmed mean' 0 lapcmp --csv --trim five.csv
is 'ten percent of five is zero' "$(cell trimmed_mean_s a wall_s) $(cell \
    trim_cut a wall_s)" '22.000000000 0'
t 'twenty is one' 0 lapcmp --csv --trim=20 five.csv
is 'at each end' "$(cell trimmed_mean_s a wall_s) $(cell trim_cut a \
    wall_s)" '3.000000000 1'
t 'text with it' 0 lapcmp --trim=20 five.csv
t 'an invalid trim' 1 lapcmp --trim=50 five.csv

# Invalid inputs.
t 'no file' 1 lapcmp nope.csv
echo a,b >none.csv
t 'other columns' 1 lapcmp none.csv
: >empty.csv
t 'no header' 1 lapcmp empty.csv
echo "$head" >header.csv
t 'no rows' 1 lapcmp header.csv
{
	echo "$head"
	rows s1 a 1 3 1
	echo 's1,1,a,,x,all,cold,1,1,1,0,'
} >bad.csv
t 'a row without a number' 1 lapcmp bad.csv
sed '$s/,x,/,4,/; $s/,cold,1,/,cold,0x10,/' bad.csv >hex.csv
t 'a time in hexadecimal' 1 lapcmp hex.csv
printf '\357\273\277' | cat - five.csv >marked.csv
t 'a byte order mark' 0 lapcmp marked.csv
t 'a row without a number' 1 lapcmp bad.csv
shows 'reports its line' 'bad.csv:5: not a valid row' .t.err
t 'no such stage' 1 lapcmp -s 7 rows.csv
t 'standard output closed' 1 sh -c 'lapcmp rows.csv >&-'
t 'the same, rows' 1 sh -c 'lapcmp --json rows.csv >&-'
t 'a full disk' 1 to /dev/full lapcmp rows.csv
t 'the same, rows' 1 to /dev/full lapcmp --csv rows.csv
t 'help' 0 lapcmp -h
t 'version' 0 lapcmp -V
t 'an invalid option' 1 lapcmp --nope

# Rows of JSON, and the records of other programs.
json=yes
echo '{"series":"s1","cell":1,"label":"a","run":1,"wall_s":1.5}' >rows.json
lapcmp rows.json >/dev/null 2>.t.err || json=
if [ -z "$json" ]; then
	shows 'JSON needs yajl' 'built without yajl; expected CSV' .t.err
	skip 'JSON: lapcmp was built without yajl'
else
	awk -F, 'NR > 1 { printf "{\"series\":\"%s\",\"cell\":%d," \
	    "\"label\":\"%s\",\"keys\":null,\"run\":%d,\"stage\":\"all\"," \
	    "\"cache\":\"%s\",\"wall_s\":%s,\"user_s\":%s,\"sys_s\":%s," \
	    "\"exit\":0,\"signal\":null}\n", $1, $2, $3, $5, $7, $8, $9, $10 }' \
	    six.csv >six.json
	t 'rows of JSON' 0 lapcmp --csv six.json
	cp .t.out from.json
	t 'the same rows of CSV' 0 lapcmp --csv six.csv
	same 'have the same result' .t.out from.json
	t 'a pipe' 0 sh -c 'cat six.json | lapcmp --csv'
	same 'too' .t.out from.json
	echo '{"label":"a","run":2}' >>rows.json
	t 'JSON without a time' 1 lapcmp rows.json
	shows 'names the line' 'rows.json:2: not a valid row; expected' .t.err
	echo '{"run":2,"wall_s":1}' >bad.json
	t 'JSON without a label' 1 lapcmp bad.json
	printf '{"label":"a","run":2,"wall_s":1}\n{"label":"a",\n' >bad.json
	t 'cut JSON' 1 lapcmp bad.json
	shows 'names the line' 'bad.json:2: not a JSON object' .t.err
	cat >hyper.json <<'X'
{
  "results": [
    { "command": "gzip x", "mean": 1.1, "times": [1.0, 1.2, 1.1],
      "exit_codes": [0, 0, 1], "parameters": { "n": 4, "m": "a;b" } },
    { "command": "pzc x", "mean": 0.5, "times": [0.4, 0.5, 0.6],
      "exit_codes": [0, null, 0], "parameters": { "n": 4, "m": "a;b" } }
  ]
}
X
	t "hyperfine's JSON" 0 lapcmp --csv hyper.json
	is 'has every run' "$(cell n 'gzip x' wall_s) $(cell failed 'gzip x' \
	    wall_s) $(cell median_s 'gzip x' wall_s)" '2 1 1.100000000'
	is 'has its parameters' "$(cell group 'pzc x' wall_s)" 'n=4;m=a:b'
	is 'a run without a status failed' "$(cell failed 'pzc x' wall_s)" 1
	is 'is not interleaved' "$(cell pairs 'pzc x' wall_s) $(cell verdict \
	    'pzc x' wall_s) $(cell test 'pzc x' wall_s)" \
	    '0 not resolved rank sum'
	t 'unless requested' 0 lapcmp --csv --across --all hyper.json
	is 'then there are pairs' "$(cell pairs 'pzc x' wall_s)" 3
	tr -d '\n' <hyper.json >one-line.json
	t 'on one line' 0 lapcmp --csv one-line.json
	is 'the same' "$(cell n 'gzip x' wall_s)" 2
	for broken in '{"results":[]}' '{"results":[{"command":"x"}]}' \
	    '{"results":[{"command":"x","times":["1"]}]}' \
	    '{"results":[{"command":"x","times":[-1]}]}' '{"results":[{'; do
		printf '%s\n' "$broken" >bad.json
		t "refused: $broken" 1 lapcmp bad.json
		shows 'with its name' "bad.json: not hyperfine's JSON" .t.err
	done
fi
cat >hyper.csv <<'X'
command,mean,stddev,median,user,system,min,max,parameter_n
gzip x,1.1,0.1,1.1,0.9,0.1,1.0,1.2,4
pzc x,0.5,0.1,0.5,0.9,0.05,0.4,0.6,4
X
t "hyperfine's CSV" 0 lapcmp --csv hyper.csv
is 'has means' "$(cell n 'pzc x' wall_s) $(cell median_s 'pzc x' \
    cpu_s) $(cell group 'pzc x' wall_s)" '1 0.950000000 n=4'
shows 'and says so' "hyperfine's CSV has only the mean" .t.err
sed 's/,0.5,/,x,/' hyper.csv >bad.csv
t 'with a word for a mean' 1 lapcmp bad.csv
shows 'is refused' "bad.csv:3: not a row of hyperfine's" .t.err

mkdir times
cat >times/gzip <<'X'
1.50user 0.25system 0:01.80elapsed 97%CPU (0avgtext+0avgdata 900maxresident)k
0inputs+0outputs (0major+71minor)pagefaults 0swaps
Command exited with non-zero status 3
1.00user 0.00system 1:02:03.50elapsed 97%CPU (0avgtext+0avgdata 900maxresident)k
0inputs+0outputs (0major+71minor)pagefaults 0swaps
X
printf 'real 2.50\nuser 1.00\nsys 0.50\n' >times/pzc
printf '\nreal\t1m2.500s\nuser\t0m1.000s\nsys\t0m0.250s\n' >times/shell
t "GNU time's lines" 0 lapcmp --csv --all times/gzip times/pzc times/shell
is 'are the runs of a file' "$(cell n gzip wall_s) $(cell failed gzip \
    wall_s) $(cell min_s gzip wall_s) $(cell max_s gzip wall_s)" \
    '2 1 1.800000000 3723.500000000'
is "POSIX's are" "$(cell median_s pzc wall_s) $(cell median_s pzc cpu_s)" \
    '2.500000000 1.500000000'
is "a shell's are" "$(cell median_s shell wall_s) $(cell median_s shell \
    cpu_s)" '62.500000000 1.250000000'
if have /usr/bin/time; then
	: >times/verbose
	t 'time -v' 0 /usr/bin/time -v -a -o times/verbose sh -c :
	t 'time -v, a failure' 3 /usr/bin/time -v -a -o times/verbose sh -c \
	    'exit 3'
	t 'time -v, read' 0 lapcmp --csv --all times/verbose
	is 'is labelled by its command' "$(cell n 'sh -c :' wall_s) $(cell \
	    failed 'sh -c exit 3' wall_s)" '1 1'
	rm -f times/plain
	t 'time' 0 /usr/bin/time -a -o times/plain sh -c :
	t 'time -p' 0 /usr/bin/time -p -a -o times/plain sh -c :
	t 'both in a file' 0 lapcmp --csv times/plain
	is 'are two runs' "$(cell n plain wall_s)" 2
fi
printf '\tCommand being timed: "x"\n\tExit status: 0\n' >torn
t 'a run without its time' 1 lapcmp torn
shows 'is refused' 'torn:2: a run ends here without its elapsed time' .t.err
head -n 1 times/pzc >torn
t 'a cut record of time' 1 lapcmp torn
shows 'is refused' 'torn: no complete run of time' .t.err

cat >counters <<'X'
# started on Wed Nov 25 19:36:40 2026

938884,ns,duration_time,938884,100.00,2.142,G/sec
700000,ns,user_time,1037000,100.00,2.366,G/sec
<not counted>,ns,system_time,0,100.00,,
# started on Wed Nov 25 19:36:40 2026

2000000000,ns,duration_time,805996,100.00,1.792,G/sec
0.45,msec,task-clock:u,449657,100.00,0.558,CPUs utilized
2000000000,ns,duration_time,805996,100.00,1.792,G/sec
X
t "perf's counters" 0 lapcmp --csv counters
is 'are the runs of a file' "$(cell n counters wall_s) $(cell max_s counters \
    wall_s) $(cell max_s counters cpu_s)" '3 2.000000000 0.000700000'
sed 1,2d counters >uncommented
t 'without comments' 0 lapcmp --csv uncommented
is 'the same' "$(cell n uncommented wall_s)" 3
echo '0.45,msec,task-clock,449657,100.00,0.558,CPUs utilized' >bad
t 'perf without a duration' 1 lapcmp bad
shows 'says what is needed' 'bad:1: no duration_time; expected' .t.err
echo '3027746,ns,duration_time,22.42%,3027746,100.00,7.318,G/sec' >bad
t "perf's means" 1 lapcmp bad
shows 'are refused' 'bad:1: the mean of several runs' .t.err
echo '1.001,2' >bad
t 'numbers' 1 lapcmp bad
shows 'are not counters' 'bad:1: not a counter' .t.err
if have perf && perf stat -x, -o real -e duration_time,user_time,system_time \
    true 2>/dev/null; then
	perf stat --append -x, -o real -e duration_time,task-clock true
	t 'perf itself' 0 lapcmp --csv real
	is 'two runs' "$(cell n real wall_s)" 2
fi
if have hyperfine && [ -n "$json" ]; then
	hyperfine -N -r 3 --export-json real.json --export-csv real.csv \
	    -L n=1,2 'true {n}' sh >/dev/null 2>&1 </dev/null || :
	t 'hyperfine itself' 0 lapcmp --csv real.json
	t 'and its CSV' 0 lapcmp --csv real.csv
fi

# With lap.
if have lap; then
	t 'lap' 0 lap -q -n 12 -o lap.csv -l less -l more -- true -- sh -c \
	    'i=0; while [ "$i" -lt 20000 ]; do i=$((i + 1)); done'
	t 'its table' 0 lapcmp lap.csv
	is 'begins with its head' "$(sed 's/ .*//; q' .t.out)" wall_s
	t 'its rows' 0 lapcmp --csv lap.csv
	is 'more work is slower' "$(cell verdict more cpu_s)" slower
	t 'parameters in default labels' 0 lap -q -n 6 -o list.csv -L n=1,6 -- \
	    true '{n}' -- sh -c : '{n}'
	t 'have a reference each' 0 lapcmp --csv list.csv
	is 'and pairs' "$(cell pairs 'sh -c : 1' wall_s) $(cell pairs \
	    'sh -c : 6' wall_s)" '6 6'
fi
# charts
cat >plot.csv <<'E'
label,run,series,cell,wall_s,cpu_s
"a<&b",1,s,1,1,0.5
"a<&b",2,s,1,1,0.5
"a<&b",3,s,1,3,0.5
late,1,s,2,4,1
late,2,s,2,4,1
late,3,s,2,4,1
late,4,s,2,4,1
late,5,s,2,4,1
E
t 'a chart' 0 lapcmp --plot plot.csv
shows 'after the table' '^wall_s .* 4$'
# two runs at a quarter, one at three, and five, of which four are shown
shows 'dots' '^a<&b .*⣤.*⣀'
shows 'stacked dots at the end' '^late .*⣿$'
is 'fits a terminal' "$(($(sed -n '/^wall_s 0/,$p' .t.out |
    LC_ALL=C.UTF-8 wc -L) <= 80))" 1
t 'as SVG' 0 to chart.svg lapcmp --plot=svg plot.csv
is 'a point for each run' "$(grep -c '<circle' chart.svg)" 8
if have python3; then
	t 'which is XML' 0 python3 -c 'import xml.etree.ElementTree as e
e.parse("chart.svg")'
else
	skip 'no python3'
fi
t 'another kind' 1 lapcmp --plot=png plot.csv
shows 'is an error' "plot 'png' is not text or svg" .t.err

done_testing

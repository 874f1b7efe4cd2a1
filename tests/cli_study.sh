#!/bin/sh
# Tests the code shared by all studies, with the example from doc/study.md.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
have flock || skip_all 'no flock'
here=$PWD

# The script in that document is not stored next to what it sources.
mkdir own
example own/levels
t 'the page has an example' 0 grep -q '^study_main' own/levels
t 'of about 40 lines' 0 test "$(wc -l <own/levels)" -le 50
COLDPRESS_LIBEXEC=$SRC/scripts
export COLDPRESS_LIBEXEC
levels() { sh own/levels --warm "$@"; }
# cells FILE: prints the label and round of every row for a whole run
cells() {
	awk -F , '/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	$at["stage"] == "all" { print $at["label"] "." $at["run"] }' "$1" |
	    sort | tr '\n' ' '
}

mkdir tree
seq 20000 >tree/a
t 'the example runs' 0 to table levels -n 2 -o r.csv --levels '1 9' tree
t 'and has a table' 0 grep -E -q '^gzip9 +2 +[0-9.]+ +[0-9.]+ +[0-9]+$' table
is 'every run has its rows' "$(cells r.csv)" \
    'gzip1.1 gzip1.2 gzip9.1 gzip9.2 '
t 'missing values decide nothing' 0 grep -q \
    'gzip9/gzip6 <= 2: study -, here -: not measured' table
t 'nor is anything said about them' 1 grep -q ' took ' table
t 'provenance' 0 grep -q '^# gzip: gzip' r.csv.provenance
t 'two rounds' 0 to table levels -n 2 -o two.csv --levels '6 9' tree
last_words table \
    '^gzip -9 took [0-9.]+ of gzip -6.s time \(not decided: fewer than 6 pairs\)\.'
t 'six rounds' 0 to table levels -n 6 -o s.csv --levels '6 9' tree
t 'have an interval' 0 grep -E -q \
    'gzip9/gzip6 <= 2: study -, here [0-9.]+ \[[0-9.]+, [0-9.]+\]: ' table
t 'and a caveat about chance' 0 grep -q '^1 finding was tested' table
last_words table '^gzip -9 took [0-9.]+ \([0-9.]+ to [0-9.]+\) of gzip -6'
is 'nothing is wider than 80 columns' "$(awk 'length > 80' table)" ''

# The language of tables, on a summary with a row that has no successful run.
tables() {
	sh -eu -c '. "$COLDPRESS_LIBEXEC/lib.sh"; tabulate "$@"' sh "$@"
}
cat >summary <<'EOF'
label	n	wall_s	wall_lo	wall_hi	keys
b.1	6	2	1.5	2.5	size=10;x=a=b
a.1	3	10			size=30
a.2	0				size=20
EOF
sed -n '/^tabulate/,/summary"$/p' "$SRC/doc/study.md" >described
# shellcheck disable=SC2016
t 'the table of the page' 0 to table env study=s.csv.d sh -eu -c \
    '. "$COLDPRESS_LIBEXEC/lib.sh"; . ./described'
is 'its heading' "$(head -n 1 table)" \
    '          Seconds    95 % interval     MB/s   /gzip1'
t 'its rows' 0 grep -E -q \
    '^gzip9 +[0-9.]+ +[0-9.]+ \.\. [0-9.]+ +[0-9.]+ *$' table
t 'columns' 0 to table tables '
	parts name run
	-4s      = name
	5.1f     s|each = wall_s
	|
	12.1f..  interval = wall
	gap
	8.2f_%   " pc" = 100 * ratio(wall_s, wall_s["a.1"])' summary
cat >want <<'EOF'
         s |     interval        pc
      each |                       
b      2.0 |   1.5 .. 2.5   20.00 %
a     10.0 |               100.00 %
a          |                       
EOF
same 'missing values are blank' table want
t 'groups' 0 to table tables '
	parts name run
	group name
	order name
	missing -
	2s  = name
	2s  = count(wall_s)
	3s  = max(size)
	3s  = min(size)
	3s  = sum(size)
	3s  = median(size)
	s   = list(run)
	4s  = least(label, size)' summary
cat >want <<'EOF'
 a  1  30  20  50  25 1 2  a.2
 b  1  10  10  10  10 1  b.1
EOF
same 'are joined, and sorted' table want
t 'lines' 0 to table tables '
	where n > 0 && label !~ /^b/ || x == "a=b"
	let label = "new " label
	order -wall_s
	first limit
	above "above " limit
	line number, label, any(wall_hi, "none"), place(label, "new a.1 x")' \
    limit=1 summary
is 'are what expressions say' "$(cat table)" \
    "$(printf 'above 1\n1\tnew a.1\tnone\t0')"
t 'no row, no line above' 0 to table tables '
	where n > 99
	above "above"
	s n' summary
is 'is empty' "$(cat table)" ''
printf 'label\ttwice\na.1\t20\n' >twice.tsv
t 'another file' 0 to table tables '
	-4s   = label
	instead n == 0 ? "none" : ""
	4.1f  = twice' twice.tsv summary
cat >want <<'EOF'
b.1      
a.1  20.0
a.2  none
EOF
same 'adds columns' table want

# The command line.
t 'usage' 0 levels -h
t 'an unknown option' 2 told levels --nope
t 'is named' 0 grep -q "unknown option '--nope'" err
t 'with a hint' 0 grep -q "^Try '.* --help'" err
t 'a missing value' 2 levels tree -o
t 'too many operands' 2 levels tree tree
t 'a bad number' 1 levels -n x -o n.csv tree
t 'no such directory' 1 levels -o n.csv none
t 'options after the step, with =' 0 levels report -o r.csv '--levels=1 9'
t 'nothing prepared' 1 told levels report -o none.csv
t 'a message' 0 grep -q 'none.csv.d: nothing has been prepared' err

# Options cannot contradict an existing study.
for other in '-S 7' '--levels 3' --quick; do
	# shellcheck disable=SC2086
	t "another $other" 1 told levels $other -o r.csv
	t 'is refused' 0 grep -q 'was started with a different' err
done
t 'another directory' 1 levels -o r.csv own
t 'another directory for run' 1 levels -o r.csv run /nonexist
t 'more runs need prepare' 1 told levels -n 3 -o r.csv run
t 'which it reports' 0 grep -q 'prepare it again' err
for step in '' prepare run; do
	t "fewer runs, $step" 1 told levels -n 1 -o r.csv $step
	t 'are refused' 0 grep -q '2 runs of each row, not 1: ' err
done
cp r.csv before.csv
t 'again: nothing is run' 0 levels -n 2 -o r.csv tree
t 'the same rows' 0 sh -c \
    'grep -v "^#" before.csv >x; grep -v "^#" r.csv | cmp - x'
t 'one more round' 0 levels -n 3 -o r.csv prepare
t 'a report of what exists' 0 to table levels -o r.csv report
t 'says so' 0 grep -q \
    '^Unfinished: 2 of 6 runs have not been made yet.$' table
levels -o r.csv report >before
cp r.csv.d/part.csv.provenance kept.csv.provenance
cp r.csv.d/part.csv kept.csv
t 'a report of rows and what is kept with them' 0 to table levels -o kept.csv \
    report
is 'is the same' "$(grep -v -e '^Rows' -e '^Unfinished' table)" \
    "$(grep -v -e '^Rows' -e '^Unfinished' before)"
t 'and cannot be continued' 1 levels -o kept.csv run
rm kept.csv.provenance
t 'rows alone' 1 levels -o kept.csv report
t 'tables for documents, which there are none of' 1 told levels -o r.csv figures
t 'is said' 0 grep -q 'no document quotes this study' err
t 'other rows' 0 levels -o r.csv --rows gzip9 prepare
t 'are run' 0 levels -o r.csv run
is 'and those that were run are kept' "$(cells r.csv)" \
    'gzip1.1 gzip1.2 gzip9.1 gzip9.2 gzip9.3 '
t 'a budget' 0 to table told levels -n 99 -q --budget 1 -o b.csv tree
t 'is spent' 0 grep -E -q 'the budget of 1 s is spent: [0-9]+ of 297 runs' err
t 'the report says so' 0 grep -q '^Unfinished: ' table
t 'an invalid budget' 1 levels --budget 0 -o b.csv
t 'an engine without a budget' 1 told levels --budget 9 --engine slurm -n 1 \
    -o budget.csv tree
t 'is refused' 0 grep -q 'budget requires --engine local' err
t 'the rows of another script' 1 told sh "$SRC/scripts/tarball" -o r.csv report
t 'are distinguished' 0 grep -q 'contains another study, levels' err
echo mine >mine.csv
t 'a file that belongs to no study' 1 levels -o mine.csv tree
is 'is left alone' "$(cat mine.csv)" mine
mkdir own.csv.d
echo mine >own.csv.d/plans
t 'a folder that belongs to no study' 1 levels -o own.csv tree
is 'is also left alone' "$(ls own.csv.d)" plans

# Progress.
t 'progress' 0 told levels -v -n 2 -o p.csv tree
t 'progress, with the time left' 0 grep -E -q \
    '^levels: 4 of 6, 50 %, [0-9]+:[0-9]{2} left: 002[.]gzip' err
t 'no progress with -q' 0 told levels -q -n 2 -o q.csv tree
is 'nothing at all' "$(cat err)" ''

# Names.
# shellcheck disable=SC2016
odd='with blanks [x] & "quotes" $HOME'
mkdir "$odd"
seq 9999 >"$odd/a [b] & c"
t 'odd names' 0 to table levels -n 1 -o "$odd.csv" "$odd"
is 'have rows' "$(cells "$odd.csv")" 'gzip1.1 gzip6.1 gzip9.1 '
t 'and there is a report' 0 levels -o "$odd.csv" report
t 'a tab' 1 told levels -n 1 -o x.csv "$(printf 'a\tb')"

# A run is killed, alone or with all processes that it started.
killed k.csv sh own/levels --warm -n 5 -o k.csv tree
t 'it continues after KILL' 0 levels -n 5 -o k.csv tree
is 'every run once' "$(cells k.csv | wc -w)" 15
mkdir waits
cat >waits/lap <<EOF
#!/bin/sh
echo \$\$ >>$here/laps
[ "\$(wc -l <$here/laps)" != 2 ] || {
	: >$here/waiting
	until [ -e $here/go ]; do sleep 0.1; done
}
exec "$BIN/lap" "\$@"
EOF
chmod +x waits/lap
COLDPRESS_BIN=$here/waits:$BIN sh own/levels --warm -n 2 -o o.csv tree \
    >/dev/null 2>&1 &
killed=$!
await [ -e waiting ]
t 'a second run in the meantime' 1 told levels -n 2 -o o.csv tree
t 'is reported' 0 grep -q 'another run is using .*o.csv.d' err
kill -s KILL $killed
wait $killed 2>/dev/null
levels -n 2 -o o.csv tree >/dev/null 2>err &
second=$!
t "it waits for a killed script's cell" 0 \
    await grep -q 'waiting for the run' err
: >go
t 'and the study continues' 0 wait $second
is 'every run once' "$(cells o.csv)" \
    'gzip1.1 gzip1.2 gzip6.1 gzip6.2 gzip9.1 gzip9.2 '
is 'and no more' "$(wc -l <laps)" 2

# A file without a row does not count as a run.
ran=o.csv.d/rows/002.gzip9.csv
grep '^#' $ran >x
for cut in x /dev/null; do
	cat $cut >$ran
	t 'a cell without a row' 0 levels -n 2 -o o.csv tree
	is 'is run again' "$(cells o.csv | wc -w)" 6
done
cat >waits/lap <<'EOF'
#!/bin/sh
while [ $# -gt 0 ]; do
	[ "$1" != -o ] || echo '# nothing' >"$2"
	shift
done
EOF
rm $ran
t 'a run without a row' 1 told env COLDPRESS_BIN="$here/waits:$BIN" \
    sh own/levels --warm -n 2 -o o.csv tree
t 'is refused' 0 grep -q '002.gzip9.csv: the run wrote no row' err
t 'and no row replaces it' 1 test -e $ran
t 'the study continues' 0 levels -n 2 -o o.csv tree

# TERM takes effect immediately, not after the run.
rm -f laps waiting go
cat >waits/lap <<EOF
#!/bin/sh
echo \$\$ >$here/waiting
exec sleep 600
EOF
COLDPRESS_BIN=$here/waits:$BIN sh own/levels --warm -n 1 -o t.csv tree \
    >/dev/null 2>&1 &
ended=$!
await [ -s waiting ]
kill -s TERM $ended
status=0
wait $ended || status=$?
is 'TERM ends the study' $status 143
kill -s KILL "$(cat waiting)" 2>/dev/null
is 'and the run' $? 1
t 'it continues' 0 levels -n 1 -o t.csv tree

# Folder permissions.
chmod g+w o.csv.d
t 'a folder that others can write to' 1 told levels -o o.csv report
t 'is not trusted' 0 grep -q 'can be written by others' err
chmod g-w o.csv.d
chmod o+w o.csv.d/plan
t 'nor is its plan' 1 levels -o o.csv report
chmod o-w o.csv.d/plan
for file in plan lock cells.tsv; do
	mv o.csv.d/$file kept
	ln -s "$here/kept" o.csv.d/$file
	cp kept kept.was
	t "a link for $file" 1 told levels -n 2 -o o.csv tree
	t 'is not followed' 0 grep -q 'is a symbolic link' err
	same 'nor written to' kept kept.was
	rm o.csv.d/$file
	mv kept o.csv.d/$file
done
ln -s o.csv.d l.csv.d
t 'a link for the folder' 1 levels -o l.csv report
rm -f victim
echo victim >victim
mv o.csv o.was
ln -s victim o.csv
t 'a link for the rows' 0 levels -n 2 -o o.csv tree
is 'is replaced' "$(cat victim)" victim
if [ "$(id -u)" = 0 ]; then
	chown 1 o.csv.d
	t "another's folder" 1 told levels -o o.csv report
	t 'is not entered' 0 grep -q 'belongs to another user' err
	chown 0 o.csv.d
	chown 1 o.csv.d/plan
	t "nor is another's plan" 1 levels -o o.csv report
	chown 0 o.csv.d/plan
fi
t 'nothing else happened' 0 levels -o o.csv report
done_testing

#!/bin/sh
# coldpress advise --since: what has changed, from rows with any order of columns.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have coldpress-advise || skip_all 'coldpress-advise is not built'
have python3 || skip_all 'no python3'
sampled() { coldpress-advise --cpu --budget 2 --least 1K --hot 0 "$@"; }

mkdir one two
seq 20000 | sed 's/^/12:00:01 /' >one/a.log
seq 30000 | sed 's/^/12:00:02 /' >two/b.log

# change FILE CODE: writes the rows of `rows', after Python code on each row and
# the list of columns
change() {
	python3 -c 'import csv, sys
with open("rows", newline="") as f:
    reader = csv.DictReader(f)
    columns, rows = list(reader.fieldnames), list(reader)
for row in rows:
    exec(sys.argv[2])
with open(sys.argv[1], "w", newline="") as f:
    w = csv.DictWriter(f, columns, extrasaction="ignore")
    w.writeheader()
    w.writerows(rows)' "$1" "$2"
}
# since FILE [PLACE...]: prints what has changed
since() {
	since_file=$1
	shift
	cp "$since_file" earlier
	sampled --since earlier "${@:-one}" 2>/dev/null | sed -n 's/^since //p'
}

t 'advice' 3 sampled -o rows one
is 'nothing has changed' "$(since rows)" 'earlier: +0 B, 0 new proposals'
is 'another place is new' "$(since rows one two | sed 's/+.*B/+/')" \
    'earlier: +, 1 new proposal'
change more 'row["now_B"] = str(int(row["now_B"]) + 1000)'
is 'it has become smaller' "$(since more)" 'earlier: -1.00 kB, 0 new proposals'
for change in place=elsewhere kind=table number=; do
	change other "row['${change%%=*}'] = '${change#*=}'"
	is "another $change" "$(since other)" 'earlier: +0 B, 1 new proposal'
done
for column in place kind now_B number; do
	change first "columns.remove('$column'); columns.insert(0, '$column')"
	is "$column comes first" "$(since first)" \
	    'earlier: +0 B, 0 new proposals'
	change without "columns = [c for c in columns if c != '$column']"
	t "no $column" 1 sampled --since without one
	shows 'is refused' 'without: these are not rows of coldpress advise' \
	    .t.err
done
t 'no such file' 1 sampled --since nowhere one
shows 'is named' 'nowhere: No such file' .t.err
done_testing

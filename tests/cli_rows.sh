#!/bin/sh
# Tests that common readers accept every tool's rows: CSV whose first line is
# the header, and JSON lines, even with names that contain their separators.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'no python3'
have lap || skip_all 'no lap'

mkdir -p 'tree/a b'
echo one >'tree/p#q'
echo two >'tree/a b/comma,quote"hash#'
printf 'three' >"tree/new
line"
tar -cf layer.tar tree

cat >rows.py <<'E'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert len(rows) > 1, "no rows"
assert not rows[0][0].startswith("#"), rows[0]
assert len(set(rows[0])) == len(rows[0]), "a column's name twice"
for row in rows:
    assert len(row) == len(rows[0]), row
try:
    import pandas
except ImportError:
    sys.exit(77)
for comment in None, "#":
    table = pandas.read_csv(sys.argv[1], comment=comment)
    assert list(table.columns) == rows[0], table.columns
    assert comment or len(table) == len(rows) - 1
E

# the first Python that has pandas, if any has
python=python3
for found in python3 /usr/bin/python3; do
	"$found" -c 'import pandas' 2>/dev/null || continue
	python=$found
	break
done

# rows NAME COMMAND...: the command writes CSV that readers accept
rows() {
	rows_name=$1
	shift
	t "$rows_name" 0 to rows.csv "$@"
	rows_status=0
	"$python" rows.py rows.csv >.t.out 2>&1 || rows_status=$?
	case $rows_status in
	0) ok "$rows_name: Python's csv and pandas" ;;
	77) ok "$rows_name: Python's csv" ;;
	*)
		not_ok "$rows_name: Python's csv and pandas"
		sed 's/^/# /' .t.out
		;;
	esac
	# datamash knows no quotes
	if have datamash && ! grep -q '"' rows.csv; then
		t "$rows_name: datamash" 0 to sum datamash -t, -H count 1 \
		    <rows.csv
		is "$rows_name: it counts the rows" "$(sed 1d sum)" \
		    $(($(wc -l <rows.csv) - 1))
	fi
}

# objects NAME COMMAND...: the command writes JSON lines, whose keys are the
# columns of the CSV above
objects() {
	objects_name=$1
	shift
	t "$objects_name" 0 to rows.json "$@"
	t "$objects_name: Python's json" 0 python3 -c '
import csv, json
head = next(csv.reader(open("rows.csv", newline="")))
lines = open("rows.json").read().splitlines()
assert lines
for line in lines:
    assert list(json.loads(line)) == head, line'
	have jq || return 0
	t "$objects_name: jq" 0 to objects jq -c . rows.json
	is "$objects_name: it reads the lines" "$(wc -l <objects)" \
	    "$(wc -l <rows.json)"
}

rows 'coldwalk' coldwalk --csv tree
objects 'coldwalk' coldwalk --json tree
rows 'coldwalk --summary' coldwalk --csv --summary -q tree
objects 'coldwalk --summary' coldwalk --json --summary -q tree
rows 'coldwalk --resident' coldwalk --csv --resident --cold none tree
objects 'coldwalk --resident' coldwalk --json --resident --cold none tree
rows 'lap' lap -q -n 2 -o - -l 'a,b#"c' -k 'k=x y' -- true
objects 'lap' lap -q -n 2 --json -o - -l 'a,b#"c' -- true
rows 'lap, to be counted' lap -q -n 3 -o - -l a -l b -- true -- true
cp rows.csv laps.csv
rows 'lapcmp' lapcmp --csv laps.csv
objects 'lapcmp' lapcmp --json laps.csv
if have fsratio; then
	rows 'fsratio' fsratio --csv -a off,gzip-6 tree
	objects 'fsratio' fsratio --json -a off,gzip-6 tree
	rows 'fsratio --by-size' fsratio --csv --by-size -a off tree
fi
if have winwait; then
	rows 'winwait' winwait --criterion line --csv -- \
	    sh -c 'echo "a,b#c"; sleep 9'
	objects 'winwait' winwait --criterion line --json -- \
	    sh -c 'echo x; sleep 9'
fi
if have layerpack; then
	layerpack -q -F estargz -o layer.tgz layer.tar >facts
	rows 'layerpack -t' layerpack -t --csv layer.tgz
	objects 'layerpack -t' layerpack -t --json layer.tgz
fi
if have jq; then
	pzc -k layer.tar
	t 'pzc -l --json' 0 to list.json pzc -l --json layer.tar.gz
	t 'is read by jq' 0 jq -e . list.json
	t 'pzseek -l --json' 0 to list.json pzseek -l --json layer.tar.gz
	t 'is read by jq' 0 jq -e . list.json
fi

# Provenance stands beside the rows of a file, or above them on request.
t 'a file' 0 lap -q -n 1 -o f.csv -l a -- true
is 'begins with the header' "$(head -c 7 f.csv)" series,
t 'its provenance is beside it' 0 grep -q '^# kernel: Linux' f.csv.provenance
is 'of the same series' "$(sed -n 's/^# series: //p' f.csv.provenance)" \
    "$(sed -n '2s/,.*//p' f.csv)"
t 'another command of the same label' 125 lap -q -r -n 2 -o f.csv -l a -- \
    sh -c :
shows 'is refused by its record' "the label 'a' belongs to another" .t.err
t 'more runs' 0 lap -q -r -n 2 -o f.csv -l a -- true
is 'are of the same series' "$(cut -d , -f 1 f.csv | sort -u | wc -l)" 2
t 'above the rows' 0 lap -q -n 1 --provenance -o g.csv -l a -- true
is 'there is no other file' "$(head -n 1 g.csv | cut -c 1-9) $(ls g.csv*)" \
    '# series: g.csv'
t 'another command is refused by them, too' 125 lap -q -r -n 2 -o g.csv -l a \
    -- sh -c :
t 'JSON has its provenance beside it' 0 lap -q -n 1 --json -o j.json -l a -- \
    true
t 'which is found' 0 grep -q '^# kernel: Linux' j.json.provenance
t 'a device has none' 0 lap -q -n 1 -o /dev/null -l a -- true
t 'really' 1 test -e /dev/null.provenance
t 'standard output, above the rows' 0 to c.csv coldwalk --csv --provenance tree
is 'has it once' "$(grep -c '^# kernel: Linux' c.csv)" 1

done_testing

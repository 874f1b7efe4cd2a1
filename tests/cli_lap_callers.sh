#!/bin/sh
# Whichever of lap's calls fails: the result is an error or the rows, and the
# next run can append to the file; no process is left.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have lap-fault || skip_all 'lap-fault is not built'

mkdir d
cd d || exit
# ROWS rows, or fewer after an error, and those of the next run
cat >../check <<'X'
lap -q -n 1 -o r.csv -l next -- true || exit
awk -F, '/^#/ { next }
!n { n = NF }
NF != n { exit bad = 1 }
$6 == "all" || /,all,/ { rows++ }
END {
	rows--
	if (bad || rows > ROWS || (ENVIRON["ORDEAL_STATUS"] == 0 && rows != ROWS))
		exit 1
}' "ROWS=$1" r.csv
X
# Another lap, and what it runs, must not be taken for leftovers.
# shellcheck disable=SC2016
lap -q -n 1 -o ../other.csv -l other -- sh -c 'echo $$ >../other
    exec sleep 9999' &
other=$!
await test -s ../other

# what fails may be lap itself, or the start of a command
calls() {
	c_name=$1
	shift
	suffers "$c_name" -a 1,125,126,127 "$@"
}

calls 'two commands' -o r.csv -o r.csv.provenance -c 'sh ../check 4' \
    lap-fault -q -n 2 -o r.csv -l x -l y -- true -- sh -c 'echo x; echo y >&2'
calls 'a pipeline' -o r.csv -o r.csv.provenance -c 'sh ../check 1' \
    lap-fault -q -n 1 -t 60 -o r.csv -l x -- seq 9 '|' cat
calls 'a list of values' -o r.csv -o r.csv.provenance -c 'sh ../check 2' \
    lap-fault -q -n 1 -L a=1,2 -k b=c --plain -o r.csv -l x -- echo '{a}'
lap -q -n 2 -o r.csv -l x -- true
calls 'the rest' -c 'sh ../check 4' -o r.csv -o r.csv.provenance \
    lap-fault -q -r -n 4 -o r.csv -l x -- true
rm r.csv r.csv.provenance
printf 'x\ttrue\n' >list
calls 'a file of commands' -o r.csv -o r.csv.provenance -c 'sh ../check 2' \
    lap-fault -q -n 2 -f list -o r.csv
calls 'JSON' -c : lap-fault -n 1 --json -o - -l x -- true
calls 'a table' -c : lap-fault -n 2 --markdown -l x -l y -- true -- true
t 'another lap was not disturbed' 0 kill -0 "$(cat ../other)" $other
kill $other
wait $other 2>/dev/null
done_testing

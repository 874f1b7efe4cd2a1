#!/bin/sh
# Tests coldpress sweep: many files, many settings, one row each, and what is left.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/study.sh
. "$SRC/tests/study.sh"

for tool in pzc coldwalk lap; do
	have $tool || skip_all "$tool is not built"
done
sweep() { sh "$SRC/scripts/sweep" "$@"; }
tab='	'

mkdir trees "trees/an odd name's"
for i in 1 2 3 4 5 6; do
	seq $((i * 2000)) >trees/f$i
done
seq 3000 >"trees/an odd name's/a"
{
	echo '# all of them'
	ls -d trees/f*
	printf "odd\ttrees/an odd name's/a\n"
} >list
cat >settings <<END
gzip${tab}pzc -q -F gzip -o {out} {}
zstd${tab}pzc -q -F zstd -o {out} {}
walk${tab}coldwalk --summary --hash none {}
bad${tab}sh -c 'exit 3'
pipe${tab}cat {} '|' pzc -c
END
t 'nothing is prepared' 1 sweep run
t 'a price before' 0 to price sweep --list list --settings settings --dry-run
shows 'names the runs' '7 of 7 runs are left, of 7 rows; how long' price
t 'a sweep' 0 to report sweep -q --budget 1
t 'it goes on' 0 to report sweep -q
t 'a price after' 0 to price sweep --dry-run
shows 'nothing is left' '0 of 7 runs are left' price

rows=results/sweep.csv
is 'a row for each image and setting' "$(awk -F , '$9 == "all"' $rows | wc -l)" 35
is 'with its size' "$(awk -F , '$9 == "all" && $5 ~ /size_B=/' $rows | wc -l)" 14
t 'in one order for each image' 0 sh -c "awk -F , '\$9 == \"all\" {
	split(\$5, k, \";\"); o[k[1]] = o[k[1]] \" \" \$4
} END { for (i in o) print o[i] }' $rows | sort | uniq | wc -l | grep -qv '^1$'"
shows 'a line for a setting' '^gzip  *7  *0 .* 1[.]000$' report
shows 'a ratio of sizes' '^zstd  *7  *0 .* 1[.][01][0-9]*$' report
shows 'failures' '^bad  *7  *7 ' report
shows 'each is named' '^f3, bad: failed with status 3' report
is 'no output is left' "$(find results -name '*.out' -o -name '*.std')" ''
is 'of the right size' "$(awk -F , '$4 == "gzip" && $5 ~ /image=f3/' $rows |
    sed 's/.*size_B=\([0-9]*\).*/\1/')" "$(pzc -q -c trees/f3 | wc -c)"

t 'a raised number of runs' 0 to report sweep -q -n 2 prepare
t 'is a price' 0 to price sweep --dry-run
shows 'by time' '7 of 14 runs are left, of 7 rows: about 0:0' price
shows 'and by room' 'each node needs room' price

t 'another list' 1 sweep --list settings --settings settings
for bad in "a b${tab}pzc" 'pzc' "a${tab}b${tab}c" ''; do
	printf '%s\n' "$bad" >bad
	t "settings '$bad'" 1 sweep -o x.csv --list list --settings bad
	rm -rf x.csv.d
done
printf 'a\tpzc\na\tpzc\n' >bad
t 'a name twice' 1 sweep -o x.csv --list list --settings bad
rm -rf x.csv.d
printf 'a\tno-such-program {}\n' >bad
t 'a program that is missing' 1 sweep -o x.csv --list list --settings bad
rm -rf x.csv.d
echo none >bad
t 'an image that is missing' 1 sweep -o x.csv --list bad --settings settings
rm -rf x.csv.d
t 'no list' 2 sweep -o x.csv --settings settings
done_testing

#!/bin/sh
# Tests scripts/campaign with a small benchmark: it goes on where it was stopped,
# keeps rows without data, and prints their tables from the record.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have pzc || skip_all 'no pzc'
have lapcmp || skip_all 'no lapcmp'
have gzip || skip_all 'no gzip'

campaign() {
	sh "$SRC/scripts/campaign" -o work -r record --busy 100 \
	    --parts parts.tsv "$@"
}
seq 100000 >input
bench="sh $SRC/scripts/bench-pzc -n 1 --jobs gzip-6 $PWD/input"
printf 'small\t%s\nbroken\tfalse\n' "$bench" >parts.tsv

t 'nothing has been measured' 0 campaign list
is 'nor recorded' "$(awk -F '\t' '$1 == "small" { print $2 $3 }' .t.out)" 00
t 'one part' 0 campaign run small
t 'its rows' 0 campaign list small
is 'are counted' "$(awk -F '\t' 'NR == 2 { print ($2 > 1) ($2 == $3) }' .t.out)" \
    11
is 'the record has no data' "$(find record -type f -size +50k)" ''
is 'but rows' "$(find record/small/rows -name 'gzip-6.*.csv' | grep -c .)" 1
is 'nor folders of this machine' "$(grep -r -l -e "$PWD/work" \
    -e "$(cd "$SRC" && pwd)/" record)" ''
# runs: the rows without what describes each series
runs() { cat record/small/rows/*.csv | grep -v '^#'; }
before=$(runs)
t 'again' 0 campaign run small
is 'measures nothing' "$(runs)" "$before"
rm -r work
t 'the tables' 0 campaign report small
shows 'come from the record' '^| gzip-6 | input |'
is 'which stays as it was' "$(find record -name compared)" ''

cp -R record/small record/small-other
t 'those of other data' 0 campaign report small-other
shows 'too' '^| gzip-6 | input |'

t 'a part that fails' 1 campaign run broken
shows 'is named' "campaign: broken: 'false' failed with status 1" .t.err
t 'no such part' 1 campaign run none
t 'not recorded' 1 campaign report broken
t 'no part' 2 campaign report
t 'no step' 2 campaign
t 'another step' 2 campaign walk
t 'not a number' 1 campaign -m x run
done_testing

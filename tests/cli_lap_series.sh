#!/bin/sh
# Tests lap's parameters, adaptive series and per-command options.
# SPDX-License-Identifier: BSD-2-Clause
# Commands that lap runs expand their own variables.
# shellcheck disable=SC2016
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# sorted FILE COLUMN: prints its distinct values
sorted() { col "$1" "$2" | tr ' ' '\n' | sort -u | tr '\n' ' '; }

# Parameters

t 'a list and a range' 0 lap -q -n 2 -o p.csv -k all=1 -l one -l two \
    -L 'w=a,b' -P n=1:3:2 --stdout out -- echo '{w}{n}' -- true '{x}{n}'
is 'every combination, twice' "$(sorted p.csv keys)" \
    'all=1;w=a;n=1 all=1;w=a;n=3 all=1;w=b;n=1 all=1;w=b;n=3 '
is 'of both commands' "$(col p.csv label | wc -w)" 16
t 'placeholders in a pipeline and in labels' 0 lap -q -n 1 -o l.csv \
    -l 'count {n}' -P n=8:10 --stdout out -- seq '{n}' '|' tail -n 1
is 'are filled' "$(awk -F, '!/^#/ && $9 == "all" { print $4 }' l.csv | sort |
    tr '\n' ' ')" 'count 10 count 8 count 9 '
is 'a range of one' "$(lap -q -n 1 -o one.csv -l 'x {n}' -P n=3:3 -- true &&
    grep -c ',x 3,' one.csv)" 1
is 'decimals as written' "$(lap -q -n 1 -o d.csv -P n=0.5:1.5:0.25 -- true \
    '{n}'; sorted d.csv label)" '0.50 0.75 1.00 1.25 1.50 true '
is 'also in -p' "$(lap -q -n 1 -o q.csv -L w=x -p 'echo {w} >prep' -- true \
    '{w}'; cat prep)" x
t 'labels may be equal if the values differ' 0 lap -q -n 6 -o v.csv -l a -l b \
    -L v=1,2 -- true '{v}' -- true '{v}{v}'
t 'lapcmp compares within values' 0 to cmp.csv lapcmp --csv v.csv
is 'two groups' "$(awk -F, '$3 == "wall_s" && $4 == "b" { print $1, $17 }' \
    cmp.csv | sort | tr '\n' ';')" 'cache=unknown;v=1 6;cache=unknown;v=2 6;'
t 'pooled they pair value by value' 0 to pool.csv lapcmp --csv -k '' v.csv
is 'all of them' "$(awk -F, '$3 == "wall_s" && $4 == "b" { print $17 }' \
    pool.csv)" 12
printf 'x\techo {v}\n' >cells
t 'in a file of commands' 0 lap -q -n 1 -o f.csv -L v=1,2 --stdout out -f cells
is 'both' "$(sorted f.csv keys)" 'v=1 v=2 '
t 'resumed by value' 0 lap -q -n 2 -r -o f.csv -L v=1,2,3 --stdout out -f cells
is 'each run once' "$(col f.csv keys | tr ' ' '\n' | sort | tr '\n' ' ')" \
    'v=1 v=1 v=2 v=2 v=3 v=3 '
for wrong in w 'w;=1' =1; do
	t "a wrong list: $wrong" 125 lap -q -L "$wrong" -- true
done
for wrong in n=1 n=2:1 n=1:2:0 n=1:2:3:4 n=a:b n=1:1e9; do
	t "a wrong range: $wrong" 125 lap -q -P "$wrong" -- true
done
t 'a name given twice' 125 lap -q -L w=1 -P w=1:2 -- true
t 'labels that are still equal' 125 lap -q -l a -l a -L w=1,2 -- true -- false

# How a series ends

t 'for a time, with a minimum' 0 lap -q --for 0.01 -m 4 -M 4 -o t.csv -l x \
    -- true
is 'four' "$(col t.csv run)" '1 2 3 4'
t 'ends by time' 0 lap -q --for 0.2 -m 1 -M 1000000 -o t2.csv -l x -- sleep 0.1
t 'after a few' 0 [ "$(col t2.csv run | wc -w)" -lt 5 ]
t 'a difference is resolved' 0 lap -q --resolve -M 500 -o r.csv -l slow \
    -l fast -- sleep 0.05 -- true
case $(col r.csv run | tr ' ' '\n' | sort -n | tail -n 1) in
10 | 15 | 23 | 35 | 53 | 80 | 120 | 180 | 270 | 405) ok 'at one of the looks' ;;
*) not_ok 'at one of the looks' ;;
esac
t 'one command is resolved' 0 lap -q --resolve -o r1.csv -l x -- true
t 'a minimum above the maximum' 125 lap -m 9 -M 3 -- true
t 'together with a count' 125 lap -n 9 --for 3 -- true
t 'resumed' 125 lap -r -o r.csv --resolve -- true

# Individual commands

t 'a preparation for each' 0 lap -q -n 1 -o pp.csv -l a -l b -p 'echo 1 >pa' \
    -p '' -- cat pa -- true
is 'its own' "$(cat pa)" 1
t 'too few of them' 125 lap -l a -l b -l c -p x -p y -- true -- true -- true
t 'a missing cold command' 125 lap --cold=z -l a -- true
t 'the first failure ends the run' 3 lap -q -n 9 --fail-fast -o ff.csv -l x -- \
    sh -c 'test "$LAP_RUN" != 2 || exit 3'
is 'its row exists' "$(col ff.csv exit)" '0 3'
t 'one word as a command line' 0 lap -q -n 1 -o line.csv 'printf   x' 2>err
t 'one word with shell syntax' 0 lap -q -n 1 --stdout out -o line2.csv -l x -- \
    'echo a b | tr a-b c-d; true' '|' 'sed s/$/!/'
is 'is run by a shell' "$(cat out)" 'c d!'
t 'a program of this name is preferred' 0 sh -c 'printf "#!/bin/sh\n" >"a b" &&
    chmod +x "a b" && lap -q -n 1 -o ab.csv "./a b"'
printf 'one\ttrue\r\ntwo\tfalse || true\r\n' >crlf
t 'commands with CRLF line ends' 0 lap -q -n 1 -o crlf.csv -f crlf
t 'output is shown' 0 lap -q -n 2 -o show.csv --show-output -l x -- echo hello
is 'twice' "$(tr '\n' ' ' <.t.out)" 'hello hello '
t 'but not in the rows' 125 lap -q -n 1 --show-output -- true
t 'a log as standard output is not emptied' 0 sh -c 'echo before >log
    lap -q -n 2 -o log.csv --stdout /dev/stdout -l x -- echo run >>log'
is 'but appended to' "$(tr '\n' ' ' <log)" 'before run run '

# Summary

t 'a summary' 0 lap -n 6 -o s.csv -l a -l b -- sleep 0.1 -- sh -c 'sleep 999 &'
shows 'compares' '^lap: b takes [0-9.]* times as long as a (.*, 96.9 %)$' .t.err
shows 'reports what was left' '^lap: b: n 6.*, 6 left processes behind$' .t.err
t 'a cell that always fails' 1 lap -n 2 -o nil.csv -l a -L w=x,y -- sh -c \
    'test {w} = x'
shows 'is named with its values' '^lap: a w=y: n 0, 2 failed' .t.err
t 'a table' 0 lap -n 6 --markdown -l a -l b -- sleep 0.1 -- true
shows 'has the ratio' '^| b | 6 | 0 |.*| [0-9]*\.[0-9]* | [0-9.]* |$'

# A file may have only one writer.
t 'two laps on one file' 0 sh -c '
    lap -q -n 1 -o one.csv -l x -- sh -c ": >up; until [ -e down ]; do
        sleep 0.1; done" & until [ -e up ]; do sleep 0.1; done
    status=0; lap -q -n 1 -o one.csv -l y -- true 2>second || status=$?
    : >down; wait $! && [ $status = 125 ] && grep "another lap" second'
done_testing

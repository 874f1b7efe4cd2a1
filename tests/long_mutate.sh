#!/bin/sh
# scripts/mutate finds a check that no test guards, and none where all are.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'no python3'
python3 -c 'import clang.cindex' 2>/dev/null || skip_all 'no python3-clang'
[ -e "$SRC/.git" ] || skip_all 'not a git work tree'

mutate() { "$SRC/scripts/mutate" -o mutants "$@"; }
# the row of all guards: mutants and killed
guards() { mutate report | awk -F'|' '$2 ~ /guard/ && $3 ~ /all/ { print $4 + 0, $5 + 0 }'; }

t 'make' 0 mutate -f 'base/hex' -T '^unit\.(hex|bytes)$' make
t 'run the test that is near' 0 mutate -c guard run
guards >counts
read -r made killed <counts
t 'several guards' 0 test "$made" -ge 5
t 'all are killed' 0 test "$killed" -eq "$made"

rm mutants/verdicts.tsv
cat >none.py <<'P'
import json
with open('mutants/times.json') as f:
    times = json.load(f)
del times['unit.hex']
with open('mutants/times.json', 'w') as f:
    json.dump(times, f)
P
python3 none.py
t 'run without it' 0 mutate -c guard run
guards >counts
read -r made killed <counts
t 'none is killed' 0 test "$killed" -eq 0
done_testing

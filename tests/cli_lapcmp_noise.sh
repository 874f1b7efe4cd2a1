#!/bin/sh
# lapcmp is wrong no more often than it promises, for many kinds of noise.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have lapcmp || skip_all 'no lapcmp'
have python3 || skip_all 'no python3'

simulate() { python3 "$SRC/scripts/simulate-lapcmp" "$@"; }

t 'made comparisons' 0 simulate -c 80 -n 9
shows 'false verdicts, by ranks and signs' \
    '^| 5 % spikes x 10 | [0-9.]* / [0-9.]* |$'
shows 'detections' '^| signed ranks | [0-9]* |$'
shows 'runs that were not interleaved' \
    '^| machine slows down | 0.0 / 100.0 |$'
cp .t.out once
t 'again' 0 simulate -c 80 -n 9
is 'they are the same' "$(cat .t.out)" "$(cat once)"

# a lapcmp that sees differences everywhere
cat >rash <<'E'
#!/bin/sh
lapcmp "$@" | sed 's/,not resolved,/,faster,/'
E
chmod +x rash
t 'false verdicts' 1 simulate -c 80 -n 9 ./rash
t 'no lapcmp' 1 simulate -c 1 -n 6 ./none
t 'not a number' 2 simulate -c x
t 'too many words' 2 simulate a b
done_testing

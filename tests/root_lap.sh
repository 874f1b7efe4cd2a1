#!/bin/sh
# Tests that need root: cold caches, and lap as another user.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
# shellcheck disable=SC2016
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have setpriv || skip_all 'setpriv is not installed'

# A cold run reads all of its input from the device.
head -c 20000000 /dev/urandom >blob
case $(df . | awk 'NR == 2 { print $1 }') in
/dev/*)
	t 'cold' 0 lap -q -c -n 2 -o cold.csv -l x -- cat blob
	is 'the rows say so' "$(col cold.csv cache)" 'cold cold'
	t 'all was read from the device' 0 awk -v v="$(col cold.csv read_B)" \
	    'BEGIN { split(v, a, " "); exit !(a[1] >= 2e7 && a[2] >= 2e7) }'
	;;
*)
	ok 'cold # SKIP not on a disk'
	;;
esac

# For another user there is no control group, so remaining processes must be
# found by other means.
chmod 755 .
mkdir own
cp -L "$(command -v lap)" own/lap
chown 65534:65534 own own/lap
cd own
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups -- \
	    env TMPDIR="$PWD" "$@"
}
nobody ./lap -V >/dev/null 2>&1 ||
    skip_all 'another user cannot reach this directory'
t 'another user cannot drop the caches' 125 nobody ./lap -c -n 1 -- true
t 'a run' 0 nobody ./lap -q -n 1 -o rows.csv -l x -- cat lap
t 'its bytes are known' 0 test "$(col rows.csv wchar_B '')" -gt 100000
t 'forty quick runs' 0 nobody ./lap -q -n 40 -o quick.csv -l x -- \
    echo short '|' cat
is 'with known bytes' "$(col quick.csv wchar_B '' | tr ' ' '\n' | sort |
    uniq -c | tr -s ' \n' ' ')" ' 40 12 80 6 '
# Finds a time-out that lets it start, at the machine's current speed.
for limit in 0.3 1 3 10 30 100; do
	t 'a timeout kills the tree' 137 nobody ./lap -q -n 1 -t $limit -o - \
	    -l x -- sh -c '(sleep 1000 & echo $! >pid); sleep 1001'
	[ ! -s pid ] || break
done
t 'the orphan is gone' 0 await gone "$(cat pid)"
rm pid
nobody ./lap -q -n 1 -o - -l x -- sh -c '
    (sleep 1000 & echo $! >pid); sleep 1001' >/dev/null 2>&1 &
await [ -s pid ]
lap_pid=$(pgrep -u 65534 -P $! -x lap || echo $!)
kill -KILL "$lap_pid"
wait || :
t 'SIGKILL leaves an orphan' 0 kill -0 "$(cat pid)"
t 'the next lap' 0 nobody ./lap -q -n 1 -o - -l x -- true
t 'kills it' 0 await gone "$(cat pid)"
is 'no folder is left' "$(find . -name 'lap.*')" ''
done_testing

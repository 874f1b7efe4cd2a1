# shellcheck shell=sh
# study.sh - what the tests of the studies share, beside lib.sh
# SPDX-License-Identifier: BSD-2-Clause
#
# verdict TABLE TEXT WANT    what the report says under the finding
# fake NAME                  a program of that name, from standard input
# killed CSV COMMAND...      kills a study some time after its first cell

verdict() {
	is "verdict: $2" "$(awk -v text="  $2" '
	    found { sub(/.*: /, ""); print; exit }
	    index($0, text) == 1 { found = 1 }' "$1")" "$3"
}

fake() {
	mkdir -p fake
	{
		echo '#!/bin/sh'
		cat
	} >"fake/$1"
	chmod +x "fake/$1"
}

# Whatever it is doing then: its temporary files stay, here.
killed() {
	k_rows=$1.d/rows
	shift
	TMPDIR=$PWD setsid "$@" >/dev/null 2>&1 &
	k_pid=$!
	k_waited=0
	until [ -n "$(find "$k_rows" -name '0*.csv' 2>/dev/null)" ] ||
	    [ $k_waited = 600 ]; do
		sleep 0.1
		k_waited=$((k_waited + 1))
	done
	kill -s KILL -- -$k_pid
	wait $k_pid 2>/dev/null
	k_cells=$(find "$k_rows" -name '0*.csv' | wc -l)
	t 'some cells are done' 0 test "$k_cells" -gt 0
	t 'and not all' 0 test "$k_cells" -lt 16
}

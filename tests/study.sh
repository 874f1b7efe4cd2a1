# shellcheck shell=sh
# study.sh - functions shared by the study tests; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause
#
# verdict TABLE TEXT WANT    the report has this verdict under the finding
# fake NAME                  makes a program with that name from standard input
# last_words TABLE PATTERN   the last paragraph of the report matches
# killed CSV COMMAND...      kills a study in its second cell

verdict() {
	is "verdict: $2" "$(awk -v text="  $2" '
	    found { sub(/.*: /, ""); print; exit }
	    index($0, text) == 1 { found = 1 }' "$1")" "$3"
}

# last_words TABLE PATTERN: checks that the last paragraph, apart from the line
# about the rows, matches PATTERN
last_words() {
	sed '/^Rows: /d' "$1" | awk -v RS= '{ last = $0 } END { print last }' \
	    >said
	# shellcheck disable=SC2016
	t 'the last paragraph is prose' 0 sh -c \
	    'tr "\n" " " <said | grep -E -q -e "$1"' sh "$2"
	is 'within 80 columns' "$(awk 'length > 80' said)" ''
}

fake() {
	mkdir -p fake
	{
		echo '#!/bin/sh'
		cat
	} >"fake/$1"
	chmod +x "fake/$1"
}

# A fake lap waits at the point where the cell's rows have been written but not
# yet stored.  Temporary files stay here, too.
killed() {
	k_rows=$1.d/rows
	shift
	mkdir -p killed
	rm -f killed/there
	cat >killed/lap <<-EOF
		#!/bin/sh
		done=\$(find "$PWD/$k_rows" -name '0*.csv')
		"$BIN/lap" "\$@" || exit
		[ -n "\$done" ] || exit 0
		: >"$PWD/killed/there"
		exec sleep 1000
	EOF
	chmod +x killed/lap
	TMPDIR=$PWD COLDPRESS_BIN=$PWD/killed:$BIN setsid "$@" >/dev/null 2>&1 &
	k_pid=$!
	await [ -e killed/there ]
	kill -s KILL -- -$k_pid
	wait $k_pid 2>/dev/null
	k_cells=$(find "$k_rows" -name '0*.csv' | wc -l)
	t 'some cells are done' 0 test "$k_cells" -gt 0
	t 'but not all' 0 test "$k_cells" -lt 16
}

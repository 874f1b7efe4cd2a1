# shellcheck shell=sh
# study.sh - functions shared by the study tests; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause
#
# verdict TABLE TEXT WANT    the report has this verdict under the finding
# fake NAME                  makes a program with that name from standard input
# last_words TABLE PATTERN   the last paragraph of the report matches
# killed CSV COMMAND...      kills a study in its second cell
# script FOLDER NAME WORD... runs a script of this tree or an installed one
# ends FOLDER NAME PATTERN WORD...   it ends with 0 and a line that matches
# example FILE               writes the script that doc/study.md shows

# script FOLDER NAME WORD...: runs a script; an installed one has to find the
# tools by itself
script() {
	script_file=$1/$2
	case $1 in
	"$SRC"/*)
		shift 2
		set -- sh "$script_file" "$@"
		;;
	*)
		shift 2
		set -- env -u COLDPRESS_BIN PATH="${PATH#"$BIN:"}" \
		    sh "$script_file" "$@"
		;;
	esac
	"$@" </dev/null
}

# ends FOLDER NAME PATTERN WORD...: runs a script to its end: it exits with 0,
# its last line that is not empty matches PATTERN, and nothing failed in the
# shell
ends() {
	ends_what="$2 in $1" ends_pattern=$3 ends_status=0
	ends_from=$1 ends_name=$2
	shift 3
	script "$ends_from" "$ends_name" "$@" >ends.out 2>ends.err ||
	    ends_status=$?
	if [ $ends_status = 77 ]; then
		skip "$ends_what: $(tail -n 1 ends.err)"
		return 0
	fi
	# shellcheck disable=SC2016
	t "$ends_what" 0 sh -c 'cat ends.err; exit "$1"' sh $ends_status
	is 'no message of the shell' \
	    "$(grep -E '^[^ ]+: ([0-9]+: |line [0-9])' ends.err)" ''
	grep . ends.out | tail -n 1 >ends.last
	# shellcheck disable=SC2016
	t 'its last line' 0 sh -c 'cat ends.last; grep -E -q -e "$1" ends.last' \
	    sh "$ends_pattern"
}

example() {
	sed '1,/^```sh$/d; /^```$/,$d' "$SRC/doc/study.md" >"$1"
}

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

# shellcheck shell=sh
# study.sh - what all studies share: options, plan, lock, steps
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154
#
# A study sources this, then sets what it needs of
#   study_places    its operands, as variables: 'dir out'
#   study_options   its own options: --remote=remote takes a value into $remote,
#                   --subset:subset sets $subset to yes
#   study_keys      other variables that the plan keeps
#   study_tools     programs whose versions go into the rows
#   study_may_change  those of the plan that a later prepare may change
#   study_wrap      words before the command that runs a cell
#   study_spare     name of a process that is not ended together with a cell
# and its defaults, defines hooks, and calls study_main "$@".  Of the hooks
# table, cell and report are needed; doc/study.md has an example.
#   usage           prints the usage; usage_common has the shared options
#   check           ends the script if an option is wrong
#   prepare         decides, once, what the plan keeps
#   ready           each time that cells are planned
#   table           every row of a round, TSV: its id, then what cell gets
#   lacking ROW     why this row cannot be measured; nothing if it can
#   rounds_of ID    in how many rounds this row is measured
#   round_cells N   the cells of a round, as cells_round prints them
#   begin, finish   before the first cell and after the last
#   cell ID FIELD...  one run of one row of the table: its rows on stdout
#   undo            unmounts and removes what a cell makes; called whenever a
#                   process of the study ends, after a signal too
#   rows            comment lines that precede the rows
#   report          tables and findings
#   in_words        the results in a few sentences
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/cells.sh
. "$here/cells.sh"

study_name=${0##*/} study_places='' study_options='' study_keys=''
study_may_change='' study_tools='' study_wrap='' study_spare=''
runs=6 seed=1 rows='' cold='' quick=no engine=local verbosity=1 series=''
dir='' rows_csv=results/$study_name.csv

usage() {
	printf 'usage: %s [options] [prepare|run|report] [%s]\n' "$study_name" \
	    "$(echo "$study_places" | tr '[:lower:]' '[:upper:]')"
	usage_common
}
check() { :; }
prepare() {
	[ -n "$dir" ] || misused 'DIR is missing'
	dir_place
}
ready() { [ -z "$dir" ] || sample "$dir" 200 >"$study/sample"; }
lacking() { :; }
rounds_of() { echo "$runs"; }
begin() { :; }
finish() { :; }
undo() { :; }
# shellcheck disable=SC2086
rows() { provenance $study_tools; }
in_words() { :; }

usage_common() {
	cat <<EOF
  -n RUNS          runs of each row ($runs; fewer than 6 give no interval)
  -o ROWS.csv      the rows ($rows_csv); ROWS.csv.d keeps what a
                   stopped study needs to go on
  -S SEED          order of the rows in each round ($seed)
  --cold, --warm   drop the caches before each run (needs root), or read the
                   input once
  -q, -v           no progress; a line of progress for each run
EOF
}

# misused TEXT: the command line is wrong
misused() {
	say "$*"
	printf "Try '%s --help'.\n" "$0" >&2
	exit 2
}

# The plan: what has been decided, so that a stopped study goes on alike.
# $study/plan has a line for each of these variables.
plan_keys() {
	echo "$study_places runs rows cold quick seed series $study_keys"
}

plan_save() {
	for plan_key in $(plan_keys); do
		eval "plan_value=\$$plan_key"
		printf '%s\t%s\n' "$plan_key" "$plan_value"
	done >"$study/plan.new"
	mv "$study/plan.new" "$study/plan"
}

plan_load() {
	[ -e "$study/plan" ] || die "$study: nothing has been prepared"
	for plan_key in $(plan_keys); do
		plan_value=$(sed -n "s/^$plan_key$tab//p" "$study/plan")
		eval "$plan_key=\$plan_value"
	done
	case $series in
	'' | *-"$study_name") ;;
	*) die "$study is another study, ${series#*Z-*-}: choose another -o" ;;
	esac
}

plan_may_change() {
	case " runs rows $study_may_change " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# plan_take: the plan, which the options given now may not contradict.  More
# runs, for one, may be asked for in prepare.
plan_take() {
	for take_key in $study_asked; do
		eval "asked_$take_key=\$$take_key"
	done
	plan_load
	for take_key in $study_asked; do
		grep -q "^$take_key$tab" "$study/plan" || continue
		eval "take_was=\$$take_key take_now=\$asked_$take_key"
		[ "$take_was" != "$take_now" ] || continue
		plan_may_change "$take_key" ||
		    die "$study was begun with another $take_key ('$take_was', not '$take_now'): choose another -o, or remove it"
		[ "$step" = prepare ] ||
		    die "$study was prepared with another $take_key ('$take_was', not '$take_now'): prepare it again"
		[ "$take_key" != runs ] || [ "$take_now" -gt "$take_was" ] ||
		    continue
		eval "$take_key=\$take_now"
	done
}

# study_own: the folder is the caller's, nobody else may write to it, and none
# of its files is a link.  Else root would run what somebody has put there.
study_own() {
	[ ! -L "$study" ] || die "$study is a symbolic link"
	[ -d "$study" ] || die "$study is not a directory"
	[ -O "$study" ] || die "$study belongs to another user: choose another -o"
	own_bad=$(find "$study" -maxdepth 1 -type l | head -n 1)
	[ -z "$own_bad" ] || die "$own_bad is a symbolic link: remove it"
	own_bad=$(find "$study" -maxdepth 1 ! -name 'tree*' -perm /022 |
	    head -n 1)
	[ -z "$own_bad" ] ||
	    die "$own_bad can be written by others: if you trust what it holds, chmod go-w it"
	for own_file in plan lock cells.tsv start; do
		[ ! -e "$study/$own_file" ] || [ -O "$study/$own_file" ] ||
		    die "$study/$own_file belongs to another user"
	done
}

# study_open: $study, which must be there
study_open() {
	[ -e "$study" ] || [ -L "$study" ] ||
	    die "$study: nothing has been prepared"
	study_own
}

# study_make: $study, made if there is none
study_make() {
	mkdir -p "$(dirname "$rows_csv")"
	[ ! -d "$rows_csv" ] || die "$rows_csv is a directory"
	[ -e "$study" ] || [ -L "$study" ] || mkdir "$study"
	study_own
	[ -e "$study/plan" ] || [ -e "$study/lock" ] ||
	    [ -z "$(ls -A "$study")" ] ||
	    die "$study is not the folder of a study: choose another -o"
	[ -e "$study/plan" ] || [ ! -e "$rows_csv" ] ||
	    die "$rows_csv exists, but not its study: choose another -o, or remove it"
}

# study_lock: no other run is at work in this study, nor will be.  A cell has a
# lock of its own, since it may outlive the script that started it.
study_lock() {
	need flock
	exec 9>>"$study/lock"
	flock -n 9 || die "another run is at work in $study: wait for its end"
	exec 8>>"$study/lock.cell"
	flock -n 8 || {
		say 'waiting for the run that a killed script has left'
		flock 8
	}
	exec 8>&-
	study_locked=yes
}

tidy() {
	cells_stop
	[ -z "$study_locked" ] || undo
}

study_prepare() {
	study_make
	study_lock
	if [ -e "$study/plan" ]; then
		plan_take
		[ "$verbosity" = 0 ] || say "going on with $study"
	else
		series=$(date -u +%Y%m%dT%H%M%SZ)-$$-$study_name
		prepare
	fi
	: >>"$study/log"
	ready
	cells_make
	plan_save
}

study_run() {
	[ -n "$study_locked" ] || {
		study_open
		study_lock
	}
	plan_take
	need lap
	: >>"$study/log"
	begin
	# shellcheck disable=SC2086
	cells_run $study_wrap sh "$here/$study_name" -o "$rows_csv"
	finish
	study_rows "$rows_csv"
	rm -f "$study"/part.csv "$study"/part-*
}

# study_rows FILE: the rows of all cells that were run.  They are put together
# in the study's folder, where nobody else can have put a link.
study_rows() {
	{
		rows
		cells_join
	} >"$study/joined"
	mv -f -T "$study/joined" "$1"
}

# study_report: of a study that is not at its end, what there is.  A report may
# be made during a run, but not two at a time.
study_report() {
	[ -n "$study_locked" ] || study_open
	plan_take
	need lapcmp flock
	exec 7>>"$study/lock.report"
	flock 7
	report_left=
	[ -z "$(cells_done | head -n 1)" ] || report_left=$(cells_left | wc -l)
	if [ "${report_left:-0}" -gt 0 ]; then
		rows_csv=$study/part.csv
		study_rows "$rows_csv"
	fi
	[ -e "$rows_csv" ] || die "$rows_csv: nothing has been run"
	# shellcheck source=scripts/findings.sh
	. "$here/findings.sh"
	report
	report_words=$(in_words)
	[ -z "$report_words" ] ||
	    printf '\n%s\n' "$(printf '%s\n' "$report_words" | wrap)"
	[ "${report_left:-0}" = 0 ] ||
	    printf '\nNot at its end: %d of %d runs have not been made yet.\n' \
	    "$report_left" "$(wc -l <"$study/cells.tsv")"
	printf '\nRows: %s\n' "$rows_csv"
}

# study_option WORD: sets $option_key and $option_takes (= or :), or the end
study_option() {
	for option_spec in -n=runs -o=rows_csv -S=seed --rows=rows \
	    --engine=engine --quick:quick $study_options; do
		[ "${option_spec%%[=:]*}" = "$1" ] || continue
		option_key=${option_spec#*[=:]}
		option_takes=${option_spec#"$1"}
		option_takes=${option_takes%"$option_key"}
		return 0
	done
	misused "unknown option '$1'"
}

# study_set NAME VALUE: as asked for on the command line
study_set() {
	case $2 in
	*"$tab"* | *'
'*) die "a tab or a newline in $1 is more than this script can do" ;;
	esac
	eval "$1=\$2"
	study_asked="$study_asked $1"
}

# study_flag WORD: an option without a value; fails if it takes one
study_flag() {
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	-q) verbosity=0 ;;
	-v) verbosity=2 ;;
	--warm) study_set cold '' ;;
	--cold)
		[ "$(id -u)" = 0 ] || cannot 'only root can drop the caches'
		study_set cold yes
		;;
	*)
		study_option "$1"
		[ "$option_takes" = : ] || return 1
		study_set "$option_key" yes
		;;
	esac
}

# option_more NAME VALUE: this value has a second word; a hook
option_more() { return 1; }

# study_parse WORD...: options, wherever they stand; then $step and operands
study_parse() {
	parse_left=$#
	while [ "$parse_left" -gt 0 ]; do
		parse_word=$1
		parse_left=$((parse_left - 1))
		shift
		case $parse_word in
		--) break ;;
		--*=*)
			study_option "${parse_word%%=*}"
			[ "$option_takes" = = ] ||
			    misused "${parse_word%%=*} takes no value"
			study_set "$option_key" "${parse_word#*=}"
			;;
		-?*)
			! study_flag "$parse_word" || continue
			[ "$parse_left" -gt 0 ] ||
			    misused "$parse_word needs a value"
			parse_value=$1
			parse_left=$((parse_left - 1))
			shift
			if [ "$parse_left" -gt 0 ] &&
			    option_more "$option_key" "$parse_value"; then
				parse_value="$parse_value $1"
				parse_left=$((parse_left - 1))
				shift
			fi
			study_set "$option_key" "$parse_value"
			;;
		*) set -- "$@" "$parse_word" ;;
		esac
	done
	# After -- those that are left come before those that were set aside.
	while [ "$parse_left" -gt 0 ]; do
		set -- "$@" "$1"
		parse_left=$((parse_left - 1))
		shift
	done
	step=
	case ${1:-} in
	prepare | run | report | cell | call)
		step=$1
		shift
		;;
	esac
	study_words=$(words_for_sh "$@")
}

# study_operands WORD...: none, or one for each of $study_places
study_operands() {
	[ $# -gt 0 ] || return 0
	for operand_name in $study_places; do
		[ $# -gt 0 ] || misused "an operand is missing: $operand_name"
		study_set "$operand_name" "$(absolute "$1")"
		shift
	done
	[ $# = 0 ] || misused "one operand too many: '$1'"
}

# study_main WORD...: the script's arguments.  Beside its steps there are two
# for its own use: cell ID, and call FUNCTION ARGUMENT..., in a new process.
study_main() {
	study_asked='' study_locked='' cells_pid=''
	umask go-w
	study_parse "$@"
	case $step in
	cell | call) ;;
	*) eval "study_operands $study_words" ;;
	esac
	number "$runs" 'number of runs' 1
	number "$seed" seed 1
	rows_csv=$(absolute "$rows_csv")
	study=$rows_csv.d
	make_tmp
	case $step in
	cell) eval "study_cell $study_words" ;;
	call)
		study_open
		plan_load
		eval "$study_words"
		;;
	*)
		check
		study_steps "$step"
		;;
	esac
}

# study_steps STEP: this one, or all in their order
study_steps() {
	for step in prepare run report; do
		[ -z "$1" ] || [ "$1" = "$step" ] || continue
		"study_$step"
		# What was asked for is in the plan from here on.
		[ "$step" != prepare ] || study_asked=
	done
}

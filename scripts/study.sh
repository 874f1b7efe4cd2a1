# shellcheck shell=sh
# study.sh - code shared by all studies: options, plan, lock and steps
# SPDX-License-Identifier: BSD-2-Clause
#
# A study in this folder sources "$(dirname "$0")/study.sh", and one elsewhere
# "${COLDPRESS_LIBEXEC:=FOLDER}/study.sh"; $here is then this folder, and
# $study_script is the study.  It sets the following variables as needed,
#   study_places    names of variables for its operands: 'dir out'
#   study_options   its own options: --remote=remote stores a value in $remote,
#                   --subset:subset sets $subset to yes
#   study_keys      other variables stored in the plan
#   study_tools     programs whose versions are recorded with the rows
#   study_may_change  variables in the plan that a later prepare may change
#   study_wrap      prefix of the command that runs a cell
#   study_kept      other files in $study that the report reads
#   study_group     round: the runs of a round are compared with each other, and
#                   made on one node; cell: those within a cell are
#   study_spare     name of a process that is not killed together with a cell
# and its defaults; it defines hooks and calls study_main "$@".  The hooks
# table, cell and report are required; doc/study.md has an example.
#   usage           prints the usage; usage_common has the shared options
#   operands WORD...  parses the operands; the default uses study_places
#   check           exits if an option is invalid
#   prepare         sets the variables stored in the plan, once
#   ready           called whenever cells are planned
#   table           prints every row of a round as TSV: id, then cell's fields
#   lacking ROW     prints the reason why this row cannot be measured, if any
#   weigh, price    what rows that have not been run resemble, and what else all
#                   take, for --dry-run; see cells.sh
#   rounds_of ID    prints the number of rounds in which this row is measured
#   round_cells N   prints the cells of a round in cells_round's format
#   begin, finish   called before the first cell and after the last
#   cell ID FIELD...  makes one run of one table row; prints its rows
#   undo            unmounts and removes what a cell creates; called whenever a
#                   process of the study exits, also after a signal
#   rows            prints comment lines to be stored before the rows, in
#                   addition to the origin of the rows
#   report          prints tables and findings
#   in_words        prints the results in a few sentences
#   figures         prints the tables that documents quote, in Markdown
set -eu
. "${COLDPRESS_LIBEXEC:-$(dirname "$0")}/lib.sh"
. "$here/options.sh"
. "$here/plan.sh"
. "$here/cells.sh"

study_name=${0##*/} study_script=$(cd "$(dirname "$0")" && pwd)/${0##*/}
study_places='' study_options='' study_keys='' study_may_change=''
study_tools='' study_wrap='' study_spare='' study_kept=''
runs=6 seed=1 rows='' cold='' quick=no engine=local budget='' verbosity=1
nodes=1 dry=no study_group=round
series=''
dir='' rows_csv=results/$study_name.csv

usage_common() {
	cat <<EOF
  -n RUNS          runs of each row ($runs; fewer than 6 give no interval)
  -o ROWS.csv      the rows ($rows_csv), beside them ROWS.csv.provenance;
                   ROWS.csv.d keeps what a stopped study needs to go on
  -S SEED          order of the rows in each round ($seed)
  --dry-run        prepare, and say how many runs are left and how long they take
  --budget SECONDS  start no more runs after this time; report on those made
  --cold, --warm   drop the caches before each run (needs root), or read the
                   input once
  -q, -v           no progress; a line of progress for each run
EOF
}

# option_flag WORD: handles the options that set no variable to yes
option_flag() {
	case $1 in
	-q) verbosity=0 ;;
	-v) verbosity=2 ;;
	--warm) study_set cold '' ;;
	--cold)
		[ "$(id -u)" = 0 ] || cannot 'only root can drop the caches'
		study_set cold yes
		;;
	*) return 1 ;;
	esac
}

usage() {
	printf 'usage: %s [options] [prepare|run|report] [%s]\n' "$study_name" \
	    "$(echo "$study_places" | tr '[:lower:]' '[:upper:]')"
	usage_common
}
operands() { study_operands "$@"; }
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
rows() { :; }
in_words() { :; }
figures() { die 'no document quotes this study'; }

# Decisions that must not change when a study is resumed
plan_keys() {
	echo "$study_places runs rows cold quick seed series $study_keys"
}

# study_own: checks that the folder belongs to the caller, that no other user
# can write to it, and that none of its files is a link.  Otherwise root might
# execute commands written by another user.
study_own() {
	[ ! -L "$study" ] || die "$study is a symbolic link"
	[ -d "$study" ] || die "$study is not a directory"
	[ -O "$study" ] || die "$study belongs to another user: choose another -o"
	own_bad=$(find "$study" -maxdepth 1 -type l | head -n 1)
	[ -z "$own_bad" ] || die "$own_bad is a symbolic link: remove it"
	own_bad=$(find "$study" -maxdepth 1 ! -name 'tree*' -perm /022 |
	    head -n 1)
	[ -z "$own_bad" ] ||
	    die "$own_bad can be written by others: if you trust its contents, run chmod go-w on it"
	for own_file in plan lock cells.tsv start; do
		[ ! -e "$study/$own_file" ] || [ -O "$study/$own_file" ] ||
		    die "$study/$own_file belongs to another user"
	done
}

# study_open: uses $study, which must exist
study_open() {
	[ -e "$study" ] || [ -L "$study" ] ||
	    die "$study: nothing has been prepared"
	study_own
}

# study_make: uses $study, and creates it if it does not exist
study_make() {
	mkdir -p "$(dirname "$rows_csv")"
	[ ! -d "$rows_csv" ] || die "$rows_csv is a directory"
	[ -e "$study" ] || [ -L "$study" ] || mkdir "$study"
	study_own
	[ -e "$study/plan" ] || [ -e "$study/lock" ] ||
	    [ -z "$(ls -A "$study")" ] ||
	    die "$study is not a study folder: choose another -o"
	[ -e "$study/plan" ] || [ ! -e "$rows_csv" ] ||
	    die "$rows_csv exists, but its study does not: choose another -o, or remove it"
}

# study_lock: ensures that no other run uses this study at the same time.  A
# cell has a separate lock, because it may outlive the script that started it.
study_lock() {
	need flock
	exec 9>>"$study/lock"
	flock -n 9 || die "another run is using $study: wait until it ends"
	for lock_file in "$study"/lock.cell.*; do
		[ -e "$lock_file" ] || continue
		exec 8>>"$lock_file"
		flock -n 8 || {
			say 'waiting for the run left by a killed script'
			flock 8
		}
		exec 8>&-
	done
	study_locked=yes
}

tidy() {
	cells_stop
	[ -z "$study_locked" ] || undo
}

# cold_check: selects warm runs if caches cannot be dropped, unless --cold was
# given
cold_check() {
	[ "$cold" = yes ] && have lap || return 0
	caches_drop && return 0
	case " $study_asked " in
	*' cold '*) cannot "$(tail -n 1 "$study/log")" ;;
	esac
	say "$(tail -n 1 "$study/log"): the runs are warm"
	cold=''
}

study_prepare() {
	study_make
	study_lock
	: >>"$study/log"
	if [ -e "$study/plan" ]; then
		plan_take
		[ "$verbosity" = 0 ] || say "continuing $study"
	else
		series=$(date -u +%Y%m%dT%H%M%SZ)-$$-$study_name
		cold_check
		prepare
	fi
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
	begin
	# shellcheck disable=SC2086
	cells_run $study_wrap sh "$study_script" -o "$rows_csv"
	finish
	study_rows "$rows_csv"
	rm -f "$study"/part.csv* "$study"/part-*
}

# study_price: prints how many runs are left, and what they will take
study_price() {
	study_open
	cells_left >"$study/left"
	price_left=$(wc -l <"$study/left")
	price_s=$(time_needed 1)
	printf '%d of %d runs are left, of %d rows' "$price_left" \
	    "$(wc -l <"$study/cells.tsv")" "$(wc -l <"$study/table")"
	if [ "$price_left" = 0 ]; then
		echo
	elif [ -n "$price_s" ]; then
		printf ': about %s, judging by those made; until %s\n' \
		    "$(hms "$price_s")" \
		    "$(date -d "+${price_s%.*} seconds" '+%F %H:%M')"
	else
		printf '; how long they take is known after some have been made: --budget 60 run\n'
	fi
	price
}
# price: prints what else the runs take; a hook
price() { :; }

# kept: prints as comments what a report needs besides the rows
kept() {
	for kept_file in plan missing $study_kept; do
		[ ! -e "$study/$kept_file" ] ||
		    sed "s/^/# kept $kept_file: /" "$study/$kept_file"
	done
}

# study_find: uses $study for a report or, where there are only rows, what is
# kept with them
study_find() {
	if [ -e "$study" ] || [ -L "$study" ] ||
	    ! grep -qs '^# kept plan: ' "$rows_csv.provenance"; then
		study_open
		return
	fi
	study=$tmp/kept
	mkdir "$study"
	for kept_file in plan missing $study_kept; do
		sed -n "s/^# kept $kept_file: //p" "$rows_csv.provenance" \
		    >"$study/$kept_file"
	done
}

# study_rows FILE: writes the rows of all cells that were run, and to
# FILE.provenance the comments above them.  They are joined in the study's
# folder, in which no other user can create a link.
study_rows() {
	# shellcheck disable=SC2086
	{
		provenance $study_tools
		rows
		kept
		cells_join
	} >"$study/joined"
	sed -n '/^#/p' "$study/joined" >"$study/joined.provenance"
	sed -i '/^#/d' "$study/joined"
	mv -f -T "$study/joined.provenance" "$1.provenance"
	mv -f -T "$study/joined" "$1"
}

# study_report: reports on the existing rows, even for an unfinished study.  A
# report can be created during a run, but only one at a time.
study_report() {
	[ -n "$study_locked" ] || study_find
	plan_take
	need lapcmp flock
	exec 7>>"$study/lock.report"
	flock 7
	report_left=$(cells_done)
	[ -z "$report_left" ] || report_left=$(cells_left | wc -l)
	if [ "${report_left:-0}" -gt 0 ]; then
		rows_csv=$study/part.csv
		study_rows "$rows_csv"
	fi
	[ -e "$rows_csv" ] || die "$rows_csv: nothing has been run"
	. "$here/findings.sh"
	report
	report_words=$(in_words)
	[ -z "$report_words" ] ||
	    printf '\n%s\n' "$(printf '%s\n' "$report_words" | wrap)"
	[ "${report_left:-0}" = 0 ] ||
	    printf '\nUnfinished: %d of %d runs have not been made yet.\n' \
	    "$report_left" "$(wc -l <"$study/cells.tsv")"
	printf '\nRows: %s\n' "$rows_csv"
}

# study_main WORD...: runs the script with these arguments.  In addition to the
# three steps, there are two for internal use: cell ID, and call FUNCTION
# ARGUMENT..., each in a new process.
study_main() {
	study_asked='' study_locked='' cells_pid='' slurm_job=''
	option_specs="-n=runs -o=rows_csv -S=seed --rows=rows --engine=engine
	    --nodes=nodes --budget=budget --quick:quick --dry-run:dry
	    $study_options"
	option_steps='prepare run report figures cell group call'
	umask go-w
	study_parse "$@"
	case $step in
	cell | group | call) ;;
	*) eval "operands $study_words" ;;
	esac
	rows_csv=$(absolute "$rows_csv")
	study=$rows_csv.d
	make_tmp
	case $step in
	cell | group) eval "study_$step $study_words" ;;
	call)
		study_open
		eval "$study_words"
		;;
	figures)
		study_find
		plan_take
		figures
		;;
	*)
		check
		number "$runs" 'number of runs' 1
		number "$seed" seed 1
		number "$nodes" nodes 1
		[ -z "$budget" ] || number "$budget" 'budget, in seconds,' 1
		study_steps "$step"
		;;
	esac
}

# study_steps STEP: runs this step, or all steps in order
study_steps() {
	for step in prepare run report; do
		[ -z "$1" ] || [ "$1" = "$step" ] || continue
		[ "$dry$step" != yesrun ] || {
			study_price
			return 0
		}
		"study_$step"
		# From here on, the options are in the plan.
		[ "$step" != prepare ] || study_asked=
	done
}

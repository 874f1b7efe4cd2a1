# shellcheck shell=sh
# cells.sh - plan and execute the runs of a study, and store rows; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/cells.tsv has one line per cell: its id, round, position in the round,
# and its row of the table.  A cell has been run if $study/rows/ID.csv contains
# rows.  That file is written under another name and renamed, so an interrupted
# study can be resumed at any point.

# cells_round ROUND SEED: prints one round's cells for the table rows on
# standard input, in the random order of the round: id, round, position, row
cells_round() {
	shuffle $(($2 * 1000 + $1)) | awk -v OFS='\t' -v r="$1" '
	    { print sprintf("%03d.%s", r, $1), r, NR, $0 }'
}

# round_cells ROUND: prints the rows measured in this round; a hook
round_cells() {
	while IFS= read -r round_row; do
		[ "$1" -gt "$(rounds_of "${round_row%%"$tab"*}")" ] ||
		    printf '%s\n' "$round_row"
	done <"$study/table" | cells_round "$1" "$seed"
}

# cells_make: creates $study/table, $study/missing and $study/cells.tsv
cells_make() {
	: >"$study/missing"
	table | while IFS= read -r make_row; do
		make_id=${make_row%%"$tab"*}
		wanted "$make_id" "$rows" || continue
		make_lack=$(lacking "$make_row")
		if [ -n "$make_lack" ]; then
			printf '%s\t%s\n' "$make_id" "$make_lack" \
			    >>"$study/missing"
		else
			printf '%s\n' "$make_row"
		fi
	done >"$study/table"
	[ -s "$study/table" ] || die 'no row is left to measure'
	make_n=1
	while [ "$make_n" -le "$runs" ]; do
		round_cells "$make_n"
		make_n=$((make_n + 1))
	done >"$study/cells.asked"
	cells_keep >"$study/cells.new"
	mv "$study/cells.new" "$study/cells.tsv"
	rm -f "$study/cells.asked"
}

# cells_keep: keeps the requested cells, and all cells already run
cells_keep() {
	[ -e "$study/cells.tsv" ] || {
		cat "$study/cells.asked"
		return 0
	}
	{
		cells_done | sed 's/^/done\t/'
		sed 's/^/asked\t/' "$study/cells.asked"
		sed 's/^/cell\t/' "$study/cells.tsv"
	} | awk -F '\t' '
	$1 == "done" { done[$2] = 1 }
	$1 == "asked" { asked[$2] = 1 }
	$1 == "cell" && ($2 in done) && !($2 in asked) {
		sub(/^cell\t/, "")
		print
	}' >"$study/cells.kept"
	cat "$study/cells.kept" "$study/cells.asked" |
	    sort -s -t "$tab" -k 1,1.3
	rm "$study/cells.kept"
}

# cell_line ID: prints the cell's line
cell_line() {
	awk -F '\t' -v id="$1" '$1 == id { print; found = 1; exit }
	    END { exit !found }' "$study/cells.tsv" || die "no cell $1 in $study"
}

# cells_done: prints the ids of the cells that have rows: a header followed by a
# line
cells_done() {
	[ -d "$study/rows" ] || return 0
	find "$study/rows" -name '[!.]*.csv' -exec awk '
	/^#/ { next }
	n[FILENAME]++ == 1 {
		id = FILENAME
		sub(/.*\//, "", id)
		sub(/[.]csv$/, "", id)
		print id
	}' {} +
}

# cell_done ID: whether the cell has rows
cell_done() {
	awk '!/^#/ && ++n == 2 { exit } END { exit n < 2 }' \
	    "$study/rows/$1.csv" 2>/dev/null
}

# cells_left: prints the ids of the cells that have no rows yet, in order
cells_left() {
	cells_done | awk -F '\t' '
	FILENAME == "" || FILENAME == "-" { done[$1] = 1; next }
	!($1 in done) { print $1 }' - "$study/cells.tsv"
}

# A group is what one node runs, one cell after another: those of a round, whose
# runs are compared with each other.  A study whose cells are compared with no
# other sets $study_group=cell.

# groups_of: prints the groups of the cells whose ids are on standard input
groups_of() {
	case $study_group in
	round) sed 's/[.].*//' | uniq ;;
	*) cat ;;
	esac
}

# group_cells GROUP: prints the ids of its cells, in order
group_cells() {
	cut -f 1 "$study/cells.tsv" | case $study_group in
	round) grep "^$1[.]" ;;
	*) grep -F -x -e "$1" ;;
	esac
}

# node: prints the name of this one
node() { printf '%s\n' "${SLURMD_NODENAME:-$(uname -n)}"; }

# group_node GROUP: prints the node that runs it, if there is one
group_node() { cat "$study/nodes/$1" 2>/dev/null || :; }

# group_take GROUP: makes this node the group's.  What another has made of it is
# made anew, since it would be compared with runs on this one.
group_take() {
	mkdir -p "$study/nodes"
	[ "$(group_node "$1")" != "$(node)" ] || return 0
	node >"$study/nodes/.$1.$$"
	mv "$study/nodes/.$1.$$" "$study/nodes/$1"
	group_cells "$1" | while read -r take_id; do
		rm -f "$study/rows/$take_id.csv"
	done
}

# node_facts: prints a comment line about this node
node_facts() {
	printf '# node: %s, %s x %s, %s, %s KiB of memory\n' "$(node)" \
	    "$(cpus)" "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo |
	    head -n 1)" "$(uname -srm)" \
	    "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
}

# study_group GROUP COMMAND...: runs COMMAND... ID for each cell of the group that
# is left
study_group() {
	group_name=$1
	shift
	study_open
	plan_load
	group_take "$group_name"
	group_cells "$group_name" >"$tmp/cells"
	while read -r group_id <&3; do
		cell_done "$group_id" || cell_wait "$@" "$group_id" 3<&- ||
		    die "cell $group_id failed"
	done 3<"$tmp/cells"
}

# cells_join: prints the rows of all cells, in order, under one header
cells_join() {
	while IFS=$tab read -r join_id _; do
		[ ! -e "$study/rows/$join_id.csv" ] ||
		    cat "$study/rows/$join_id.csv"
	done <"$study/cells.tsv" |
	    awk '/^#/ { if (!seen[$0]++) print; next }
	        !head { head = $0; print; next }
	        $0 != head'
}

# study_cell ID: makes one run of one row; the resulting file is renamed to its
# final name.  The run is skipped if a cell that outlived its script has already
# made it.
study_cell() {
	study_open
	plan_load
	cell_node=$(node)
	exec 8>>"$study/lock.cell.$cell_node"
	flock 8
	mkdir -p "$study/rows"
	! cell_done "$1" || return 0
	study_locked=yes
	read -r cell_since _ </proc/uptime
	cell_id=$1
	cell_group=$(printf '%s\n' "$1" | groups_of)
	cell_row=$(cell_line "$1")
	cell_new=$study/rows/.$1.new.$cell_node cell_csv=$study/rows/$1.csv
	cell_round=$(field 2 "$cell_row") cell_pos=$(field 3 "$cell_row")
	rm -rf "$cell_new" "$cell_new".*
	# Split at a control character, because splitting at tabs would drop
	# empty fields.
	cell_ifs=$IFS
	IFS=$(printf '\001')
	set -f
	# shellcheck disable=SC2046
	set -- $(printf '%s\t\n' "$cell_row" | cut -f 4- | tr '\t' '\001')
	set +f
	IFS=$cell_ifs
	cell_on=$(group_node "$cell_group")
	{
		[ -z "$cell_on" ] || node_facts
		cell "$@"
	} >"$cell_new"
	awk '!/^#/ { n++ } END { exit n < 2 }' "$cell_new" ||
	    die "$cell_csv: the run wrote no row"
	# another node may have taken the group from this one, if it seemed lost
	case $(group_node "$cell_group") in
	'' | "$cell_node") mv "$cell_new" "$cell_csv" ;;
	*) rm -f "$cell_new" ;;
	esac
	rm -rf "$cell_new".*
	read -r cell_now _ </proc/uptime
	printf '%s\t%s\t%s\n' "${cell_id#*.}" "$cell_since" "$cell_now" \
	    >>"$study/took"
}

# cell_lap FILE LAP-ARGUMENT...: makes one run, and writes its rows to FILE even
# if it failed
cell_lap() {
	cell_lap_file=$1
	shift
	rm -f "$cell_lap_file"
	lap -n 1 -q -S "$seed" --provenance -o "$cell_lap_file" "$@" 2>>"$study/log" 8>&- ||
	    case $? in
	12[5-7] | 129 | 130 | 143)
		# Distinguish a failure of lap itself from one of the command.
		awk '!/^#/ { n++ } END { exit n < 2 }' "$cell_lap_file" \
		    2>/dev/null || die "lap: $(tail -n 1 "$study/log")"
		;;
	esac
}

# cell_rows FILE [COLUMN=VALUE]...: prints the rows with their position in the
# study.  To lap, every run is the first in the first round, so the actual
# numbers are inserted here.  A value for keys is appended to the existing keys.
cell_rows() {
	cell_rows_file=$1
	shift
	# shellcheck disable=SC2016
	csv '
	/^# series:/ { $0 = "# series: " series }
	!csv_row() { print; next }
	{
		$at["series"] = series
		$at["run"] = $at["round"] = run
		$at["pos"] = pos
		n = split(words, word, " ")
		for (i = 1; i <= n; i++) {
			equals = index(word[i], "=")
			name = substr(word[i], 1, equals - 1)
			value = substr(word[i], equals + 1)
			if (value == "")
				continue
			if (name == "keys" && $at[name] != "")
				value = $at[name] ";" value
			$at[name] = value
		}
		print csv_line()
	}' run="$cell_round" pos="$cell_pos" series="$series" \
	    words="${cell_on:+keys=node=$cell_on} $*" "$cell_rows_file"
}

# cells_run COMMAND...: runs COMMAND... cell ID for every remaining cell, one at
# a time on a node.  Engines: local (a loop), parallel (GNU parallel, on one node
# or several), slurm (an array job, on up to $nodes nodes, which must all see
# $study).  If a cell fails, the study ends.  Only the loop can stop early, when
# $budget seconds have passed.
cells_run() {
	[ -z "$budget" ] || [ "$engine" = local ] ||
	    die "--budget requires --engine local, not '$engine'"
	mkdir -p "$study/rows"
	[ -e "$study/took" ] || echo '# row, seconds' >"$study/took"
	find "$study/rows" -name '.*.new*' -prune -exec rm -rf {} +
	cells_left >"$study/left"
	groups_of <"$study/left" >"$study/groups"
	cells_n=$(wc -l <"$study/left") cells_spent=
	[ "$cells_n" -gt 0 ] || return 0
	case $engine in
	local)
		rm -rf "$study/nodes"
		cells_local "$@" cell
		;;
	parallel) cells_parallel "$@" cell ;;
	slurm) cells_slurm "$@" cell ;;
	*) die "no engine '$engine': local, parallel or slurm" ;;
	esac
	[ -n "$cells_spent" ] || [ -z "$(cells_left)" ] ||
	    die 'some cells were not run'
}

# group_command: prints what a group's name must follow, for sh
group_command() { words_for_sh sh "$study_script" -o "$rows_csv" group; }

# cells_parallel COMMAND...: runs the groups that are left with GNU parallel
cells_parallel() {
	need parallel
	parallel --will-cite -j1 --halt now,fail=1 --joblog "$study/joblog" \
	    "$(group_command) {} -- $(words_for_sh "$@")" \
	    <"$study/groups" 9>&- &
	cells_pid=$!
	while kill -0 "$cells_pid" 2>/dev/null; do
		cells_count
		sleep $((1 + cells_left / 1000))
	done
	wait "$cells_pid" || die 'some cells failed'
	cells_pid=
	progress_end
}

# cells_array COMMAND...: prints the script of the array job for the groups on
# standard input.  It contains them, since another job may follow before it has
# ended.  squeue shows the group as the name of its task.
cells_array() {
	printf '#!/bin/sh\nn=0\nwhile read -r group; do\n'
	# shellcheck disable=SC2016
	printf '\t[ $((n += 1)) = "$SLURM_ARRAY_TASK_ID" ] || continue\n'
	# shellcheck disable=SC2016
	printf '\tscontrol update "JobId=$SLURM_JOB_ID" "JobName=%s.$group" >/dev/null 2>&1\n' \
	    "$study_name"
	# shellcheck disable=SC2016
	printf '\texec %s "$group" -- %s </dev/null\n' "$(group_command)" \
	    "$(words_for_sh "$@")"
	printf 'done <<END\n'
	cat
	printf 'END\n'
}

# slurm_has JOB: whether the job waits or runs, or slurmctld cannot be asked
slurm_has() {
	slurm_jobs=$(squeue -h -o %F 2>/dev/null) || return 0
	printf '%s\n' "$slurm_jobs" | grep -q -F -x -e "$1"
}

# cells_slurm COMMAND...: runs the groups that are left as array jobs, each as
# long as Slurm allows, after that of a study that was killed has been cancelled.
# A job is asked for again and again: sbatch --wait would wait for ever if
# slurmctld is restarted.
cells_slurm() {
	need sbatch squeue scancel scontrol
	! slurm_job=$(cat "$study/slurm.job" 2>/dev/null) ||
	    cells_cancel "$slurm_job"
	slurm_most=$(scontrol show config |
	    sed -n 's/^MaxArraySize *= *\([0-9]*\)$/\1/p')
	while [ -s "$study/groups" ]; do
		head -n $((${slurm_most:-1001} - 1)) "$study/groups" \
		    >"$study/array"
		cells_array "$@" <"$study/array" >"$study/array.sh"
		slurm_job=$(sbatch --parsable --exclusive \
		    --job-name="$study_name" \
		    --array="1-$(wc -l <"$study/array")%$nodes" \
		    -o "$study/slurm-%a.log" "$study/array.sh" 9>&-) ||
		    die 'sbatch failed'
		# a cluster's name may follow
		slurm_job=${slurm_job%%;*}
		printf '%s\n' "$slurm_job" >"$study/slurm.job"
		while slurm_left && slurm_has "$slurm_job"; do
			# asking for many takes a while
			sleep $((1 + cells_left / 1000))
		done
		rm -f "$study/slurm.job"
		slurm_job=
		! slurm_left || break
	done
	progress_end
}

# slurm_left: whether some of the array's groups are left
slurm_left() {
	cells_count
	groups_of <"$study/left" >"$study/groups"
	grep -q -F -x -f "$study/array" "$study/groups"
}

# cells_count: finds the cells that are left, and shows how many there are
cells_count() {
	cells_left >"$study/left"
	cells_left=$(wc -l <"$study/left")
	cells_i=$((cells_n - cells_left)) cells_from=1 cells_id="on $engine"
	[ "$cells_left" = 0 ] || [ "$cells_left" = "${cells_seen:-}" ] ||
	    progress
	cells_seen=$cells_left
}

# cells_cancel JOB: cancels a job, and waits until it has ended
cells_cancel() {
	scancel "$1" 2>/dev/null || :
	while slurm_has "$1"; do
		sleep 1
		scancel "$1" 2>/dev/null || :
	done
}

# cell_wait COMMAND...: runs it in the background, because the shell handles
# signals only while it waits
cell_wait() {
	"$@" 9>&- </dev/null &
	cells_pid=$!
	wait_status=0
	wait "$cells_pid" || wait_status=$?
	cells_pid=
	return "$wait_status"
}

cells_local() {
	cells_i=0
	read -r cells_began _ </proc/uptime
	while read -r cells_id <&3; do
		read -r cells_since _ </proc/uptime
		if [ -n "$budget" ] && [ "$cells_i" -gt 0 ] &&
		    [ $((${cells_since%.*} - ${cells_began%.*})) -ge "$budget" ]
		then
			cells_spent=yes
			break
		fi
		cells_i=$((cells_i + 1)) cells_from=$cells_i
		progress
		cell_wait "$@" "$cells_id" 3<&- || die "cell $cells_id failed"
	done 3<"$study/left"
	progress_end
	[ -z "$cells_spent" ] ||
	    say "the budget of $budget s is spent: $((cells_n - cells_i)) of $cells_n runs are left"
}

# cells_stop: kills the running cell and its children, except $study_spare,
# which is needed to unmount what they use
cells_stop() {
	[ -z "$slurm_job" ] || scancel "$slurm_job" 2>/dev/null || :
	[ -n "$cells_pid" ] || return 0
	for stop_pid in $(children "$cells_pid") "$cells_pid"; do
		[ "$(cat "/proc/$stop_pid/comm" 2>/dev/null)" = \
		    "${study_spare:-/}" ] || kill "$stop_pid" 2>/dev/null || :
	done
	wait "$cells_pid" 2>/dev/null || :
	cells_pid=
}
children() {
	tr ' ' '\n' 2>/dev/null <"/proc/$1/task/$1/children" |
	    while read -r children_pid; do
		printf '%s\n' "$children_pid"
		children "$children_pid"
	done
}

# progress: shows the current cell, the total and the remaining time: on a
# terminal, on a single line that is updated; otherwise, on a new line
# periodically; with -v, on a new line for every cell; with -q, nothing
progress_said=0
progress() {
	[ "$verbosity" -gt 0 ] || return 0
	read -r progress_now _ </proc/uptime
	[ -t 2 ] || [ "$verbosity" = 2 ] ||
	    [ $((${progress_now%.*} - progress_said)) -ge 20 ] || return 0
	# The first periodic line is also delayed.
	[ "$progress_said" != 0 ] || [ -t 2 ] || [ "$verbosity" = 2 ] || {
		progress_said=${progress_now%.*}
		return 0
	}
	progress_said=${progress_now%.*}
	progress_done=$((cells_n - $(tail -n "+$cells_from" "$study/left" | wc -l)))
	progress_text=$(printf '%d of %d, %d %%%s: %s' "$cells_i" "$cells_n" \
	    $((progress_done * 100 / cells_n)) "$(time_left)" "$cells_id")
	if [ -t 2 ] && [ "$verbosity" = 1 ]; then
		printf '\r\033[K%s: %s' "$study_name" "$progress_text" >&2
	else
		say "$progress_text"
	fi
}
progress_end() {
	[ ! -t 2 ] || [ "$verbosity" = 0 ] || printf '\r\033[K' >&2
}

# time_left: prints an estimate from earlier runs of the same rows or, if there
# are none, from those of all rows
time_left() {
	time_left_s=$(time_needed "$cells_from")
	[ -z "$time_left_s" ] || printf ', %s left' "$(hms "$time_left_s")"
}

# time_needed FROM: prints how many seconds the cells from that line of
# $study/left on will take, if any have been run: as long as the same rows did,
# rows that have not been run as others by their weight (see weigh)
time_needed() {
	[ -e "$study/took" ] || return 0
	weigh >"$study/weights"
	awk -F '\t' -v from="$1" -v nodes="$nodes" -f "$here/time-left.awk" \
	    "$study/took" "$study/weights" "$study/left"
}

# weigh: prints a row, what it resembles, and how much longer than that it takes,
# as TSV; a hook.  Rows that are not printed resemble each other.
weigh() { :; }

# hms SECONDS: prints 1:02:03, or 2:03
hms() {
	awk -v s="$1" 'BEGIN {
		s = int(s + 0.5)
		if (s < 3600)
			printf "%d:%02d", s / 60, s % 60
		else
			printf "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60
	}'
}

# sample DIRECTORY N: prints about N of its non-empty files, evenly spaced
sample() {
	find "$1" -type f -size +0 ! -name '*
*' -print 2>/dev/null | awk -v n="$2" '
	{ path[NR] = $0 }
	END {
		step = int(NR / n) + 1
		for (i = NR < step ? NR : step; i >= 1 && i <= NR; i += step)
			print path[i]
	}'
}

# resident COLD: prints the percentage of the files listed on standard input
# that is in memory after eviction with COLD (coldwalk --cold), if coldwalk is
# available and has the required permissions
resident() {
	have coldwalk || return 0
	tr '\n' '\0' |
	    xargs -0 -r coldwalk --resident --csv -q --cold "$1" -- 2>/dev/null |
	    csv 'csv_row() {
		in_memory += get("resident_pages"); all += get("pages")
		unseen += get("unseen_files")
	    }
	    END { if (all && !unseen) printf "%.1f", 100 * in_memory / all }' || :
}

# caches_drop: drops the caches with lap, which never blocks indefinitely;
# errors are logged to $study/log
caches_drop() { lap -q -n 1 -c -- true >/dev/null 2>>"$study/log"; }

# cell_input: loads the tree into the cache, or evicts it, and prints the
# percentage in the cache
cell_input() {
	# Sync only these filesystems, because another one may hang.
	[ "$quick$cold" = yes ] || sync -f "$dir" "$study"
	if [ "$cold" = yes ]; then
		# Drop the caches for the check below; lap drops them again.
		caches_drop || die 'the caches cannot be dropped'
	else
		find "$dir" -type f -exec cat {} + >/dev/null 2>&1 || :
	fi
	resident none <"$study/sample"
}

# machine_s: prints the processor time that the whole machine has used since
# boot
machine_s() {
	awk -v tick="$(getconf CLK_TCK)" '/^cpu / {
		printf "%.2f", ($2 + $3 + $4 + $7 + $8) / tick
	}' /proc/stat
}

# since START NOW: prints NOW - START
since() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }

# dir_place: checks that $dir is usable and that $study is not inside it
dir_place() {
	[ -d "$dir" ] || die "$dir is not a directory"
	place_dir=$(cd "$dir" && pwd -P)
	place_study=$(cd "$study" && pwd -P)
	case $place_study/ in
	"${place_dir%/}"/*) die "$study would be inside $dir" ;;
	esac
}

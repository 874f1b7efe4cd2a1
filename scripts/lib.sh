# shellcheck shell=sh
# lib.sh - what the scripts share; source it, do not run it
# SPDX-License-Identifier: BSD-2-Clause
#
# The sourcing script has set -eu.  Afterwards $top is the root of the
# repository, or empty where the scripts are installed, and the tools of
# the suite are first in PATH.
LC_ALL=C
export LC_ALL
tab='	'
unset GZIP BZIP BZIP2 PIGZ PZC PZC_STATS XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL \
    TAR_OPTIONS GREP_OPTIONS 2>/dev/null || :

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# cannot REASON: nothing of this kind runs here
cannot() {
	say "$*"
	exit 77
}

have() { command -v "$1" >/dev/null 2>&1; }

# need NAME...: they are there, or the end, with what builds ours
need() {
	for need_name in "$@"; do
		have "$need_name" && continue
		case $need_name in
		pzc | pzseek | lap | lapcmp | coldwalk | fsratio | mailgen)
			[ -z "$top" ] || die "$need_name is not built: \
scripts/demo does it, or cmake -B build && cmake --build build"
			;;
		esac
		die "$need_name is not installed"
	done
}

# number TEXT WHAT LOW: a decimal number of at least LOW, or the end
number() {
	case $1 in
	'' | *[!0-9]* | ??????????*) die "$2 '$1' is not a number" ;;
	esac
	[ "$1" -ge "$3" ] || die "$2 '$1' is less than $3"
}

# make_tmp: $tmp is a directory that goes away however the script ends,
# after tidy(), which the script may redefine to undo what it did.
tidy() { :; }
leave() {
	leave_status=$?
	trap '' HUP INT PIPE TERM
	set +e
	tidy
	rm -rf "$tmp"
	exit "$leave_status"
}
make_tmp() {
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/coldpress.XXXXXX")
	trap leave EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 141' PIPE
	trap 'exit 143' TERM
}

# absolute PATH: PATH from /, its last part need not exist
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$(pwd)" "$1" ;;
	esac
}

device_of() { stat -c %d "$1"; }

# room DIRECTORY BYTES WHAT: its filesystem has so much left, or the end
room() {
	room_free=$(df -B1 --output=avail "$1" | tail -n 1)
	[ "$room_free" -ge "$2" ] ||
	    die "$1: $3 takes up to $2 bytes, $room_free are free"
}

# words_for_sh WORD...: the words, quoted for sh
words_for_sh() {
	for words_word in "$@"; do
		printf %s "$words_word" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/' /"
		[ -n "$words_word" ] || printf "'' "
	done
}

cpus() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN; }

# version_of TOOL: the first line in which it says what it is
version_of() {
	case $1 in
	pzc | lap | lapcmp | coldwalk | ssh) set -- "$1" -V ;;
	mksquashfs | unsquashfs) set -- "$1" -version ;;
	enroot | openssl) set -- "$1" version ;;
	*) set -- "$1" --version ;;
	esac
	"$@" </dev/null 2>&1 | sed -n '/[0-9]/{p;q;}'
}

# provenance TOOL...: comment lines that say where numbers come from
provenance() {
	printf '# date: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	printf '# host: %s\n# kernel: %s\n' "$(uname -n)" "$(uname -srm)"
	printf '# cpu: %s x %s\n' "$(cpus)" "$(sed -n \
	    's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
	printf '# memory_KiB: %s\n' "$(sed -n \
	    's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
	for provenance_tool in "$@"; do
		if have "$provenance_tool"; then
			printf '# %s: %s\n' "$provenance_tool" \
			    "$(version_of "$provenance_tool")"
		else
			printf '# %s: missing\n' "$provenance_tool"
		fi
	done
}

# The plan: what has been decided, so that a stopped study goes on alike.
# $study/plan has the variables that $plan_keys names, a line each.  Both are
# the sourcing script's, as $seed and $series are below.
# shellcheck disable=SC2154
plan_save() {
	for plan_key in $plan_keys; do
		eval "plan_value=\$$plan_key"
		printf '%s\t%s\n' "$plan_key" "$plan_value"
	done >"$study/plan.new"
	mv "$study/plan.new" "$study/plan"
}
# shellcheck disable=SC2154
plan_load() {
	[ -e "$study/plan" ] || die "$study: nothing has been prepared"
	for plan_key in $plan_keys; do
		plan_value=$(sed -n "s/^$plan_key$tab//p" "$study/plan")
		eval "$plan_key=\$plan_value"
	done
}

# field N LINE: its Nth field.  (A tab is white space to read: it would lose
# the empty ones.)
field() { printf '%s\n' "$2" | cut -f "$1"; }

# wanted ID GLOBS: the row is among those asked for; all are if there are none
wanted() {
	[ -n "$2" ] || return 0
	set -f
	for wanted_glob in $2; do
		# shellcheck disable=SC2254
		case $1 in
		$wanted_glob)
			set +f
			return 0
			;;
		esac
	done
	set +f
	return 1
}

# place: $dir is usable, and $study is not in it
# shellcheck disable=SC2154
place() {
	case $dir in
	*"$tab"* | *'|'* | *'
'*) die 'a tab, a newline or a | in a name is more than this script can do' ;;
	esac
	[ -d "$dir" ] || die "$dir is not a directory"
	place_dir=$(cd "$dir" && pwd -P)
	place_study=$(cd "$study" && pwd -P)
	case $place_study/ in
	"${place_dir%/}"/*) die "$study would be inside $dir" ;;
	esac
}

# Cells.  A study is a directory with cells.tsv, one line a cell: its id and
# its parameters, tab between them.  A cell has been run when rows/ID.csv
# stands, and that is written under another name and renamed, so a sweep
# that was stopped at any moment goes on where it was.

# cells_round ROUND SEED: the cells of one round, of the rows of the table on
# standard input, in the round's own order: id, round, position, the row
cells_round() {
	shuffle $(($2 * 1000 + $1)) | awk -v OFS='\t' -v r="$1" '
	    { print sprintf("%03d.%s", r, $1), r, NR, $0 }'
}

# cell_lap FILE LAP-ARGUMENT...: one run, its rows to FILE, failed or not
# shellcheck disable=SC2154
cell_lap() {
	cell_lap_file=$1
	shift
	rm -f "$cell_lap_file"
	lap -n 1 -q -S "$seed" -o "$cell_lap_file" "$@" 2>>"$study/log" ||
	    case $? in
	12[5-7] | 129 | 130 | 143)
		# lap's own failure, or that of what it ran?
		awk '!/^#/ { n++ } END { exit n < 2 }' "$cell_lap_file" \
		    2>/dev/null || die "lap: $(tail -n 1 "$study/log")"
		;;
	esac
}

# cell_rows FILE ROUND POS [COLUMN=VALUE]...: the rows with their place in the
# study.  lap saw one run in one round; which it was, the cell knows.  A value
# for keys is added to what is there.
# shellcheck disable=SC2154
cell_rows() {
	cell_rows_file=$1 cell_rows_round=$2 cell_rows_pos=$3
	shift 3
	awk -F , -v OFS=, -v run="$cell_rows_round" -v pos="$cell_rows_pos" \
	    -v series="$series" -v words="$*" '
	BEGIN { n = split(words, word, " ") }
	/^# series:/ { $0 = "# series: " series }
	/^#/ { print; next }
	!head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; print; next }
	{
		$at["series"] = series
		$at["run"] = $at["round"] = run
		$at["pos"] = pos
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
		print
	}' "$cell_rows_file"
}

# cell_line STUDY ID: the line of the cell
cell_line() {
	awk -F '\t' -v id="$2" '$1 == id { print; found = 1; exit }
	    END { exit !found }' "$1/cells.tsv" || die "no cell $2 in $1"
}

# cells_left STUDY: ids of the cells that have no rows yet, in order
cells_left() {
	while IFS='	' read -r cells_id _; do
		[ -e "$1/rows/$cells_id.csv" ] || printf '%s\n' "$cells_id"
	done <"$1/cells.tsv"
}

# cells_run STUDY ENGINE COMMAND...: COMMAND... ID for every cell left, one at
# a time.  Engines: local (a loop), parallel (GNU parallel), slurm (an array
# job, whose nodes must all see STUDY).  A cell that fails ends the sweep.
cells_run() {
	cells_study=$1 cells_engine=$2
	shift 2
	mkdir -p "$cells_study/rows"
	find "$cells_study/rows" -name '.*.new' -exec rm -f {} +
	cells_left "$cells_study" >"$cells_study/left"
	cells_n=$(wc -l <"$cells_study/left")
	[ "$cells_n" -gt 0 ] || return 0
	case $cells_engine in
	local)
		cells_i=0
		while read -r cells_id <&3; do
			cells_i=$((cells_i + 1))
			progress "$cells_i of $cells_n: $cells_id"
			"$@" "$cells_id" 3<&- </dev/null ||
			    die "cell $cells_id failed"
		done 3<"$cells_study/left"
		progress_end
		;;
	parallel)
		need parallel
		parallel --will-cite -j1 --halt now,fail=1 \
		    --joblog "$cells_study/joblog" \
		    "$(words_for_sh "$@") {}" <"$cells_study/left"
		;;
	slurm)
		need sbatch
		{
			printf '#!/bin/sh\n'
			# shellcheck disable=SC2016
			printf 'id=$(sed -n "${SLURM_ARRAY_TASK_ID}p" %s)\n' \
			    "$(words_for_sh "$cells_study/left")"
			# shellcheck disable=SC2016
			printf 'exec %s "$id"\n' "$(words_for_sh "$@")"
		} >"$cells_study/array.sh"
		sbatch -W --exclusive --array="1-$cells_n%1" \
		    -o "$cells_study/slurm-%a.log" "$cells_study/array.sh" >&2
		;;
	*)
		die "no engine '$cells_engine': local, parallel or slurm"
		;;
	esac
	[ -z "$(cells_left "$cells_study")" ] || die 'not every cell was run'
}

# cells_join STUDY FILE: the rows of all cells, in their order, one header
cells_join() {
	while IFS='	' read -r cells_id _; do
		[ ! -e "$1/rows/$cells_id.csv" ] || cat "$1/rows/$cells_id.csv"
	done <"$1/cells.tsv" |
	    awk '/^#/ { if (!seen[$0]++) print; next }
	        !head { head = $0; print; next }
	        $0 != head' >"$2.new"
	mv "$2.new" "$2"
}

# cpus_measured: of the machine that $rows_csv comes from
# shellcheck disable=SC2154
cpus_measured() {
	sed -n 's/^# cpu: \([0-9]*\) x .*/\1/p' "$rows_csv" | head -n 1
}

# print_source: what its first comment lines say
# shellcheck disable=SC2154
print_source() {
	# lap's own lines, one set a cell, begin with its series.
	sed -n '/^# series:/q; s/^# //p' "$rows_csv"
}

# rows_summary AWK-ARGUMENT...: see rows.awk
rows_summary() {
	awk -f "$here/stats.awk" -f "$here/rows.awk" "$@"
}

# pair_ratio ROWS LABEL REFERENCE: the median ratio of pairs of runs in wall
# clock, and its exact 95 % interval, TSV; empty where there are too few
pair_ratio() {
	lapcmp --csv -k cache -r "$3" "$1" 2>/dev/null |
	    awk -F , -v OFS='\t' -v label="$2" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label && $at["metric"] == "wall_s" {
		print $at["ratio"], $at["ratio_lo"], $at["ratio_hi"]
		exit
	}'
}

# finding TEXT ROW REFERENCE LIMIT: the study found ROW at no more than LIMIT
# times REFERENCE ("> 1": at more, "0.9 .. 1.1": between the two); the interval
# of the ratio decides.  ratio ROW REFERENCE and study_ratio ROW REFERENCE are
# the sourcing script's.
finding() {
	finding_ratio=$(ratio "$2" "$3")
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" \
	    "$(study_ratio "$2" "$3")" "${finding_ratio:-$tab$tab}" |
	    awk -F '\t' -v OFS='\t' '
	{
		low = 0; high = 1e300; limit = "<= " $4
		if ($4 ~ /^>/) {
			limit = $4
			low = substr($4, 2) + 0
		} else if (split($4, part, / *\.\. */) == 2) {
			limit = "in " $4
			low = part[1] + 0
			high = part[2] + 0
		} else
			high = $4 + 0
		if ($6 == "")
			verdict = "not measured"
		else if ($7 == "")
			verdict = "not decided: fewer than 6 pairs"
		else if ($7 > low && $8 <= high)
			verdict = "holds here"
		else if ($7 > high || $8 <= low)
			verdict = "does not hold here"
		else
			verdict = "not decided"
		printf "  %s\n    %s/%s %s: study %s, here %s", $1, $2,
		    $3, limit, $5 == "" ? "-" : $5,
		    $6 == "" ? "-" : sprintf("%.3f", $6)
		if ($7 != "")
			printf " [%.3f, %.3f]", $7, $8
		printf ": %s\n", verdict
	}'
}

# exact TEXT TRUE DETAIL: a finding about sizes, which have no noise
exact() {
	case $2 in
	1) exact_verdict='holds here' ;;
	0) exact_verdict='does not hold here' ;;
	*) exact_verdict='not measured' ;;
	esac
	printf '  %s\n    %s: %s\n' "$1" "$3" "$exact_verdict"
}

# calc EXPRESSION NAME=VALUE...: what awk makes of it, nothing where a value
# is not known
calc() {
	calc_expression=$1
	shift
	for calc_word in "$@"; do
		[ -n "${calc_word#*=}" ] || return 0
	done
	calc_assign=
	for calc_word in "$@"; do
		calc_assign="$calc_assign${calc_word%%=*} = ${calc_word#*=}; "
	done
	awk "BEGIN { $calc_assign $calc_expression }"
}

# sample DIRECTORY N: some N of its files that are not empty, spread over it
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

# resident COLD: per cent of the pages of the files on standard input that are
# in memory, after they were made cold by COLD (coldwalk --cold), if coldwalk
# is there and may know
resident() {
	have coldwalk || return 0
	tr '\n' '\0' |
	    xargs -0 -r coldwalk --resident --csv -q --cold "$1" -- 2>/dev/null |
	    awk -F , '/^#/ { next }
	    $1 == "series" { for (i = 1; i <= NF; i++) at[$i] = i; next }
	    {
		in_memory += $at["resident_pages"]; all += $at["pages"]
		unseen += $at["unseen_files"]
	    }
	    END { if (all && !unseen) printf "%.1f", 100 * in_memory / all }' || :
}

# cell_input: the tree into the cache, or out of it, and what of it is there
# shellcheck disable=SC2154
cell_input() {
	[ "$quick$cold" = yes ] || sync
	if [ "$cold" = yes ]; then
		# Once to prove that it works, and lap does it again.
		echo 3 >/proc/sys/vm/drop_caches
	else
		find "$dir" -type f -exec cat {} + >/dev/null 2>&1 || :
	fi
	resident none <"$study/sample"
}

# shuffle SEED: the lines of standard input in an order that SEED decides
shuffle() {
	awk -v seed="$1" '
	BEGIN { x = (seed * 7919 + 12345) % 2147483647; if (x < 1) x = 1 }
	{
		for (i = 0; i < 3; i++)
			x = x * 48271 % 2147483647
		printf "%010d\t%s\n", x, $0
	}' | sort | cut -f 2-
}

# progress TEXT: on a terminal only
progress() {
	[ ! -t 2 ] || printf '\r\033[K%s: %s' "${0##*/}" "$*" >&2
}
progress_end() {
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

here=$(cd "$(dirname "$0")" && pwd)
top=
if [ -e "$here/../CMakeLists.txt" ]; then
	top=$(cd "$here/.." && pwd)
	PATH=$top/build:$PATH
elif [ -x "$here/../../bin/lap" ]; then
	PATH=$(cd "$here/../../bin" && pwd):$PATH
fi
PATH=${COLDPRESS_BIN:+$COLDPRESS_BIN:}$PATH:/usr/sbin:/sbin
export PATH

# shellcheck shell=sh
# lib.sh - what the scripts share; source it, do not run it
# SPDX-License-Identifier: BSD-2-Clause
#
# The sourcing script has set -eu.  Afterwards $top is the root of the
# repository, or empty where the scripts are installed, and the tools of
# the suite are first in PATH.
LC_ALL=C
export LC_ALL
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

need() {
	for need_name in "$@"; do
		have "$need_name" || die "$need_name is not installed"
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
	trap '' HUP INT TERM
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
	trap 'exit 143' TERM
}

# absolute PATH: PATH from /, its last part need not exist
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$(pwd)" "$1" ;;
	esac
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
	pzc | lap | lapcmp) set -- "$1" -V ;;
	ssh) set -- "$1" -V ;;
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

# Cells.  A study is a directory with cells.tsv, one line a cell: its id and
# its parameters, tab between them.  A cell has been run when rows/ID.csv
# stands, and that is written under another name and renamed, so a sweep
# that was stopped at any moment goes on where it was.

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

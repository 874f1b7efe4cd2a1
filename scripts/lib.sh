# shellcheck shell=sh
# lib.sh - functions shared by the scripts; source it, do not run it
# SPDX-License-Identifier: BSD-2-Clause
#
# The sourcing script has set -eu.  Afterwards $here is the folder of this file,
# which is $COLDPRESS_LIBEXEC or that of the script; $top is the root of the
# repository, or empty if the scripts are installed; and the tools of the suite
# come first in PATH.
LC_ALL=C
export LC_ALL
tab='	'
unset GZIP BZIP BZIP2 PIGZ PZC PZC_STATS XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL \
    TAR_OPTIONS GREP_OPTIONS 2>/dev/null || :

# say TEXT: prints TEXT, replacing the progress line if there is one
say() {
	[ ! -t 2 ] || printf '\r\033[K' >&2
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}
die() {
	say "$*"
	exit 1
}

# cannot REASON: exits with status 77, because the script cannot run here
cannot() {
	say "$*"
	exit 77
}

have() { command -v "$1" >/dev/null 2>&1; }

# need NAME...: exits if a program is missing; for our own programs, reports how
# to build them
need() {
	for need_name in "$@"; do
		have "$need_name" && continue
		case $need_name in
		pzc | pzseek | lap | lapcmp | coldwalk | fsratio | mailgen | \
		    sqpack | touchlog | winwait | layerpack | layermount)
			[ -z "$top" ] || die "$need_name is not built: \
scripts/demo does it, or cmake -B build && cmake --build build"
			;;
		esac
		die "$need_name is not installed"
	done
}

# number TEXT WHAT LOW: exits unless TEXT is a decimal number of at least LOW
number() {
	case $1 in
	'' | *[!0-9]* | ??????????*) die "$2 '$1' is not a number" ;;
	esac
	[ "$1" -ge "$3" ] || die "$2 '$1' is less than $3"
}

# make_tmp: creates the directory $tmp, which is removed when the script exits,
# after a call to tidy(), which the script may redefine to clean up.
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

# absolute PATH: prints PATH as an absolute path; its last component need not
# exist
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$(pwd)" "$1" ;;
	esac
}

device_of() { stat -c %d "$1"; }

# room DIRECTORY BYTES WHAT: exits unless the filesystem of DIRECTORY has that
# much free space
room() {
	room_free=$(df -B1 --output=avail "$1" | tail -n 1)
	[ "$room_free" -ge "$2" ] ||
	    die "$1: $3 takes up to $2 bytes, but only $room_free are free"
}

# words_for_sh WORD...: prints the words, quoted for sh
words_for_sh() {
	for words_word in "$@"; do
		printf %s "$words_word" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/' /"
		[ -n "$words_word" ] || printf "'' "
	done
}

# wrap: wraps standard input to fewer than 80 columns
wrap() {
	tr '\n' ' ' | sed 's/ *$//' | fold -s -w 79 | sed 's/ *$//'
	echo
}

cpus() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN; }

# suite_version: prints the version of the suite
suite_version() {
	[ -n "$top" ] || {
		cat "$here/version"
		return
	}
	sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' \
	    "$top/CMakeLists.txt"
}

# show_version: prints the script's name and the version
show_version() { echo "${0##*/} (coldpress) $(suite_version)"; }

# version_of TOOL: prints the first line of output that contains its version
version_of() {
	case $1 in
	pzc | lap | lapcmp | coldwalk | sqpack | touchlog | winwait | ssh)
		set -- "$1" -V
		;;
	mksquashfs | unsquashfs | */mksquashfs | */unsquashfs) set -- "$1" -version ;;
	Xvfb)
		have dpkg-query || return 0
		set -- dpkg-query -W xvfb
		;;
	enroot | openssl) set -- "$1" version ;;
	nginx | squid) set -- "$1" -v ;;
	7zz) set -- "$1" i ;;
	*) set -- "$1" --version ;;
	esac
	"$@" </dev/null 2>&1 | sed -n '/[0-9]/{p;q;}'
}

# provenance TOOL...: prints comment lines that describe the origin of the rows
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

# field N LINE: prints its Nth field.  (The builtin read treats tabs as white
# space, so it would drop empty fields.)
field() { printf '%s\n' "$2" | cut -f "$1"; }

# wanted ID GLOBS: whether the row is selected; without globs all rows are
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

# csv PROGRAM [NAME=VALUE...] [FILE]: runs awk, with csv.awk before the program
csv() {
	csv_program=$1
	shift
	awk "$(cat "$here/csv.awk") $csv_program" "$@"
}

# tsv PROGRAM [NAME=VALUE...] [FILE]: does the same for TSV with a header
tsv() {
	tsv_program=$1
	shift
	csv "BEGIN { FS = OFS = \"\\t\" } $tsv_program" "$@"
}

# tabulate DESCRIPTION [NAME=VALUE...] [FILE...]: prints the table of TSV, or
# with FS=, of CSV, that is described in the language of table.awk
tabulate() {
	tabulate_program=$(printf '%s\n' "$1" | awk -f "$here/table.awk")
	shift
	tsv "$(cat "$here/stats.awk" "$here/table-rows.awk") $tabulate_program" "$@"
}

# run_awk NAME AWK-ARGUMENT...: runs NAME.awk behind csv.awk and stats.awk
run_awk() {
	run_name=$1
	shift
	awk -f "$here/csv.awk" -f "$here/stats.awk" \
	    -f "$here/$run_name.awk" "$@"
}

# patiently COMMAND...: retries the command for about 20 seconds.  If every
# attempt fails, the last message is logged.
patiently() {
	for patiently_pause in 0 0.3 1 1 2 3 5 10; do
		sleep "$patiently_pause"
		! patiently_said=$("$@" 2>&1) || return 0
	done
	printf '%s: %s\n' "$*" "$patiently_said" >>"$study/log"
	return 1
}

# unmount PLACE: unmounts what is mounted there.  Any program that watches
# files, such as a virus scanner, can keep it busy for a moment; if it stays
# busy, it is detached.
unmount() {
	! mountpoint -q "$1" || patiently umount "$1" || umount -l "$1"
}

# pair_ratio ROWS LABEL REFERENCE: prints the median paired ratio of wall clock
# time and its exact 95 % confidence interval, as TSV; empty if there are too
# few pairs
pair_ratio() {
	lapcmp --csv --test sign -k cache -r "$3" "$1" 2>/dev/null | tabulate '
	where label == row && metric == "wall_s"
	first 1
	line ratio, ratio_lo, ratio_hi' FS=, row="$2" -
}

# calc EXPRESSION NAME=VALUE...: evaluates EXPRESSION with awk; prints nothing
# if a value is unknown
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

# shuffle SEED: prints the lines of standard input in an order determined by
# SEED
shuffle() {
	awk -v seed="$1" -f "$here/shuffle.awk" | sort | cut -f 2-
}

here=$(cd "${COLDPRESS_LIBEXEC:-$(dirname "$0")}" && pwd)
top=
if [ -e "$here/../CMakeLists.txt" ]; then
	top=$(cd "$here/.." && pwd)
	PATH=$top/build:$PATH
elif [ -x "$here/../../bin/lap" ]; then
	PATH=$(cd "$here/../../bin" && pwd):$PATH
fi
PATH=${COLDPRESS_BIN:+$COLDPRESS_BIN:}$PATH:/usr/sbin:/sbin
export PATH

# kernel_options: prints the squashfs options of the kernel, which affect every
# cold start
kernel_options() {
	for kernel_config in /proc/config.gz "/boot/config-$(uname -r)"; do
		[ -r "$kernel_config" ] || continue
		gzip -cdf "$kernel_config" 2>/dev/null | sed -n \
		    's/^CONFIG_SQUASHFS_\(DECOMP[A-Z_]*\|FILE[A-Z_]*\)=y$/\1/p' |
		    tr '\n' ' '
		return 0
	done
	printf 'unknown'
}

# shellcheck shell=sh
# bench.sh - code shared by benchmarks: options, plan, input, trees and cells of
# a table; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A benchmark sources this file, then sets the following variables and $runs,
# defines job_table, which prints TSV that begins with the job's name, and the
# steps prepare, run and report, and calls bench_main "$@".  It may also define
# job_names, operands and check.
#   option_specs    its options; -o=study is the folder that keeps everything
#   option_steps    its steps; the first one creates that folder
#   study_places    names of variables for its operands
#   study_keys      the variables that must not change under existing rows
#   study_tools     programs whose versions must not change, either; the first
#                   one is ours
# $mib and $many are the sizes of the trees, and $dir is a directory to use
# instead of this machine's files, or empty.
. "$here/options.sh"
. "$here/plan.sh"

study_name=${0##*/} study=results/${0##*/} option_steps='prepare run report'
option_specs='' study_places='' study_keys='' study_may_change=''
study_tools='' dir='' jobs='' series=''

plan_keys() { echo "series $study_keys"; }
operands() {
	study_operands "$@"
	dir_check
}
job_names() { job_table | cut -f 1; }
check() { check_numbers; }

# check_numbers: exits unless the options that most benchmarks have are numbers
check_numbers() {
	number "$runs" runs 1
	number "${threads-1}" threads 1
	number "${mib-1}" MiB 1
	number "${many-1}" files 1
}

# readable PATH: exits unless it is a file or a directory with data
readable() {
	[ -e "$1" ] || die "$1: no such file or directory"
	[ -r "$1" ] || die "$1 cannot be read"
	if [ -d "$1" ]; then
		[ -n "$(find "$1" -type f -size +0 -print -quit 2>/dev/null)" ] ||
		    die "$1 contains no file with data"
	else
		[ -f "$1" ] || die "$1 is neither a file nor a directory"
		[ -s "$1" ] || die "$1 is empty"
	fi
}

# identity PATH: prints in one line what distinguishes it from another input
identity() {
	if [ -d "$1" ]; then
		printf '%s, whose names, sizes and times have the digest %s\n' \
		    "$1" "$(cd "$1" &&
		    find . -type f -printf '%p %s %T@\n' 2>/dev/null | sort |
		    sha256sum | cut -c 1-16)"
	else
		printf '%s, %s\n' "$1" "$(stat -L -c '%s bytes, of %y' "$1")"
	fi
}

# input_take NAME IDENTITY: records what NAME is in all rows, or exits if there
# may be rows of another input with that name
input_take() {
	[ -e "$study/inputs" ] || : >"$study/inputs"
	take_was=$(name=$1 awk -F "$tab" '$1 == ENVIRON["name"] { print $2 }' \
	    "$study/inputs")
	[ "$take_was" != "$2" ] || return 0
	[ -z "$take_was" ] ||
	    die "$study was started with a different $1 ('$take_was', not '$2'): choose another -o, or remove it"
	printf '%s\t%s\n' "$1" "$2" >>"$study/inputs"
}

# tools_take: records $study_tools and the machine, or exits if there are rows
# by other versions
tools_take() {
	take_ours=${study_tools%% *}
	{
		# shellcheck disable=SC2086
		provenance $study_tools
		printf '# %s_cksum: %s\n' "$take_ours" \
		    "$(cksum <"$(command -v "$take_ours")")"
	} >"$study/tools.new"
	take_was=
	[ ! -e "$study/tools" ] || take_was=$(awk '
	{ value = substr($0, length($1 $2) + 3) }
	$2 == "date:" || $2 == "memory_KiB:" || value == "missing" { next }
	NR == FNR { was[$2] = value; next }
	($2 in was) && was[$2] != value {
		sub(/:$/, "", $2)
		printf "%s (\047%s\047, not \047%s\047)", $2,
		    was[$2 ":"], value
		exit
	}' "$study/tools" "$study/tools.new")
	[ -z "$take_was" ] ||
	    die "$study was started with a different $take_was: choose another -o, or remove it"
	mv "$study/tools.new" "$study/tools"
}

# measured: prints the machine, the versions and the input of the rows
measured() {
	[ -e "$study/tools" ] || die "$study: nothing has been run"
	cat "$study/tools"
	[ ! -e "$study/inputs" ] ||
	    sed "s/^\([^$tab]*\)$tab/# input: \1: /" "$study/inputs"
}

# prepared INPUT: exits unless $study/INPUT exists
prepared() {
	[ -e "$study/$1" ] ||
	    die "$study/$1 has not been prepared: run '${0##*/} prepare' first"
}

# bench_make: uses $study, and creates it if it does not exist
bench_make() {
	mkdir -p "$study"
	if [ -e "$study/plan" ]; then
		plan_take
	else
		[ -z "$(ls -A "$study")" ] ||
		    die "$study is not the folder of a benchmark: choose another -o"
		series=$(date -u +%Y%m%dT%H%M%SZ)-$$-$study_name
		plan_save
	fi
}

# bench_main WORD...: runs the script with these arguments
bench_main() {
	study_asked=''
	study_parse "$@"
	eval "operands $study_words"
	study=$(absolute "$study")
	check
	main_first=${option_steps%% *}
	# the jobs may depend on the directory that was given first
	[ "${step:-$main_first}" = "$main_first" ] || plan_take
	main_any=
	for main_job in $(job_names); do
		! wanted "$main_job" "$jobs" || main_any=yes
	done
	[ -n "$main_any" ] || die "no job '$jobs': $(job_names | tr '\n' ' ')"
	[ "${step:-$main_first}" != "$main_first" ] || bench_make
	for main_step in $option_steps; do
		[ "${step:-$main_step}" != "$main_step" ] || "$main_step"
	done
}

# mixed DIR: makes $mib MiB of programs, libraries and their data
mixed() {
	find "${dir:-/usr}" -xdev -type f -size +8k -print0 2>/dev/null |
	    sort -z | tar --null -T - -cf - 2>/dev/null |
	    head -c $((mib << 20)) | tar -xf - -C "$1" 2>/dev/null || :
}

# whole DIR: makes a link to the tree that was given
whole() {
	rmdir "$1"
	ln -s "$dir" "$1"
}

# small DIR: makes up to $many files smaller than 64 KiB
small() {
	small_to=$1
	set -- "$dir"
	[ -n "$dir" ] || set -- /usr /etc /var/lib
	find "$@" -xdev -type f -size -64k -print0 2>/dev/null |
	    head -z -n "$many" | tar --null -T - -cf - 2>/dev/null |
	    tar -xf - -C "$small_to"
}

# key_stream: prints an endless, reproducible stream of incompressible bytes
key_stream() {
	openssl enc -aes-128-ctr -K 0 -iv 0 -in /dev/zero 2>/dev/null
}

# textures DIR: makes 1,000 files of 700,000 bytes, like those of a game.  Of
# every ten files, six are incompressible (like PNG or Ogg); three shrink by a
# sixtieth, because some bytes are more frequent (like JPEG); one is a model
# stored as text.
textures() {
	# shellcheck disable=SC2016
	key_stream | head -c 700000000 | (cd "$1" && split -a 3 -d \
	    -b 700000 --filter '
	case $FILE in
	*[0-5]) cat ;;
	*[6-8]) tr "\200-\217" "\000-\017" ;;
	*9) base64 | head -c 700000; cat >/dev/null ;;
	esac >"$FILE"' - texture)
}

# dir_check: exits if there is a $dir, but it cannot be used
dir_check() {
	[ -n "$dir" ] || return 0
	[ -d "$dir" ] || die "$dir is not a directory"
	readable "$dir"
}

# dir_take: records $dir, if there is one
dir_take() {
	dir_check
	[ -z "$dir" ] || input_take dir "$(identity "$dir")"
}

# tree KIND: makes a tree, unless it exists
tree() {
	[ ! -e "$study/$1" ] || return 0
	say "making the tree $1"
	rm -rf "$study/$1.new"
	mkdir -p "$study/$1.new"
	"$1" "$study/$1.new"
	[ -n "$(find -H "$study/$1.new" -type f -print -quit)" ] ||
	    die "${dir:-/usr} contains no file for the tree $1"
	mv "$study/$1.new" "$study/$1"
}

# compared REFERENCE KEYS ROWS: prints lapcmp's results for one job: label,
# metric, median, ratio, interval, pairs
compared() {
	lapcmp --csv -k "$2" -r "$1" "$3" 2>/dev/null | tabulate '
	line label, metric, median_s, ratio, ratio_lo, ratio_hi, pairs' FS=, -
}

# peers_of REFERENCE ROWS: prints the other labels
peers_of() {
	lapcmp --csv "$2" | tabulate '
	where label != ours
	group label
	line label' FS=, ours="$1" -
}

# pair_count LABEL: prints the number of pairs, from $study/compared
pair_count() {
	awk -F "$tab" -v l="$1" '$1 == l { print $7; exit }' "$study/compared"
}

# memory LABEL ROWS: prints the median peak memory, in MiB
memory() {
	tabulate '
	where label == row && exit + signal == 0
	order maxrss_KiB
	line maxrss_KiB / 1024' FS=, row="$1" "$2" |
	    awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# command_line LABEL COMMAND: prints a line for lap -f that also records the
# size of the output.  The line is always the same, so a series can be continued
# later.
command_line() {
	# shellcheck disable=SC2016
	printf '%s\t. "$words"; %s && stat -c %%s "$out" >"$sizes.%s"\n' \
	    "$1" "$2" "$1"
}

# cell LABEL METRIC: prints "0.42 (0.41..0.43)", from $study/compared
cell() {
	awk -F "$tab" -v l="$1" -v m="$2" '
	    $1 == l && $2 == m && $5 == "" { printf "%.3f (n < 6)", $4 }
	    $1 == l && $2 == m && $5 != "" {
		printf "%.3f (%.3f..%.3f)", $4, $5, $6 }' "$study/compared"
}

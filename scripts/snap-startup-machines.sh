# shellcheck shell=sh
# snap-startup-machines.sh - compare the rows of several machines; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A machine is a study (ROWS.csv, or its folder ROWS.csv.d) or a file of
# published rows.  The Nth machine's summaries are in $tmp/N.

# machine_rows SOURCE: prints the rows of the machine
machine_rows() {
	rows_from=$1
	if [ -d "$1" ]; then
		rows_from=${1%/}
		rows_from=${rows_from%.d}
		[ "$rows_from" != "${1%/}" ] && [ -r "$rows_from" ] ||
		    rows_from=${1%/}/part.csv
	fi
	if [ ! -f "$rows_from" ] || [ ! -r "$rows_from" ]; then
		die "$1: no rows; run its own report first"
	fi
	if grep -q '^series,' "$rows_from"; then
		[ ! -e "$rows_from.provenance" ] ||
		    cat "$rows_from.provenance"
		cat "$rows_from"
	else
		published_rows_of "$rows_from" ||
		    die "$1: neither the rows of a study nor published ones"
	fi
}

# machine_use N: switches to the Nth machine's summaries
machine_use() {
	study=$tmp/$1 rows_csv=$tmp/$1/rows.csv
	pairs_file=$tmp/$1/pairs.csv
}

# machine_words N SOURCE: describes the Nth machine
machine_words() {
	printf '%d: %s' "$1" "$2"
	print_source | awk '/^(cpu|kernel|kernel_squashfs): / {
		sub(/ *$/, "")
		printf "; %s", $0
	}'
	echo
}

# print_machines WHAT TITLE: prints the medians of the rows whose labels end in
# WHAT, absolute and relative to the bind mount
print_machines() {
	print_title "$2: ms, and relative to try"
	machine_columns='' machine_ratios='' machine_i=0
	while [ $machine_i -lt "$machine_n" ]; do
		machine_i=$((machine_i + 1))
		machine_columns="$machine_columns
		9d   $machine_i = int(ms_${machine_i}[label] + 0.5)"
		machine_ratios="$machine_ratios
		6.2f $machine_i = ratio(ms_${machine_i}[label], ms_${machine_i}[try])"
		{
			printf 'label\tms_%s\n' $machine_i
			tabulate '
			let row = cut(label, "[.]" what "$")
			where row != label
			line row, 1000 * wall_s' what="$1" \
			    "$tmp/$machine_i/summary"
		} >"$tmp/$machine_i/ms.tsv"
	done
	{
		echo label
		cut -f 1 "$tmp"/*/ms.tsv | grep -v '^label$' | sort -u
	} | tabulate "
	let try = cut(label, \"[.].*\") \".try\"
	missing -
	-26s = label
	$machine_columns
	|
	$machine_ratios" "$tmp"/*/ms.tsv -
}

# machine_similar N LABEL REFERENCE: whether the ratio of two rows on the Nth
# machine is within 25 % of that on the first
machine_similar() {
	similar_n=$1
	machine_use 1
	similar_here=$(ratio "$2" "$3")
	machine_use "$similar_n"
	similar_there=$(ratio "$2" "$3")
	awk -f "$here/snap-startup-similar.awk" name="$2/$3" n="$similar_n" \
	    here="$similar_here" there="$similar_there" /dev/null
}

# print_similar: tests the study's claim that the results on a laptop are
# similar
print_similar() {
	printf '\nAre the machines similar?  First launches relative to the bind mount, and walks\nrelative to gzip; similar: within 25 %%, by the 95 %% confidence\nintervals of both.\n'
	similar_i=1
	while [ $similar_i -lt "$machine_n" ]; do
		similar_i=$((similar_i + 1))
		for similar_app in $apps; do
			for similar_image in none lz4 lzo gzip zstd15 xz; do
				similar_row=$similar_app.$similar_image
				machine_similar $similar_i "$similar_row.first" \
				    "$similar_app.try.first"
				machine_similar $similar_i \
				    "$similar_row.walk.app.mount" \
				    "$similar_app.gzip.walk.app.mount"
			done
		done
	done | sed '/gzip[.]walk[.]app[.]mount.*gzip[.]walk/d'
}

# machines_report SOURCE...: prints the machines side by side
machines_report() {
	. "$here/findings.sh"
	. "$here/snap-startup-tables.sh"
	machine_n=0 report_kernel=
	for machine_source; do
		machine_n=$((machine_n + 1))
		machine_use $machine_n
		mkdir "$study"
		machine_rows "$machine_source" >"$rows_csv"
		report_summaries
		machine_words $machine_n "$machine_source"
	done
	apps=$(cat "$tmp"/*/summary | sed -n 's/[.]first\t.*//p' |
	    cut -d . -f 1 | sort -u)
	print_machines first 'First launches'
	print_machines second 'Second launches'
	print_machines walk.app.mount 'Walks of the mount'
	print_similar
}

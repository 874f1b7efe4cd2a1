# shellcheck shell=sh
# snap-startup-machines.sh - compare the rows of several machines; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
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
	set -- "$1"
	machine_i=0
	while [ $machine_i -lt "$machine_n" ]; do
		machine_i=$((machine_i + 1))
		set -- "$@" "$tmp/$machine_i/summary"
	done
	machine_what=$1
	shift
	seq "$machine_n" | awk '{
		ms = ms sprintf(" %9s", $1)
		try = try sprintf(" %6s", $1)
	} END { printf "%-26s%s |%s\n", "", ms, try }'
	tsv '
	FNR == 1 { file++ }
	!csv_row() { next }
	{
		label = get("label")
		cut = length(label) - length(what)
		if (cut < 1 || substr(label, cut) != "." what)
			next
		label = substr(label, 1, cut - 1)
		ms[label, file] = 1000 * get("wall_s")
		if (!(label in seen)) {
			seen[label]
			labels[++count] = label
		}
	}
	END {
		for (i = 1; i <= count; i++) {
			label = labels[i]
			try = label
			sub(/[.].*/, ".try", try)
			line = sprintf("%-26s", label)
			for (f = 1; f <= file; f++)
				line = line sprintf(" %9s", \
				    !((label, f) in ms) ? "-" : \
				    int(ms[label, f] + 0.5))
			line = line " |"
			for (f = 1; f <= file; f++)
				line = line sprintf(" %6s", \
				    !((label, f) in ms) || !ms[try, f] ? "-" : \
				    sprintf("%.2f", ms[label, f] / ms[try, f]))
			print line
		}
	}' what="$machine_what" "$@" | sort
}

# machine_similar N LABEL REFERENCE: whether the ratio of two rows on the Nth
# machine is within 25 % of that on the first
machine_similar() {
	similar_n=$1
	machine_use 1
	similar_here=$(ratio "$2" "$3")
	machine_use "$similar_n"
	similar_there=$(ratio "$2" "$3")
	printf '%s\t%s\t%s\t%s\n' "$2/$3" "$similar_n" "$similar_here" \
	    "$similar_there" | awk -F '\t' '
	NF < 8 || $3 == "" || $6 == "" { exit }
	{
		verdict = "not decided: fewer than 6 pairs"
		if ($4 != "" && $7 != "") {
			low = $7 / $5
			high = $8 / $4
			verdict = "not decided"
			if (low >= 0.8 && high <= 1.25)
				verdict = "similar"
			else if (high < 0.8 || low > 1.25)
				verdict = "different"
		}
		printf "  %s: 1 has %.3f", $1, $3
		if ($4 != "")
			printf " [%.3f, %.3f]", $4, $5
		printf ", %d has %.3f", $2, $6
		if ($7 != "")
			printf " [%.3f, %.3f]", $7, $8
		printf ": %s\n", verdict
	}'
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
	# shellcheck source=scripts/findings.sh
	. "$here/findings.sh"
	# shellcheck source=scripts/snap-startup-tables.sh
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

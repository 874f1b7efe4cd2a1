# shellcheck shell=sh
# tarball-report.sh - print tables and findings of the tarball study; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/summary is the output of rows.awk.

# shown ID TAR HERE THERE: prints the command in the study's notation
shown() {
	printf 'tar %-3s %s' "$2" "$shown_dir"
	[ -z "$3" ] || printf ' |%s' "$3"
	case $1 in
	A*) printf ' >%s' "$shown_out" ;;
	B1) printf ' |cat' ;;
	R*) printf ' |%s %s' "$remote" "$4" ;;
	esac
}

# is_shown: whether $id was requested or has been measured
is_shown() {
	wanted "$id" "$rows" || grep -q "^$id$tab" "$study/summary"
}

# shown_width: sets $print_width for the commands; names that would make the
# table too wide are abbreviated to DIR and OUT
shown_width() {
	print_width=$(table | while IFS= read -r print_row; do
		row_fields "$print_row"
		! is_shown || shown "$id" "$wrap" "$near" "$far" | wc -m
	done | sort -n | tail -n 1)
	[ "$print_width" -ge 41 ] || print_width=41
}
shown_names() {
	shown_dir=${dir#"$PWD"/} shown_out=${out#"$PWD"/}
	shown_width
	[ "$print_width" -gt 48 ] || return 0
	printf 'DIR is %s\nOUT is %s\n\n' "$shown_dir" "$shown_out"
	shown_dir=DIR shown_out=OUT
	shown_width
}

# Prints the study's table with the medians measured here.  B does not store the
# output, so its byte counts are those of A.
print_table() {
	shown_names
	print_series=
	: >"$study/unasked"
	missing_table >"$study/why.tsv"
	{
		printf 'label\twhat\n'
		table | while IFS= read -r print_fields; do
			row_fields "$print_fields"
			is_shown || {
				echo "$id" >>"$study/unasked"
				continue
			}
			case $id in
			"${print_series:-$id}"*) ;;
			*) echo -- ;;
			esac
			print_series=${id%"${id#?}"}
			printf '%s\t%s\n' "$id" \
			    "$(shown "$id" "$wrap" "$near" "$far")"
		done
	} | tabulate "
	let stored = label ~ /^B/ ? size_B[\"A\" substr(label, 2)] : size_B
	instead label == \"--\" ? label : \"\"
	-$((print_width + 4))s \"    Command\" = sprintf(\"%-4s%s\", label, what)
	instead why[label] == \"\" ? \"\" : \"missing: \" why[label]
	instead wall_s == \"\" ? \"failed in all \" any(runs, 0) \" runs\" : \"\"
	8.2f    Time(s) = wall_s
	12.1f   In(MiB/s) = disk / wall_s / 1048576
	12.1f   Out(MiB/s) = stored / wall_s / 1048576
	11.1f%  Comp.ratio = 100 * stored / disk" disk="$disk_B" \
	    "$study/why.tsv" "$study/summary" -
	rm "$study/why.tsv"
	[ ! -s "$study/unasked" ] ||
	    printf '\n%s\n' "$(printf 'Not selected (--rows): %s.\n' \
	    "$(tr '\n' ' ' <"$study/unasked" | sed 's/ $//')" | wrap)"
}

# to_reading: writes the ratios to reading alone to $study/ratios.tsv, and each
# row's command with its ratio in the study to $study/asked.tsv
to_reading() {
	cut -f 1 "$study/summary" | sed '1d; s/$/ B1/' | ratios "$pairs_file" ratio \
	    >"$study/ratios.tsv"
	{
		printf 'label\twhat\tstudy\n'
		table | while IFS= read -r to_reading_row; do
			row_fields "$to_reading_row"
			[ "$id" != B1 ] || near='cat'
			printf '%s\t%s\t%s\n' "$id" \
			    "tar $wrap${near:+ \\| $near}" \
			    "$(study_ratio "$id" B1)"
		done
	} >"$study/asked.tsv"
}

# figures_all: prints the table in Markdown
figures_all() {
	summarize
	echo '| | command | seconds | relative to B1 | in the study | user+sys | size |'
	echo '|---|---|---|---|---|---|---|'
	to_reading
	# shellcheck disable=SC2016 # Markdown
	tabulate '
	where runs != ""
	let against = label == "B1" ? "1" : sprintf("%.2f (%.2f..%.2f)", ratio, ratio_lo, ratio_hi)
	let stored = label ~ /^A/ && label != "A1" ? sprintf("%.1f %%", 100 * size_B / size_B["A1"]) : ""
	line sprintf("| %s | `%s` | %.1f (%.1f..%.1f) | %s | %s | %.1f | %s |", label, what, wall_s, wall_lo, wall_hi, against, any(study, ""), cpu_s, stored)' \
	    "$study/ratios.tsv" "$study/summary" "$study/asked.tsv"
	rm "$study/ratios.tsv" "$study/asked.tsv"
}

# Prints the other results, one line per row: the interval of the median, its
# ratio to reading alone, here and in the study, the time that pzc waited, and
# disturbances.
print_details() {
	echo
	to_reading
	tabulate '
	where runs != ""
	-4s     = label
	2d      n
	8.3f    Time(s) = wall_s
	19.3f.. 95 % interval = wall
	7.3f    /B1 = label == "B1" ? 1 : ratio
	19.3f.. 95 % interval = ratio
	6s      study
	8.2f    CPU(s) = cpu_s
	20s     stall in,out,work(s) = sprintf("%.2f %.2f %.2f", stall_in_s, stall_out_s, stall_work_s)' \
	    "$study/ratios.tsv" "$study/summary" "$study/asked.tsv"
	rm "$study/ratios.tsv" "$study/asked.tsv"
	# lapcmp reports the possible causes of outliers.
	lapcmp -k cache -r "$(print_reference)" "$study/pairs.csv" |
	    grep '^outlier:' || :
}

# print_reference: prints B1 if it was measured, otherwise any row
print_reference() {
	cut -f 1 "$study/summary" | grep -x B1 ||
	    sed -n '2s/\t.*//p' "$study/summary"
}

# study_ratio ROW REFERENCE: prints the published ratio, if both were published
study_ratio() {
	{
		printf 'label\ttar\there\tthere\tseconds\n'
		table
	} | tabulate '
	where label == a
	.3f = ratio(seconds, seconds[b])' a="$1" b="$2" -
}

print_findings() {
	findings_begin
	printf '\nWhat the study found (paired ratios of runs, 95 %% confidence intervals):\n'
	finding 'gzip costs nothing compared with the disk' A2 A1 1
	finding 'pigz -p1 is slower than gzip, to a file' A4 A2 '> 1'
	finding 'pigz -p1 is slower than gzip, discarded' B4 B2 '> 1'
	finding 'pigz -p4 to a file is within 9 % of reading alone' A6 B1 1.09
	finding 'pbzip2 -p4 is as fast as gzip (within 5 %)' A9 A2 1.05
	finding 'gzip slows reading down even with nothing to write' B2 B1 '> 1'
	[ -z "$remote" ] || {
		finding 'pigz at the far end beats pigz here' R5 R4 1
		finding 'pigz at the far end beats plain ssh' R5 R1 1
	}
	echo 'And beyond the study:'
	finding 'pzc -p1 is no slower than gzip, to a file' A10 A2 1
	finding 'pzc -p4 is faster than pigz -p4, to a file' A12 A6 1
	finding 'pzc -p4 to a file is within 9 % of reading alone' A12 B1 1.09
	finding 'pzc -F bzip2 is no slower than pbzip2 -p4' A29 A9 1
	findings_end
}

# Prints two kernel statistics that show whether the runs were cold (or warm).
print_cache() {
	echo
	cache_how='warm, read once before each run' cache_least=max cache_most=min
	[ "$cold" != yes ] || cache_how='dropped before each run' \
	    cache_least=min cache_most=max
	{
		echo "Caches: $cache_how."
		tabulate "
		where resident_pct != \"\"
		group 1
		line sprintf(\"At %s %.1f %% of a sample of the files was in memory before a run (mincore).\", cold == \"yes\" ? \"most\" : \"least\", $cache_most(resident_pct))" \
		    cold="$cold" FS=, "$rows_csv" | grep . ||
		    echo 'It is unknown what was in memory (no coldwalk).'
		tabulate "
		where read_B != \"\"
		group 1
		line sprintf(\"In every row, tar read at %s %.0f %% of the tree from the disk, including its own code and read-ahead.\", cold == \"yes\" ? \"least\" : \"most\", 100 * $cache_least(read_B) / disk)" \
		    cold="$cold" disk="$disk_B" "$study/summary"
		tabulate '
		where given_B != "" && given_B < 0.9 * disk
		order given_B
		first 1
		line sprintf("In some run tar read only %d of %d bytes!", given_B, disk)' \
		    disk="$disk_B" "$study/summary"
		echo 'B1 goes through cat: GNU tar does not read the files when it writes to /dev/null.'
	} | wrap
}

report_all() {
	summarize
	cat "$study/baselines"
	echo
	printf 'Source inodes             : %s\n' "$inodes"
	printf 'Source disk usage (bytes) : %s\n\n' "$disk_B"
	print_table
	print_details
	print_cache
	print_failed
	print_findings
}

# smaller WHAT ROW WHOSE REFERENCE: prints a sentence comparing their sizes
smaller() {
	calc 'printf "%s %.3f of the size of %s. ", what, a / b, whose' \
	    what="\"$1\"" whose="\"$3\"" a="$(column size_B "$2")" \
	    b="$(column size_B "$4")"
}

in_words() {
	took 'Onto the disk, pzc -p4' A12 "pigz -p4's time" A6
	smaller 'Its file has' A12 "pigz's" A6
	took 'pzc -p1' A10 "gzip's time" A2
	took 'tar through pzc -p4' A12 'the time of reading alone' B1
}

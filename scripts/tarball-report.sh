# shellcheck shell=sh
# tarball-report.sh - print tables and findings of the tarball study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
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

# print_row: prints row $id, which is also in the study's own table
print_row() {
	print_missing=$(sed -n "s/^$id$tab//p" "$study/missing")
	if [ -n "$print_missing" ]; then
		printf "%-4s%-${print_width}s missing: %s\n" "$id" \
		    "$(shown "$id" "$wrap" "$near" "$far")" "$print_missing"
		return 0
	fi
	# B does not store the output, so its byte counts are copied from A.
	what=$(shown "$id" "$wrap" "$near" "$far") tsv '
	!csv_row() { next }
	{ size[get("label")] = get("size_B") }
	get("label") == id { s = get("wall_s"); runs = get("runs") }
	END {
		what = ENVIRON["what"]
		out = size[id]
		if (id ~ /^B/)
			out = size["A" substr(id, 2)]
		if (s == "") {
			printf "%-4s%-*s failed in all %d runs\n", id,
			    width, what, runs
			exit
		}
		printf "%-4s%-*s %8.2f %12.1f", id, width, what, s,
		    disk / s / 1048576
		if (out == "")
			printf " %12s %11s\n", "", ""
		else
			printf " %12.1f %10.1f%%\n", out / s / 1048576,
			    100 * out / disk
	}' id="$id" disk="$disk_B" width="$print_width" "$study/summary"
}

# Prints the study's table with the medians measured here.
print_table() {
	shown_names
	printf "    %-${print_width}s %8s %12s %12s %11s\n" Command 'Time(s)' \
	    'In(MiB/s)' 'Out(MiB/s)' Comp.ratio
	print_series=
	: >"$study/unasked"
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
		print_row
	done
	[ ! -s "$study/unasked" ] ||
	    printf '\n%s\n' "$(printf 'Not selected (--rows): %s.\n' \
	    "$(tr '\n' ' ' <"$study/unasked" | sed 's/ $//')" | wrap)"
}

# Prints the other results, one line per row: the interval of the median, its
# ratio to reading alone, here and in the study, the time that pzc waited, and
# disturbances.
print_details() {
	printf '\n%-4s %2s %8s %19s %7s %19s %6s %8s %20s\n' '' n \
	    'Time(s)' '95 % interval' '/B1' '95 % interval' 'study' \
	    'CPU(s)' 'stall in,out,work(s)'
	{
		printf 'ratio\tratio_lo\tratio_hi\tstudy\t'
		head -n 1 "$study/summary"
		table | cut -f 1 | while read -r id; do
			grep -q "^$id$tab" "$study/summary" || continue
			details_ratio="1.000$tab$tab"
			[ "$id" = B1 ] || details_ratio=$(ratio "$id" B1)
			printf '%s\t%s\t' "${details_ratio:-$tab$tab}" \
			    "$(study_ratio "$id" B1)"
			grep "^$id$tab" "$study/summary"
		done
	} | tsv '
	function real(format, name) {
		return get(name) == "" ? "" : sprintf(format, get(name))
	}
	function span(name) {
		return real("%.3f", name "_lo") == "" ? "" : \
		    sprintf("%.3f .. %.3f", get(name "_lo"), get(name "_hi"))
	}
	csv_row() {
		stall = ""
		if (get("stall_in_s") != "")
			stall = sprintf("%.2f %.2f %.2f", get("stall_in_s"),
			    get("stall_out_s"), get("stall_work_s"))
		printf "%-4s %2d %8s %19s %7s %19s %6s %8s %20s\n",
		    get("label"), get("n"), real("%.3f", "wall_s"),
		    span("wall"), real("%.3f", "ratio"), span("ratio"),
		    get("study"), real("%.2f", "cpu_s"), stall
	}'
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
	table | awk -F '\t' -v a="$1" -v b="$2" '
	{ s[$1] = $5 }
	END { if (s[a] != "" && s[b] != "") printf "%.3f", s[a] / s[b] }'
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
	cache_bound=$(csv '
	csv_row() && key("resident_pct") != "" {
		x = key("resident_pct") + 0
		if (!n || x < least) least = x
		if (!n++ || x > most) most = x
	}
	END {
		if (n)
			printf "At %s %.1f %%", cold == "yes" ? "most" : \
			    "least", cold == "yes" ? most : least
	}' cold="$cold" "$rows_csv")
	tsv '
	!csv_row() { next }
	get("read_B") != "" {
		x = get("read_B") + 0
		if (!d || x < least) least = x
		if (!d++ || x > most) most = x
	}
	get("given_B") != "" {
		if (!g || get("given_B") + 0 < given)
			given = get("given_B") + 0
		g = 1
	}
	END {
		how = "warm, read once before each run"
		if (cold == "yes")
			how = "dropped before each run"
		printf "Caches: %s.", how
		if (bound != "")
			printf " %s of a sample of the files was in memory before a run (mincore).", bound
		else
			printf " It is unknown what was in memory (no coldwalk)."
		if (d)
			printf " In every row, tar read at %s %.0f %% of the tree from the disk, including its own code and read-ahead.",
			    cold == "yes" ? "least" : "most",
			    100 * (cold == "yes" ? least : most) / disk
		if (g && given < 0.9 * disk)
			printf " In some run tar read only %d of %d bytes!",
			    given, disk
		print ""
		print "B1 goes through cat: GNU tar does not read the files when it writes to /dev/null."
	}' cold="$cold" bound="$cache_bound" disk="$disk_B" "$study/summary" |
	    wrap
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

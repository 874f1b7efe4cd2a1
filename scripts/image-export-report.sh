# shellcheck shell=sh
# image-export-report.sh - tables of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# $study/summary is the output of rows.awk, with labels ID, ID.read and
# ID.start.

# The study's table: method, threads, utilisation, seconds, size in percent.
published() {
	cat <<EOF
none	2	0.9	43.4	99.7
none	4	1.0	44.0	99.7
none	8	1.0	42.7	99.7
lz4	2	1.9	45.6	68.5
lz4	4	2.8	31.5	68.5
lz4	8	2.8	30.8	68.5
lz4hc	2	2.0	2015.0	60.4
lz4hc	4	3.9	1019.8	60.4
lz4hc	8	7.9	501.5	60.4
zstd1	2	2.0	80.6	55.4
zstd1	4	3.5	43.7	55.4
zstd1	8	6.0	25.7	55.4
EOF
}

# study_ratio ROW REFERENCE: prints the published ratio, if both were published
study_ratio() {
	published | awk -F '\t' -v a="$1" -v b="$2" '
	{ s[$1 ".p" $2] = $4 }
	END { if (s[a] != "" && s[b] != "") printf "%.3f", s[a] / s[b] }'
}

# awk functions that format a number or an interval for the tables, or nothing
# if it is missing
print_awk='
function real(format, x) { return x == "" ? "" : sprintf(format, x) }
function span(lo, hi) {
	return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
}'

# content_B: prints the size of the images' content, as mksquashfs counts it
content_B() {
	csv 'csv_row() && key("plain_B") != "" {
		print key("plain_B")
		exit
	}' "$rows_csv"
}

# Starts that were not proven cold are counted but excluded.
report_summaries() {
	report_content=$(content_B)
	warm=$study/warm csv '
	!csv_row() { print; next }
	get("label") ~ /\.start$/ && get("cache") != "cold" && !failed() {
		n++
		next
	}
	{
		if (key("image_B") != "" && key("plain_B") == "")
			$at["keys"] = get("keys") ";plain_B=" content
		print csv_line()
	}
	END { print n + 0 >ENVIRON["warm"] }' \
	    content="${report_content:-$tree_B}" "$rows_csv" \
	    >"$study/proven.csv"
	pairs=$study/pairs.csv rows_summary -v strict=1 \
	    -v columns='util maxrss_KiB' \
	    -v keys='image_B plain_B dup_n loop_B disk_B reader busy_pct
	    read_wait_s write_wait_s' \
	    "$study/proven.csv" >"$study/summary"
	rows_summary -v strict=1 -v wall=util "$study/proven.csv" \
	    >"$study/utilisation"
	pairs=$study/memory.csv rows_summary -v strict=1 -v wall=maxrss_KiB \
	    "$study/proven.csv" >/dev/null
	report_cpus=$(cpus_measured)
}

# size ID: prints the exact size, as a percentage of the content
size() {
	tsv 'csv_row() && get("label") == label && get("image_B") != "" {
		printf "%.3f", 100 * get("image_B") / get("plain_B")
	}' label="$1" "$study/summary"
}

# Prints the study's table next to the same cells measured here.
print_table() {
	printf '\n%-11s %-7s | %-20s | %s\n' '' '' 'the study, 2023' \
	    'here: medians, 95 % confidence intervals'
	printf '%-11s %-7s | %4s %8s %6s | %2s %5s %9s %17s %7s\n' \
	    Compression Threads Util Export 'Size%' n Util 'Export(s)' \
	    interval 'Size%'
	published | tsv "$print_awk"'
	function clock(s) {
		if (s < 60)
			return sprintf("%.1fs", s)
		return sprintf("%dm%04.1fs", int(s / 60), s % 60)
	}
	part == "summary" {
		if (!csv_row())
			next
		id = get("label")
		runs[id] = get("runs")
		here[id] = get("wall_s") == "" ? "" : \
		    sprintf("%2d %5.2f %9.3f %17s %7.2f", get("n"),
		    get("util"), get("wall_s"), span(get("wall_lo"),
		    get("wall_hi")), 100 * get("image_B") / \
		    (get("plain_B") ? get("plain_B") : 1))
		next
	}
	part == "missing" { lack[$1] = $2; next }
	function said(id) {
		if (id in lack)
			return "missing: " lack[id]
		if (!(id in runs))
			return "not measured"
		return here[id] != "" ? here[id] : \
		    sprintf("failed in all %d runs", runs[id])
	}
	{
		printf "%-11s %7d | %4.1f %8s %6.1f | %s\n", $1, $2, $3,
		    clock($4), $5, said($1 ".p" $2)
		id = $1 ".sqpack.p" $2
		if (id in runs)
			printf "%-11s %7s | %20s | %s\n", "  by sqpack", "",
			    "", said(id)
	}' part=summary "$study/summary" part=missing "$study/missing" \
	    part=published -
}

# rows_of PATTERN: prints the summary lines whose labels match, sorted by
# threads and level; each line is preceded by threads, level (at most 0 for
# methods without levels) and method
rows_of() {
	printf 'threads\tlevel\tmethod\t'
	head -n 1 "$study/summary"
	tsv '
	csv_row() && get("label") ~ pattern && get("wall_s") != "" {
		threads = method = get("label")
		sub(/.*[.]p/, "", threads)
		sub(/[.]p[0-9]+$/, "", method)
		level = method ~ /^none/ ? -2 : method ~ /^lz4([.]|$)/ ? -1 : 0
		if (method ~ /^zstd/)
			level = substr(method, 5) + 0
		print threads, level, method, $0
	}' pattern="$1" "$study/summary" |
	    sort -t "$tab" -k 1,1n -k 2,2n -k 3,3
}

# rows_with COLUMNS PATTERN FUNCTION: prints the lines of rows_of PATTERN, each
# with COLUMNS appended, which are the output of FUNCTION THREADS METHOD LABEL
# as TSV
rows_with() {
	rows_of "$2" | {
		IFS= read -r with_line
		printf '%s\t%s\n' "$1" "$with_line"
		while IFS= read -r with_line; do
			printf '%s\t%s\n' "$("$3" "$(field 1 "$with_line")" \
			    "$(field 3 "$with_line")" \
			    "$(field 4 "$with_line")")" "$with_line"
		done
	}
}

# or_empty TSV: prints TSV, or three empty fields
or_empty() { printf '%s' "${1:-$tab$tab}"; }

levels_more() {
	printf '%s\t%s' "$(or_empty "$(ratio "$3" "zstd1.p$1")")" \
	    "$(size "zstd1.p$1")"
}

# Compares every level with level 1 for the same number of threads.
print_levels() {
	printf '\n%-13s %7s %2s %9s %17s %8s %17s %7s %9s %8s\n' Level \
	    Threads n 'Export(s)' interval /zstd1 interval 'Size%' \
	    'Less than' 'CPU(s)'
	printf '%92s\n' 'zstd1 by'
	rows_with "ratio${tab}lo${tab}hi${tab}size_1" '^zstd[0-9]+([.]sqpack)?[.]p[0-9]+$' \
	    levels_more | tsv "$print_awk"'
	csv_row() {
		pct = 100 * get("image_B") / get("plain_B")
		less = ""
		if (get("size_1") != "" && get("method") != "zstd1")
			less = sprintf("%.2f", get("size_1") - pct)
		printf "%-13s %7d %2d %9.3f %17s %8s %17s %7.2f %9s %8.2f\n",
		    get("method"), get("threads"), get("n"), get("wall_s"),
		    span(get("wall_lo"), get("wall_hi")),
		    real("%.3f", get("ratio")), span(get("lo"), get("hi")),
		    pct, less, get("cpu_s")
	}'
}

report_all() {
	# shellcheck source=scripts/image-export-tables.sh
	. "$here/image-export-tables.sh"
	# shellcheck source=scripts/image-export-findings.sh
	. "$here/image-export-findings.sh"
	# shellcheck source=scripts/image-export-plot.sh
	. "$here/image-export-plot.sh"
	report_summaries
	print_source
	print_table
	print_levels
	print_duplicates
	print_memory
	print_breakeven
	print_sqpack
	print_findings
	print_caveats
	plot_all
}

in_words() {
	words_n=$(breakeven_threads)
	took "With $words_n threads, zstd 1" "zstd1.p$words_n" \
	    "the time of lz4" "lz4.p$words_n"
	calc 'printf "Its image has %.1f %% of the content size, that of lz4 %.1f %%. ", a, b' \
	    a="$(size "zstd1.p$words_n")" b="$(size "lz4.p$words_n")"
	took 'Level 9' "zstd9.p$words_n" "level 1's time" "zstd1.p$words_n"
	took 'A cold start from zstd 1' "zstd1.p$words_n.start" \
	    "that from an image without compression" "none.p$words_n.start"
}

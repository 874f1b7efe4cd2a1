# shellcheck shell=sh
# image-export-report.sh - tables of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/summary is the output of rows.awk, with labels ID, ID.read and
# ID.start.

# published: prints the study's table
published() {
	cat <<EOF
method	threads	util	seconds	size_pct
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
	published | tabulate '
	let label = method ".p" threads
	where label == a
	.3f = ratio(seconds, seconds[b])' a="$1" b="$2" -
}

# content_B: prints the size of the images' content, as mksquashfs counts it
content_B() {
	tabulate '
	where plain_B != ""
	first 1
	line plain_B' FS=, "$rows_csv"
}

# Starts that were not proven cold are counted but excluded.
report_summaries() {
	report_content=$(content_B)
	warm=$study/warm run_awk image-export-proven \
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
	tabulate '
	where label == row && image_B != ""
	.3f = 100 * image_B / plain_B' row="$1" "$study/summary"
}

# Prints the study's table next to the same cells measured here.
print_table() {
	printf '\n%-11s %-7s | %-20s | %s\n' '' '' 'the study, 2023' \
	    'here: medians, 95 % confidence intervals'
	missing_table >"$study/why.tsv"
	published | {
		IFS= read -r table_head
		printf 'name\t%s\n' "$table_head"
		while IFS= read -r table_line; do
			printf '%s\t%s\n' "${table_line%%"$tab"*}" "$table_line"
			printf '  by sqpack\t%s\n' "$table_line" |
			    sed 's/\t\([^\t]*\)\t\([^\t]*\).*/\t\1.sqpack\t\2/'
		done
	} | tabulate '
	let id = method ".p" threads
	let ours = name != method
	where !ours || runs[id] != ""
	-11s    Compression = name
	7d      Threads = ours ? "" : threads
	|
	4.1f    Util = util
	8s      Export = seconds < 60 ? sprintf("%.1fs", seconds) : sprintf("%dm%04.1fs", int(seconds / 60), seconds % 60)
	6.1f    Size% = size_pct
	|
	instead why[id] == "" ? "" : "missing: " why[id]
	instead runs[id] == "" ? "not measured" : ""
	instead wall_s[id] == "" ? "failed in all " runs[id] " runs" : ""
	2d      n = n[id]
	5.2f    Util = util[id]
	9.3f    Export(s) = wall_s[id]
	17.3f.. interval = wall[id]
	7.2f    Size% = 100 * image_B[id] / any(plain_B[id], 1)' \
	    "$study/why.tsv" "$study/summary" -
	rm "$study/why.tsv"
}

# exports PATTERN DESCRIPTION [NAME=VALUE...] [FILE...]: prints a table of the
# summary's rows whose labels match, sorted by threads and level (at most 0 for
# methods without levels)
exports() {
	exports_pattern=$1 exports_description=$2
	shift 2
	tabulate '
	where label ~ pattern && wall_s != ""
	let threads = cut(label, ".*[.]p")
	let method = cut(label, "[.]p[0-9]+$")
	let zstd = method ~ /^zstd/ ? substr(method, 5) + 0 : 0
	let level = zstd - 2 * (method ~ /^none/) - (method ~ /^lz4([.]|$)/)
	order threads + 0
	order level
	order method
	'"$exports_description" pattern="$exports_pattern" "$@" \
	    "$study/summary"
}

# Compares every level with level 1 for the same number of threads.
print_levels() {
	levels_of='^zstd[0-9]+([.]sqpack)?[.]p[0-9]+$'
	exports "$levels_of" 'line label, "zstd1.p" threads' |
	    ratios "$pairs_file" ratio >"$study/ratios.tsv"
	printf '\n%-13s %7s %2s %9s %17s %8s %17s %7s %9s %8s\n' Level \
	    Threads n 'Export(s)' interval /zstd1 interval 'Size%' \
	    'Less than' 'CPU(s)'
	printf '%92s\n' 'zstd1 by'
	exports "$levels_of" '
	let pct = 100 * image_B / plain_B
	let first = "zstd1.p" threads
	-13s    = method
	7d      = threads
	2d      = n
	9.3f    = wall_s
	17.3f.. = wall
	8.3f    = ratio
	17.3f.. = ratio
	7.2f    = pct
	9.2f    = method == "zstd1" ? "" : ratio(100 * image_B[first], plain_B[first]) - pct
	8.2f    = cpu_s' "$study/ratios.tsv"
	rm "$study/ratios.tsv"
}

report_all() {
	. "$here/image-export-tables.sh"
	. "$here/image-export-findings.sh"
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

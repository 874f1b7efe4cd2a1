# shellcheck shell=sh
# image-export-report.sh - tables of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# $study/summary is what rows.awk says of the rows, labels ID, ID.read and
# ID.start.

# The study's table: method, threads, utilisation, seconds, size in per cent.
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

# study_ratio ROW REFERENCE: as published, if both are
study_ratio() {
	published | awk -F '\t' -v a="$1" -v b="$2" '
	{ s[$1 ".p" $2] = $4 }
	END { if (s[a] != "" && s[b] != "") printf "%.3f", s[a] / s[b] }'
}

# What the tables print: a number if there is one, an interval if there is one
print_awk='
function real(format, x) { return x == "" ? "" : sprintf(format, x) }
function span(lo, hi) {
	return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
}'

# The starts that were not proven cold are left out, and counted.
report_summaries() {
	warm=$study/warm csv '
	!csv_row() { print; next }
	get("label") ~ /\.start$/ && get("cache") != "cold" && !failed() {
		n++
		next
	}
	{ print csv_line() }
	END { print n + 0 >ENVIRON["warm"] }' "$rows_csv" >"$study/proven.csv"
	pairs=$study/pairs.csv rows_summary -v strict=1 \
	    -v columns='util maxrss_KiB' \
	    -v keys='image_B plain_B dup_n loop_B disk_B reader' \
	    "$study/proven.csv" >"$study/summary"
	rows_summary -v strict=1 -v wall=util "$study/proven.csv" \
	    >"$study/utilisation"
	pairs=$study/memory.csv rows_summary -v strict=1 -v wall=maxrss_KiB \
	    "$study/proven.csv" >/dev/null
	report_cpus=$(cpus_measured)
}

# size ID: in per cent of what is in it, exact
size() {
	tsv 'csv_row() && get("label") == label && get("image_B") != "" {
		printf "%.3f", 100 * get("image_B") / get("plain_B")
	}' label="$1" "$study/summary"
}

# The study's own table first, and the same cells here beside it.
print_table() {
	printf '\n%-11s %-7s | %-20s | %s\n' '' '' 'the study, 2023' \
	    'here: medians, their 95 % intervals'
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
	{
		id = $1 ".p" $2
		printf "%-11s %7d | %4.1f %8s %6.1f | ", $1, $2, $3, clock($4),
		    $5
		if (id in lack)
			print "missing: " lack[id]
		else if (!(id in runs))
			print "not measured"
		else if (here[id] == "")
			printf "failed in all of %d runs\n", runs[id]
		else
			print here[id]
	}' part=summary "$study/summary" part=missing "$study/missing" \
	    part=published -
}

# rows_of PATTERN: the lines of the summary whose labels match, by threads and
# then by level; before each threads, level (0 and less for others) and method
rows_of() {
	printf 'threads\tlevel\tmethod\t'
	head -n 1 "$study/summary"
	tsv '
	csv_row() && get("label") ~ pattern && get("wall_s") != "" {
		threads = method = get("label")
		sub(/.*[.]p/, "", threads)
		sub(/[.]p[0-9]+$/, "", method)
		level = method == "none" ? -2 : method == "lz4" ? -1 : 0
		if (method ~ /^zstd/)
			level = substr(method, 5) + 0
		print threads, level, method, $0
	}' pattern="$1" "$study/summary" |
	    sort -t "$tab" -k 1,1n -k 2,2n -k 3,3
}

# rows_with COLUMNS PATTERN FUNCTION: rows_of, each line after what FUNCTION
# THREADS METHOD LABEL prints for it: COLUMNS, TSV
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

# or_empty TSV: three fields in any case
or_empty() { printf '%s' "${1:-$tab$tab}"; }

levels_more() {
	printf '%s\t%s' "$(or_empty "$(ratio "$3" "zstd1.p$1")")" \
	    "$(size "zstd1.p$1")"
}

# Every level, against level 1 with the same threads.
print_levels() {
	printf '\n%-7s %7s %2s %9s %17s %8s %17s %7s %9s %8s\n' Level \
	    Threads n 'Export(s)' interval /zstd1 interval 'Size%' \
	    'Less than' 'CPU(s)'
	printf '%86s\n' 'zstd1 by'
	rows_with "ratio${tab}lo${tab}hi${tab}size_1" '^zstd[0-9]+[.]p[0-9]+$' \
	    levels_more | tsv "$print_awk"'
	csv_row() {
		pct = 100 * get("image_B") / get("plain_B")
		less = ""
		if (get("size_1") != "" && get("method") != "zstd1")
			less = sprintf("%.2f", get("size_1") - pct)
		printf "%-7s %7d %2d %9.3f %17s %8s %17s %7.2f %9s %8.2f\n",
		    get("method"), get("threads"), get("n"), get("wall_s"),
		    span(get("wall_lo"), get("wall_hi")),
		    real("%.3f", get("ratio")), span(get("lo"), get("hi")),
		    pct, less, get("cpu_s")
	}'
}

duplicates_more() {
	duplicates_with=${3%%.nodup*}.p$1
	printf '%s\t%s\t%s\t%s\t%s\t%s' "${duplicates_with%.p*}" \
	    "$(or_empty "$(ratio "$duplicates_with" "$3")")" \
	    "$(size "$duplicates_with")" "$(size "$3")" \
	    "$(column dup_n "$duplicates_with")" \
	    "$(pair_ratio "$study/memory.csv" "$duplicates_with" "$3" |
	        cut -f 1)"
}

# One line for every cell that has a partner without duplicate removal.
print_duplicates() {
	printf '\n%-10s %7s %8s %17s %9s %9s %9s %17s\n' 'Duplicates' \
	    Threads 'Time' interval 'Size%' 'Size%' Removed Memory
	printf '%-10s %7s %8s %17s %9s %9s %9s %17s\n' removed '' \
	    'with/out' '' with without files 'with/out'
	duplicates_columns=$(printf '%s\t' with ratio lo hi size_with size_out \
	    removed memory)
	rows_with "${duplicates_columns%"$tab"}" '[.]nodup[.]p[0-9]+$' \
	    duplicates_more | tsv "$print_awk"'
	csv_row() {
		printf "%-10s %7d %8s %17s %9.2f %9.2f %9s %17s\n",
		    get("with"), get("threads"), real("%.3f", get("ratio")),
		    span(get("lo"), get("hi")), get("size_with"),
		    get("size_out"), get("removed"),
		    real("%.3f", get("memory"))
	}'
}

memory_more() {
	printf '%s\t%s\t%s' "$(column maxrss_KiB "$3.read")" \
	    "$(column wall_s "$3.read")" "$(column cpu_s "$3.read")"
}

# Peak memory of the largest process, and the time to read everything back.
print_memory() {
	print_reader=$(tsv 'csv_row() && get("reader") != "" {
		print get("reader")
		exit
	}' "$study/summary")
	case $print_reader in
	cat) print_reader='cat of the mount (the kernel reads: its memory is not seen)' ;;
	esac
	printf '\nRead back by: %s; the image is in the cache.\n' \
	    "${print_reader:-nothing}"
	printf '%-12s %7s %15s %15s %9s %9s\n' '' Threads 'Export(MiB)' \
	    'Read(MiB)' 'Read(s)' 'CPU(s)'
	rows_with "read_KiB${tab}read_s${tab}read_cpu_s" '[.]p[0-9]+$' \
	    memory_more | tsv "$print_awk"'
	csv_row() {
		read_MiB = get("read_KiB") == "" ? "" : get("read_KiB") / 1024
		printf "%-12s %7d %15.1f %15s %9s %9s\n", get("method"),
		    get("threads"), get("maxrss_KiB") / 1024,
		    real("%.1f", read_MiB), real("%.3f", get("read_s")),
		    real("%.2f", get("read_cpu_s"))
	}'
}

# Which starts pay for which export: against the quickest export with as many
# threads as there are processors, or as few as were measured.
breakeven_threads() {
	best=${threads%% *}
	for breakeven_n in $threads; do
		[ "$breakeven_n" -gt "${report_cpus:-1}" ] || best=$breakeven_n
	done
	echo "$best"
}
print_breakeven() {
	grep -q "[.]start$tab" "$study/summary" || {
		case $mounts in
		yes) breakeven_why='no --start COMMAND' ;;
		*) breakeven_why=$mounts ;;
		esac
		printf '\nCold starts: not measured (%s).\n' "$breakeven_why"
		return 0
	}
	breakeven_n=$(breakeven_threads)
	breakeven_ids=$(rows_of "^[^.]*[.]p$breakeven_n\$" |
	    tsv 'csv_row() { print get("wall_s"), get("label") }')
	breakeven_ref=$(printf '%s\n' "$breakeven_ids" | sort -s -k 1,1g |
	    head -n 1 | cut -f 2)
	printf '\nCold start: %s\n' "$start"
	printf 'Exports by %d threads, against the quickest, %s.  A start pays when it saves\nmore than nothing; so many starts pay for the longer export.\n' \
	    "$breakeven_n" "$breakeven_ref"
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' n 'Start(s)' \
	    interval 'Asked' 'Disk' 'Export(s)' 'saves a start(s)' 'Starts' ''
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' '' '' '' \
	    MiB MiB longer interval 'to pay' 'at 95 %'
	awk -f "$here/csv.awk" -f "$here/stats.awk" -f "$here/breakeven.awk" \
	    -v ref="$breakeven_ref" \
	    -v ids="$(printf '%s\n' "$breakeven_ids" | cut -f 2 | tr '\n' ' ')" \
	    'FS=\t' "$study/summary" FS=, "$study/pairs.csv"
}

# What the reader of the numbers must know.
print_caveats() {
	echo
	print_failed
	awk -F '\t' '{ printf "%s: missing: %s\n", $1, $2 }' "$study/missing"
	for n in $threads $((${threads##* } * 2)); do
		[ "$n" -gt "${report_cpus:-$n}" ] || continue
		printf '%d threads on %d processors are oversubscription: they cannot show what %d processors would do.\n' \
		    "$n" "$report_cpus" "$n"
	done
	if [ "$cold" = yes ]; then
		echo 'Exports: caches dropped before each.'
	else
		echo 'Exports: the tree was read once before each, so that it was in the cache as far as it fits.'
	fi
	csv '
	csv_row() && key("resident_pct") != "" {
		x = key("resident_pct") + 0
		if (!n || x < least) least = x
		if (x > most) most = x
		n++
		cooler += x < 99
	}
	END {
		if (n)
			printf "In memory before an export, of a sample of the files: %.1f to %.1f %% (mincore).\n",
			    least, most
		if (cooler && cold != "yes")
			printf "%d of %d exports began with less than 99 %% of it in memory: those are not warm.\n",
			    cooler, n
	}' cold="$cold" "$rows_csv"
	! grep -q "[.]start$tab" "$study/summary" ||
	    printf 'Starts: cold, by mincore 0 %% of the image and of a sample of the mount; %s not proven so and left out.\n' \
	    "$(cat "$study/warm")"
	echo 'mksquashfs does not wait for the disk: what it wrote is in the page cache when it ends.'
}

report_all() {
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
	print_findings
	print_caveats
	plot_all
}

in_words() {
	words_n=$(breakeven_threads)
	took "With $words_n threads, zstd 1" "zstd1.p$words_n" \
	    "the time of lz4" "lz4.p$words_n"
	calc 'printf "Its image has %.1f %% of the size of the content, that of lz4 %.1f %%. ", a, b' \
	    a="$(size "zstd1.p$words_n")" b="$(size "lz4.p$words_n")"
	took 'Level 9' "zstd9.p$words_n" "level 1's time" "zstd1.p$words_n"
	took 'A cold start from zstd 1' "zstd1.p$words_n.start" \
	    "that from an image without compression" "none.p$words_n.start"
	few "$runs"
}

# shellcheck shell=sh
# image-export-report.sh - tables and findings of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# $study/summary is what rows.awk says of the rows, labels ID, ID.read and
# ID.start.  Of its columns these tables use 1 label, 2 runs, 3 failed,
# 4 wall_s, 5 and 6 its interval, 7 cpu_s, 17 util, 18 maxrss_KiB,
# 19 image_B, 20 plain_B, 21 dup_n, 22 loop_B, 23 disk_B, 24 reader.

# ratio ROW REFERENCE: see pair_ratio in lib.sh
ratio() { pair_ratio "$study/pairs.csv" "$1" "$2"; }

# study_ratio ROW REFERENCE: as published, if both are
study_ratio() {
	published | awk -F '\t' -v a="$1" -v b="$2" '
	{ s[$1 ".p" $2] = $4 }
	END { if (s[a] != "" && s[b] != "") printf "%.3f", s[a] / s[b] }'
}

# The starts that were not proven cold are left out, and counted.
report_summaries() {
	awk -F , -v out="$study/warm" '
	BEGIN { print 0 >out; close(out) }
	/^#/ { print; next }
	!head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; print; next }
	$at["label"] ~ /\.start$/ && $at["cache"] != "cold" &&
	    !($at["exit"] + 0) && !($at["signal"] + 0) {
		n++
		next
	}
	{ print }
	END { print n + 0 >out }' "$rows_csv" >"$study/proven.csv"
	rows_summary -v strict=1 -v pairs="$study/pairs.csv" \
	    -v columns='util maxrss_KiB' \
	    -v keys='image_B plain_B dup_n loop_B disk_B reader' \
	    "$study/proven.csv" >"$study/summary"
	rows_summary -v strict=1 -v wall=util "$study/proven.csv" \
	    >"$study/utilisation"
	rows_summary -v strict=1 -v wall=maxrss_KiB \
	    -v pairs="$study/memory.csv" "$study/proven.csv" >/dev/null
	report_cpus=$(cpus_measured)
}

# column N LABEL: of the summary
column() {
	awk -F '\t' -v n="$1" -v l="$2" '$1 == l { print $n }' "$study/summary"
}

# size ID: in per cent of what is in it, exact
size() {
	awk -F '\t' -v l="$1" '$1 == l && $19 != "" {
		printf "%.3f", 100 * $19 / $20
	}' "$study/summary"
}

# The study's own table first, and the same cells here beside it.
print_table() {
	printf '\n%-11s %-7s | %-20s | %s\n' '' '' 'the study, 2023' \
	    'here: medians, their 95 % intervals'
	printf '%-11s %-7s | %4s %8s %6s | %2s %5s %9s %17s %7s\n' \
	    Compression Threads Util Export 'Size%' n Util 'Export(s)' \
	    interval 'Size%'
	published | awk -F '\t' -v summary="$study/summary" \
	    -v missing="$study/missing" '
	function clock(s) {
		if (s < 60)
			return sprintf("%.1fs", s)
		return sprintf("%dm%04.1fs", int(s / 60), s % 60)
	}
	BEGIN {
		while ((getline line <summary) > 0) {
			split(line, f, "\t")
			have[f[1]] = line
		}
		while ((getline line <missing) > 0) {
			split(line, f, "\t")
			lack[f[1]] = f[2]
		}
	}
	{
		id = $1 ".p" $2
		printf "%-11s %7d | %4.1f %8s %6.1f | ", $1, $2, $3, clock($4),
		    $5
		if (id in lack)
			print "missing: " lack[id]
		else if (!(id in have))
			print "not measured"
		else {
			split(have[id], f, "\t")
			if (f[4] == "")
				printf "failed in all of %d runs\n", f[2]
			else
				printf "%2d %5.2f %9.3f %17s %7.2f\n",
				    f[2] - f[3], f[17], f[4],
				    f[5] == "" ? "" : sprintf("%.3f .. %.3f",
				    f[5], f[6]), 100 * f[19] / f[20]
		}
	}'
}

# rows_of PATTERN: the lines of the summary whose labels match, by threads and
# then by level; before each threads, level (0 and less for others) and method
rows_of() {
	awk -F '\t' -v OFS='\t' -v pattern="$1" '
	BEGIN { level["none"] = -2; level["lz4"] = -1 }
	$1 ~ pattern && $4 != "" {
		threads = method = $1
		sub(/.*[.]p/, "", threads)
		sub(/[.]p[0-9]+$/, "", method)
		of = level[method] + 0
		if (method ~ /^zstd/)
			of = substr(method, 5) + 0
		print threads, of, method, $0
	}' "$study/summary" | sort -t "$tab" -k 1,1n -k 2,2n -k 3,3
}

# Every level, against level 1 with the same threads.
print_levels() {
	printf '\n%-7s %7s %2s %9s %17s %8s %17s %7s %9s %8s\n' Level \
	    Threads n 'Export(s)' interval /zstd1 interval 'Size%' \
	    'Less than' 'CPU(s)'
	printf '%86s\n' 'zstd1 by'
	rows_of '^zstd[0-9]+[.]p[0-9]+$' | while IFS= read -r levels_line; do
		levels_n=$(field 1 "$levels_line")
		levels_ratio=$(ratio "$(field 4 "$levels_line")" \
		    "zstd1.p$levels_n")
		printf '%s\t%s\t%s\n' "${levels_ratio:-$tab$tab}" \
		    "$(size "zstd1.p$levels_n")" "$levels_line"
	done | awk -F '\t' '
	function span(lo, hi) {
		return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
	}
	{
		pct = 100 * $26 / $27
		printf "%-7s %7d %2d %9.3f %17s %8s %17s %7.2f %9s %8.2f\n",
		    $7, $5, $9 - $10, $11, span($12, $13),
		    $1 == "" ? "" : sprintf("%.3f", $1), span($2, $3), pct,
		    $4 == "" || $7 == "zstd1" ? "" : sprintf("%.2f",
		    $4 - pct), $14
	}'
}

# One line for every cell that has a partner without duplicate removal.
print_duplicates() {
	printf '\n%-10s %7s %8s %17s %9s %9s %9s %17s\n' 'Duplicates' \
	    Threads 'Time' interval 'Size%' 'Size%' Removed Memory
	printf '%-10s %7s %8s %17s %9s %9s %9s %17s\n' removed '' \
	    'with/out' '' with without files 'with/out'
	rows_of '[.]nodup[.]p[0-9]+$' | while IFS= read -r pairs_line; do
		pairs_out=$(field 4 "$pairs_line")
		pairs_with=${pairs_out%%.nodup*}.p$(field 1 "$pairs_line")
		pairs_ratio=$(ratio "$pairs_with" "$pairs_out")
		pairs_memory=$(pair_ratio "$study/memory.csv" "$pairs_with" \
		    "$pairs_out")
		printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "${pairs_with%.p*}" \
		    "${pairs_out##*.p}" "${pairs_ratio:-$tab$tab}" \
		    "$(size "$pairs_with")" "$(size "$pairs_out")" \
		    "$(column 21 "$pairs_with")" "${pairs_memory:-$tab$tab}"
	done | awk -F '\t' '
	function span(lo, hi) {
		return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
	}
	{
		printf "%-10s %7d %8s %17s %9.2f %9.2f %9s %17s\n", $1, $2,
		    $3 == "" ? "" : sprintf("%.3f", $3), span($4, $5), $6, $7,
		    $8, $9 == "" ? "" : sprintf("%.3f", $9)
	}'
}

# Peak memory of the largest process, and the time to read everything back.
print_memory() {
	print_reader=$(awk -F '\t' '$24 != "" { print $24; exit }' \
	    "$study/summary")
	case $print_reader in
	cat) print_reader='cat of the mount (the kernel reads: its memory is not seen)' ;;
	esac
	printf '\nRead back by: %s; the image is in the cache.\n' \
	    "${print_reader:-nothing}"
	printf '%-12s %7s %15s %15s %9s %9s\n' '' Threads 'Export(MiB)' \
	    'Read(MiB)' 'Read(s)' 'CPU(s)'
	rows_of '[.]p[0-9]+$' | while IFS= read -r memory_line; do
		memory_id=$(field 4 "$memory_line")
		printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(field 3 "$memory_line")" \
		    "$(field 1 "$memory_line")" "$(field 21 "$memory_line")" \
		    "$(column 18 "$memory_id.read")" \
		    "$(column 4 "$memory_id.read")" \
		    "$(column 7 "$memory_id.read")"
	done | awk -F '\t' '
	function real(format, x) { return x == "" ? "" : sprintf(format, x) }
	{
		printf "%-12s %7d %15.1f %15s %9s %9s\n", $1, $2, $3 / 1024,
		    $4 == "" ? "" : sprintf("%.1f", $4 / 1024),
		    real("%.3f", $5), real("%.2f", $6)
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
	breakeven_ref=$(rows_of "^[^.]*[.]p$breakeven_n\$" |
	    sort -t "$tab" -k 7g | head -n 1 | cut -f 4)
	printf '\nCold start: %s\n' "$start"
	printf 'Exports by %d threads, against the quickest, %s.  A start pays when it saves\nmore than nothing; so many starts pay for the longer export.\n' \
	    "$breakeven_n" "$breakeven_ref"
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' n 'Start(s)' \
	    interval 'Asked' 'Disk' 'Export(s)' 'saves a start(s)' 'Starts' ''
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' '' '' '' \
	    MiB MiB longer interval 'to pay' 'at 95 %'
	rows_of "^[^.]*[.]p$breakeven_n\$" | cut -f 4 |
	    awk -F '\t' -v ref="$breakeven_ref" -v summary="$study/summary" \
	    -f "$here/stats.awk" -f "$here/breakeven.awk" - "$study/pairs.csv"
}

# pooled NAME: the pairs with and without duplicate removal of all levels and
# threads as pairs of two labels
pooled() {
	awk -F , -v OFS=, '
	/^#/ { next }
	!head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; print; next }
	$at["label"] ~ /^zstd[1-4](\.nodup)?\.p[0-9]+$/ {
		key = $at["label"]
		out = sub(/\.nodup/, "", key)
		key = key SUBSEP $at["run"]
		if (!(key in number))
			number[key] = ++pairs
		$at["label"] = out ? "without" : "with"
		$at["run"] = number[key]
		print
	}' "$study/$1.csv" >"$study/pooled.csv"
	pair_ratio "$study/pooled.csv" with without
}

# finding_pooled TEXT NAME: nothing is lost beyond 5 %
finding_pooled() {
	pooled_ratio=$(pooled "$2")
	ratio() { printf '%s\n' "$pooled_ratio"; }
	finding "$1" with without 1.05
	ratio() { pair_ratio "$study/pairs.csv" "$1" "$2"; }
}

# The I/O limit: processors that were busy, of those that could have been.
finding_utilisation() {
	utilisation_n=${threads##* }
	awk -F '\t' -v id="zstd1.p$utilisation_n" -v n="$utilisation_n" \
	    -v cpus="${report_cpus:-1}" '
	BEGIN { most = n < cpus ? n : cpus }
	$1 == id && $4 != "" {
		found = 1
		printf "    utilisation of %s < %.2f: study 6.0 of 8, here %.2f of %d", id, 0.9 * most, $4, most
		if ($5 != "")
			printf " [%.2f, %.2f]", $5, $6
		verdict = "not decided"
		if ($5 == "")
			verdict = verdict ": fewer than 6 runs"
		else if ($6 < 0.9 * most)
			verdict = "holds here"
		else if ($5 >= 0.9 * most)
			verdict = "does not hold here"
		print ": " verdict
	}
	END { if (!found) print "    " id ": not measured" }' \
	    "$study/utilisation"
}

# over THREADS: a word for a verdict that more processors might change
over() { [ "$1" -le "${report_cpus:-$1}" ] || echo ' (oversubscribed)'; }

print_findings() {
	first=${threads%% *} last=${threads##* }
	printf '\nWhat the study found (ratios of pairs of runs, 95 %% intervals; sizes are exact):\n'
	for n in $threads; do
		finding "lz4 is as fast as none, $n threads (within 10 %)$(over "$n")" \
		    "lz4.p$n" "none.p$n" 1.1
	done
	for n in $threads; do
		finding "lz4hc is unusably slow, $n threads (10 times lz4)$(over "$n")" \
		    "lz4hc.p$n" "lz4.p$n" '> 10'
	done
	findings_size
	for n in $threads; do
		case $n in
		2) findings_level_1 2 ;;
		4) findings_level_1 4 ;;
		8) findings_level_1 8 ;;
		esac
	done
	echo "  An I/O limit: with most threads, zstd 1 does not keep them busy (90 %)$(over "$last")"
	finding_utilisation
	finding "and more threads would not help (5 %)$(over $((last * 2)))" \
	    "zstd1.p$((last * 2))" "zstd1.p$last" '> 0.95'
	for n in $threads; do
		finding "level 2 costs almost nothing, $n threads (within 10 %)$(over "$n")" \
		    "zstd2.p$n" "zstd1.p$n" 1.1
	done
	finding_sweet "$first"
	for n in $threads; do
		finding "level 4 takes twice the time of 1, $n threads$(over "$n")" \
		    "zstd4.p$n" "zstd1.p$n" '1.5 .. 2.5'
		finding "level 9 takes eight times, $n threads$(over "$n")" "zstd9.p$n" \
		    "zstd1.p$n" '6 .. 10'
	done
	findings_levels "$first"
	finding_pooled 'removing duplicates is free in time (within 5 %, levels 1 to 4 pooled)' pairs
	finding_pooled 'and in memory (within 5 %)' memory
	finding_removed "$first"
	finding_memory "$first"
}

findings_level_1() {
	case $1 in
	2)
		finding "zstd 1 takes about twice the time of lz4, 2 threads$(over 2)" \
		    zstd1.p2 lz4.p2 '1.5 .. 2.5'
		;;
	4)
		finding "it catches up with 4: level with none (within 15 %)$(over 4)" \
		    zstd1.p4 none.p4 '0.85 .. 1.15'
		finding "and with lz4 (within 15 %), which its own table denies$(over 4)" \
		    zstd1.p4 lz4.p4 '0.85 .. 1.15'
		;;
	8)
		finding "and is the fastest with 8: faster than lz4$(over 8)" \
		    zstd1.p8 lz4.p8 1
		finding "and than none$(over 8)" zstd1.p8 none.p8 1
		;;
	esac
}

# Sizes are the same for any number of threads.
findings_size() {
	size_lz4=$(size "lz4.p$first") size_none=$(size "none.p$first")
	size_hc=$(size "lz4hc.p$first") size_1=$(size "zstd1.p$first")
	size_no=$(size "none.nodup.p$first")
	exact 'none is smaller than its content by the duplicates alone (95 % of it)' \
	    "$(calc 'print (a < 100 && (b - a) >= 0.95 * (100 - a))' \
	    a="$size_none" b="$size_no")" \
	    "study 99.7 %, here ${size_none:--} %; without removing duplicates ${size_no:--} %"
	exact 'zstd 1 is by far the smallest (5 % less than lz4hc and lz4)' \
	    "$(calc 'print (a < 0.95 * b && a < 0.95 * c)' \
	    a="$size_1" b="${size_hc:-$size_lz4}" c="$size_lz4")" \
	    "study 55.4 of 60.4 and 68.5 %, here ${size_1:--} of ${size_hc:--} and ${size_lz4:--} %"
}

# finding_sweet THREADS: of levels 1 to 9 level 2 saves the most size for the
# time: the knee, where the line from the first to the last is farthest away
finding_sweet() {
	sweet=$(rows_of "^zstd[1-9][.]p$1\$" | awk -F '\t' '
	{ level[NR] = $2; t[NR] = log($7); s[NR] = $22 / $23 }
	END {
		if (NR < 4 || level[1] != 1)
			exit
		for (i = 2; i < NR; i++) {
			x = (t[i] - t[1]) / (t[NR] - t[1])
			y = (s[1] - s[i]) / (s[1] - s[NR])
			if (y - x > best) {
				best = y - x
				knee = level[i]
			}
		}
		print knee + 0, level[NR]
	}')
	exact "level 2 is the sweet spot ($1 threads, by medians: the knee of size against log time)" \
	    "$(calc 'print (a == 2)' a="${sweet% *}")" \
	    "the knee of levels 1 to ${sweet#* } is level ${sweet% *}"
}

# findings_levels THREADS: what the levels save, in points of the content
findings_levels() {
	level_1=$(size "zstd1.p$1") level_2=$(size "zstd2.p$1")
	level_4=$(size "zstd4.p$1") level_9=$(size "zstd9.p$1")
	level_13=$(size "zstd13.p$1") level_14=$(size "zstd14.p$1")
	exact 'level 2 is a bit smaller than 1' \
	    "$(calc 'print (b < a)' a="$level_1" b="$level_2")" \
	    "$(saved "$level_1" "$level_2")"
	exact 'level 4 saves about 4 % (3 to 5 points)' \
	    "$(calc 'd = a - b; print (d >= 3 && d <= 5)' \
	    a="$level_1" b="$level_4")" "$(saved "$level_1" "$level_4")"
	exact 'level 9 saves about 5 % (4 to 6 points)' \
	    "$(calc 'd = a - b; print (d >= 4 && d <= 6)' \
	    a="$level_1" b="$level_9")" "$(saved "$level_1" "$level_9")"
	exact 'from 9 to 13 little is gained: less than by the one step to 14' \
	    "$(calc 'print (a - b < b - c)' a="$level_9" b="$level_13" \
	    c="$level_14")" \
	    "9 to 13: $(saved "$level_9" "$level_13"); 13 to 14: $(saved "$level_13" "$level_14")"
	level_step=$(rows_of "^zstd(9|1[0-9])[.]p$1\$" | awk -F '\t' '
	{ if (NR > 1 && last - $22 > most) { most = last - $22; at = $2 }
	  last = $22 }
	END { if (NR == 11) print at + 0 }')
	exact 'level 14 is the largest step from 9 to 19' \
	    "$(calc 'print (a == 14)' a="$level_step")" \
	    "the largest step is to level ${level_step:--}"
}

# saved FROM TO: in points of the content, and in per cent of the larger image
saved() {
	saved_text=$(calc 'printf "%.2f points, %.1f %% of the image", a - b,
	    100 * (a - b) / a' a="$1" b="$2")
	printf '%s' "${saved_text:-not measured}"
}

# finding_memory THREADS: a high level is safe to read, if a process reads
finding_memory() {
	[ "$reader" != cat ] || {
		printf '  %s\n    %s\n' 'reading back takes no more memory at a high level' \
		    'the kernel read: not measured'
		return 0
	}
	ratio() { pair_ratio "$study/memory.csv" "$1" "$2"; }
	for n in 9 19; do
		finding "reading back takes no more memory at level $n (within 10 %)" \
		    "zstd$n.p$1.read" "zstd1.p$1.read" 1.1
	done
	ratio() { pair_ratio "$study/pairs.csv" "$1" "$2"; }
}

# finding_removed THREADS: the count, and what it is worth
finding_removed() {
	removed=$(column 21 "zstd1.p$1")
	exact 'some duplicates are removed, with some effect' \
	    "$(calc 'print (n > 0 && a < b)' n="$removed" \
	    a="$(size "zstd1.p$1")" b="$(size "zstd1.nodup.p$1")")" \
	    "study about 4000 files, here ${removed:--} of $inodes; $(saved \
	    "$(size "zstd1.nodup.p$1")" "$(size "zstd1.p$1")")"
}

# What the reader of the numbers must know.
print_caveats() {
	echo
	awk -F '\t' '$3 { printf "%s: %d of %d runs failed and are left out\n",
	    $1, $3, $2 }' "$study/summary"
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
	awk -F , '/^#/ { next }
	!head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; next }
	match($at["keys"], /resident_pct=[0-9.]+/) {
		x = substr($at["keys"], RSTART + 13, RLENGTH - 13) + 0
		if (!n || x < least) least = x
		if (x > most) most = x
		n++
	}
	END {
		if (n)
			printf "In memory before an export, of a sample of the files: %.1f to %.1f %% (mincore).\n",
			    least, most
	}' "$rows_csv"
	! grep -q "[.]start$tab" "$study/summary" ||
	    printf 'Starts: cold, by mincore 0 %% of the image and of a sample of the mount; %s not proven so and left out.\n' \
	    "$(cat "$study/warm")"
	echo 'mksquashfs does not wait for the disk: what it wrote is in the page cache when it ends.'
}

report_all() {
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

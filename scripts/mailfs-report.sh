# shellcheck shell=sh
# mailfs-report.sh - print the tables of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# $study/runs is the output of mailfs-rows.awk; $study/told.*  are the outputs
# of mailfs.awk.

# The study's table: algorithm, writers, efficiency, seconds, ratio.
published() {
	cat <<EOF
gzip-1	1	0.011760128	260.0	2.583
gzip-2	1	0.011800408	286.2	2.613
gzip-3	1	0.013763665	196.4	2.639
gzip-4	1	0.013632926	205.0	2.697
gzip-5	1	0.015003015	183.4	2.723
gzip-6	1	0.013774746	201.4	2.743
gzip-7	1	0.012994211	214.6	2.747
gzip-8	1	0.013645055	203.6	2.757
gzip-9	1	0.012950727	215.2	2.755
lzjb	1	0.009921776	181.6	1.669
gzip-1	2	0.004261760	677.6	2.577
gzip-2	2	0.003167507	1178.4	2.601
gzip-3	2	0.004932052	539.4	2.625
gzip-4	2	0.005056057	539.6	2.691
gzip-5	2	0.005248420	528.6	2.721
gzip-6	2	0.004156005	709.8	2.731
gzip-7	2	0.004446555	644.8	2.739
gzip-8	2	0.004949638	566.0	2.741
gzip-9	2	0.004044351	727.6	2.747
lzjb	2	0.002705393	900.8	1.657
EOF
}

report_summaries() {
	invalid=$study/invalid awk -f "$here/csv.awk" \
	    -f "$here/mailfs-rows.awk" "$rows_csv" >"$study/runs"
	told=$study/told awk -F '\t' -v seed="$seed" -f "$here/csv.awk" \
	    -f "$here/stats.awk" -f "$here/mailfs.awk" "$study/runs"
	report_variants=$(tsv 'csv_row() && !seen[get("variant")]++ {
		print get("variant")
	}' "$study/runs")
}

# awk functions that format a number or an interval for the tables, or nothing
# if it is missing
print_awk='
function real(format, x) { return x == "" ? "" : sprintf(format, x) }
function span(format, lo, hi) {
	return lo == "" ? "" : sprintf(format " .. " format, lo, hi)
}'

# cells_of VARIANT: prints its cells, sorted by writers and then in the study's
# order
cells_of() {
	head -n 1 "$study/told.cell"
	tsv '
	BEGIN {
		split("off zle lzjb lzo lz4 gzip zlib zstd", name, " ")
		for (i in name) place[name[i]] = i
		split("w1 s2 w2", name, " ")
		for (i in name) writers[name[i]] = i
	}
	csv_row() && get("variant") == variant {
		split(get("algorithm"), part, "-")
		print writers[get("writers")], place[part[1]] * 100 + part[2], $0
	}' variant="$1" "$study/told.cell" |
	    sort -s -t "$tab" -k 1,1n -k 2,2n | cut -f 3-
}

# stand_in VARIANT: prints which algorithms replace those of the study on btrfs
stand_in() {
	case $1 in
	btrfs) echo 'zlib-N stands for gzip-N, lzo for lzjb' ;;
	esac
}

# print_study_table VARIANT: prints the study's table next to the same table
# measured here
print_study_table() {
	printf '\nThe study, and %s%s\n' "$1" "$(stand_in "$1" | sed 's/^/: /')"
	cells_of "$1" | tsv '
	csv_row() {
		if (!n || get("dropped") < n)
			n = get("dropped")
		if (get("n") > m)
			m = get("n")
	}
	END {
		printf "(as in the study: eff is the mean of quotients; all means are trimmed by 10 %%, which drops %d of %d values at each end)\n",
		    int(m / 10), m
	}' | wrap
	printf '%2s %-9s %9s %11s %9s %13s | %2s %11s %9s %13s %11s\n' '' \
	    algorithm nowriters eff timetaken compressratio n eff timetaken \
	    compressratio 'q.of means'
	published | tsv '
	part == "here" {
		if (!csv_row() || get("variant") != variant)
			next
		name = get("algorithm")
		sub(/^zlib/, "gzip", name)
		sub(/^lzo$/, "lzjb", name)
		here[name, get("writers")] = sprintf( \
		    "%2d %11.9f %9.3f %13.3f %11.9f", get("n"),
		    get("eff_mean"), get("mean_s"), get("mean_ratio"),
		    get("eff_of_means"))
		next
	}
	{
		printf "%2d %-9s %9d %11.9f %9.1f %13.3f | %s\n", ++line, $1,
		    $2, $3, $4, $5, ($1, "w" $2) in here ? \
		    here[$1, "w" $2] : "not measured"
	}' variant="$1" part=here "$study/told.cell" part=study -
}

print_variance() {
	printf '\n'
	wrap <<EOF
Variance of the efficiency, in per cent of its mean (study: all runs, 21.56 with one writer and 29.74 with two)
EOF
	printf '%-12s %7s %10s %12s %6s\n' '' Writers 'all runs' \
	    'inside cells' runs
	tsv '
	function or_none(x) { return x == "" ? "-" : sprintf("%.2f", x) }
	csv_row() {
		printf "%-12s %7s %10s %12s %6d\n", get("variant"),
		    get("writers"), or_none(get("cv_all")),
		    or_none(get("cv_cells")), get("copies")
	}' "$study/told.group"
}

# print_times VARIANT
print_times() {
	printf '\n'
	wrap <<EOF
$1: seconds (medians, 95 % confidence intervals; /ends: relative to the mean of both ends of the block)
EOF
	printf '%-9s %2s %2s %8s %19s %8s %7s %7s %7s %17s\n' '' W n 'Copy' \
	    interval Durable 'CPU' 'Daemon' '/ends' interval
	cells_of "$1" | tsv "$print_awk"'
	csv_row() {
		printf "%-9s %2s %2d %8.3f %19s %8.3f %7.2f %7s %7s %17s\n",
		    get("algorithm"), get("writers"), get("n"), get("copy_s"),
		    span("%.3f", get("copy_lo"), get("copy_hi")),
		    get("durable_s"), get("cpu_s"),
		    real("%.2f", get("daemon_s")), real("%.3f", get("ends")),
		    span("%.3f", get("ends_lo"), get("ends_hi"))
	}'
}

# print_efficiency VARIANT
print_efficiency() {
	printf '\n'
	wrap <<EOF
$1: efficiency, ratio over seconds of the copy (lasting: real ratio over seconds until it is durable; first: share of 2000 draws of rounds in which it has the highest median, from 6 rounds on; of ten: among those of the study; CPU: ratio over processor time)
EOF
	printf '%-9s %2s %2s %9s %21s %9s %9s %9s %6s %4s %7s %7s %8s\n' '' W \
	    n Median interval 'mean of q' 'q of mean' lasting 'CV%' Rank \
	    'first%' 'of ten%' 'CPU'
	cells_of "$1" | tsv "$print_awk"'
	csv_row() {
		printf "%-9s %2s %2d %9.5f %21s %9.5f %9.5f %9.5f %6s %4d %7s %7s %8s\n",
		    get("algorithm"), get("writers"), get("n"), get("eff"),
		    span("%.5f", get("eff_lo"), get("eff_hi")),
		    get("eff_mean"), get("eff_of_means"),
		    get("apparent_B") / get("all_B") / get("durable_s"),
		    (get("n") > 1 ? sprintf("%.1f", get("cv_pct")) : ""),
		    get("rank"), real("%.1f", get("first_pct")),
		    real("%.1f", get("ten_pct")), real("%.4f", get("per_both"))
	}'
}

# print_sizes VARIANT: prints a comparison of the ratio with the space on disk.
# ZFS's ratio counts metadata once and compressed, and is truncated to two
# digits; it does not count partly filled sectors.  On disk, metadata is stored
# twice.  Its share of the ratio is estimated as half of the smallest amount of
# metadata on any of the ZFS filesystems, namely the one with the smallest
# sectors.
print_sizes() {
	printf '\n'
	wrap <<EOF
$1: sizes once they are durable (ratio: as the filesystem tells; real: bytes of the files over all that the copy takes; padding: files on disk less what the ratio says; front: p fastest and highest ratio, d soonest durable and smallest)
EOF
	printf '%-9s %2s %6s %6s %13s %13s %13s %12s %5s\n' '' W ratio real \
	    'files on disk' 'metadata' 'all' padding front
	cells_of "$1" | tsv '
	part == "all" {
		if (!csv_row() || get("variant") !~ /^zfs/)
			next
		meta = get("all_B") - get("files_B")
		w = get("writers")
		if (!(w in least) || meta < least[w])
			least[w] = meta
		next
	}
	csv_row() {
		padding = ""
		ratio = get("ratio")
		files = get("files_B")
		all = get("all_B")
		if (get("variant") ~ /^zfs/) {
			m = least[get("writers")] / 2
			digit = ratio > 1 ? 0.005 : 0
			p = files - ((get("logical_B") + m) / (ratio + digit) - m)
			padding = sprintf("%.1f%%", 100 * p / (files - p))
			if (files - p <= 0)
				padding = ""
		}
		printf "%-9s %2s %6.3f %6.3f %13.0f %13.0f %13.0f %12s %5s\n",
		    get("algorithm"), get("writers"), ratio,
		    get("apparent_B") / all, files, all - files, all, padding,
		    get("front")
	}' part=all "$study/told.cell" part=variant -
}

# print_order VARIANT: prints whether the position in the block affects the time
print_order() {
	tsv 'csv_row() && get("variant") == variant {
		printf "%s: the last copy of a block took ", variant
		if (get("drift") == "")
			printf "- of the first"
		else {
			printf "%.3f of the first", get("drift")
			if (get("lo") != "")
				printf " (%.3f .. %.3f)%s", get("lo"), get("hi"),
				    (get("lo") > 1 || get("hi") < 1 ? \
				    ": the machine drifted" : "")
		}
		if (get("slope") != "")
			printf "; by place %+.2f %% a cell", 100 * get("slope")
		if (get("slope") != "" && get("rounds") >= 6)
			printf " (+-%.2f)%s", 196 * get("error"),
			    (get("slope") > 1.96 * get("error") ||
			    get("slope") < -1.96 * get("error") ? \
			    ": order matters" : "")
		print "."
	}' variant="$1" "$study/told.order" >"$study/order"
	[ ! -s "$study/order" ] || {
		echo
		wrap <"$study/order"
	}
}

# Prints caveats about the numbers.
print_caveats() {
	echo
	awk -F '\t' '{ n[$1]++; why[$1] = $3 } END {
		for (label in n)
			printf "%s: %d left out: %s\n", label, n[label],
			    why[label]
	}' "$study/invalid" | sort
	awk -F '\t' '
	{
		kind = $1
		if (sub(/[.][^.]*$/, "", kind)) {
			name = $1
			sub(/.*[.]/, "", name)
			if (!(kind in list))
				order[++n] = kind
			list[kind] = list[kind] " " name
		} else
			print $1 ": missing: " $2
	}
	END {
		for (i = 1; i <= n; i++)
			print order[i] ": does not know" list[order[i]]
	}' "$study/missing"
	if [ "$cold" = yes ]; then
		echo 'Copies: the caches were dropped before each.'
	else
		echo 'Copies: the mail was read once before each, so that as much of it as fits was in
the cache.'
	fi
	[ -z "$load" ] || printf 'Under a load: %s\n' "$load"
	case " $report_variants" in
	*zfs-fuse*)
		echo 'zfs-fuse is a process: its sizes are those of ZFS in the kernel, its times are not.'
		;;
	esac
	echo 'W: w1 one writer; w2 two, each of which copies everything (as in the study);
s2 two that share the work.'
}

report_all() {
	# shellcheck source=scripts/mailfs-findings.sh
	. "$here/mailfs-findings.sh"
	# shellcheck source=scripts/mailfs-plot.sh
	. "$here/mailfs-plot.sh"
	report_summaries
	print_source
	findings_begin
	echo
	published | awk -f "$here/mailfs-study.awk"
	for report_variant in $report_variants; do
		print_study_table "$report_variant"
	done
	print_variance
	for report_variant in $report_variants; do
		print_times "$report_variant"
		print_efficiency "$report_variant"
		print_sizes "$report_variant"
		print_order "$report_variant"
		print_findings "$report_variant"
		findings_cpu "$report_variant"
	done
	findings_end
	print_caveats
	plot_all
}

# in_words: prints the results of the study's choice on the first filesystem
in_words() {
	words_variant=$(printf '%s\n' "$report_variants" | head -n 1)
	cells_of "$words_variant" | tsv '
	csv_row() && get("writers") == "w1" && get("of_ten") {
		name = get("algorithm")
		if (name == "gzip-5" || name == "zlib-5") {
			five = name
			eff = get("eff")
			real = get("apparent_B") / get("all_B")
			ratio = get("ratio")
			s = get("copy_s")
		}
		if (get("eff") > most) {
			most = get("eff")
			best = name
		}
	}
	END {
		if (five == "")
			exit
		printf "On %s with one writer, %s copied in %.2f s; the ratio is printed as %.2f, but is really %.2f with sectors and metadata. ",
		    variant, five, s, ratio, real
		if (best == five)
			printf "No algorithm in the study had a higher median efficiency. "
		else
			printf "The highest median efficiency was that of %s, %.2f times as high. ",
			    best, most / eff
	}' variant="$words_variant"
	few "$runs"
}

# shellcheck shell=sh
# mailfs-report.sh - report on the copies of mail; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# $study/runs is the output of mailfs-rows.awk; $study/told.* are the outputs
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

# study_ratio ROW REFERENCE: prints the published ratio of efficiencies or of
# seconds ($finding_of); "many" over "one" is the ratio of means
study_ratio() {
	published | awk -F '\t' -v a="$1" -v b="$2" -v of="$finding_of" \
	    -v factor="${pooled_factor:-1}" '
	{
		value = of == "seconds" ? $4 : $3
		x[$1 ".w" $2] = value
		mean[$2] += value
	}
	END {
		if (a == "many")
			print factor == 0 ? "" : sprintf("%.3f",
			    factor * mean[2] / mean[1])
		else if ((a in x) && (b in x))
			printf "%.3f", x[a] / x[b]
	}'
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
	# shellcheck source=scripts/mailfs-tables.sh
	. "$here/mailfs-tables.sh"
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
			n = get("n")
		}
		if (get("eff") > most) {
			most = get("eff")
			best = name
			best_n = get("n")
			share = get("ten_pct")
		}
	}
	END {
		if (five == "")
			exit
		printf "On %s with one writer, %s copied in %.2f s (the median of n = %d); the ratio is printed as %.2f, but is really %.2f with sectors and metadata. ",
		    variant, five, s, n, ratio, real
		if (best == five)
			printf "No algorithm in the study had a higher median efficiency"
		else
			printf "The highest median efficiency was that of %s, %.2f times as high",
			    best, most / eff
		if (n < 6 || best_n < 6)
			printf " (not decided: fewer than 6 runs). "
		else
			printf "; it comes first in %.0f %% of the draws. ",
			    share
	}' variant="$words_variant"
}

# shellcheck shell=sh
# mailfs-report.sh - report on the copies of mail; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/runs is the output of mailfs-rows.awk; $study/told.* are the outputs
# of mailfs.awk.

# published: prints the study's table
published() {
	cat <<EOF
algorithm	writers	eff	seconds	ratio
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
	ratio_of=eff
	[ "$finding_of" != seconds ] || ratio_of=seconds
	if [ "$1" = many ]; then
		[ "$pooled_factor" != 0 ] || return 0
		published | tabulate "
		let two = writers == 2 ? $ratio_of : \"\"
		let one = writers == 1 ? $ratio_of : \"\"
		group 1
		.3f = factor * sum(two) / sum(one)" factor="$pooled_factor" -
	else
		published | tabulate "
		let label = algorithm \".w\" writers
		where label == a
		.3f = ratio($ratio_of, ${ratio_of}[b])" a="$1" b="$2" -
	fi
}

report_summaries() {
	invalid=$study/invalid awk -f "$here/csv.awk" \
	    -f "$here/mailfs-rows.awk" "$rows_csv" >"$study/runs"
	told=$study/told awk -F '\t' -v seed="$seed" -f "$here/csv.awk" \
	    -f "$here/stats.awk" -f "$here/mailfs.awk" "$study/runs"
	report_variants=$(tabulate '
	group variant
	line variant' "$study/runs")
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
	missing_table | tabulate '
	let kind = cut(label, "[.][^.]*$")
	let name = cut(label, ".*[.]")
	order kind != label
	group kind (kind == label)
	line kind == label ? label ": missing: " why : kind ": does not know " list(name)' -
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
	case " $report_variants" in
	*libzpool*)
		echo 'libzpool is a process: its sizes are those of OpenZFS in the kernel, its times are
not.  A copy ends when the data is durable.'
		;;
	esac
	echo 'W: w1 one writer; w2 two, each of which copies everything (as in the study);
s2 two that share the work.'
}

report_all() {
	. "$here/mailfs-tables.sh"
	. "$here/mailfs-findings.sh"
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
	run_awk mailfs-words -F '\t' what=choice variant="$words_variant" \
	    "$study/told.cell"
}

# figures_all: prints a table for each kind of filesystem
figures_all() {
	. "$here/mailfs-tables.sh"
	report_summaries
	figures_kind=''
	for figures_variant in $report_variants; do
		figures_column=''
		[ "$(printf '%s\n' "$report_variants" |
		    grep -c "^${figures_variant%.*}[.]")" -lt 2 ] ||
			figures_column=filesystem
		[ "$figures_kind" = "${figures_variant%.*}" ] ||
		    print_figures_head "$figures_variant" "$figures_column"
		figures_kind=${figures_variant%.*}
		print_figures "$figures_variant" "$figures_column"
	done
}

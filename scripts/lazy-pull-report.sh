# shellcheck shell=sh
# lazy-pull-report.sh - report on the starts; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# Labels are IMAGE.WORKLOAD.SYSTEM.LINK, with .xN for N clients.  In
# $pairs_file, each run occurs several times: as LABEL with its time, and as
# LABEL:WHAT with another value in place of the time.

# report_summaries: writes the medians of all rows, and the pairs
report_summaries() {
	summarize -v strict=1 -v columns=maxrss_KiB \
	    -v numbers='pull_s create_s run_s first_s pull_B run_B index_B rss_KiB requests server_cpu_s daemon_cpu_s'
	{
		echo "$pairs_head"
		pairs_of '' wall_s
		pairs_of :wire rx_B
		pairs_of :first first_s
		pairs_of :pull pull_s
		pairs_of :index index_B
		pairs_of :cpu 'user_s + sys_s + any(daemon_cpu_s, 0)'
	} >"$study/pairs.new"
	mv "$study/pairs.new" "$pairs_file"
}

# noted WORD IMAGE [NAME]: prints fields of the comment lines "# WORD: IMAGE
# NAME ..."
noted() {
	rows_comments | sed -n "s/^# $1: $2 \(${3-}.*\)/\1/p" | sort -u
}

# noted_table WORD IMAGE COLUMN...: prints those fields as TSV with a header
noted_table() {
	noted_word=$1 noted_image=$2
	shift 2
	echo "$@" | tr ' ' '\t'
	noted "$noted_word" "$noted_image" | tr ' ' '\t'
}

# labels_of PART: prints the values of this part of the labels, in order
labels_of() {
	tabulate "
	parts image workload system link more
	group $1
	line $1" "$study/summary"
}

# figures_all: prints, for each workload and link, the medians and what other
# systems are to ours
figures_all() {
	. "$here/lazy-pull-tables.sh"
	report_summaries
	tabulate '
	parts image workload system link more
	where more == "" && n > 0
	group image "." workload " " link
	order image
	order workload
	order -link
	line image, workload, link' "$study/summary" >"$study/figures"
	while read -r figures_image figures_workload figures_link; do
		print_figures "$figures_image" "$figures_workload" \
		    "$figures_link"
	done <"$study/figures"
	rm "$study/figures"
}

report_all() {
	. "$here/lazy-pull-tables.sh"
	. "$here/lazy-pull-findings.sh"
	. "$here/lazy-pull-plot.sh"
	print_source | grep -Ev '^(files|touched|published): '
	report_summaries
	for report_image in $(labels_of image); do
		for report_link in $(labels_of link); do
			print_starts "$report_image" "$report_link"
		done
		print_touched "$report_image"
		print_published "$report_image"
	done
	[ ! -s "$study/missing" ] || {
		echo
		print_missing
	}
	print_failed
	print_choice
	print_findings
	echo
	plot_all
}

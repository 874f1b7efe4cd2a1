# shellcheck shell=sh
# lazy-pull-report.sh - report on the starts; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# Labels are IMAGE.WORKLOAD.SYSTEM.LINK, with .xN for N clients.  In
# $pairs_file, each run occurs several times: as LABEL with its time, and as
# LABEL:WHAT with another value in place of the time.

# report_summaries: writes the medians of all rows, and the pairs
report_summaries() {
	summarize -v strict=1 -v columns=maxrss_KiB \
	    -v numbers='pull_s create_s run_s first_s pull_B run_B index_B rss_KiB requests server_cpu_s daemon_cpu_s'
	csv '
	!csv_row() { print; next }
	function more(what, value) {
		if (value == "")
			return
		$at["label"] = label ":" what
		$at["wall_s"] = value
		print csv_line()
	}
	{
		label = get("label")
		print csv_line()
		more("wire", get("rx_B"))
		more("first", key("first_s"))
		more("pull", key("pull_s"))
		more("index", key("index_B"))
	}' "$pairs_file" >"$study/pairs.new"
	mv "$study/pairs.new" "$pairs_file"
}

# noted WORD IMAGE [NAME]: prints fields of the comment lines "# WORD: IMAGE
# NAME ..."
noted() {
	sed -n "s/^# $1: $2 \(${3-}.*\)/\1/p" "$rows_csv" | sort -u
}

# labels_of FIELD: prints the values of this part of the labels, in order
labels_of() {
	tsv 'csv_row() {
		split(get("label"), part, ".")
		if (part[n] != "" && !seen[part[n]]++)
			print part[n]
	}' n="$1" "$study/summary"
}

report_all() {
	# shellcheck source=scripts/lazy-pull-tables.sh
	. "$here/lazy-pull-tables.sh"
	# shellcheck source=scripts/lazy-pull-findings.sh
	. "$here/lazy-pull-findings.sh"
	# shellcheck source=scripts/lazy-pull-plot.sh
	. "$here/lazy-pull-plot.sh"
	print_source | grep -Ev '^(files|touched|published): '
	report_summaries
	for report_image in $(labels_of 1); do
		for report_link in $(labels_of 4); do
			print_starts "$report_image" "$report_link"
		done
		print_touched "$report_image"
		print_published "$report_image"
	done
	[ ! -s "$study/missing" ] || {
		echo
		awk -F '\t' '{ print $1 ": missing: " $2 }' "$study/missing"
	}
	print_failed
	print_choice
	print_findings
	echo
	plot_all
}

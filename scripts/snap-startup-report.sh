# shellcheck shell=sh
# snap-startup-report.sh - report on the launches; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# Labels are APP.IMAGE.first, .second and .dropped for launches, and
# APP.IMAGE.walk.PART.mount and .coldwalk for walks.  The rows of the published
# study are converted to rows of lap and reported in the same way.

# published_rows_of FILE: prints the published rows as rows of lap
published_rows_of() {
	awk -f "$here/snap-startup-published.awk" "$1"
}

# published_report: prints the report of $published_rows instead of a study's
# own rows
published_report() {
	[ -r "$published_rows" ] || die "$published_rows cannot be read"
	make_tmp
	study=$tmp rows_csv=$tmp/rows.csv
	published_rows_of "$published_rows" >"$rows_csv" ||
	    die "$published_rows: not ITER:SNAP:MODE:SIZE:START:START2[:START3:START4]:WALK in every line"
	apps=$(cut -d : -f 2 "$published_rows" | sort -u |
	    sed 's/^gnome-//' | tr '\n' ' ')
	printf 'The rows of %s, as published by the study.\n' "$published_rows"
	awk -F : '$5 < 200 || $6 < 200 { n++ } END {
		if (n)
			print "Of " NR " rows " n " have a launch of less than 200 ms: the window seen was\nprobably another one.  They are included."
	}' "$published_rows"
	. "$here/findings.sh"
	report_all
}

# report_summaries: summarizes all rows except those that were disturbed
report_summaries() {
	disturbed=$study/disturbed run_awk snap-startup-proven "$rows_csv" \
	    "$rows_csv" >"$study/proven.csv"
	pairs=$pairs_file rows_summary -v columns='user_s sys_s majflt' \
	    -v keys='image_B' \
	    -v numbers='loop_n loop_B disk_B quiet_ms held_B' \
	    "$study/proven.csv" >"$study/summary"
}

# pairs_by NAME EXPR: writes pairs with EXPR in place of the seconds
pairs_by() {
	{
		echo "$pairs_head"
		pairs_of '' "$2"
	} >"$study/pairs-$1.csv"
}

print_disturbed() {
	[ -s "$study/disturbed" ] || return 0
	printf '\nDisturbed rows, left out:\n'
	sed 's/^/  /' "$study/disturbed"
}

# report_all: prints the report of $rows_csv
report_all() {
	. "$here/snap-startup-tables.sh"
	rm -f "$study/disturbed"
	report_kernel=$(rows_comments |
	    sed -n 's/^# kernel_squashfs: *//p' | sed 's/ *$//; q')
	print_source
	report_summaries
	pairs_by cpu 'user_s + sys_s'
	for report_app in $apps; do
		print_launches "$report_app"
	done
	[ ! -s "$study/missing" ] || print_missing
	print_failed
	[ -n "$published_rows" ] || {
		print_cost
		print_prewarm
		print_touched
	}
	print_shares
	print_disturbed
	. "$here/snap-startup-findings.sh"
	print_findings
	[ -n "$published_rows" ] || {
		echo
		. "$here/snap-startup-plot.sh"
		plot_all
	}
	print_best
}

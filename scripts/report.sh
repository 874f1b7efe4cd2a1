# shellcheck shell=sh
# report.sh - the tables of a report, in the form that was asked for; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $report_form is html, markdown, csv or plot.  What says something in a table
# says it in all of them; charts are in HTML, and as text in plot.

# report_table CAPTION: TSV with a header on standard input
report_table() {
	case $report_form in
	html) html_table "$1" ;;
	*) awk -F "$tab" -v form="$report_form" -v caption="$1" \
	    -f "$here/report-table.awk" ;;
	esac
}

# report_heading TEXT
report_heading() {
	case $report_form in
	markdown) printf '\n## %s\n' "$(printf %s "$1" | sed 's/[\\`*_<|]/\\&/g')" ;;
	csv) ;;
	*) printf '\n%s\n' "$1" ;;
	esac
}

# report_bars CAPTION: TSV of a label, a value from 0 on, and how it is printed,
# with a header, as bars; a table says the same in other forms
report_bars() {
	[ "$report_form" = plot ] || return 0
	awk -F "$tab" -v caption="$1" -f "$here/report-bars.awk"
}

# report_sentences HEADING: lines, as a list
report_sentences() {
	case $report_form in
	html)
		printf '<h3>%s</h3>\n<ul>\n' "$(html_word "$1")"
		html_text | sed 's/.*/<li>&<\/li>/'
		printf '</ul>\n'
		;;
	markdown) printf '\n' && sed 's/[\\`*_<|]/\\&/g; s/^/- /' ;;
	csv) cat >/dev/null ;;
	*) printf '\n' && fold -s -w 79 | sed 's/ *$//' ;;
	esac
}

# report_operands OPERAND...: exits unless all can be reported on
report_operands() {
	for report_operand; do
		[ -e "$report_operand" ] || die "$report_operand: no such file"
		[ ! -d "$report_operand" ] || [ -e "$report_operand/plan" ] ||
		    die "$report_operand: expected a study's directory, with a plan"
	done
}

# report_print OPERAND...: the report in a form other than HTML
report_print() {
	report_operands "$@"
	[ "$report_form" != markdown ] || printf '# coldpress report\n'
	for report_operand; do
		report_heading "${report_operand##*/}"
		html_one "$report_operand"
	done
}

# report_text: text that is no table: the report of a study, or proposals
report_text() {
	case $report_form in
	markdown) printf '\n```\n' && cat && printf '```\n' ;;
	csv) cat >/dev/null ;;
	*) cat ;;
	esac
}

# report_failed ROWS KEYS: runs that failed, and those that look disturbed, among
# those with the same label and, unless KEYS are given, the same keys
report_failed() {
	csv 'csv_row() && (get("stage") == "" || get("stage") == "all") && \
	    ((get("exit") != "" && get("exit") != 0) || \
	    (get("signal") != "" && get("signal") != 0)) {
		if (!n++)
			print "label\tkeys\trun\tstatus\tsignal\twall s"
		print get("label") "\t" get("keys") "\t" get("run") "\t" \
		    get("exit") "\t" get("signal") "\t" get("wall_s")
	}' "$1" | report_table 'Runs that failed; they count in no median'
	run_awk report-disturbed keyed="${2:+no}" "$1" |
	    report_table 'Runs that look disturbed: five deviations above the median, in which they count'
}

# report_pulls ROWS: bytes over time of lazy pulls: what had come when the image
# was pulled, when the command first wrote, and when it had ended; medians
report_pulls() {
	run_awk report-pulls "$1" >"$tmp/pulls"
	[ -s "$tmp/pulls" ] || return 0
	report_table 'Bytes over time, from the pull to the end of the command' \
	    <"$tmp/pulls"
	report_steps "$tmp/pulls" 'received, MB' 'Bytes received over time'
}

# report_steps TSV UNIT ABOUT: label, seconds, MB as a chart of lines
report_steps() {
	case $report_form in
	html)
		printf '<figure tabindex="0">\n'
		awk -F "$tab" -v unit="$(html_word "$2")" \
		    -v about="$(html_word "$3")" -f "$here/steps.awk" \
		    -f "$here/html-steps.awk" "$1"
		printf '</figure>\n'
		;;
	plot) awk -F "$tab" -v caption="$3" -f "$here/steps.awk" \
	    -f "$here/report-steps.awk" "$1" ;;
	esac
}

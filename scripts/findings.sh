# shellcheck shell=sh
# findings.sh - code shared by the studies' reports; sourced by study_report
# SPDX-License-Identifier: BSD-2-Clause
#
# A finding is a paired ratio of runs, from the rows in $pairs_file, with
# limits.  The study defines study_ratio ROW REFERENCE, which prints the
# published ratio.  $finding_where precedes the names in the list that
# findings_end prints.
pairs_file=$study/pairs.csv finding_where=
study_ratio() { :; }

pairs_head=series,label,run,stage,cache,wall_s,exit,signal

# pairs_of SUFFIX EXPR: prints the rows of $pairs_file for lapcmp, without a
# header, with SUFFIX after the labels and EXPR in place of the seconds
pairs_of() {
	tabulate "
	where $2 != \"\"
	line series, label \"$1\", run, stage, cache, $2, exit, signal" \
	    FS=, OFS=, "$pairs_file"
}

# rows_comments: prints the comments of $rows_csv
rows_comments() {
	[ ! -e "$rows_csv.provenance" ] || cat "$rows_csv.provenance"
	sed -n '/^#/p' "$rows_csv"
}

# cpus_measured: prints how many CPUs the machine that produced $rows_csv has
cpus_measured() {
	rows_comments | sed -n 's/^# cpu: \([0-9]*\) x .*/\1/p' | head -n 1
}

# print_source: prints the contents of the first comments of $rows_csv
print_source() {
	# The comments of lap, one set per cell, begin with the series.
	rows_comments | sed '/^# series:/,$d; s/^# //'
}

# rows_summary AWK-ARGUMENT...: runs rows.awk
rows_summary() { run_awk rows "$@"; }

# summarize AWK-ARGUMENT...: summarizes $rows_csv to $study/summary and
# $pairs_file
summarize() {
	pairs=$pairs_file rows_summary "$@" "$rows_csv" >"$study/summary"
}

# print_summary: prints one line per row
print_summary() {
	tabulate '
	-16s   = label
	3d     n
	9.3f   Time(s) = wall_s
	19.3f.. 95 % interval = wall
	8.2f   CPU(s) = cpu_s
	14.0f  Stored(B) = size_B' "$study/summary"
}

# print_failed: lists the rows that have failed runs
print_failed() {
	tabulate '
	where failed > 0
	line label ": " failed " of " runs " runs failed and are left out"' \
	    "$study/summary"
}

# print_missing: lists the rows that could not be measured
print_missing() {
	awk -F '\t' '{ print $1 ": missing: " $2 }' "$study/missing"
}

# missing_table: prints the same as TSV with a header: label, why
missing_table() {
	printf 'label\twhy\n'
	cat "$study/missing"
}

# column NAME LABEL: prints a value from the summary
column() {
	tabulate "where label == row
	line $1" row="$2" "$study/summary"
}

# ratio ROW REFERENCE: prints their ratio as measured here, if both were
# measured
ratio() { pair_ratio "$pairs_file" "$1" "$2"; }

# pooled A B FACTOR: reads TSV: series, round, name, A or B, seconds; prints one
# pair per round for lapcmp, with the labels A and B: the geometric means over
# the names that were measured with both; that of A is multiplied by FACTOR.
# Pairs in the same round are not independent of each other.
pooled() { awk -F '\t' -f "$here/pooled.awk" a="$1" b="$2" factor="$3" -; }

# ratios FILE NAME: prints the paired ratios of the rows on standard input, ROW
# and REFERENCE, as TSV: label, NAME, NAME_lo, NAME_hi
ratios() {
	printf 'label\t%s\t%s_lo\t%s_hi\n' "$2" "$2" "$2"
	while read -r ratios_row ratios_reference; do
		printf '%s\t%s\n' "$ratios_row" "$(pair_ratio "$1" \
		    "$ratios_row" "$ratios_reference")"
	done
}

# finding TEXT ROW REFERENCE LIMIT: tests the study's finding that the ratio of
# ROW to REFERENCE is within these limits, using the interval of the ratio
# measured here
finding() {
	finding_ratio=$(ratio "$2" "$3")
	finding_pairs=/dev/null
	[ -z "$finding_ratio" ] || finding_pairs=$pairs_file
	verdicts=$study/verdicts run_awk finding text="$1" a="$2" b="$3" \
	    limit="$4" study="$(study_ratio "$2" "$3")" \
	    ratio="$finding_ratio" where="${finding_where:+$finding_where/}" \
	    "$finding_pairs"
}

# exact TEXT TRUE DETAIL: prints a finding about sizes, which have no noise;
# TRUE is 1, 0, a verdict, or empty if something was not measured
exact() {
	case $2 in
	1) exact_verdict='holds here' ;;
	0) exact_verdict='does not hold here' ;;
	*) exact_verdict=${2:-not measured} ;;
	esac
	printf '  %s\n    %s: %s\n' "$1" "$3" "$exact_verdict"
}

# findings_begin: starts the findings of this report
findings_begin() { : >"$study/verdicts"; }

# findings_end: prints how many verdicts may be wrong, at 5 % each, and which of
# them remain when the family-wise error rate is limited to 5 % (Holm's method)
findings_end() {
	[ -s "$study/verdicts" ] || return 0
	printf '\n'
	sort -s -t "$tab" -k 2,2g "$study/verdicts" |
	    awk -F '\t' -f "$here/holm.awk" | wrap
}

# took WHAT ROW WHOSE REFERENCE: prints a sentence about both times, with its
# interval or without a verdict, for example:
# took 'pzc -p4' A12 "pigz's time" A6
took() {
	took_ratio=$(ratio "$2" "$4")
	[ -z "$took_ratio" ] || printf '%s\n' "$took_ratio" |
	    awk -F '\t' -v what="$1" -v whose="$3" '{
		printf "%s took %.2f", what, $1
		if ($2 != "")
			printf " (%.2f to %.2f) of %s. ", $2, $3, whose
		else
			printf " of %s (not decided: fewer than 6 pairs). ",
			    whose
	}'
}

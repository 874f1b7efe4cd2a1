# shellcheck shell=sh
# findings.sh - code shared by the studies' reports; sourced by study_report
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# A finding is a paired ratio of runs, from the rows in $pairs_file, with
# limits.  The study defines study_ratio ROW REFERENCE, which prints the
# published ratio.  $finding_where precedes the names in the list that
# findings_end prints.
pairs_file=$study/pairs.csv finding_where=
study_ratio() { :; }

# cpus_measured: prints how many CPUs the machine that produced $rows_csv has
cpus_measured() {
	sed -n 's/^# cpu: \([0-9]*\) x .*/\1/p' "$rows_csv" | head -n 1
}

# print_source: prints the contents of the first comment lines in $rows_csv
print_source() {
	# The comment lines of lap, one set per cell, begin with the series.
	sed -n '/^# series:/q; s/^# //p' "$rows_csv"
}

# rows_summary AWK-ARGUMENT...: runs rows.awk
rows_summary() {
	awk -f "$here/csv.awk" -f "$here/stats.awk" -f "$here/rows.awk" "$@"
}

# summarize AWK-ARGUMENT...: summarizes $rows_csv to $study/summary and
# $pairs_file
summarize() {
	pairs=$pairs_file rows_summary "$@" "$rows_csv" >"$study/summary"
}

# print_summary: prints one line per row
print_summary() {
	tsv '
	function real(format, name) {
		return get(name) == "" ? "" : sprintf(format, get(name))
	}
	BEGIN {
		printf "%-16s %3s %9s %19s %8s %14s\n", "", "n", "Time(s)",
		    "95 % interval", "CPU(s)", "Stored(B)"
	}
	csv_row() {
		printf "%-16s %3d %9s %19s %8s %14s\n", get("label"),
		    get("n"), real("%.3f", "wall_s"),
		    get("wall_lo") == "" ? "" : sprintf("%.3f .. %.3f",
		    get("wall_lo"), get("wall_hi")), real("%.2f", "cpu_s"),
		    real("%.0f", "size_B")
	}' "$study/summary"
}

# print_failed: lists the rows that have failed runs
print_failed() {
	tsv 'csv_row() && get("failed") {
		printf "%s: %d of %d runs failed and are left out\n",
		    get("label"), get("failed"), get("runs")
	}' "$study/summary"
}

# column NAME LABEL: prints a value from the summary
column() {
	tsv 'csv_row() && get("label") == label { print get(name) }' \
	    name="$1" label="$2" "$study/summary"
}

# ratio ROW REFERENCE: prints their ratio as measured here, if both were
# measured
ratio() { pair_ratio "$pairs_file" "$1" "$2"; }

# pair_chances ROW REFERENCE LIMIT: prints the p-values of the two-sided sign
# test under the assumptions that the finding does not hold and that it holds.
# A missing limit is 0 or 1e300.
pair_chances() {
	# shellcheck disable=SC2016
	awk "$(cat "$here/csv.awk" "$here/stats.awk")"'
	csv_row() && get("stage") == "all" && !failed() {
		pair = get("series") SUBSEP get("run") SUBSEP get("cache")
		if (get("label") == a)
			x[pair] = get("wall_s")
		if (get("label") == b)
			y[pair] = get("wall_s")
	}
	function chance(k) { return 2 * tail(n, k) < 1 ? 2 * tail(n, k) : 1 }
	END {
		limits(limit)
		for (pair in x) {
			if (!(pair in y) || !(y[pair] > 0))
				continue
			n++
			below += x[pair] / y[pair] <= low
			within += x[pair] / y[pair] <= high
		}
		holds = low > 0 ? chance(below) : 0
		if (high < 1e300 && chance(n - within) > holds)
			holds = chance(n - within)
		fails = low > 0 ? chance(n - below) : 1
		if (high < 1e300 && chance(within) < fails)
			fails = chance(within)
		printf "%g\t%g\n", holds, fails
	}'"$limits_awk" a="$1" b="$2" limit="$3" "$pairs_file"
}

# "1.1" means at most 1.1, "> 1" more than 1, and "0.9 .. 1.1" a range
limits_awk='
function limits(text,  part) {
	low = 0
	high = 1e300
	words = "<= " text
	if (text ~ /^>/) {
		words = text
		low = substr(text, 2) + 0
	} else if (split(text, part, / *\.\. */) == 2) {
		words = "in " text
		low = part[1] + 0
		high = part[2] + 0
	} else
		high = text + 0
}'

# finding TEXT ROW REFERENCE LIMIT: tests the study's finding that the ratio of
# ROW to REFERENCE is within these limits, using the interval of the ratio
# measured here
finding() {
	finding_ratio=$(ratio "$2" "$3")
	finding_chances="$tab"
	[ -z "$finding_ratio" ] ||
	    finding_chances=$(pair_chances "$2" "$3" "$4")
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" \
	    "$(study_ratio "$2" "$3")" "${finding_ratio:-$tab$tab}" \
	    "$finding_chances" |
	    verdicts="$study/verdicts" awk -F '\t' \
	    -v where="${finding_where:+$finding_where/}" "$limits_awk"'
	BEGIN { verdicts = ENVIRON["verdicts"] }
	{
		limits($4)
		chance = 1
		if ($6 == "")
			verdict = "not measured"
		else if ($7 == "")
			verdict = "not decided: fewer than 6 pairs"
		else if ($7 > low && $8 <= high) {
			verdict = "holds here"
			chance = $9
		} else if ($7 > high || $8 <= low) {
			verdict = "does not hold here"
			chance = $10
		} else
			verdict = "not decided"
		printf "  %s\n    %s/%s %s: study %s, here %s", $1, $2,
		    $3, words, $5 == "" ? "-" : $5,
		    $6 == "" ? "-" : sprintf("%.3f", $6)
		if ($7 != "") {
			printf " [%.3f, %.3f]", $7, $8
			printf "%s%s/%s\t%s\n", where, $2, $3, chance \
			    >>verdicts
		}
		printf ": %s\n", verdict
	}'
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
	sort -s -t "$tab" -k 2,2g "$study/verdicts" | awk -F '\t' '
	{
		name[NR] = $1
		chance[NR] = $2
		decided += $2 < 0.05
	}
	END {
		printf "%d finding%s tested, each with its own 95 %% interval; %d decided. Up to %.1f of these verdicts are expected to be wrong by chance. ",
		    NR, (NR > 1 ? "s were" : " was"), decided, NR * 0.05
		for (i = 1; i <= NR && chance[i] * (NR - i + 1) < 0.05; i++)
			stand = stand " " name[i]
		if (stand != "")
			printf "Holding their family-wise error to 5 %% (Holm) leaves these decided:%s.\n",
			    stand
		else {
			for (n = 6; NR * 2 / 2 ^ n >= 0.05; n++)
				;
			printf "Holding their family-wise error to 5 %% (Holm) leaves none decided; that needs at least %d rounds.\n",
			    n
		}
	}' | wrap
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

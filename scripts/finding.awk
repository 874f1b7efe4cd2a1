# finding.awk - test a study's finding about the ratio of two rows
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f stats.awk -f finding.awk text=TEXT a=ROW b=REFERENCE
# limit=LIMIT study=RATIO ratio=TSV where=WORD PAIRS.csv: RATIO is the published
# one, and TSV the one measured here with its interval, or empty.  "1.1" means
# at most 1.1, "> 1" more than 1, and "0.9 .. 1.1" a range.  The p-value of the
# verdict, by the two-sided sign test, is appended to the file given by verdicts
# in the environment.

# limits: sets low, high and words; a missing limit is 0 or 1e300
function limits(  part) {
	low = 0
	high = 1e300
	words = "<= " limit
	if (limit ~ /^>/) {
		words = limit
		low = substr(limit, 2) + 0
	} else if (split(limit, part, / *\.\. */) == 2) {
		words = "in " limit
		low = part[1] + 0
		high = part[2] + 0
	} else
		high = limit + 0
}

function chance_of(k) { return 2 * tail(n, k) < 1 ? 2 * tail(n, k) : 1 }

# chance HOLDS: returns the p-value under the assumption that the finding does
# not hold (for the verdict that it does) or, if HOLDS is 0, that it holds
function chance(holds,  p, pair, below, within) {
	n = below = within = 0
	for (pair in x) {
		if (!(pair in y) || !(y[pair] > 0))
			continue
		n++
		below += x[pair] / y[pair] <= low
		within += x[pair] / y[pair] <= high
	}
	if (holds) {
		p = low > 0 ? chance_of(below) : 0
		return high < 1e300 && chance_of(n - within) > p ? \
		    chance_of(n - within) : p
	}
	p = low > 0 ? chance_of(n - below) : 1
	return high < 1e300 && chance_of(within) < p ? chance_of(within) : p
}

csv_row() && get("stage") == "all" && !failed() {
	pair = get("series") SUBSEP get("run") SUBSEP get("cache")
	if (get("label") == a)
		x[pair] = get("wall_s")
	if (get("label") == b)
		y[pair] = get("wall_s")
}
END {
	limits()
	split(ratio, r, "\t")
	p = 1
	if (r[1] == "")
		verdict = "not measured"
	else if (r[2] == "")
		verdict = "not decided: fewer than 6 pairs"
	else if (r[2] > low && r[3] <= high) {
		verdict = "holds here"
		p = chance(1)
	} else if (r[2] > high || r[3] <= low) {
		verdict = "does not hold here"
		p = chance(0)
	} else
		verdict = "not decided"
	printf "  %s\n    %s/%s %s: study %s, here %s", text, a, b, words,
	    study == "" ? "-" : study, r[1] == "" ? "-" : sprintf("%.3f", r[1])
	if (r[2] != "") {
		printf " [%.3f, %.3f]", r[2], r[3]
		printf "%s%s/%s\t%g\n", where, a, b, p >>ENVIRON["verdicts"]
	}
	printf ": %s\n", verdict
}

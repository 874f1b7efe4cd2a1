# breakeven.awk - how many cold starts pay for a longer export
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -F '\t' -v ref=ID -v summary=FILE -f stats.awk -f breakeven.awk IDS
# PAIRS.csv: IDS has the labels, a line each, PAIRS.csv lap's rows of ID and
# ID.start.  Differences are of runs in the same round.  The range of starts
# is from the least longer export over the most saved to the most over the
# least: wider than 95 %, since both ends seldom meet.

# differences A B: into d, of the runs that both have
function differences(a, b,  r, n) {
	n = 0
	for (r = 1; r <= last; r++)
		if ((a, r) in wall && (b, r) in wall)
			d[++n] = wall[a, r] - wall[b, r]
	return n
}

function span(lo, hi, format) {
	return lo == "" ? "" : sprintf(format " .. " format, lo, hi)
}

# bounds N: lo and hi of the median of d[1..N]; empty below 6
function bounds(n,  k) {
	lo = hi = ""
	k = rank(n)
	if (k < 1)
		return
	sort(d, n)
	lo = d[k]
	hi = d[n + 1 - k]
}

function starts(longer, saved) {
	if (saved <= 0)
		return "never"
	return longer <= 0 ? "0" : sprintf("%.1f", longer / saved)
}

function print_id(id,  n, longer, longer_lo, longer_hi, saved, range, f) {
	split(line[id ".start"], f, "\t")
	if (f[4] == "")
		return
	printf "%-12s %2d %9.3f %17s %8.1f %8.1f", id, f[2] - f[3], f[4],
	    span(f[5], f[6], "%.3f"), f[22] / 1048576, f[23] / 1048576
	n = differences(id, ref)
	if (id == ref || !n) {
		print ""
		return
	}
	longer = median(d, n)
	bounds(n)
	longer_lo = lo
	longer_hi = hi
	n = differences(ref ".start", id ".start")
	saved = n ? median(d, n) : 0
	bounds(n)
	range = ""
	if (lo != "" && longer_lo != "")
		range = starts(longer_lo, hi) " .. " starts(longer_hi, lo)
	printf " %9.3f %17s %8s %s\n", longer, span(lo, hi, "%.3f"),
	    starts(longer, saved), range
}

BEGIN {
	while ((getline text <summary) > 0) {
		split(text, part, "\t")
		line[part[1]] = text
	}
	close(summary)
}
FILENAME == "-" || FILENAME == "" { id[++ids] = $1; next }
/^#/ { next }
{ n = split($0, f, ",") }
!head {
	for (i = 1; i <= n; i++)
		at[f[i]] = i
	head = 1
	next
}
f[at["exit"]] + 0 == 0 && f[at["signal"]] + 0 == 0 {
	run = f[at["run"]] + 0
	wall[f[at["label"]], run] = f[at["wall_s"]]
	if (run > last)
		last = run
}
END {
	for (i = 1; i <= ids; i++)
		print_id(id[i])
}

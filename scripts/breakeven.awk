# breakeven.awk - compute how many cold starts compensate for a longer export
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f breakeven.awk -v ref=ID -v ids='ID...' 'FS=\t'
# SUMMARY FS=, PAIRS.csv: SUMMARY is from rows.awk, and PAIRS.csv has lap's rows
# of ID and ID.start.  Differences are between runs in the same round.  The
# range of starts goes from the smallest extra export time divided by the
# largest saving to the largest divided by the smallest; it is wider than a 95 %
# confidence interval, because both extremes rarely coincide.

# differences A B: stores A - B in d for each run that exists for both
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

function starts(longer, saved) {
	if (saved <= 0)
		return "never"
	return longer <= 0 ? "0" : sprintf("%.1f", longer / saved)
}

function print_id(id,  n, longer, longer_lo, longer_hi, saved, range) {
	if (wall_s[id ".start"] == "")
		return
	printf "%-16s %s", id, head[id ".start"]
	n = differences(id, ref)
	if (id == ref || !n) {
		print ""
		return
	}
	longer = median(d, n)
	bounds(d, n)
	longer_lo = lo
	longer_hi = hi
	n = differences(ref ".start", id ".start")
	saved = n ? median(d, n) : 0
	bounds(d, n)
	range = ""
	if (lo != "" && longer_lo != "")
		range = starts(longer_lo, hi) " .. " starts(longer_hi, lo)
	printf " %9.3f %17s %8s %s\n", longer, span(lo, hi, "%.3f"),
	    starts(longer, saved), range
}

BEGIN { n_ids = split(ids, id, " ") }
!csv_row() { next }
FS == "\t" {
	label = get("label")
	wall_s[label] = get("wall_s")
	head[label] = sprintf("%2d %9.3f %17s %8.1f %8.1f", get("n"),
	    get("wall_s"), span(get("wall_lo"), get("wall_hi"), "%.3f"),
	    get("loop_B") / 1048576, get("disk_B") / 1048576)
	next
}
!failed() {
	run = get("run") + 0
	wall[get("label"), run] = get("wall_s")
	if (run > last)
		last = run
}
END {
	for (i = 1; i <= n_ids; i++)
		print_id(id[i])
}

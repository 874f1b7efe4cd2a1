# bench-mount.awk - print "CPU | wall | n" for a job: how many times as fast
# layermount is as its peer
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f stats.awk -f bench-mount.awk job=JOB ROWS: job, round,
# server, ms of processor time, ms
BEGIN { FS = "[ \t]+" }
function cell(r) {
	m = median(r, n)
	bounds(r, n)
	return sprintf(lo == "" ? "%.2f (n < 6)" : "%.2f (%.2f..%.2f)",
	    m, lo, hi)
}
$1 == job {
	ours = $3 == "ours" || $3 == "again"
	cpu[$2, ours] = $4
	wall[$2, ours] = $5
	rounds[$2]
}
END {
	for (round in rounds)
		if ((round, 0) in cpu && (round, 1) in cpu) {
			c[++n] = cpu[round, 0] / cpu[round, 1]
			w[n] = wall[round, 0] / wall[round, 1]
		}
	if (n)
		printf "%s | %s | %d", cell(c), cell(w), n
}

# snap-startup-files.awk - compute the share of all bytes in the largest files
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f snap-startup-files.awk what=WHAT app=APP n=N SIZES, which are sorted,
# the largest first:
#   share  prints the percentage in the N largest
#   row    prints a row of the table
#   plot   prints app, number, size and the percentage so far, about forty
#          points per decade
{ sum[NR] = sum[NR - 1] + $1 }

# most N: returns the percentage in the N largest
function most(n) { return 100 * sum[n < NR ? n : NR] / sum[NR] }

END {
	if (!sum[NR])
		exit
	if (what == "share")
		printf "%.0f", most(n)
	if (what == "row")
		printf "%-14s %8d %9.1f %10.0f %% %10.0f %%\n", app, NR,
		    sum[NR] / 1e6, most(10), most(100)
	if (what != "plot")
		exit
	OFS = "\t"
	for (i = 1; i <= NR; i++) {
		if (i > 100 && i < next_at && i < NR)
			continue
		next_at = i * 1.06
		print app, i, sum[i] - sum[i - 1], most(i)
	}
	printf "\n\n"
}

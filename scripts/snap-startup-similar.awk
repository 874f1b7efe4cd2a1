# snap-startup-similar.awk - print whether two machines have similar ratios
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f snap-startup-similar.awk name=ROWS n=N here=TSV there=TSV /dev/null:
# the ratios of these rows on the first machine and on the Nth, with their
# intervals; nothing is printed if one of them was not measured
END {
	split(here, a, "\t")
	split(there, b, "\t")
	if (a[1] == "" || b[1] == "")
		exit
	verdict = "not decided: fewer than 6 pairs"
	if (a[2] != "" && b[2] != "") {
		low = b[2] / a[3]
		high = b[3] / a[2]
		verdict = "not decided"
		if (low >= 0.8 && high <= 1.25)
			verdict = "similar"
		else if (high < 0.8 || low > 1.25)
			verdict = "different"
	}
	printf "  %s: 1 has %.3f", name, a[1]
	if (a[2] != "")
		printf " [%.3f, %.3f]", a[2], a[3]
	printf ", %d has %.3f", n, b[1]
	if (b[2] != "")
		printf " [%.3f, %.3f]", b[2], b[3]
	printf ": %s\n", verdict
}

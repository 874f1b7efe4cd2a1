# report-disturbed.awk - runs that look disturbed
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f report-disturbed.awk ROWS.csv: TSV of the
# successful runs that took longer than the median of their label by more than
# five standard deviations, which are estimated from the median of the distances
# to the median; only of labels with six runs or more.  Runs with different keys
# are different labels, unless keyed=no.

csv_row() && (get("stage") == "" || get("stage") == "all") && !failed() && \
    get("wall_s") != "" {
	l = get("label") "\t" (keyed == "no" ? "" : get("keys"))
	if (!(l in count))
		label[++labels] = l
	c = ++count[l]
	wall[l, c] = get("wall_s") + 0
	run[l, c] = get("run")
}

END {
	for (k = 1; k <= labels; k++) {
		l = label[k]
		n = count[l]
		if (n < 6)
			continue
		for (i = 1; i <= n; i++)
			v[i] = wall[l, i]
		middle = median(v, n)
		for (i = 1; i <= n; i++)
			v[i] = wall[l, i] < middle ? middle - wall[l, i] : \
			    wall[l, i] - middle
		# of a normal distribution, that is its deviation
		apart = 1.4826 * median(v, n)
		for (i = 1; i <= n; i++) {
			if (apart <= 0 || wall[l, i] - middle <= 5 * apart)
				continue
			if (!found++)
				print "label\tkeys\trun\twall s\tmedian s\tdeviations"
			printf "%s\t%s\t%.6g\t%.6g\t%.1f\n", l, run[l, i], \
			    wall[l, i], middle, (wall[l, i] - middle) / apart
		}
	}
}

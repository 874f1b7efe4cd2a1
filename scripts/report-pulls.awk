# report-pulls.awk - bytes over time of lazy pulls, from the rows of a study
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f report-pulls.awk ROWS.csv: TSV of a label, a
# time in s and the MB received until then, medians over the successful runs:
# nothing at 0, what the pull received when it ended, and everything when the
# command had ended.

function middle(name, l,  i, n, v) {
	n = count[l]
	for (i = 1; i <= n; i++)
		v[i] = value[name, l, i]
	return median(v, n)
}

csv_row() && !failed() && key("pull_B") != "" && \
    key("pull_s") != "" && get("wall_s") != "" {
	l = get("label")
	if (!(l in count))
		label[++labels] = l
	i = ++count[l]
	value["pull_s", l, i] = key("pull_s") + 0
	value["pull_MB", l, i] = key("pull_B") / 1e6
	value["wall_s", l, i] = get("wall_s") + 0
	value["MB", l, i] = (key("pull_B") + \
	    key("run_B")) / 1e6
}

END {
	if (!labels)
		exit
	print "label\ts\tMB"
	for (k = 1; k <= labels; k++) {
		l = label[k]
		printf "%s\t0\t0\n%s\t%.3f\t%.3f\n%s\t%.3f\t%.3f\n", l, l, \
		    middle("pull_s", l), middle("pull_MB", l), l, \
		    middle("wall_s", l), middle("MB", l)
	}
}

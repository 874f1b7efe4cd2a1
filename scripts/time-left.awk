# time-left.awk - print how many seconds the cells of a study from line N on take
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v from=N -v nodes=NODES -f time-left.awk TOOK WEIGHTS LEFT
#
# A row of WEIGHTS is a row of the table, what it resembles, and how much longer
# it takes; a row that has not been run takes as long as those it resembles, by
# their weights.
function named(name) { return FILENAME == ARGV[name] }
/^#/ { next }
named(1) {
	sum[$1] += $3 - $2
	n[$1]++
	next
}
named(2) {
	kind[$1] = $2
	weight[$1] = $3
	next
}
FNR >= from {
	sub(/^[0-9]*[.]/, "")
	left[$1]++
}
function weight_of(row) { return row in weight ? weight[row] : 1 }
END {
	for (row in n) {
		time[kind[row]] += sum[row]
		amount[kind[row]] += n[row] * weight_of(row)
		all += sum[row]
		all_amount += n[row] * weight_of(row)
	}
	if (!all_amount)
		exit
	for (row in left) {
		if (row in n)
			each = sum[row] / n[row]
		else if (amount[kind[row]])
			each = weight_of(row) * time[kind[row]] / \
			    amount[kind[row]]
		else
			each = weight_of(row) * all / all_amount
		needed += left[row] * each
	}
	printf "%.1f\n", needed / nodes
}

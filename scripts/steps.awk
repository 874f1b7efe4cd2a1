# steps.awk - read lines of TSV to be drawn; load it before the program
# SPDX-License-Identifier: BSD-2-Clause
#
# The columns are label, x and y, and the header has the units of x and y.  Sets
# label[1..labels], their points n[l], x[l, i] and y[l, i], and x_most and y_most.

NR == 1 {
	x_unit = $2
	y_unit = $3
	next
}

{
	if ($1 != label[labels])
		label[++labels] = $1
	n[labels]++
	x[labels, n[labels]] = $2
	y[labels, n[labels]] = $3
	if ($2 > x_most)
		x_most = $2
	if ($3 > y_most)
		y_most = $3
}

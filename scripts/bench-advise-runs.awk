# bench-advise-runs.awk - medians of repeated runs
# SPDX-License-Identifier: BSD-2-Clause
# awk -f stats.awk -f bench-advise-runs.awk RUNS: lines of candidate, size and
# two CPU times become CSV, with how far the first of them are apart.

{
	if (!($1 in n))
		name[++names] = $1
	i = ++n[$1]
	size[$1] = $2
	go[$1, i] = $3
	back[$1, i] = $4
}

END {
	for (k = 1; k <= names; k++) {
		c = name[k]
		for (i = 1; i <= n[c]; i++) {
			a[i] = go[c, i]
			b[i] = back[c, i]
		}
		middle = median(a, n[c])
		printf "%s,%d,%.6g,%.6g,%.4f\n", c, size[c], middle, \
		    median(b, n[c]), (middle > 0 ? (a[n[c]] - a[1]) / middle : 0)
	}
}

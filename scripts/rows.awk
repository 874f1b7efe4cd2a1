# rows.awk - what a study's tables need of lap's rows, one line a label
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f rows.awk ROWS.csv: TSV of label, runs, failed runs, median wall_s
# and its 95 % interval (empty below 6 runs), median user+sys, bytes that the
# last stage stored, medians of the stalls on input, output and workers,
# median of what tar read from the disk, the least it was given, the largest
# share that was in the cache before, bytes received and sent.  Only
# successful runs count; a 1 from tar, which says that a file changed, is a
# success.  With -v pairs=FILE the rows of whole runs go there, such a 1 as a
# 0, for lapcmp.

# sort a[1..n] by value; n is the number of runs, so this is fast enough
function sort(a, n,  i, j, x) {
	for (i = 2; i <= n; i++) {
		x = a[i]
		for (j = i - 1; j > 0 && a[j] > x; j--)
			a[j + 1] = a[j]
		a[j + 1] = x
	}
}

function median(a, n) {
	sort(a, n)
	return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

# The k-th and the (n+1-k)-th of n hold the median with 95 %, for the largest
# k such that a binomial (n, 1/2) is below k with 2.5 % at most.
function rank(n,  p, sum, k) {
	p = 1 / 2 ^ n
	sum = 0
	for (k = 0; k < n; k++) {
		sum += p
		if (sum > 0.025)
			break
		p = p * (n - k) / (k + 1)
	}
	return k
}

# of LABEL COLUMN: the median of the column in the good runs, empty if none
function of(label, column,  i, n, a, v) {
	n = 0
	for (i = 1; i <= runs[label]; i++) {
		v = value[label, i, column]
		if (!bad[label, i] && v != "")
			a[++n] = v + 0
	}
	return n ? median(a, n) : ""
}

function extreme(label, column, sign,  i, v, best) {
	best = ""
	for (i = 1; i <= runs[label]; i++) {
		v = value[label, i, column]
		if (!bad[label, i] && v != "" &&
		    (best == "" || (v - best) * sign > 0))
			best = v
	}
	return best
}

# the interval of the wall clock's median, as two fields
function interval(label,  i, n, a, k) {
	n = 0
	for (i = 1; i <= runs[label]; i++)
		if (!bad[label, i])
			a[++n] = value[label, i, "wall"] + 0
	k = rank(n)
	if (k < 1)
		return "\t"
	sort(a, n)
	return a[k] "\t" a[n + 1 - k]
}

function get(name) { return name in at ? $(at[name]) : "" }

function print_pair() {
	if (!bad[label, i])
		$at["exit"] = 0
	gsub(OFS, ",")
	print >pairs
}

BEGIN { FS = ","; OFS = "\t"; CONVFMT = OFMT = "%.9g" }
/^#/ { next }
!headed {
	for (i = 1; i <= NF; i++)
		at[$i] = i
	head = $0
	headed = 1
	if (pairs != "")
		print >pairs
	next
}
$0 == head { next }
{
	label = get("label")
	stage = get("stage")
	key = label SUBSEP get("run")
	if (!(key in index_of)) {
		if (!(label in runs))
			order[++labels] = label
		index_of[key] = ++runs[label]
	}
	i = index_of[key]
	first = stage == "all" || stage == 1
	if (get("signal") + 0 || get("exit") > 1 || (get("exit") && !first))
		bad[label, i] = 1
	# A run of one stage has one row; of several, the first is tar's.
	if (!((label, i, "read") in value)) {
		value[label, i, "read"] = get("read_B")
		value[label, i, "given"] = get("rchar_B")
	}
	# The row of the whole run comes last, if there is more than one.
	value[label, i, "wall"] = get("wall_s")
	value[label, i, "cpu"] = get("user_s") + get("sys_s")
	value[label, i, "size"] = get("stdout_B")
	if (get("stdout_B") == "")
		value[label, i, "size"] = get("out_B")
	value[label, i, "in"] = get("stall_in_s")
	value[label, i, "out"] = get("stall_out_s")
	value[label, i, "work"] = get("stall_work_s")
	value[label, i, "rx"] = get("rx_B")
	value[label, i, "tx"] = get("tx_B")
	if (pairs != "" && stage == "all")
		print_pair()
	if (match(get("keys"), /resident_pct=[0-9.]+/))
		value[label, i, "resident"] = substr(get("keys"), RSTART + 13,
		    RLENGTH - 13)
}
END {
	for (l = 1; l <= labels; l++) {
		label = order[l]
		failed = 0
		for (i = 1; i <= runs[label]; i++)
			failed += bad[label, i]
		print label, runs[label], failed, of(label, "wall"),
		    interval(label), of(label, "cpu"), of(label, "size"),
		    of(label, "in"), of(label, "out"), of(label, "work"),
		    of(label, "read"), extreme(label, "given", -1),
		    extreme(label, "resident", 1), of(label, "rx"),
		    of(label, "tx")
	}
}

# rows.awk - what a study's tables need of lap's rows, one line a label
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f stats.awk -f rows.awk ROWS.csv: TSV of label, runs, failed runs,
# median wall_s and its 95 % interval (empty below 6 runs), median user+sys,
# bytes that the last stage stored, medians of the stalls on input, output and workers,
# median of what tar read from the disk, the least it was given, the largest
# share that was in the cache before, bytes received and sent.  Then, as asked
# by -v columns=NAMES and -v keys=NAMES, medians of lap's columns, and the last
# value of the keys.  Only successful runs count; a 1 from tar, which says that
# a file changed, is a success, unless -v strict=1.  With -v pairs=FILE the
# rows of whole runs go there, such a 1 as a 0, for lapcmp.  -v wall=COLUMN
# puts another column in the place of wall_s, in FILE too.

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
	$at["wall_s"] = get(wall)
	gsub(OFS, ",")
	print >pairs
}

BEGIN {
	FS = ","
	OFS = "\t"
	CONVFMT = OFMT = "%.12g"
	if (wall == "")
		wall = "wall_s"
	more = split(columns, column, " ")
	asked = split(keys, key_name, " ")
}
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
	if (get("signal") + 0 || get("exit") > 1 || (get("exit") && (!first || strict)))
		bad[label, i] = 1
	# A run of one stage has one row; of several, the first is tar's.
	if (!((label, i, "read") in value)) {
		value[label, i, "read"] = get("read_B")
		value[label, i, "given"] = get("rchar_B")
	}
	# The row of the whole run comes last, if there is more than one.
	value[label, i, "wall"] = get(wall)
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
	for (c = 1; c <= more; c++)
		value[label, i, column[c]] = get(column[c])
	n = split(get("keys"), pair, ";")
	for (c = 1; c <= n; c++)
		if (!bad[label, i])
			fact[label, substr(pair[c], 1, index(pair[c], "=") - 1)] = \
			    substr(pair[c], index(pair[c], "=") + 1)
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
		line = label OFS runs[label] OFS failed OFS \
		    of(label, "wall") OFS interval(label) OFS \
		    of(label, "cpu") OFS of(label, "size") OFS \
		    of(label, "in") OFS of(label, "out") OFS \
		    of(label, "work") OFS of(label, "read") OFS \
		    extreme(label, "given", -1) OFS \
		    extreme(label, "resident", 1) OFS of(label, "rx") OFS \
		    of(label, "tx")
		for (c = 1; c <= more; c++)
			line = line OFS of(label, column[c])
		for (c = 1; c <= asked; c++)
			line = line OFS fact[label, key_name[c]]
		print line
	}
}

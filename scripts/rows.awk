# rows.awk - summarize lap's rows for a study's tables, one line per label
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f stats.awk -f rows.awk ROWS.csv: TSV with a header: label;
# runs, failed, n (those that succeeded); the median of wall_s and its 95 %
# interval (wall_lo, wall_hi; empty for fewer than 6 runs); medians of cpu_s
# (user and sys), size_B (bytes stored by the last stage) and the stalls;
# read_B, the median of the bytes that tar read from disk, and given_B, the
# minimum of the bytes that tar read; rx_B, tx_B.  Then, if selected by
# -v columns=, -v keys= and -v numbers=NAMES, medians of lap's columns, the last
# values of keys, and medians of keys.  Only successful runs are used; status 1
# from tar, which means that a file changed, is a success unless -v strict=1 is
# given.  With pairs=FILE in the environment, the rows of whole runs are written
# to FILE for lapcmp, with that status replaced with 0.  -v wall=COLUMN uses
# another column instead of wall_s, in FILE too.

# of LABEL COLUMN: returns the column's median over the successful runs, empty
# if there are none
function of(label, column,  i, n, a, v) {
	n = 0
	for (i = 1; i <= runs[label]; i++) {
		v = value[label, i, column]
		if (!bad[label, i] && v != "")
			a[++n] = v + 0
	}
	return n ? median(a, n) : ""
}

function least(label, column,  i, v, best) {
	best = ""
	for (i = 1; i <= runs[label]; i++) {
		v = value[label, i, column]
		if (!bad[label, i] && v != "" &&
		    (best == "" || v + 0 < best))
			best = v + 0
	}
	return best
}

# interval LABEL: returns the interval of the median wall clock time, as two
# fields
function interval(label,  i, n, a) {
	n = 0
	for (i = 1; i <= runs[label]; i++)
		if (!bad[label, i])
			a[++n] = value[label, i, "wall_s"] + 0
	bounds(a, n)
	return lo OFS hi
}

function print_pair() {
	if (!bad[label, i])
		$at["exit"] = 0
	$(timed ? at["wall_s"] : NF + 1) = get(wall)
	print csv_line() >pairs
}

# keep NAMES: stores this row's values in the columns with those names
function keep(names,  i, n, name) {
	n = split(names, name, " ")
	for (i = 1; i <= n; i++)
		value[label, run, name[i]] = get(name[i])
}

function print_label(label,  i, line) {
	for (i = 1; i <= runs[label]; i++)
		failures[label] += bad[label, i]
	line = label OFS runs[label] OFS failures[label] + 0 OFS \
	    runs[label] - failures[label] OFS of(label, "wall_s") OFS \
	    interval(label)
	for (i = 1; i <= medians; i++)
		line = line OFS of(label, median_of[i])
	line = line OFS of(label, "read_B") OFS least(label, "given_B") OFS \
	    of(label, "rx_B") OFS of(label, "tx_B")
	for (i = 1; i <= more; i++)
		line = line OFS of(label, column[i])
	for (i = 1; i <= asked; i++)
		line = line OFS fact[label, key_name[i]]
	for (i = 1; i <= counted; i++)
		line = line OFS of(label, "key " number[i])
	print line
}

function print_head(  i, line) {
	line = "label\truns\tfailed\tn\twall_s\twall_lo\twall_hi"
	for (i = 1; i <= medians; i++)
		line = line OFS median_of[i]
	line = line "\tread_B\tgiven_B\trx_B\ttx_B"
	for (i = 1; i <= more; i++)
		line = line OFS column[i]
	for (i = 1; i <= asked; i++)
		line = line OFS key_name[i]
	for (i = 1; i <= counted; i++)
		line = line OFS number[i]
	print line
}

BEGIN {
	OFS = "\t"
	CONVFMT = OFMT = "%.12g"
	if (wall == "")
		wall = "wall_s"
	pairs = ENVIRON["pairs"]
	medians = split("cpu_s size_B stall_in_s stall_out_s stall_work_s",
	    median_of, " ")
	more = split(columns, column, " ")
	asked = split(keys, key_name, " ")
	counted = split(numbers, number, " ")
}
!csv_row() {
	timed = "wall_s" in at
	if (pairs != "" && $0 == csv_head && !written++)
		print $0 (timed ? "" : ",wall_s") >pairs
	next
}
{
	label = get("label")
	stage = get("stage")
	if (!((label, get("run")) in index_of)) {
		if (!(label in runs))
			order[++labels] = label
		index_of[label, get("run")] = ++runs[label]
	}
	i = run = index_of[label, get("run")]
	first = stage == "all" || stage == 1
	if (get("signal") + 0 || get("exit") > 1 ||
	    (get("exit") + 0 && (!first || strict)))
		bad[label, i] = 1
	# A run with one stage has one row; with several stages, the first row
	# is that of tar.
	if (!((label, i, "read_B") in value)) {
		value[label, i, "read_B"] = get("read_B")
		value[label, i, "given_B"] = get("rchar_B")
	}
	# If a run has several rows, the last one is that of the whole run.
	value[label, i, "wall_s"] = get(wall)
	value[label, i, "cpu_s"] = get("user_s") + get("sys_s")
	value[label, i, "size_B"] = get("stdout_B")
	if (get("stdout_B") == "")
		value[label, i, "size_B"] = get("out_B")
	keep("stall_in_s stall_out_s stall_work_s rx_B tx_B")
	if (pairs != "" && stage == "all")
		print_pair()
	for (c = 1; c <= more; c++)
		value[label, i, column[c]] = get(column[c])
	for (c = 1; c <= asked; c++)
		if (!bad[label, i] && key(key_name[c]) != "")
			fact[label, key_name[c]] = key(key_name[c])
	for (c = 1; c <= counted; c++)
		value[label, i, "key " number[c]] = key(number[c])
}
END {
	print_head()
	for (l = 1; l <= labels; l++)
		print_label(order[l])
}

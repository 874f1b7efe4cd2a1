# csv.awk - access rows by column name; load it before the program that reads
# them
# SPDX-License-Identifier: BSD-2-Clause
#
# csv_row() is true if the line is a row rather than a comment or a header.  For
# a row, get(NAME) is the value in that column, or empty if there is no such
# column; $at[NAME] is the same value as an assignable field; key(NAME) is a
# value from the column keys (NAME=VALUE;...); csv_line() is the row as CSV.
# Each file has its own header.  If FS is a tab, the input is TSV.

# A comma inside quotes is replaced by SUBSEP while the line is split.
function csv_quoted(  i, n, part, s) {
	n = split($0, part, "\"")
	s = part[1]
	for (i = 2; i <= n; i++) {
		if (i % 2 == 0)
			gsub(/,/, SUBSEP, part[i])
		s = s "\"" part[i]
	}
	$0 = s
}

function csv_row(  i) {
	if (FNR == 1)
		csv_head = ""
	if (/^#/ || $0 == "" || $0 == csv_head)
		return 0
	if (csv_head != "") {
		if (FS == "," && index($0, "\""))
			csv_quoted()
		return 1
	}
	csv_head = $0
	for (i in at)
		delete at[i]
	for (i = 1; i <= NF; i++)
		at[$i] = i
	return 0
}

function get(name,  v) {
	v = name in at ? $at[name] : ""
	if (v ~ /^"/) {
		v = substr(v, 2, length(v) - 2)
		gsub(/""/, "\"", v)
		gsub(SUBSEP, ",", v)
	}
	return v
}

function key(name,  i, s) {
	s = ";" get("keys")
	i = index(s, ";" name "=")
	if (!i)
		return ""
	s = substr(s, i + length(name) + 2)
	i = index(s, ";")
	return i ? substr(s, 1, i - 1) : s
}

# failed: whether this row's run failed
function failed() { return get("exit") + 0 || get("signal") + 0 }

function csv_line(  i, s) {
	s = $1
	for (i = 2; i <= NF; i++)
		s = s "," $i
	gsub(SUBSEP, ",", s)
	return s
}

BEGIN {
	if (FS == " ")
		FS = ","
}

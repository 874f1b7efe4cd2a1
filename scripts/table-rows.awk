# table-rows.awk - store rows, and print the table that table.awk translated
# SPDX-License-Identifier: BSD-2-Clause
#
# awk "$(cat csv.awk stats.awk table-rows.awk; awk -f table.awk)"
# [NAME=VALUE...] FILE...: prints the rows of the last file; earlier files add
# columns to rows with the same label.  missing counts the missing values in an
# expression.

# typed S: returns S, which is compared as a number if it looks like one
function typed(s,  part) {
	split(s, part, SUBSEP)
	return part[1]
}

# known V: returns V, and counts it if it is missing
function known(v) {
	missing += v == ""
	return v
}

function value(name) {
	if ((row, name) in cell)
		return known(cell[row, name])
	return (cell[row, "label"], name) in labelled ? \
	    known(labelled[cell[row, "label"], name]) : known(argument[name])
}

function of(name, label) {
	return known((label, name) in labelled ? labelled[label, name] : "")
}

function any(a, b) {
	missing -= (a == "") + (b == "")
	return known(a == "" ? b : a)
}

function text(a) {
	missing -= a == ""
	return a
}

function ratio(a, b) { return known(b > 0 ? a / b : "") }

function cut(s, regex) {
	sub(regex, "", s)
	return s
}

function after(s, prefix) {
	return index(s, prefix) == 1 ? substr(s, length(prefix) + 1) : ""
}

function place(word, words,  i, n, part) {
	n = split(words, part, " ")
	for (i = 1; i <= n && part[i] != word; i++)
		;
	return i <= n ? i : 0
}

# over HOW NAME: returns min, max, sum, count, median or list of the column in
# this group
function over(how, name,  i, n, x, a, result) {
	n = 0
	for (i = 1; i <= members[row]; i++) {
		x = cell[member[row, i], name]
		if (x == "")
			continue
		a[++n] = x + 0
		if (how == "list")
			result = result (n > 1 ? " " : "") x
		else if (how == "sum")
			result += x
		else if (n == 1 || how == "min" && a[n] < result ||
		    how == "max" && a[n] > result)
			result = a[n]
	}
	if (how == "median" && n)
		result = median(a, n)
	return how == "count" ? n : known(result)
}

# least NAME BY: returns the column NAME of the row in this group whose column
# BY is smallest
function least(name, by,  i, best) {
	best = member[row, 1]
	for (i = 2; i <= members[row]; i++)
		if (cell[member[row, i], by] < cell[best, by])
			best = member[row, i]
	return known(cell[best, name])
}

# set NAME X: sets the column; a new label also makes the row known by it
function set(name, x,  i) {
	cell[row, name] = missing > 0 ? "" : x
	missing = 0
	if (name == "label")
		for (i in at)
			labelled[x, i] = cell[row, i]
}

function set_parts(names,  i, n, name, rest, dot) {
	n = split(names, name, " ")
	rest = cell[row, "label"]
	for (i = 1; i <= n; i++) {
		dot = i < n ? index(rest, ".") : 0
		cell[row, name[i]] = dot ? substr(rest, 1, dot - 1) : rest
		rest = dot ? substr(rest, dot + 1) : ""
	}
}

function no(condition) {
	missing = 0
	return !condition
}

# title WIDTH FIRST SECOND: adds a column to both lines of the heading
function title(width, first, second) {
	first_line = first_line (titles ? " " : "") sprintf("%" width "s", first)
	second_line = second_line (titles++ ? " " : "") \
	    sprintf("%" width "s", second)
}

function put(width, s) {
	out = out (fields++ ? " " : "") sprintf("%" width "s", s)
}

function show(width, format, unit, x) {
	put(width, missing > 0 || x == "" ? nothing : sprintf(format, x) unit)
	missing = 0
}

function interval(width, format, lo, hi) {
	put(width, missing > 0 ? "" : sprintf(format " .. " format, lo, hi))
	missing = 0
}

# replaced TEXT: prints TEXT as the rest of the line, unless it is empty
function replaced(s) {
	missing = 0
	if (s == "")
		return 0
	put("", s)
	print out
	return 1
}

# later A B: whether row A comes after row B
function later(a, b,  i) {
	for (i = 1; i <= keys; i++)
		if (cell[a, "key " i] != cell[b, "key " i])
			return cell[a, "key " i] > cell[b, "key " i]
	return 0
}

# join: adds the row to its group; returns whether it is the first one
function join(  g) {
	g = cell[row, "group"]
	if (!(g in leader))
		leader[g] = row
	member[leader[g], ++members[leader[g]]] = row
	return leader[g] == row
}

function print_rows(empty,  i, j, n, m, list) {
	for (row = first_row; row <= rows; row++)
		if (select() && (!grouped || join()))
			list[++n] = row
	for (i = 1; i <= n; i++) {
		row = list[i]
		if (!complete())
			continue
		for (j = ++m; j > 1 && later(list[j - 1], row); j--)
			list[j] = list[j - 1]
		list[j] = row
	}
	if (m || empty)
		begin()
	for (i = 1; i <= m && (!most || i <= most); i++) {
		row = list[i]
		argument["number"] = i
		emit()
	}
}

BEGIN {
	OFS = "\t"
	first_row = 1
	for (i = 1; i < ARGC; i++)
		if (ARGV[i] ~ /^[a-zA-Z_][a-zA-Z_0-9]*=/ && ARGV[i] !~ /^O?FS=/) {
			name = ARGV[i]
			sub(/=.*/, "", name)
			argument[name] = typed(substr(ARGV[i], length(name) + 2))
			delete ARGV[i]
		}
}
FNR == 1 { first_row = rows + 1 }
!csv_row() { next }
{
	cell[++rows, "label"] = get("label")
	n = split(get("keys"), part, ";")
	for (i = 1; i <= n; i++) {
		equals = index(part[i], "=")
		cell[rows, substr(part[i], 1, equals - 1)] = \
		    typed(substr(part[i], equals + 1))
	}
	for (name in at) {
		cell[rows, name] = get(name)
		labelled[get("label"), name] = get(name)
	}
}

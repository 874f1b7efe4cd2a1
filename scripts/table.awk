# table.awk - translate the description of a table to awk
# SPDX-License-Identifier: BSD-2-Clause
#
# tabulate in lib.sh runs the result behind table-rows.awk, which stores the
# rows.  A description has one statement per line:
#   where EXPR              leaves out rows for which EXPR is false
#   let NAME = EXPR         adds a column to the rows
#   parts NAME...           adds the parts of the label between its dots as
#                           columns; the last one is all that is left
#   group EXPR              joins rows with the same value; what follows is done
#                           once for each group, with its first row
#   order EXPR              sorts by these values; may be repeated
#   first N                 prints no more than N rows
#   missing TEXT            is printed for a missing value, instead of nothing
#   above EXPR              is printed before the table, if that has any row
#   line EXPR, ...          prints a line, with OFS between the values
#   FORMAT [TITLE] = EXPR   prints a column; there is no heading if no column
#                           has a title
#   FORMAT NAME             prints this column, with its name as the title
#   instead EXPR            prints this, unless it is empty, and ends the line
#   | or gap                prints a bar, or another blank, between two columns
# FORMAT is printf's without the %, followed by a unit, which counts as part of
# the width, and in which _ is a blank: 8.3f, -9s, 6.1f_%.  17.3f.. prints the
# interval NAME_lo .. NAME_hi of NAME or NAME[LABEL].  TITLE may be in double
# quotes; | in it begins the heading's second line.
#
# EXPR is awk's, in which names are columns, values in the column keys,
# arguments NAME=VALUE of tabulate, or number, that of the line in the table,
# and NAME[LABEL] is a column of the row with that label.  The value of a column
# or of let is missing if any value in EXPR is.  In addition to awk's functions,
# there are
#   any(A, B)               B if A is missing
#   text(A)                 A; if it is missing, an empty text, which is not
#   ratio(A, B)             A / B; missing unless B > 0
#   cut(TEXT, REGEX)        TEXT without what matches
#   after(TEXT, PREFIX)     TEXT without that prefix; otherwise nothing
#   place(WORD, WORDS)      the position of WORD in the list WORDS, or 0
#   min(NAME), max(NAME), sum(NAME), count(NAME), median(NAME), list(NAME)
#                           of this column in the group
#   least(NAME, BY)         NAME in its row with the smallest BY

# token TEXT: returns the length of the first token of an expression
function token(text) {
	if (match(text, /^"([^"\\]|\\.)*"/) ||
	    before == "~" && match(text, /^\/([^\/\\]|\\.)*\//) ||
	    match(text, /^[0-9.]+(e[0-9]+)?/) ||
	    match(text, /^(min|max|sum|count|median|list)\([a-zA-Z_0-9]+\)/) ||
	    match(text, /^least\([a-zA-Z_0-9]+, *[a-zA-Z_0-9]+\)/) ||
	    match(text, /^[a-zA-Z_][a-zA-Z_0-9]*[[(]?/) ||
	    match(text, /^ +/))
		return RLENGTH
	return 1
}

# aggregate WORD: returns HOW(NAME, ...) in awk
function aggregate(word,  how) {
	how = word
	sub(/\(.*/, "", how)
	word = substr(word, length(how) + 2, length(word) - length(how) - 2)
	gsub(/, */, "\", \"", word)
	return (how == "least" ? "least(" : "over(\"" how "\", ") "\"" word "\")"
}

# expression TEXT: returns it in awk
function expression(text,  out, word) {
	for (before = ""; text != ""; text = substr(text, length(word) + 1)) {
		word = substr(text, 1, token(text))
		if (word ~ /\)$/ && word != ")")
			out = out aggregate(word)
		else if (word ~ /^[a-zA-Z_].*\[$/)
			out = out "of(\"" substr(word, 1, length(word) - 1) "\", "
		else if (word == "]")
			out = out ")"
		else if (word ~ /^[a-zA-Z_]/ && word !~ /\($/)
			out = out "value(\"" word "\")"
		else
			out = out word
		if (word !~ /^ /)
			before = word
	}
	return out
}

function quoted(text) {
	gsub(/["\\]/, "\\\\&", text)
	return "\"" text "\""
}

# column FORMAT TEXT: returns the statement that prints the column, and adds its
# title to the heading
function column(format, text,  width, unit, equals, title, lo, hi) {
	match(format, /^-?[0-9]+/)
	width = substr(format, 1, RLENGTH)
	format = substr(format, RLENGTH + 1)
	match(format, /^([.][0-9]+)?[dfgs]/)
	unit = substr(format, RLENGTH + 1)
	format = substr(format, 1, RLENGTH)
	gsub(/_/, " ", unit)
	equals = index(" " text, " = ")
	title = equals ? substr(text, 1, equals - 2) : text
	gsub(/^"|"$/, "", title)
	titled = titled || title != ""
	if (equals)
		text = substr(text, equals + 2)
	below = below || title ~ /[|]/
	split(title, part, "|")
	heading = heading "\n\ttitle(" quoted(width) ", " quoted(part[1]) ", " \
	    quoted(part[2]) ")"
	if (unit == "..") {
		lo = hi = text
		sub(/^[a-zA-Z_0-9]+/, "&_lo", lo)
		sub(/^[a-zA-Z_0-9]+/, "&_hi", hi)
		return "interval(" quoted(width) ", " quoted("%" format) ", " \
		    expression(lo) ", " expression(hi) ")"
	}
	return "show(" quoted(width) ", " quoted("%" format) ", " \
	    quoted(unit) ", " expression(text) ")"
}

function add(statement) { body[grouped] = body[grouped] "\n\t" statement }

BEGIN { grouped = keys = 0 }
{
	sub(/^[ \t]+/, "")
	word = $1
	rest = substr($0, length(word) + 1)
	sub(/^ +/, "", rest)
}
word == "" { next }
word == "where" { add("if (no(" expression(rest) ")) return 0"); next }
word == "let" {
	name = $2
	sub(/^[^=]*= */, "", rest)
	add("set(" quoted(name) ", " expression(rest) ")")
	next
}
word == "parts" { add("set_parts(" quoted(rest) ")"); next }
word == "group" {
	add("set(\"group\", text(" expression(rest) "))")
	grouped = 1
	next
}
word == "order" {
	keys++
	add("set(\"key " keys "\", text(" expression(rest) "))")
	next
}
word == "first" { start = start "\n\tmost = " expression(rest); next }
word == "missing" { start = start "\n\tnothing = " quoted(rest); next }
word == "above" { above = expression(rest); next }
word == "line" { says = says "\n\tprint (" expression(rest) ")"; next }
word == "instead" {
	says = says "\n\tif (replaced(" expression(rest) ")) return"
	next
}
word == "|" || word == "gap" {
	text = word == "|" ? " |" : " "
	says = says "\n\tout = out " quoted(text)
	heading = heading "\n\tfirst_line = first_line " quoted(text) \
	    "\n\tsecond_line = second_line " quoted(text)
	next
}
{ says = says "\n\t" column(word, rest); shown = 1 }
END {
	printf "BEGIN {\n\tgrouped = %d; keys = %d%s\n}\n", grouped, keys, start
	printf "function select() {%s\n\treturn 1\n}\n", body[0]
	printf "function complete() {%s\n\treturn 1\n}\n", body[1]
	printf "function begin() {"
	if (above != "")
		printf "\n\tprint (%s)", above
	if (titled)
		printf "%s\n\tprint first_line", heading
	if (below)
		printf "\n\tprint second_line"
	printf "\n}\n"
	printf "function emit() {\n\tout = \"\"; fields = 0%s%s\n}\n", says,
	    shown ? "\n\tprint out" : ""
	printf "END { print_rows(%d) }\n", above == ""
}

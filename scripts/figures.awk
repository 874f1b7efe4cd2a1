# figures.awk - report each interval and table in the text that no row supports
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v top=DIR -f figures.awk KNOWN DOCUMENT...: KNOWN is output of the commands that print
# the record.  An interval is a number and two others in parentheses or brackets, in
# KNOWN also without them, as lapcmp prints it.  It is supported if KNOWN has it,
# with as many decimals or more.  From the words "rows were not kept" to the next
# heading, none need be.
#
# Elsewhere, a table whose cells begin with numbers that have decimals, and have no
# intervals, follows a line
#   <!-- copied from: DOCUMENT... -->
# and these documents have its numbers, with as many decimals or more.

# next_interval PATTERN: sets v[0], v[1] and v[2] to the first in rest, and removes
# it; returns whether there was one
function next_interval(pattern,    m, part) {
	if (!match(rest, pattern))
		return 0
	m = substr(rest, RSTART, RLENGTH)
	rest = substr(rest, RSTART + RLENGTH)
	sub(/( s| ms| times)? +[[(]?/, " ", m)
	sub(/ to |, |\.\./, " ", m)
	split(m, part, " ")
	v[0] = part[1]
	v[1] = part[2]
	v[2] = part[3]
	return 1
}

function decimals(number) {
	return index(number, ".") ? length(number) - index(number, ".") : 0
}

# rounds_to A B: whether A, with as many decimals as B, is B
function rounds_to(a, b,    d) {
	d = a - b
	if (d < 0)
		d = -d
	return decimals(a) >= decimals(b) && d <= 0.501 * 10 ^ -decimals(b)
}

function supported(    i) {
	for (i = 1; i <= known; i++)
		if (rounds_to(estimate[i], v[0]) && rounds_to(low[i], v[1]) && \
		    rounds_to(high[i], v[2]))
			return 1
	return 0
}

# read_document NAME: remembers its numbers with decimals, each also with fewer, in
# copied
function read_document(name,    line, n, d, had) {
	while ((had = (getline line < name)) > 0)
		while (match(line, /[0-9]+\.[0-9]+/)) {
			n = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			copied[n] = 1
			for (d = decimals(n) - 1; d > 0; d--)
				copied[sprintf("%.*f", d, n)] = 1
		}
	close(name)
	if (had < 0)
		complain(name " cannot be read")
}

function complain(what) {
	printf "%s:%d: %s\n", file, FNR, what
	failed = 1
}

# table_row: judges the numbers in the cells of a line of a table, but not those of
# its first column, which name what was measured
function table_row(    cells, cell, i, n) {
	n = split($0, cells, "|")
	for (i = 3; i < n; i++) {
		cell = cells[i]
		if (cell !~ /^ *[-+]?[0-9]+\.[0-9]+([^.,0-9]|$)/ || cell ~ quoted)
			continue
		if (!sources) {
			complain("this table has figures, but names no source of them")
			judged = 1
			return
		}
		while (match(cell, /[0-9]+\.[0-9]+/)) {
			if (!(substr(cell, RSTART, RLENGTH) in copied))
				complain(substr(cell, RSTART, RLENGTH) \
				    " does not stand in the documents named above")
			cell = substr(cell, RSTART + RLENGTH)
		}
	}
}

# paragraph: judges the intervals of the lines since the last empty one
function paragraph() {
	if (text == "")
		return
	if (text ~ /rows were not kept/)
		not_kept = 1
	rest = text
	while (next_interval(quoted))
		if (!not_kept && !supported()) {
			printf "%s:%d: %s (%s..%s) stands in no row of the record\n", \
			    file, from, v[0], v[1], v[2]
			failed = 1
		}
	text = ""
}

BEGIN {
	number = "[0-9][0-9.]*"
	ends = number "(\\.\\.| to |, )" number
	quoted = number "( s| ms| times)? [[(]" ends
	printed = quoted "|" number " +" number "\\.\\." number
}
FNR == 1 {
	paragraph()
	not_kept = 0
	file = FILENAME
}
FILENAME == ARGV[1] {
	rest = $0
	while (next_interval(printed)) {
		estimate[++known] = v[0]
		low[known] = v[1]
		high[known] = v[2]
	}
	next
}
/^<!-- figures: / { generated = 1 }
/^<!-- end of figures -->$/ { generated = 0 }
generated { next }
/^$/ || /^#/ || /^<!-- copied from: / { paragraph() }
/^#/ { not_kept = 0 }
/^<!-- copied from: / {
	split("", copied)
	for (sources = 4; sources < NF; sources++)
		read_document(top "/" $sources)
	next
}
!/^[|]/ { sources = judged = 0 }
/^$/ { next }
/^[|]/ && !not_kept && !judged { table_row() }
{
	if (text == "")
		from = FNR
	text = text " " $0
}
END {
	paragraph()
	exit failed
}

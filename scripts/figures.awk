# figures.awk - report each interval in the text that no row supports
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f figures.awk KNOWN DOCUMENT...: KNOWN is output of the commands that print
# the record.  An interval is a number and two others in parentheses or brackets, in
# KNOWN also without them, as lapcmp prints it.  It is supported if KNOWN has it,
# with as many decimals or more.  From the words "rows were not kept" to the next
# heading, none need be.

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
/^$/ || /^#/ { paragraph() }
/^#/ { not_kept = 0 }
/^$/ { next }
{
	if (text == "")
		from = FNR
	text = text " " $0
}
END {
	paragraph()
	exit failed
}

# report-table.awk - a table of TSV as Markdown, CSV or text
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v form=markdown|csv|plot -v caption=TEXT -f report-table.awk

function number(s) { return s ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }

# What would be markup in Markdown.
function marked(s) {
	gsub(/[\\|`*_<&]/, "\\\\&", s)
	return s
}

function field(s) {
	if (s !~ /[",\n#]/)
		return s
	gsub(/"/, "\"\"", s)
	return "\"" s "\""
}

{
	if (NF > columns)
		columns = NF
	for (i = 1; i <= NF; i++) {
		cell[NR, i] = $i
		if (NR > 1 && $i != "" && !number($i))
			words[i] = 1
		n = length($i)
		if (n > width[i])
			width[i] = n
	}
}

function markdown(  r, i, line) {
	printf "\n%s\n\n", caption
	for (r = 1; r <= NR; r++) {
		line = "|"
		for (i = 1; i <= columns; i++)
			line = line " " marked(cell[r, i]) " |"
		print line
		if (r > 1)
			continue
		line = "|"
		for (i = 1; i <= columns; i++)
			line = line (words[i] ? " --- |" : " ---: |")
		print line
	}
}

function csv(  r, i, line) {
	printf "# %s\n", caption
	for (r = 1; r <= NR; r++) {
		line = ""
		for (i = 1; i <= columns; i++)
			line = line (i > 1 ? "," : "") field(cell[r, i])
		print line
	}
}

# In columns if they fit into 80; otherwise a line for each value.
function text(  r, i, line, total) {
	for (i = 1; i <= columns; i++)
		total += width[i] + 2
	printf "\n%s\n", caption
	for (r = (total > 81 ? 2 : 1); r <= NR; r++) {
		line = ""
		if (r > 2 && total > 81)
			print ""
		for (i = 1; i <= columns; i++) {
			if (total <= 81)
				line = line sprintf("%" (words[i] ? "-" : "") \
				    width[i] "s  ", cell[r, i])
			else if (cell[r, i] != "")
				printf "%s%-16s %s\n", (i > 1 ? "  " : ""), \
				    cell[1, i], cell[r, i]
		}
		sub(/ +$/, "", line)
		if (line != "")
			print line
	}
}

END {
	if (NR == 0)
		exit
	if (form == "markdown")
		markdown()
	else if (form == "csv")
		csv()
	else
		text()
}

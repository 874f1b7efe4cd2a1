# html-front.awk - the candidates of a proposal by CPU time and size, as SVG
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f html-front.awk n=NUMBER ROWS.csv: a point and
# an interval for each candidate, CPU time on a logarithmic scale, and a line
# through those to which no other is preferable.

function x_of(s) {
	return 60 + 600 * (log(s) - log(first)) / (log(last) - log(first))
}

function y_of(b) { return 300 - 270 * b / top }

csv_row() && get("number") == n && get("candidate") != "" && get("cpu_s") > 0 {
	i = ++count
	name[i] = get("candidate")
	size[i] = get("size_B") / 1e6
	least[i] = get("size_lo_B") / 1e6
	most[i] = get("size_hi_B") == "" ? size[i] : get("size_hi_B") / 1e6
	cpu[i] = get("cpu_s") + 0
	pick[i] = get("pick") == 1
	if (size[i] > top)
		top = size[i]
	if (i == 1 || cpu[i] < first)
		first = cpu[i]
	if (i == 1 || cpu[i] > last)
		last = cpu[i]
}

END {
	if (!count)
		exit
	top *= 1.1
	first *= 0.8
	last *= 2
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 350\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">"
	printf "<title>Size against CPU time of %d candidates for proposal %s</title>\n", count, n
	for (i = 0; i <= 4; i++) {
		y = y_of(top * i / 4)
		printf "<path d=\"M60 %.1fH660\" class=\"grid\"/><text x=\"54\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", y, y + 4, top * i / 4
	}
	for (e = -4; e <= 6; e++) {
		s = 10 ^ e
		if (s < first || s > last)
			continue
		printf "<path d=\"M%.1f 30V300\" class=\"grid\"/><text x=\"%.1f\" y=\"318\" text-anchor=\"middle\">%g</text>\n", x_of(s), x_of(s), s
	}
	print "<text x=\"60\" y=\"18\" class=\"title\">size, MB</text>"
	print "<text x=\"660\" y=\"340\" text-anchor=\"end\" class=\"title\">CPU time, s</text>"
	# the front, from the cheapest on
	on = 0
	while (1) {
		best = 0
		for (i = 1; i <= count; i++)
			if ((!on || cpu[i] > cpu[on] && size[i] < size[on]) && \
			    (!best || cpu[i] < cpu[best]))
				best = i
		if (!best)
			break
		line = line (on ? "L" : "M") sprintf("%.1f %.1f", x_of(cpu[best]), y_of(size[best]))
		on = best
	}
	printf "<path d=\"%s\" class=\"front\"/>\n", line
	for (i = 1; i <= count; i++) {
		x = x_of(cpu[i])
		y = y_of(size[i])
		low = most[i] > top ? top : most[i]
		printf "<path d=\"M%.1f %.1fV%.1f\" class=\"span\"/>\n", x, y_of(least[i]), y_of(low)
		printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"%s><title>%s: %.3f MB, %.3f s</title></circle>\n", x, y, pick[i] ? 6 : 4, pick[i] ? " class=\"pick\"" : "", name[i], size[i], cpu[i]
		printf "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 8, y - 6 + 14 * (i % 2), name[i]
	}
	print "</svg>"
}

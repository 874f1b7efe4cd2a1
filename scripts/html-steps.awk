# html-steps.awk - lines of TSV as SVG, one for each label, each named at its end
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v unit=UNIT -v about=TEXT -f steps.awk -f html-steps.awk

function safe(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	return s
}

# Six colours and, after them, six patterns of dashes.
function dashes(l) {
	return l > 6 ? sprintf(" stroke-dasharray=\"%d 3\"", \
	    2 * int((l - 1) / 6) + 1) : ""
}

# Returns a step of 1, 2 or 5 times a power of ten, so that few reach `most`.
function step_for(most,  s) {
	s = 10 ^ int(log(most) / log(10) - 1)
	while (most / s > 6)
		s *= most / (s * 2) <= 6 ? 2 : most / (s * 5) <= 6 ? 5 : 10
	return s
}

END {
	if (!labels || x_most <= 0 || y_most <= 0)
		exit
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n", 350 + 18 * labels
	printf "<title>%s</title>\n", about
	for (v = 0; v <= y_most * 1.0001; v += step_for(y_most)) {
		at = 300 - 260 * v / y_most
		printf "<path d=\"M60 %.1fH690\" class=\"grid\"/><text x=\"54\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", at, at + 4, v
	}
	for (v = 0; v <= x_most * 1.0001; v += step_for(x_most)) {
		at = 60 + 630 * v / x_most
		printf "<path d=\"M%.1f 40V300\" class=\"grid\"/><text x=\"%.1f\" y=\"318\" text-anchor=\"middle\">%.4g</text>\n", at, at, v
	}
	printf "<text x=\"60\" y=\"24\" class=\"title\">%s</text><text x=\"690\" y=\"336\" text-anchor=\"end\" class=\"title\">%s</text>\n", unit, safe(x_unit)
	for (l = 1; l <= labels; l++) {
		line = ""
		for (i = 1; i <= n[l]; i++)
			line = line (i > 1 ? "L" : "M") sprintf("%.1f %.1f", 60 + 630 * x[l, i] / x_most, 300 - 260 * y[l, i] / y_most)
		printf "<path d=\"%s\" class=\"line c%d\"%s><title>%s</title></path>\n", line, (l - 1) % 6, dashes(l), safe(label[l])
		printf "<path d=\"M60 %dH90\" class=\"line c%d\"%s/><text x=\"98\" y=\"%d\">%s: %.4g, %.4g at the end</text>\n", 346 + 18 * l - 4, (l - 1) % 6, dashes(l), 346 + 18 * l, safe(label[l]), x[l, n[l]], y[l, n[l]]
	}
	print "</svg>"
}

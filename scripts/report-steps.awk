# report-steps.awk - lines of TSV for a terminal of 80 columns, in braille
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v caption=TEXT -f steps.awk -f report-steps.awk: all labels in one
# picture of 60 x 12 characters, each of 2 x 4 dots.

function dot(px, py,  c, r, bit) {
	c = int(px / 2)
	r = int(py / 4)
	bit = py % 4 == 3 ? (px % 2 ? 128 : 64) : (px % 2 ? 8 : 1) * 2 ^ (py % 4)
	if (int(dots[r, c] / bit) % 2 == 0)
		dots[r, c] += bit
}

function line(x0, y0, x1, y1,  i, steps, dx, dy) {
	dx = x1 - x0
	dy = y1 - y0
	steps = dx < 0 ? -dx : dx
	if ((dy < 0 ? -dy : dy) > steps)
		steps = dy < 0 ? -dy : dy
	for (i = 0; i <= steps; i++)
		dot(int(x0 + (steps ? dx * i / steps : 0) + 0.5), \
		    int(y0 + (steps ? dy * i / steps : 0) + 0.5))
}

END {
	if (!labels || x_most <= 0 || y_most <= 0)
		exit
	for (l = 1; l <= labels; l++)
		for (i = 2; i <= n[l]; i++)
			line(119 * x[l, i - 1] / x_most, \
			    47 - 47 * y[l, i - 1] / y_most, \
			    119 * x[l, i] / x_most, 47 - 47 * y[l, i] / y_most)
	printf "\n%s\n", caption
	for (r = 0; r < 12; r++) {
		s = ""
		for (c = 0; c < 60; c++)
			s = s sprintf("\342%c%c", 160 + int(dots[r, c] / 64), \
			    128 + dots[r, c] % 64)
		printf "%10s %s\n", r == 0 ? sprintf("%.4g %s", y_most, y_unit) : \
		    r == 11 ? "0" : "", s
	}
	printf "%10s 0%*s\n", "", 59, sprintf("%.4g %s", x_most, x_unit)
}

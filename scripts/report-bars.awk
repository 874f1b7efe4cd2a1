# report-bars.awk - bars of TSV, from 0, for a terminal of 80 columns
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v caption=TEXT -f report-bars.awk: label, value, and the value as
# it is printed; the first line is a header.

NR > 1 {
	n++
	label[n] = length($1) > 26 ? "..." substr($1, length($1) - 22) : $1
	value[n] = $2
	shown[n] = $3
	if ($2 > most)
		most = $2
}

END {
	if (!n || most <= 0)
		exit
	printf "\n%s\n", caption
	for (i = 1; i <= n; i++) {
		# in eighths of a character
		eighths = int(value[i] / most * 40 * 8 + 0.5)
		bar = ""
		for (; eighths >= 8; eighths -= 8)
			bar = bar "\342\226\210"
		if (eighths > 0)
			bar = bar sprintf("\342\226%c", 144 - eighths)
		printf "%-26s %s %s\n", label[i], bar, shown[i]
	}
}

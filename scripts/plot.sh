# shellcheck shell=sh
# plot.sh - what the studies' charts share; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# gnuplot reads $study/plot and writes $study/plot.svg.  Charts are stored beside
# the rows, each with its data.

# quoted TEXT: in single quotes for gnuplot, which does not interpret them
quoted() { printf "'%s'" "$(printf '%s\n' "$1" | sed "s/'/''/g")"; }

# plot_text TEXT: what gnuplot may show of it between double quotes
plot_text() {
	printf '%s' "$1" | tr '_' ' ' | tr -cd '[:alnum:] (),:.-'
}

# plot_head TITLE WIDTH HEIGHT: the first lines of a script for gnuplot
plot_head() {
	printf 'set terminal svg size %d,%d font "sans-serif,13" background "white"\n' \
	    "$2" "$3"
	printf 'set output %s\nset datafile separator tab\n' \
	    "$(quoted "$study/plot.svg")"
	printf 'set grid back lt 1 lc rgb "#dddddd"\n'
	printf 'set title "%s"\n' "$(plot_text "$1")"
}

# plot_possible: whether there is a gnuplot; if not, reports what is omitted
plot_possible() {
	have gnuplot && return 0
	echo 'Charts: not drawn (no gnuplot).'
	return 1
}

# plot_keep FILE NAME: moves a file from the study's folder to beside the rows
plot_keep() { mv -f -T "$1" "${rows_csv%.csv}-$2"; }

# plot_draw NAME: the chart of $study/plot
plot_draw() {
	gnuplot "$study/plot" || return 0
	plot_keep "$study/plot.svg" "$1.svg"
	[ "$verbosity" = 0 ] || say "${rows_csv%.csv}-$1.svg"
}

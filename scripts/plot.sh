# shellcheck shell=sh
# plot.sh - code shared by the studies' charts; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# gnuplot reads $study/plot and writes $study/plot.svg.  Charts are stored next
# to the rows, each with its data.

# quoted TEXT: prints TEXT in single quotes, in which gnuplot does not interpret
# any characters
quoted() { printf "'%s'" "$(printf '%s\n' "$1" | sed "s/'/''/g")"; }

# plot_text TEXT: prints TEXT without characters that are special in gnuplot's
# double quotes
plot_text() {
	printf '%s' "$1" | tr '_' ' ' | tr -cd '[:alnum:] (),:.-'
}

# plot_head TITLE WIDTH HEIGHT: prints the first lines of a gnuplot script
plot_head() {
	printf 'set terminal svg size %d,%d font "sans-serif,13" background "white"\n' \
	    "$2" "$3"
	printf 'set output %s\nset datafile separator tab\n' \
	    "$(quoted "$study/plot.svg")"
	printf 'set grid back lt 1 lc rgb "#dddddd"\n'
	printf 'set title "%s"\n' "$(plot_text "$1")"
}

# plot_possible: whether gnuplot is installed; if not, reports what is omitted
plot_possible() {
	have gnuplot && return 0
	echo 'Charts: not drawn (no gnuplot).'
	return 1
}

# plot_keep FILE NAME: moves a file from the study's folder to the directory of
# the rows
plot_keep() { mv -f -T "$1" "${rows_csv%.csv}-$2"; }

# plot_draw NAME: draws the chart in $study/plot
plot_draw() {
	gnuplot "$study/plot" || return 0
	plot_keep "$study/plot.svg" "$1.svg"
	[ "$verbosity" = 0 ] || say "${rows_csv%.csv}-$1.svg"
}

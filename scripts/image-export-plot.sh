# shellcheck shell=sh
# image-export-plot.sh - charts of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The data files are TSV: seconds, size in percent, name, and the seconds'
# interval.
. "$here/plot.sh"

# chart_points PATTERN FILE: writes the points to FILE, sorted by time
chart_points() {
	exports "$1" '
	let name = cut(cut(method, "^zstd"), "[.].*")
	line wall_s, 100 * image_B / plain_B, name, any(wall_lo, wall_s), any(wall_hi, wall_s)' |
	    sort -g >"$2"
}

# chart_front FILE: prints the Pareto front, as steps
chart_front() {
	awk -F '\t' -v OFS='\t' 'best == "" || $2 < best { best = $2; print }' \
	    "$1"
}

# chart_begin TITLE WIDTH: begins a chart, and sets $chart_title for the first
# panel
chart_begin() {
	chart_title=$(plot_text \
	    "$1 (${report_cpus:-?} processors, ${from:-${dir##*/}})")
	plot_head "$chart_title" "$2" 480
	printf 'set xlabel "export, seconds (log)"\nset logscale x\n'
	# By default, a logarithmic axis that spans less than a decade has only
	# one label.
	printf 'set xtics (%s)\n' "$(awk 'BEGIN {
		for (k = -3; k < 6; k++)
			printf "%g, %g, %g, ", 10 ^ k, 2 * 10 ^ k, 5 * 10 ^ k
		print 10 ^ k
	}')"
	printf 'set ylabel "size, %% of the content"\n'
	printf 'set key top right\n'
}

# chart_ranges FILE...: sets the axis ranges to cover the points and their
# intervals, with a margin
chart_ranges() {
	{
		printf 's\tsize\tname\tlo\thi\n'
		cat "$@"
	} | tabulate '
	group 1
	let room = (max(size) - min(size)) / 10 + 0.01
	line sprintf("set xrange [%g:%g]", min(lo) / 1.15, max(hi) * 1.25)
	line sprintf("set yrange [%g:%g]", min(size) - room, max(size) + 1.5 * room)' -
}

# chart_panel TITLE POINTS FRONT SQPACK
chart_panel() {
	chart_ranges "$2" "$4"
	printf 'set title "%s"\n' "$1"
	printf 'plot %s using 1:2 with steps lc rgb "#999999" title "Pareto front", ' "$(quoted "$3")"
	printf '%s using 1:2:4:5 with xerrorbars pt 7 ps 0.5 lc rgb "#1f5fa8" title "median, 95 %% interval", ' "$(quoted "$2")"
	printf '"" using 1:2:3 with labels offset 0.6,0.7 notitle'
	[ ! -s "$4" ] || printf ', %s using 1:2:4:5 with xerrorbars pt 6 ps 0.5 lc rgb "#b5532a" title "by sqpack"' "$(quoted "$4")"
	printf '\n'
}

# plot_threads N: plots time against size with N threads; the levels have a
# separate panel, because their differences are too small to be visible next to
# "none"
plot_threads() {
	chart_points "^[^.]*[.]p$1\$" "$study/chart.tsv"
	[ -s "$study/chart.tsv" ] || return 0
	chart_points "^[^.]*[.]sqpack[.]p$1\$" "$study/sqpack.tsv"
	chart_front "$study/chart.tsv" >"$study/front"
	awk -F '\t' '$3 ~ /^[0-9]+$/' "$study/chart.tsv" >"$study/levels"
	awk -F '\t' '$3 ~ /^[0-9]+$/' "$study/sqpack.tsv" \
	    >"$study/levels-sqpack"
	chart_front "$study/levels" >"$study/levels-front"
	{
		chart_begin "Export by $1 threads" 1160
		[ ! -s "$study/levels" ] || printf 'set multiplot layout 1,2\n'
		chart_panel "$chart_title" "$study/chart.tsv" \
		    "$study/front" "$study/sqpack.tsv"
		[ ! -s "$study/levels" ] || chart_panel 'zstd alone, by level' \
		    "$study/levels" "$study/levels-front" \
		    "$study/levels-sqpack"
	} >"$study/plot"
	plot_draw "p$1"
	plot_keep "$study/chart.tsv" "p$1.tsv"
	[ ! -s "$study/sqpack.tsv" ] ||
	    plot_keep "$study/sqpack.tsv" "p$1-sqpack.tsv"
}

# plot_duplicates N: plots levels 1 to 4 with and without duplicate removal
plot_duplicates() {
	chart_points "^zstd[1-4][.]nodup[.]p$1\$" "$study/kept.tsv"
	chart_points "^zstd[1-4][.]p$1\$" "$study/removed.tsv"
	[ -s "$study/kept.tsv" ] || return 0
	{
		chart_begin "Duplicates, $1 threads" 760
		# The times of the four levels differ by only a few seconds.
		printf 'unset logscale x\nset xtics autofreq\n'
		printf 'set xlabel "export, seconds"\n'
		chart_ranges "$study/kept.tsv" "$study/removed.tsv"
		printf 'set title "%s"\n' "$chart_title"
		printf 'plot %s using 1:2:4:5 with xerrorlines pt 7 ps 0.5 lc rgb "#1f5fa8" title "removed", ' \
		    "$(quoted "$study/removed.tsv")"
		printf '"" using 1:2:3 with labels offset 0.6,0.7 notitle, '
		printf '%s using 1:2:4:5 with xerrorlines pt 6 ps 0.5 lc rgb "#b5532a" title "kept", ' \
		    "$(quoted "$study/kept.tsv")"
		printf '"" using 1:2:3 with labels offset 0.6,0.7 notitle\n'
	} >"$study/plot"
	plot_draw duplicates
	plot_keep "$study/kept.tsv" duplicates-kept.tsv
	plot_keep "$study/removed.tsv" duplicates-removed.tsv
}

plot_all() {
	plot_possible || return 0
	for plot_n in $threads; do
		plot_threads "$plot_n"
	done
	plot_duplicates "${threads%% *}"
}

# shellcheck shell=sh
# image-export-plot.sh - charts of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# Charts lie beside the rows, each with the data it was drawn from.

# chart_points PATTERN FILE: time, size and name, by time
chart_points() {
	rows_of "$1" | awk -F '\t' -v OFS='\t' '{
		name = $3
		sub(/^zstd/, "", name)
		sub(/[.]nodup/, "", name)
		print $7, 100 * $22 / $23, name, $8 == "" ? $7 : $8,
		    $9 == "" ? $7 : $9
	}' | sort -g >"$2"
}

# chart_front FILE: what no other point beats in both, as steps
chart_front() {
	awk -F '\t' -v OFS='\t' 'best == "" || $2 < best { best = $2; print }' \
	    "$1"
}

chart_begin() {
	printf 'set terminal svg size 760,480 font "sans-serif,13" background "white"\n'
	printf 'set output "%s"\nset datafile separator tab\n' "$1"
	printf 'set title "%s"\n' "$2"
	printf 'set xlabel "export, seconds (log)"\nset logscale x\n'
	printf 'set ylabel "size, %% of the content"\n'
	printf 'set grid back lt 1 lc rgb "#dddddd"\nset key top right\n'
	printf 'set offsets graph 0.05, graph 0.08, graph 0.05, graph 0.05\n'
}

# chart_where: what a chart's reader must know of the machine and the content
chart_where() {
	printf '%s processors, %s' "${report_cpus:-?}" "${from:-${dir##*/}}" |
	    tr -cd '[:alnum:] ,._-'
}

# plot_threads N: time against size with N threads
plot_threads() {
	plot_base=${rows_csv%.csv}-p$1
	chart_points "^[^.]*[.]p$1\$" "$plot_base.tsv"
	[ -s "$plot_base.tsv" ] || return 0
	chart_front "$plot_base.tsv" >"$study/front"
	{
		chart_begin "$plot_base.svg" \
		    "Export by $1 threads ($(chart_where)): median and its interval"
		printf 'plot "%s" using 1:2 with steps lc rgb "#999999" title "Pareto front", ' \
		    "$study/front"
		printf '"%s" using 1:2:4:5 with xerrorbars pt 7 ps 0.6 lc rgb "#1f5fa8" title "zstd by level, and others", ' \
		    "$plot_base.tsv"
		printf '"" using 1:2:3 with labels offset 0.9,0.7 notitle\n'
	} >"$study/plot"
	gnuplot "$study/plot" && say "$plot_base.svg"
}

# plot_duplicates N: levels 1 to 4 with and without their removal
plot_duplicates() {
	plot_base=${rows_csv%.csv}-duplicates
	chart_points "^zstd[1-4][.]nodup[.]p$1\$" "$plot_base-kept.tsv"
	chart_points "^zstd[1-4][.]p$1\$" "$plot_base-removed.tsv"
	[ -s "$plot_base-kept.tsv" ] || return 0
	{
		chart_begin "$plot_base.svg" \
		    "Duplicates, $1 threads ($(chart_where))"
		printf 'plot "%s" using 1:2:4:5 with xerrorlines pt 7 ps 0.6 lc rgb "#1f5fa8" title "removed", ' \
		    "$plot_base-removed.tsv"
		printf '"" using 1:2:3 with labels offset 0.9,0.7 notitle, '
		printf '"%s" using 1:2:4:5 with xerrorlines pt 6 ps 0.6 lc rgb "#b5532a" title "kept", ' \
		    "$plot_base-kept.tsv"
		printf '"" using 1:2:3 with labels offset 0.9,0.7 notitle\n'
	} >"$study/plot"
	gnuplot "$study/plot" && say "$plot_base.svg"
}

plot_all() {
	have gnuplot || {
		echo 'Charts: not drawn (no gnuplot).'
		return 0
	}
	for plot_n in $threads; do
		plot_threads "$plot_n"
	done
	plot_duplicates "${threads%% *}"
}

# shellcheck shell=sh
# mailfs-plot.sh - plot the charts of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause
. "$here/plot.sh"

# plot_begin TITLE
plot_begin() {
	plot_head "$1: $files files (${report_cpus:-?} processors)" 960 520
}

# plot_end NAME: draws the chart in $study/plot, and stores it next to the rows
# with its data
plot_end() {
	plot_draw "$1"
	plot_keep "$study/plot.tsv" "$1.tsv"
}

# plot_writers WRITERS: prints the colour and the name
plot_writers() {
	case $1 in
	w1) plot_colour='#1f5fa8' plot_name='one writer' ;;
	s2) plot_colour='#5a8a3a' plot_name='two, sharing' ;;
	w2) plot_colour='#b5532a' plot_name='two, each everything' ;;
	esac
}

# plot_efficiency VARIANT: plots every run, and the medians, by algorithm; the
# data is position, efficiency, algorithm, writers, and "run" or "median"
plot_efficiency() {
	efficiency_names=$(cells_table "$1" 'line algorithm' |
	    awk '!seen[$0]++' | tr '\n' ' ')
	{
		cells_table "$1" '
		line place(algorithm, names), eff, algorithm, writers, "median"' \
		    names="$efficiency_names"
		tabulate '
		let shift = place(writers, "w1 s2 w2")
		where variant == wanted && shift && place(algorithm, names)
		line place(algorithm, names) + 0.08 * (shift - 2), efficiency, algorithm, writers, "run"' \
		    wanted="$1" names="$efficiency_names" "$study/runs"
	} >"$study/plot.tsv"
	[ -s "$study/plot.tsv" ] || return 0
	plot_set=
	{
		plot_begin "Efficiency on $1"
		printf 'set ylabel "ratio / seconds"\nset yrange [0:*]\n'
		printf 'set xtics rotate by -35 (%s)\n' "$(awk -F '\t' '
		    $5 == "median" && !seen[$3]++ {
			printf "%s\"%s\" %d", (n++ ? ", " : ""), $3, $1
		    }' "$study/plot.tsv")"
		printf 'set xrange [0.5:%s.5]\nset key top right\nplot ' \
		    "$(cut -f 3 "$study/plot.tsv" | sort -u | wc -l)"
		for plot_w in w1 s2 w2; do
			plot_writers $plot_w
			grep -q "$tab$plot_w$tab" "$study/plot.tsv" || continue
			for plot_kind in run median; do
				awk -F '\t' -v w="$plot_w" -v kind=$plot_kind \
				    '$4 == w && $5 == kind' "$study/plot.tsv" \
				    >"$study/plot.$plot_w.$plot_kind"
			done
			printf '%s%s using 1:2 with points pt 7 ps 0.5 lc rgb "%s" notitle, ' \
			    "$plot_set" "$(quoted "$study/plot.$plot_w.run")" \
			    "$plot_colour"
			printf '%s using 1:2 with linespoints pt 6 ps 0.9 lc rgb "%s" title "%s, medians"' \
			    "$(quoted "$study/plot.$plot_w.median")" \
			    "$plot_colour" "$plot_name"
			plot_set=', '
		done
		echo
	} >"$study/plot"
	plot_end "$1-efficiency"
}

# plot_ratio VARIANT: plots the ratio against seconds, with the Pareto front
plot_ratio() {
	cells_table "$1" '
	line copy_s, ratio, cut(algorithm, "^(gzip|zlib)-"), writers, any(copy_lo, copy_s), any(copy_hi, copy_s)' |
	    sort -g >"$study/plot.tsv"
	[ -s "$study/plot.tsv" ] || return 0
	awk -F '\t' '$2 > best { best = $2; print }' "$study/plot.tsv" \
	    >"$study/plot.front"
	{
		plot_begin "Ratio and time on $1"
		printf 'set xlabel "copy, seconds (median, 95 %% interval)"\n'
		printf 'set ylabel "ratio as printed"\nset key bottom right\n'
		printf 'set offsets graph 0.05, graph 0.1, graph 0.08, graph 0.05\n'
		printf 'plot %s using 1:2 with steps lc rgb "#999999" title "front"' \
		    "$(quoted "$study/plot.front")"
		for plot_w in w1 s2 w2; do
			plot_writers $plot_w
			awk -F '\t' -v w="$plot_w" '$4 == w' "$study/plot.tsv" \
			    >"$study/plot.$plot_w.points"
			[ -s "$study/plot.$plot_w.points" ] || continue
			printf ', %s using 1:2:5:6 with xerrorbars pt 7 ps 0.5 lc rgb "%s" title "%s", ' \
			    "$(quoted "$study/plot.$plot_w.points")" \
			    "$plot_colour" "$plot_name"
			printf '"" using 1:2:3 with labels offset 0.6,0.7 notitle'
		done
		echo
	} >"$study/plot"
	plot_end "$1-ratio"
}

plot_all() {
	plot_possible || return 0
	report_cpus=$(cpus_measured)
	for plot_variant in $report_variants; do
		plot_efficiency "$plot_variant"
		plot_ratio "$plot_variant"
	done
	rm -f "$study"/plot.*
}

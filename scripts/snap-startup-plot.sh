# shellcheck shell=sh
# snap-startup-plot.sh - plot launches, walks, sizes and files; sourced
# SPDX-License-Identifier: BSD-2-Clause
. "$here/plot.sh"

# plot_begin TITLE WIDTH YLABEL
plot_begin() {
	plot_head "$1 (${report_cpus:-some} processors, ${report_kernel:-unknown kernel})" \
	    "$2" 480
	printf 'set datafile missing "-"\nset yrange [0:*]\nset ylabel "%s"\nset xtics rotate by -35\n' "$3"
}

# plot_colour N: prints the colour of the Nth series
plot_colour() {
	case $1 in
	1) echo '#1f5fa8' ;;
	2) echo '#b5532a' ;;
	3) echo '#5a8a3a' ;;
	*) echo '#7a5a9a' ;;
	esac
}

# box_data APP SUFFIX...: runs snap-startup-boxes.awk
box_data() {
	box_app=$1
	shift
	rm -f "$study"/plot.[1-9]*
	run_awk snap-startup-boxes app="$box_app" words="$*" \
	    prefix="$study/plot" "$study/proven.csv"
}

# plot_box FILE TITLE COLOUR: plots the boxes and the runs of one suffix;
# gnuplot does not draw a box for fewer than 5 runs
plot_box() {
	box_file=$(quoted "$1")
	printf 'for [i=1:%d] %s index i-1 using (real(word("%s", i))):2 with boxplot lc rgb "%s" notitle, ' \
	    "$(wc -l <"$1.at")" "$box_file" "$(tr '\n' ' ' <"$1.at")" "$3"
	printf '%s using 1:2 with points pt 7 ps 0.5 lc rgb "%s" title "%s"' \
	    "$box_file" "$3" "$2"
}

# plot_boxes NAME APP TITLE SUFFIX...: plots a box and all runs for each image
plot_boxes() {
	boxes_name=$1 boxes_app=$2 boxes_title=$3
	shift 3
	box_data "$boxes_app" "$@" >"$study/plot.images"
	boxes_n=$(wc -l <"$study/plot.images")
	[ "$boxes_n" -gt 0 ] || return 0
	{
		plot_begin "$boxes_title" $((200 + boxes_n * 22 * $# + 200)) ms
		printf 'set style boxplot nooutliers\nset style fill solid 0.2\n'
		printf 'set boxwidth %s\nset key above\nset xrange [0.4:%s.6]\n' \
		    "$(calc 'printf "%.2f", 0.7 / n' n=$#)" "$boxes_n"
		printf 'set xtics (%s)\nplot ' "$(awk '{
			printf "%s\"%s\" %d", (NR > 1 ? ", " : ""), $2, $1
		}' "$study/plot.images")"
		boxes_s=0 boxes_comma=
		for boxes_suffix; do
			boxes_s=$((boxes_s + 1))
			[ -e "$study/plot.$boxes_s" ] || continue
			printf %s "$boxes_comma"
			plot_box "$study/plot.$boxes_s" "$boxes_suffix" \
			    "$(plot_colour $boxes_s)"
			boxes_comma=', '
		done
		echo
	} >"$study/plot"
	plot_draw "$boxes_app-$boxes_name"
	cat "$study"/plot.[1-9] >"$study/plot.tsv"
	plot_keep "$study/plot.tsv" "$boxes_app-$boxes_name.tsv"
}

# bar_data EXPR: prints a line per image with a column per application, which
# contains EXPR, with @ for the application
bar_data() {
	echo "image $apps" | sed 's/ *$//' | tr ' ' '\t'
	bar_columns=$(for bar_app in $apps; do
		printf 's = %s\n' "$1" | sed "s/@/$bar_app/g"
	done)
	printf '%s\n' image try none lz4 lzo gzip zstd15 xz | tabulate "
	missing -
	s = image
	$bar_columns" "$study/summary" - | tr ' ' '\t' |
	    sed "/^[^$tab]*\($tab-\)*\$/d"
}

# plot_bars NAME TITLE YLABEL EXPR: draws the bars of bar_data
plot_bars() {
	bar_data "$4" >"$study/plot.tsv"
	[ "$(wc -l <"$study/plot.tsv")" -gt 1 ] || return 0
	{
		plot_begin "$2" 760 "$3"
		printf 'set style data histograms\nset style histogram clustered\n'
		printf 'set style fill solid 0.7\nset key above\nplot '
		bars_n=0 bars_comma=
		for bars_app in $apps; do
			bars_n=$((bars_n + 1))
			cut -f $((bars_n + 1)) "$study/plot.tsv" |
			    grep -q '^[0-9.]' || continue
			printf '%s%s skip 1 using %d:xtic(1) lc rgb "%s" title "%s"' \
			    "$bars_comma" "$(quoted "$study/plot.tsv")" \
			    $((bars_n + 1)) "$(plot_colour $bars_n)" "$bars_app"
			bars_comma=', '
		done
		echo
	} >"$study/plot"
	plot_draw "$1"
	plot_keep "$study/plot.tsv" "$1.tsv"
}

# plot_files: draws the share of all bytes in the largest files
plot_files() {
	rm -f "$study/plot.tsv"
	for files_app in $apps; do
		files_words plot "$files_app" >>"$study/plot.tsv"
	done
	[ -s "$study/plot.tsv" ] || return 0
	{
		plot_begin 'Bytes in the largest files' 760 '% of all bytes'
		printf 'set logscale x\nset xtics rotate by 0\nset key bottom right\nset xlabel "the largest n files (log)"\n'
		for files_n in 10 100; do
			printf 'set arrow from %d, graph 0 to %d, graph 1 nohead lc rgb "#999999"\n' \
			    $files_n $files_n
		done
		printf 'plot '
		files_i=0
		for files_app in $(cut -f 1 "$study/plot.tsv" | uniq | grep .); do
			files_i=$((files_i + 1))
			printf '%s%s index %d using 2:4 with lines lw 2 lc rgb "%s" title "%s: 10 have %s %%, 100 have %s %%"' \
			    "$([ $files_i = 1 ] || echo ', ')" \
			    "$(quoted "$study/plot.tsv")" $((files_i - 1)) \
			    "$(plot_colour $files_i)" "$files_app" \
			    "$(share "$files_app" 10)" "$(share "$files_app" 100)"
		done
		echo
	} >"$study/plot"
	plot_draw files
	plot_keep "$study/plot.tsv" files.tsv
}

plot_all() {
	plot_possible || return 0
	report_cpus=$(cpus_measured)
	for plot_app in $apps; do
		plot_boxes launches "$plot_app" "$plot_app: launches" first \
		    second dropped
		plot_boxes walks "$plot_app" "$plot_app: cold walks" \
		    walk.app.mount walk.app.coldwalk
		plot_boxes walks-both "$plot_app" \
		    "$plot_app and its content: cold walks" walk.both.mount \
		    walk.both.coldwalk
	done
	plot_bars ratios 'Size of the tree, divided by that of the image' ratio \
	    'ratio(image_B["@.try.first"], image_B["@." image ".first"])'
	plot_bars cpu 'CPU time of a cold launch, less that of a warm one' \
	    seconds \
	    'cpu_s["@." image ".first"] - cpu_s["@." image ".second"]'
	plot_files
	rm -f "$study"/plot.*
}

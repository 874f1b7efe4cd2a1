# shellcheck shell=sh
# lazy-pull-plot.sh - plot the data received, and the times; sourced
# SPDX-License-Identifier: BSD-2-Clause
. "$here/plot.sh"

# plot_cell IMAGE WORKLOAD LINK: prints a line for each system: name, MB, and
# seconds until pulled, until created, and until the end of the run
plot_cell() {
	tabulate '
	parts image workload system link more
	where n > 0 && more == ""
	where image == of && workload == what && link == over
	line system, any(rx_B, 0) / 1e6, pull_s + 0, create_s + 0, run_s + 0' \
	    of="$1" what="$2" over="$3" "$study/summary" | sort
}

# plot_systems IMAGE LINK: writes the lines for all workloads to
# $study/plot.tsv, one block each
plot_systems() {
	for systems_workload in $(labels_of workload); do
		plot_cell "$1" "$systems_workload" "$2" >"$study/plot.block"
		[ -s "$study/plot.block" ] || continue
		printf '# %s\n' "$systems_workload"
		cat "$study/plot.block"
		printf '\n\n'
	done >"$study/plot.tsv"
	rm -f "$study/plot.block"
	[ -s "$study/plot.tsv" ]
}

# plot_bars_of FIRST LAST: prints these columns as stacked bars, grouped by
# workload
plot_bars_of() {
	bars_i=0 bars_comma=
	grep '^# ' "$study/plot.tsv" | sed 's/# //' | while read -r bars_name; do
		printf '%snewhistogram "%s"' "$bars_comma" "$bars_name"
		bars_comma=', '
		for bars_column in $(seq "$1" "$2"); do
			printf ', %s index %d using %d:xtic(1) lc rgb "%s" %s' \
			    "$(quoted "$study/plot.tsv")" $bars_i "$bars_column" \
			    "$(plot_shade "$bars_column")" \
			    "$(plot_key "$bars_column" $bars_i)"
		done
		bars_i=$((bars_i + 1))
	done
	echo
}

plot_shade() {
	case $1 in
	2) echo '#1f5fa8' ;;
	3) echo '#b5532a' ;;
	4) echo '#999999' ;;
	*) echo '#5a8a3a' ;;
	esac
}

# plot_key COLUMN BLOCK: prints the title of the bars, for the first block only
plot_key() {
	case $1.$2 in
	3.0) echo 'title "pull"' ;;
	4.0) echo 'title "create"' ;;
	5.0) echo 'title "run"' ;;
	*) echo notitle ;;
	esac
}

# plot_bars NAME TITLE YLABEL FIRST LAST: draws the bars of these columns
plot_bars() {
	{
		plot_head "$2" $((300 + 26 * $(grep -c . "$study/plot.tsv"))) 480
		printf 'set yrange [0:*]\nset xtics rotate by -45\n'
		printf 'set ylabel "%s"\nset key above\n' "$3"
		printf 'set style data histograms\nset style fill solid 0.7\n'
		printf 'set style histogram rowstacked title offset 0,-2\n'
		printf 'set bmargin 9\nset boxwidth 0.8\nplot '
		plot_bars_of "$4" "$5"
	} >"$study/plot"
	plot_draw "$1"
	cp "$study/plot.tsv" "$study/plot.keep"
	plot_keep "$study/plot.keep" "$1.tsv"
}

# plot_pattern IMAGE WORKLOAD LINK: draws the data received over time during a
# start
plot_pattern() {
	: >"$study/plot.tsv"
	set -- "$1.$2" "$3"
	for pattern_file in "$study/patterns/$1".*."$2"; do
		[ -s "$pattern_file" ] || continue
		pattern_system=${pattern_file##*/"$1".}
		awk -F '\t' -v OFS='\t' -v s="${pattern_system%."$2"}" '
		NR == 1 { at = $1; rx = $2 }
		{ print s, $1 - at, ($2 - rx) / 1e6 }
		END { printf "\n\n" }' "$pattern_file"
	done >"$study/plot.tsv"
	[ -s "$study/plot.tsv" ] || return 0
	{
		plot_head "$1, $2: data received" 760 480
		printf 'set xlabel "s"\nset ylabel "MB"\nset key outside\nplot '
		pattern_i=0 pattern_comma=
		for pattern_system in $(cut -f 1 "$study/plot.tsv" | uniq); do
			printf '%s%s index %d using 2:3 with steps lw 2 title "%s"' \
			    "$pattern_comma" "$(quoted "$study/plot.tsv")" \
			    $pattern_i "$pattern_system"
			pattern_i=$((pattern_i + 1)) pattern_comma=', '
		done
		echo
	} >"$study/plot"
	plot_draw "$1.$2-pattern"
	plot_keep "$study/plot.tsv" "$1.$2-pattern.tsv"
}

plot_all() {
	plot_possible || return 0
	for plot_image in $(labels_of image); do
		for plot_link in $(labels_of link); do
			plot_systems "$plot_image" "$plot_link" || continue
			plot_bars "$plot_image-$plot_link-data" \
			    "$plot_image, $plot_link: data transferred" MB 2 2
			plot_bars "$plot_image-$plot_link-time" \
			    "$plot_image, $plot_link: time" s 3 5
			for plot_workload in $(labels_of workload); do
				plot_pattern "$plot_image" "$plot_workload" \
				    "$plot_link"
			done
		done
	done
	rm -f "$study"/plot "$study"/plot.*
}

# shellcheck shell=sh
# mailfs-plot.sh - charts of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# Charts lie beside the rows, each with the data that it was drawn from.

# plot_begin FILE TITLE
plot_begin() {
	printf 'set terminal svg size 960,520 font "sans-serif,13" background "white"\n'
	printf 'set output "%s"\nset datafile separator tab\n' "$1"
	printf 'set grid back lt 1 lc rgb "#dddddd"\n'
	printf 'set title "%s"\n' "$(printf '%s: %s files (%s processors)' "$2" \
	    "$files" "${report_cpus:-?}" | tr -cd '[:alnum:] (),:._-')"
}

# plot_efficiency VARIANT: every run, and the medians, by algorithm: place,
# efficiency, algorithm, writers; run or median
plot_efficiency() {
	plot_base=${rows_csv%.csv}-$1-efficiency
	cells_of "$1" | awk -F '\t' -v OFS='\t' -v runs="$study/runs" -v variant="$1" '
	{
		if (!($3 in place)) {
			place[$3] = ++n
		}
		print place[$3], $10, $3, $4, "median"
	}
	END {
		shift["w1"] = -0.08; shift["s2"] = 0; shift["w2"] = 0.08
		while ((getline line <runs) > 0) {
			split(line, f, "\t")
			if (f[1] == variant && f[2] in place && f[3] in shift)
				print place[f[2]] + shift[f[3]], f[9], f[2],
				    f[3], "run"
		}
	}' >"$plot_base.tsv"
	[ -s "$plot_base.tsv" ] || return 0
	plot_set=
	{
		plot_begin "$plot_base.svg" "Efficiency on $1"
		printf 'set ylabel "ratio / seconds"\nset yrange [0:*]\n'
		printf 'set xtics rotate by -35 (%s)\n' "$(awk -F '\t' '
		    $5 == "median" && !seen[$3]++ {
			printf "%s\"%s\" %d", (n++ ? ", " : ""), $3, $1
		    }' "$plot_base.tsv")"
		printf 'set xrange [0.5:%s.5]\nset key top right\nplot ' \
		    "$(cut -f 3 "$plot_base.tsv" | sort -u | wc -l)"
		for plot_writers in w1 s2 w2; do
			case $plot_writers in
			w1) set -- '#1f5fa8' 'one writer' ;;
			s2) set -- '#5a8a3a' 'two, sharing' ;;
			w2) set -- '#b5532a' 'two, each everything' ;;
			esac
			grep -q "$tab$plot_writers$tab" "$plot_base.tsv" ||
			    continue
			awk -F '\t' -v w="$plot_writers" '$4 == w && $5 == "run"' \
			    "$plot_base.tsv" >"$study/plot.$plot_writers.runs"
			awk -F '\t' -v w="$plot_writers" '$4 == w && $5 == "median"' \
			    "$plot_base.tsv" >"$study/plot.$plot_writers.medians"
			printf '%s"%s" using 1:2 with points pt 7 ps 0.5 lc rgb "%s" notitle, ' \
			    "$plot_set" "$study/plot.$plot_writers.runs" "$1"
			printf '"%s" using 1:2 with linespoints pt 6 ps 0.9 lc rgb "%s" title "%s, medians"' \
			    "$study/plot.$plot_writers.medians" "$1" "$2"
			plot_set=', '
		done
		echo
	} >"$study/plot"
	gnuplot "$study/plot" && say "$plot_base.svg"
}

# plot_ratio VARIANT: ratio against seconds, with the front
plot_ratio() {
	plot_base=${rows_csv%.csv}-$1-ratio
	cells_of "$1" | awk -F '\t' -v OFS='\t' '{
		sub(/^(gzip|zlib)-/, "", $3)
		print $6, $22, $3, $4, $7 == "" ? $6 : $7, $8 == "" ? $6 : $8
	}' | sort -g >"$plot_base.tsv"
	[ -s "$plot_base.tsv" ] || return 0
	awk -F '\t' '$2 > best { best = $2; print }' "$plot_base.tsv" \
	    >"$study/plot.front"
	{
		plot_begin "$plot_base.svg" "Ratio and time on $1"
		printf 'set xlabel "copy, seconds (median, 95 %% interval)"\n'
		printf 'set ylabel "ratio as printed"\nset key bottom right\n'
		printf 'set offsets graph 0.05, graph 0.1, graph 0.08, graph 0.05\n'
		printf 'plot "%s" using 1:2 with steps lc rgb "#999999" title "front"' \
		    "$study/plot.front"
		for plot_writers in w1 s2 w2; do
			case $plot_writers in
			w1) set -- '#1f5fa8' 'one writer' ;;
			s2) set -- '#5a8a3a' 'two, sharing' ;;
			w2) set -- '#b5532a' 'two, each everything' ;;
			esac
			awk -F '\t' -v w="$plot_writers" '$4 == w' \
			    "$plot_base.tsv" >"$study/plot.$plot_writers.points"
			[ -s "$study/plot.$plot_writers.points" ] || continue
			printf ', "%s" using 1:2:5:6 with xerrorbars pt 7 ps 0.5 lc rgb "%s" title "%s", ' \
			    "$study/plot.$plot_writers.points" "$1" "$2"
			printf '"" using 1:2:3 with labels offset 0.6,0.7 notitle'
		done
		echo
	} >"$study/plot"
	gnuplot "$study/plot" && say "$plot_base.svg"
}

plot_all() {
	have gnuplot || {
		echo 'Charts: not drawn (no gnuplot).'
		return 0
	}
	report_cpus=$(cpus_measured)
	for plot_variant in $report_variants; do
		plot_efficiency "$plot_variant"
		plot_ratio "$plot_variant"
	done
	rm -f "$study"/plot.*
}

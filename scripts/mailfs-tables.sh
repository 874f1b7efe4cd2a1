# shellcheck shell=sh
# mailfs-tables.sh - print the tables of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause

# cells_table VARIANT DESCRIPTION [NAME=VALUE...]: prints a table of its cells,
# sorted by writers and then in the study's order
cells_table() {
	cells_wanted=$1 cells_description=$2
	shift 2
	tabulate '
	where variant == wanted
	order place(writers, "w1 s2 w2")
	order place(cut(algorithm, "-.*"), "off zle lzjb lzo lz4 gzip zlib zstd")
	order cut(algorithm, "^[^-]*-?") + 0
	'"$cells_description" wanted="$cells_wanted" "$@" "$study/told.cell"
}

# print_study_table VARIANT: prints the study's table next to the same table
# measured here
print_study_table() {
	printf '\nThe study, and %s%s\n' "$1" "$(stand_in "$1" | sed 's/^/: /')"
	cells_table "$1" '
	group variant
	line "(as in the study: eff is the mean of quotients; all means are trimmed by 10 %, which drops " int(max(n) / 10) " of " max(n) " values at each end)"' |
	    wrap
	published | tabulate '
	let here = wanted "." algorithm ".w" writers
	2d     = number
	-9s    algorithm
	9d     nowriters = writers
	11.9f  eff
	9.1f   timetaken = seconds
	13.3f  compressratio = ratio
	|
	instead n[here] == "" ? "not measured" : ""
	2d     n = n[here]
	11.9f  eff = eff_mean[here]
	9.3f   timetaken = mean_s[here]
	13.3f  compressratio = mean_ratio[here]
	11.9f  q.of means = eff_of_means[here]' wanted="$1" "$study/told.cell" -
}

print_variance() {
	printf '\n'
	wrap <<EOT
Variance of the efficiency, in per cent of its mean (study: all runs, 21.56 with one writer and 29.74 with two)
EOT
	tabulate '
	missing -
	-12s  = variant
	7s    Writers = writers
	10.2f all runs = cv_all
	12.2f inside cells = cv_cells
	6d    runs = copies' "$study/told.group"
}

# print_times VARIANT
print_times() {
	printf '\n'
	wrap <<EOT
$1: seconds (medians, 95 % confidence intervals; /ends: relative to the mean of both ends of the block)
EOT
	cells_table "$1" '
	-9s     = algorithm
	2s      W = writers
	2d      n
	8.3f    Copy = copy_s
	19.3f.. interval = copy
	8.3f    Durable = durable_s
	7.2f    CPU = cpu_s
	7.2f    Daemon = daemon_s
	7.3f    /ends = ends
	17.3f.. interval = ends'
}

# print_efficiency VARIANT
print_efficiency() {
	printf '\n'
	wrap <<EOT
$1: efficiency, ratio over seconds of the copy (lasting: real ratio over seconds until it is durable; first: share of 2000 draws of rounds in which it has the highest median, from 6 rounds on; of ten: among those of the study; CPU: ratio over processor time)
EOT
	cells_table "$1" '
	-9s     = algorithm
	2s      W = writers
	2d      n
	9.5f    Median = eff
	21.5f.. interval = eff
	9.5f    mean of q = eff_mean
	9.5f    q of mean = eff_of_means
	9.5f    lasting = ratio(apparent_B, all_B) / durable_s
	6.1f    CV% = n > 1 ? cv_pct : ""
	4d      Rank = rank
	7.1f    first% = first_pct
	7.1f    of ten% = ten_pct
	8.4f    CPU = per_both'
}

# print_sizes VARIANT: prints a comparison of the ratio with the space on disk
print_sizes() {
	printf '\n'
	wrap <<EOT
$1: sizes once they are durable (ratio: as the filesystem tells; real: bytes of the files over all that the copy takes; padding: files on disk less what the ratio says; front: p fastest and highest ratio, d soonest durable and smallest)
EOT
	cells_table "$1" '
	-9s     = algorithm
	2s      W = writers
	6.3f    ratio
	6.3f    real = ratio(apparent_B, all_B)
	13.0f   files on disk = files_B
	13.0f   metadata = all_B - files_B
	13.0f   all = all_B
	12.1f%  padding = padding_pct
	5s      front'
}

# print_order VARIANT: prints whether the position in the block affects the time
print_order() {
	run_awk mailfs-words -F '\t' what=order variant="$1" \
	    "$study/told.order" >"$study/order"
	[ ! -s "$study/order" ] || {
		echo
		wrap <"$study/order"
	}
}

# print_figures VARIANT [COLUMN]: prints the choice in Markdown; with COLUMN, the
# variant in front
print_figures() {
	figures_front=${2:+| $1 }
	case $1 in
	openzfs*)
		cells_table "$1" '
		line sprintf("%s| %s | %d | %.2f | %.1f | %.1f | %.1f | %.2f |", beginning, algorithm, cut(writers, "[ws]"), ratio, all_B / 1e6, copy_s, durable_s, 100 * ratio / durable_s)' \
		    beginning="$figures_front"
		;;
	*)
		cells_table "$1" '
		let time = sprintf(" (%.1f..%.1f)", copy_lo, copy_hi)
		let range = sprintf(" (%.3f..%.3f)", eff_lo, eff_hi)
		line sprintf("%s| %s | %.2f | %.1f | %.1f%s | %.1f | %.3f%s |", beginning, algorithm, ratio, all_B / 1e6, copy_s, text(time), cpu_s, eff, text(range))' \
		    beginning="$figures_front"
		;;
	esac
}

# print_figures_head VARIANT [COLUMN]: prints the heading of such tables
print_figures_head() {
	case $1 in
	openzfs*) set -- "${2:-}" '| | writers | as printed | on disk, MB | copy | until durable | ratio by 100 of these |' ;;
	*) set -- "${2:-}" '| | as printed | on disk, MB | seconds | CPU seconds | efficiency |' ;;
	esac
	set -- "${1:+| $1 }$2"
	printf '%s\n%s\n' "$1" "$(printf '%s\n' "$1" | sed 's/[^|]*|/---|/g; s/^---|/|/')"
}

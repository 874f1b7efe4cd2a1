# shellcheck shell=sh
# mailfs-tables.sh - print the tables of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2154

# awk functions that format a number or an interval for the tables, or nothing
# if it is missing
print_awk='
function real(format, x) { return x == "" ? "" : sprintf(format, x) }
function span(format, lo, hi) {
	return lo == "" ? "" : sprintf(format " .. " format, lo, hi)
}'

# print_study_table VARIANT: prints the study's table next to the same table
# measured here
print_study_table() {
	printf '\nThe study, and %s%s\n' "$1" "$(stand_in "$1" | sed 's/^/: /')"
	cells_of "$1" | tsv '
	csv_row() {
		if (!n || get("dropped") < n)
			n = get("dropped")
		if (get("n") > m)
			m = get("n")
	}
	END {
		printf "(as in the study: eff is the mean of quotients; all means are trimmed by 10 %%, which drops %d of %d values at each end)\n",
		    int(m / 10), m
	}' | wrap
	printf '%2s %-9s %9s %11s %9s %13s | %2s %11s %9s %13s %11s\n' '' \
	    algorithm nowriters eff timetaken compressratio n eff timetaken \
	    compressratio 'q.of means'
	published | tsv '
	part == "here" {
		if (!csv_row() || get("variant") != variant)
			next
		name = get("algorithm")
		sub(/^zlib/, "gzip", name)
		sub(/^lzo$/, "lzjb", name)
		here[name, get("writers")] = sprintf( \
		    "%2d %11.9f %9.3f %13.3f %11.9f", get("n"),
		    get("eff_mean"), get("mean_s"), get("mean_ratio"),
		    get("eff_of_means"))
		next
	}
	{
		printf "%2d %-9s %9d %11.9f %9.1f %13.3f | %s\n", ++line, $1,
		    $2, $3, $4, $5, ($1, "w" $2) in here ? \
		    here[$1, "w" $2] : "not measured"
	}' variant="$1" part=here "$study/told.cell" part=study -
}

print_variance() {
	printf '\n'
	wrap <<EOF
Variance of the efficiency, in per cent of its mean (study: all runs, 21.56 with one writer and 29.74 with two)
EOF
	printf '%-12s %7s %10s %12s %6s\n' '' Writers 'all runs' \
	    'inside cells' runs
	tsv '
	function or_none(x) { return x == "" ? "-" : sprintf("%.2f", x) }
	csv_row() {
		printf "%-12s %7s %10s %12s %6d\n", get("variant"),
		    get("writers"), or_none(get("cv_all")),
		    or_none(get("cv_cells")), get("copies")
	}' "$study/told.group"
}

# print_times VARIANT
print_times() {
	printf '\n'
	wrap <<EOF
$1: seconds (medians, 95 % confidence intervals; /ends: relative to the mean of both ends of the block)
EOF
	printf '%-9s %2s %2s %8s %19s %8s %7s %7s %7s %17s\n' '' W n 'Copy' \
	    interval Durable 'CPU' 'Daemon' '/ends' interval
	cells_of "$1" | tsv "$print_awk"'
	csv_row() {
		printf "%-9s %2s %2d %8.3f %19s %8.3f %7.2f %7s %7s %17s\n",
		    get("algorithm"), get("writers"), get("n"), get("copy_s"),
		    span("%.3f", get("copy_lo"), get("copy_hi")),
		    get("durable_s"), get("cpu_s"),
		    real("%.2f", get("daemon_s")), real("%.3f", get("ends")),
		    span("%.3f", get("ends_lo"), get("ends_hi"))
	}'
}

# print_efficiency VARIANT
print_efficiency() {
	printf '\n'
	wrap <<EOF
$1: efficiency, ratio over seconds of the copy (lasting: real ratio over seconds until it is durable; first: share of 2000 draws of rounds in which it has the highest median, from 6 rounds on; of ten: among those of the study; CPU: ratio over processor time)
EOF
	printf '%-9s %2s %2s %9s %21s %9s %9s %9s %6s %4s %7s %7s %8s\n' '' W \
	    n Median interval 'mean of q' 'q of mean' lasting 'CV%' Rank \
	    'first%' 'of ten%' 'CPU'
	cells_of "$1" | tsv "$print_awk"'
	csv_row() {
		printf "%-9s %2s %2d %9.5f %21s %9.5f %9.5f %9.5f %6s %4d %7s %7s %8s\n",
		    get("algorithm"), get("writers"), get("n"), get("eff"),
		    span("%.5f", get("eff_lo"), get("eff_hi")),
		    get("eff_mean"), get("eff_of_means"),
		    get("apparent_B") / get("all_B") / get("durable_s"),
		    (get("n") > 1 ? sprintf("%.1f", get("cv_pct")) : ""),
		    get("rank"), real("%.1f", get("first_pct")),
		    real("%.1f", get("ten_pct")), real("%.4f", get("per_both"))
	}'
}

# print_sizes VARIANT: prints a comparison of the ratio with the space on disk.
# ZFS's ratio counts metadata once and compressed, and is truncated to two
# digits; it does not count partly filled sectors.  On disk, metadata is stored
# twice.  Its share of the ratio is estimated as half of the smallest amount of
# metadata on any of the ZFS filesystems, namely the one with the smallest
# sectors.
print_sizes() {
	printf '\n'
	wrap <<EOF
$1: sizes once they are durable (ratio: as the filesystem tells; real: bytes of the files over all that the copy takes; padding: files on disk less what the ratio says; front: p fastest and highest ratio, d soonest durable and smallest)
EOF
	printf '%-9s %2s %6s %6s %13s %13s %13s %12s %5s\n' '' W ratio real \
	    'files on disk' 'metadata' 'all' padding front
	cells_of "$1" | tsv '
	part == "all" {
		if (!csv_row() || get("variant") !~ /^zfs/)
			next
		meta = get("all_B") - get("files_B")
		w = get("writers")
		if (!(w in least) || meta < least[w])
			least[w] = meta
		next
	}
	csv_row() {
		padding = ""
		ratio = get("ratio")
		files = get("files_B")
		all = get("all_B")
		if (get("variant") ~ /^zfs/) {
			m = least[get("writers")] / 2
			digit = ratio > 1 ? 0.005 : 0
			p = files - ((get("logical_B") + m) / (ratio + digit) - m)
			padding = sprintf("%.1f%%", 100 * p / (files - p))
			if (files - p <= 0)
				padding = ""
		}
		printf "%-9s %2s %6.3f %6.3f %13.0f %13.0f %13.0f %12s %5s\n",
		    get("algorithm"), get("writers"), ratio,
		    get("apparent_B") / all, files, all - files, all, padding,
		    get("front")
	}' part=all "$study/told.cell" part=variant -
}

# print_order VARIANT: prints whether the position in the block affects the time
print_order() {
	tsv 'csv_row() && get("variant") == variant {
		printf "%s: the last copy of a block took ", variant
		if (get("drift") == "")
			printf "- of the first"
		else {
			printf "%.3f of the first", get("drift")
			if (get("lo") != "")
				printf " (%.3f .. %.3f)%s", get("lo"), get("hi"),
				    (get("lo") > 1 || get("hi") < 1 ? \
				    ": the machine drifted" : "")
		}
		if (get("slope") != "")
			printf "; by place %+.2f %% a cell", 100 * get("slope")
		if (get("slope") != "" && get("rounds") >= 6)
			printf " (+-%.2f)%s", 196 * get("error"),
			    (get("slope") > 1.96 * get("error") ||
			    get("slope") < -1.96 * get("error") ? \
			    ": order matters" : "")
		print "."
	}' variant="$1" "$study/told.order" >"$study/order"
	[ ! -s "$study/order" ] || {
		echo
		wrap <"$study/order"
	}
}

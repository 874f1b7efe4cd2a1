# shellcheck shell=sh
# lazy-pull-tables.sh - print tables of starts, conversions and choices; sourced
# SPDX-License-Identifier: BSD-2-Clause

# print_starts IMAGE LINK: prints medians of all starts over this link; the
# lower limit is the data that the workload touches
print_starts() {
	noted_table touched "$1" label needed_B files >"$study/touched.tsv"
	tabulate '
	parts image workload system link more
	where image == of && link == over && n > 0
	let name = workload "." system (text(more) == "" ? "" : "." more)
	order name
	above "\n" of ", " (over == "open" ? "a link that is not shaped" : over " Mbit/s") ": medians"
	missing -
	-26s    = name
	2d      n
	6.2f    pull = pull_s
	6.2f    create = create_s
	6.2f    run = run_s
	7.2f    total = wall_s
	15.2f.. 95 % interval = wall
	8.2f    MB = rx_B / 1e6
	6.2f    limit = needed_B[workload] / 1e6
	6.2f    index = index_B / 1e6
	5d      requ. = requests
	6.2f    CPU s = cpu_s + any(daemon_cpu_s, 0)
	5.0f    MiB = any(rss_KiB, maxrss_KiB) / 1024
	6.2f    server = server_cpu_s' of="$1" over="$2" \
	    "$study/touched.tsv" "$study/summary"
	rm "$study/touched.tsv"
}

# print_figures IMAGE WORKLOAD LINK: prints two tables in Markdown
# shellcheck disable=SC2016
print_figures() {
	figures_of=$1.$2
	printf '\n`%s`, image `%s`, %s: medians\n\n' "$2" "$1" \
	    "$([ "$3" = open ] && echo 'a link that is not shaped' ||
	        echo "$3 Mbit/s")"
	cat <<'EOF'
| system | n | MB | requests | CPU s | memory, MiB | pull, s | first line, s | total, s (95 % interval) |
|---|---|---|---|---|---|---|---|---|
EOF
	tabulate '
	parts image workload system link more
	where image "." workload == of && link == over && more == "" && n > 0
	order rx_B
	let range = sprintf(" (%.2f to %.2f)", wall_lo, wall_hi)
	line sprintf("| `%s` | %d | %.2f | %s | %.2f | %.0f | %.2f | %.2f | %.2f%s |", system, n, rx_B / 1e6, requests, cpu_s + any(daemon_cpu_s, 0), any(rss_KiB, maxrss_KiB) / 1024, pull_s, first_s, wall_s, text(range))' \
	    of="$figures_of" over="$3" "$study/summary"
	printf '\nRatios of pairs\n\n'
	cat <<'EOF'
| | bytes | CPU time | time to the first line |
|---|---|---|---|
EOF
	figures_pairs | while read -r figures_a figures_b; do
		figures_a_row=$figures_of.$figures_a.$3
		figures_b_row=$figures_of.$figures_b.$3
		[ -n "$(ratio "$figures_a_row" "$figures_b_row")" ] || continue
		printf '| `%s` to `%s`' "$figures_a" "$figures_b"
		for figures_what in wire:3 cpu:2 first:2; do
			ratio "$figures_a_row:${figures_what%:*}" \
			    "$figures_b_row:${figures_what%:*}" |
			    awk -F '\t' -v d="${figures_what#*:}" '{
				printf " | %.*f", d, $1
				if ($2 != "")
					printf " (%.*f to %.*f)", d, $2, d, $3
			}'
		done
		echo ' |'
	done
}

# figures_pairs: prints pairs of systems of which documents quote the ratio
figures_pairs() {
	for figures_peer in stargz stargz-optimized soci nydus nydus64 \
	    nydus-prefetch cvmfs overlayfs; do
		echo "estargz-trace $figures_peer"
	done
	for figures_peer in stargz stargz-optimized soci soci-parallel nydus \
	    nydus64 nydus-prefetch containerd podman; do
		echo "coldpress $figures_peer"
	done
	cat <<'EOF'
stargz-order stargz-optimized
stargz overlayfs
cas cvmfs
cas-squid cvmfs-squid
cvmfs stargz
ztoc soci
soci stargz
soci-parallel containerd
nydus stargz
EOF
}

# print_touched IMAGE: prints the lower limit, the image data that the workloads
# need
print_touched() {
	noted_table touched "$1" name needed_B files | tabulate '
	above "\n" of ": data that the workloads need, in pages"
	-26s   = name
	11.2f_MB = needed_B / 1e6
	s      = "in " files " files"' of="$1" -
}

# print_published IMAGE: prints the time from the image's build until it is
# available
print_published() {
	noted_table published "$1" name wall_s cpu_s stored_B | tabulate '
	above "\n" of ": time until available (one run: conversion and push)"
	-26s   = name
	8.1f   seconds = wall_s
	8.1f   CPU s = cpu_s
	10.2f  MB = stored_B / 1e6' of="$1" -
}

# print_choice: prints, for each link and workload, the fastest system, those
# that take at most a tenth longer, and the system that transfers the least data
print_choice() {
	choice_cells='
	parts image workload system link more
	where n > 0 && rx_B != ""
	let cell = image "." workload "." link (text(more) == "" ? "" : "." more)'
	{
		printf 'label\tfast\tfast_s\n'
		tabulate "$choice_cells
		group cell
		line cell, least(system, wall_s), min(wall_s)" "$study/summary"
	} >"$study/choice.tsv"
	tabulate "$choice_cells"'
	let near = system != fast[cell] && wall_s <= 1.1 * fast_s[cell] ? system : ""
	group cell
	order cell
	above "\nThe best system for a workload and a link, by medians of at least n starts\n(the differences were not tested)"
	-22s   = cell
	2d     n = min(n)
	-14s   fastest = fast[cell]
	6.2f   s = fast_s[cell]
	gap
	-14s   least data = least(system, rx_B)
	7.2f   MB = min(rx_B) / 1e6
	s      " as fast (10 %)" = (count(near) ? " " : "") text(list(near))' \
	    "$study/choice.tsv" "$study/summary"
	rm "$study/choice.tsv"
}

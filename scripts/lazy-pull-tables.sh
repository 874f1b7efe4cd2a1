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

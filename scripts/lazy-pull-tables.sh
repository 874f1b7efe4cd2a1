# shellcheck shell=sh
# lazy-pull-tables.sh - print tables of starts, conversions and choices; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2154

# print_starts IMAGE LINK: prints medians of all starts over this link; the
# lower limit is the data that the workload touches
print_starts() {
	tsv '
	NR == 1 {
		n = split(touched, word, " ")
		for (i = 1; i < n; i += 3)
			limit[word[i]] = sprintf("%.2f", word[i + 1] / 1e6)
	}
	function real(format, name, unit) {
		return get(name) == "" ? "-" : sprintf(format, get(name) / unit)
	}
	csv_row() && index(get("label"), image ".") == 1 {
		n = split(get("label"), part, ".")
		if (part[4] != link || get("n") + 0 == 0)
			next
		name = part[2] "." part[3]
		for (i = 5; i <= n; i++)
			name = name "." part[i]
		if (!lines++) {
			printf "\n%s, %s: medians\n", image, link == "open" ? \
			    "a link that is not shaped" : link " Mbit/s"
			printf "%-26s %2s %6s %6s %6s %7s %15s %8s %6s %6s %5s %6s %5s %6s\n",
			    "", "n", "pull", "create", "run", "total",
			    "95 % interval", "MB", "limit", "index", "requ.",
			    "CPU s", "MiB", "server"
		}
		printf "%-26s %2d %6s %6s %6s %7s %15s %8s %6s %6s %5s %6s %5s %6s\n",
		    name, get("n"), real("%.2f", "pull_s", 1),
		    real("%.2f", "create_s", 1), real("%.2f", "run_s", 1),
		    real("%.2f", "wall_s", 1), get("wall_lo") == "" ? "" : \
		    sprintf("%.2f .. %.2f", get("wall_lo"), get("wall_hi")),
		    real("%.2f", "rx_B", 1e6),
		    part[2] in limit ? limit[part[2]] : "-",
		    real("%.2f", "index_B", 1e6),
		    real("%d", "requests", 1),
		    sprintf("%.2f", get("cpu_s") + get("daemon_cpu_s")),
		    real("%.0f", get("rss_KiB") == "" ? "maxrss_KiB" : \
		    "rss_KiB", 1024), real("%.2f", "server_cpu_s", 1)
	}' image="$1" link="$2" touched="$(noted touched "$1" | tr '\n' ' ')" \
	    "$study/summary" >"$study/starts"
	head -n 3 "$study/starts"
	sed 1,3d "$study/starts" | sort -s -k 1,1
	rm "$study/starts"
}

# print_touched IMAGE: prints the lower limit, the image data that the workloads
# need
print_touched() {
	noted touched "$1" | awk -v image="$1" '
	NR == 1 { printf "\n%s: data that the workloads need, in pages\n", image }
	{ printf "%-26s %8.2f MB in %d files\n", $1, $2 / 1e6, $3 }'
}

# print_published IMAGE: prints the time from the image's build until it is
# available
print_published() {
	noted published "$1" | awk -v image="$1" '
	NR == 1 {
		printf "\n%s: time until available (one run: conversion and push)\n", image
		printf "%-26s %8s %8s %10s\n", "", "seconds", "CPU s", "MB"
	}
	{ printf "%-26s %8.1f %8.1f %10.2f\n", $1, $2, $3, $4 / 1e6 }'
}

# print_choice: prints, for each link and workload, the fastest system, those
# that take at most a tenth longer, and the system that transfers the least data
print_choice() {
	tsv '
	csv_row() && get("n") > 0 && get("rx_B") != "" {
		n = split(get("label"), part, ".")
		cell = part[1] "." part[2] "." part[4]
		for (i = 5; i <= n; i++)
			cell = cell "." part[i]
		if (!(cell in count))
			cells[++all] = cell
		i = ++count[cell]
		name[cell, i] = part[3]
		wall[cell, i] = get("wall_s")
		bytes[cell, i] = get("rx_B")
		if (i == 1 || get("n") < least_n[cell])
			least_n[cell] = get("n")
	}
	END {
		for (c = 1; c <= all; c++)
			choose(cells[c])
	}
	function choose(cell,  i, fast, least, near) {
		fast = least = 1
		for (i = 2; i <= count[cell]; i++) {
			if (wall[cell, i] < wall[cell, fast])
				fast = i
			if (bytes[cell, i] < bytes[cell, least])
				least = i
		}
		for (i = 1; i <= count[cell]; i++)
			if (i != fast && wall[cell, i] <= 1.1 * wall[cell, fast])
				near = near " " name[cell, i]
		printf "%-22s %2d %-14s %6.2f  %-14s %7.2f %s\n", cell,
		    least_n[cell], name[cell, fast], wall[cell, fast],
		    name[cell, least], bytes[cell, least] / 1e6, near
	}' "$study/summary" | sort | awk '
	NR == 1 {
		printf "\nThe best system for a workload and a link, by medians of at least n starts\n(the differences were not tested)\n"
		printf "%-22s %2s %-14s %6s  %-14s %7s %s\n", "", "n",
		    "fastest", "s", "least data", "MB", " as fast (10 %)"
	}
	{ print }'
}

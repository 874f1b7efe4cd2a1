# shellcheck shell=sh
# snap-startup-tables.sh - print tables of launches, walks and files; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2154
# The tables are made from $study/summary and $study/key-medians, which contain
# a line per label.

# print_title TEXT: prints a title, and the conditions that affect the figures
# most
print_title() {
	printf '\n%s\n' "$1"
	[ -z "$report_kernel" ] || printf '(squashfs: %s)\n' "$report_kernel"
}

# print_launches APP: prints the study's columns for each image, medians in ms.
# A walk of the part "app" has the image's size only if there is no other part.
print_launches() {
	launches_parts=$(csv 'csv_row() && index(get("label"), app ".") == 1 &&
	    get("label") ~ /[.]walk[.]both[.]/ { print 2; exit }' \
	    app="$1" "$rows_csv")
	print_title "$1: medians, ms"
	printf '%-18s %9s %6s | %2s %8s %8s %8s | %8s %8s\n' image 'size MB' \
	    ratio n first second dropped 'walk' coldwalk
	tsv '
	csv_row() && index(get("label"), app ".") == 1 {
		label = substr(get("label"), length(app) + 2)
		match(label, /[.](first|second|dropped|walk[.](app|both)[.](mount|coldwalk))$/)
		if (RSTART == 0)
			next
		image = substr(label, 1, RSTART - 1)
		what = substr(label, RSTART + 1)
		if (!(image in seen)) {
			seen[image]
			images[++count] = image
		}
		n[image, what] = get("n")
		ms[image, what] = get("wall_s")
		if (get("image_B") && (what !~ /^walk[.]app/ || parts < 2))
			size[image] = get("image_B")
	}
	function real(what) {
		return ms[image, what] == "" ? "-" : \
		    int(1000 * ms[image, what] + 0.5)
	}
	END {
		for (i = 1; i <= count; i++) {
			image = images[i]
			printf "%-18s %9s %6s | %2s %8s %8s %8s | %8s %8s\n",
			    image, size[image] ? \
			    sprintf("%.1f", size[image] / 1e6) : "-",
			    size["try"] && size[image] ? \
			    sprintf("%.2f", size["try"] / size[image]) : "-",
			    n[image, "first"], real("first"), real("second"),
			    real("dropped"), real("walk.app.mount"),
			    real("walk.app.coldwalk")
		}
	}' app="$1" parts="${launches_parts:-1}" "$study/summary"
}

# both PROGRAM [NAME=VALUE...]: runs tsv on the rows of the summary, with the
# medians of each label's keys in of[label, key]
both() {
	both_program=$1
	shift
	tsv '
	function mib(b) { return b == "" ? "-" : sprintf("%.1f", b / 1048576) }
	function real(format, v) { return v == "" ? "-" : sprintf(format, v) }
	function less(a, b) {
		return a == "" || b == "" ? "-" : sprintf("%.3f", a - b)
	}
	function share(a, b) {
		return a == "" || !(b > 0) ? "-" : sprintf("%.3f", a / b)
	}
	FNR == 1 { file++ }
	!csv_row() { next }
	file == 1 {
		for (name in at)
			of[get("label"), name] = get(name)
		next
	}
	{ cpu[get("label")] = get("cpu_s") }
	'"$both_program" "$@" "$study/key-medians" "$study/summary"
}

# print_cost: prints the additional cost of a cold launch compared with a warm
# one, and the amount of data that it reads.  The spread is the range of the
# undisturbed launches, as a percentage of the median.
print_cost() {
	print_title 'The cost of a cold launch'
	printf '%-24s %2s %7s %7s %7s %8s %8s %6s %8s %7s\n' '' n \
	    'CPU(s)' 'warm(s)' 'less(s)' requests 'MiB' 'spread' 'MiB read' \
	    'quiet'
	both '
	get("label") ~ /[.]first$/ { labels[++n] = get("label"); runs[n] = get("n") }
	END {
		for (i = 1; i <= n; i++) {
			l = w = labels[i]
			sub(/first$/, "second", w)
			if (cpu[l] == "")
				continue
			printf "%-24s %2d %7.3f %7s %7s %8s %8s %6s %8s %7s\n",
			    substr(l, 1, length(l) - 6), runs[i], cpu[l],
			    real("%.3f", cpu[w]), less(cpu[l], cpu[w]),
			    real("%.0f", of[l, "loop_n"]), mib(of[l, "loop_B"]),
			    real("%.1f %%", of[l, "spread"]),
			    mib(of[l, "disk_B"]), real("%.0f", of[l, "quiet_ms"])
		}
	}'
}

# print_prewarm: prints the cost of pre-warming, and the savings for the launch
print_prewarm() {
	grep -q '[.]prewarm[.]' "$study/summary" || return 0
	print_title 'Pre-warming, and the launch after it'
	printf '%-28s %2s %7s %7s %7s %8s | %9s %9s\n' '' n seconds 'CPU(s)' \
	    'MiB' 'MiB held' '% of cold' 'of warm'
	both '
	match(get("label"), /[.]prewarm[.](touched|all|file)$/) {
		labels[++n] = get("label")
		runs[n] = get("n")
		wall[n] = get("wall_s")
		image[n] = substr(get("label"), 1, RSTART - 1)
	}
	END {
		for (i = 1; i <= n; i++) {
			l = after = labels[i]
			sub(/[.]prewarm[.]/, "&after-", after)
			first = of[image[i] ".first", "loop_B"]
			left = of[after, "loop_B"]
			if (left != "" && first > 0)
				left = 100 * left / first
			else
				left = ""
			sub(/[.]prewarm[.]/, ": ", l)
			printf "%-28s %2d %7.2f %7.2f %7s %8s | %9s %9s\n", l,
			    runs[i], wall[i], cpu[labels[i]],
			    mib(of[labels[i], "loop_B"]),
			    mib(of[labels[i], "held_B"]), real("%.2f", left),
			    share(cpu[after], cpu[image[i] ".second"])
		}
	}'
	echo 'MiB: requested from the image.  The last two columns are about the launch: its
bytes in % of those of a cold one, and its CPU time divided by that of a warm one.'
}

# print_best: prints the image with the lowest cost for a client, for several
# links, numbers of processors, and numbers of cold launches per download
print_best() {
	print_title 'The best image for a client'
	both '
	match(get("label"), /[.]first$/) && get("image_B") > 0 {
		label = substr(get("label"), 1, RSTART - 1)
		dot = index(label, ".")
		app = substr(label, 1, dot - 1)
		if (label ~ /[.]try$/)
			next
		if (!(app in count))
			apps[++all] = app
		images[app, ++count[app]] = label
		bytes[label] = get("image_B")
		wall[label] = get("wall_s")
		if (least_n == "" || get("n") < least_n)
			least_n = get("n")
	}
	# the seconds that the image adds to a launch
	function launch(label, cores) {
		if (cpu[label ".first"] + 0 > 0)
			return (cpu[label ".first"] - cpu[label ".second"]) / cores
		return wall[label]
	}
	function best(app, link, cores, launches,  i, l, cost, least, found) {
		for (i = 1; i <= count[app]; i++) {
			l = images[app, i]
			cost = bytes[l] * 8 / link / 1e6 + \
			    launches * launch(l, cores)
			if (found == "" || cost < least) {
				least = cost
				found = substr(l, length(app) + 2)
			}
		}
		return found
	}
	END {
		printf "%-14s %8s  %-16s %-16s %-16s %s\n", "", "Mbit/s",
		    "1 core: 1 launch", "10", "100", "4 cores: 10"
		for (a = 1; a <= all; a++)
			for (link = 1; link <= 1000; link *= 10)
				printf "%-14s %8d  %-16s %-16s %-16s %s\n",
				    apps[a], link, best(apps[a], link, 1, 1),
				    best(apps[a], link, 1, 10),
				    best(apps[a], link, 1, 100),
				    best(apps[a], link, 4, 10)
		if (all)
			print "By medians, of at least n = " least_n \
			    "; the differences were not tested."
	}'
	echo 'The image with the smallest sum of its download and, for each cold launch, the
CPU time by which that exceeds a warm one, divided by the cores (without CPU
times, its wall time).'
}

# files_list APP: prints where the study published the sizes and names of its
# files: next to the rows
files_list() {
	printf '%s/%s-snap-files.txt\n' "$(dirname "$published_rows")" "$1"
}

# files_lack APP: prints why the sizes of its files are not known
files_lack() {
	[ -z "$published_rows" ] || [ -r "$(files_list "$1")" ] ||
	    printf ' (no %s)' "$(files_list "$1")"
}

# files_of APP: prints the sizes of its files, largest first, each inode once;
# inodes were not published
files_of() {
	[ -z "$published_rows" ] || {
		files_dir=$(files_list "$1")
		[ ! -r "$files_dir" ] ||
		    awk '{ print $1 }' "$files_dir" | sort -rn
		return 0
	}
	files_dir=$(app_whole "$1" 2>/dev/null) || return 0
	[ ! -d "$files_dir" ] || find "$files_dir" -xdev -type f \
	    -printf '%D:%i\t%s\n' | sort -u | cut -f 2 | sort -rn
}

# share APP N: prints the percentage of its bytes in the N largest files
share() {
	files_of "$1" | awk -v n="$2" '{ all += $1; if (NR <= n) most += $1 }
	    END { if (all) printf "%.0f", 100 * most / all }'
}

# print_shares: prints the share of each program's bytes in its largest files
print_shares() {
	shares=$(shares_of_apps)
	[ -n "$shares" ] || return 0
	print_title 'Files'
	printf '%-14s %8s %9s %12s %12s\n%s\n' '' files MB 'largest 10' \
	    'largest 100' "$shares"
}

shares_of_apps() {
	for shares_app in $apps; do
		files_of "$shares_app" | awk -v app="$shares_app" '
		{
			all += $1
			if (NR <= 10)
				ten += $1
			if (NR <= 100)
				hundred += $1
		}
		END {
			if (all)
				printf "%-14s %8d %9.1f %10.0f %% %10.0f %%\n",
				    app, NR, all / 1e6, 100 * ten / all,
				    100 * hundred / all
		}'
	done
}

# print_touched: prints the files that the programs need until their windows
# appear, largest first
print_touched() {
	for touched_app in $apps; do
		touched_list=$study/touched/$touched_app.tsv
		[ -s "$touched_list" ] || continue
		awk -F '\t' '{ n[$2] += $4; all += $4 }
		END {
			files = 0
			for (f in n)
				files++
			printf "%.0f\t%d files\n", all, files
			for (f in n)
				printf "%.0f\t%s\n", n[f], f
		}' "$touched_list" | sort -t "$tab" -k 1,1rn | head -n 11 |
		    awk -F '\t' -v app="$touched_app" '
		    NR == 1 { printf "\n%s needs before its window, in MiB:\n", app }
		    { printf "%9.1f  %s\n", $1 / 1048576, $2 }'
	done
}


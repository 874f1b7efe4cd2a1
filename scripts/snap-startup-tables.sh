# shellcheck shell=sh
# snap-startup-tables.sh - print tables of launches, walks and files; sourced
# SPDX-License-Identifier: BSD-2-Clause

# print_title TEXT: prints a title, and the conditions that affect the figures
# most
print_title() {
	printf '\n%s\n' "$1"
	[ -z "$report_kernel" ] || printf '(squashfs: %s)\n' "$report_kernel"
}

# print_launches APP: prints the study's columns for each image, largest first,
# medians in ms.
# A walk of the part "app" has the image's size only if there is no other part.
print_launches() {
	launches_parts=1
	! grep -q "^$1[.].*[.]walk[.]both[.]" "$study/summary" ||
	    launches_parts=2
	launches_of='
	let image = cut(after(label, app "."), "[.](first|second|dropped|walk[.](app|both)[.](mount|coldwalk))$")
	let row = app "." image
	where image != "" && row != label
	let whole = parts > 1 && label ~ /[.]walk[.]app[.]/ ? "" : image_B
	group image'
	{
		printf 'label\tsize_B\n'
		tabulate "$launches_of
		line row, max(whole)" app="$1" parts=$launches_parts \
		    "$study/summary"
	} >"$study/sizes.tsv"
	print_title "$1: medians, ms"
	tabulate "$launches_of"'
	let walk = row ".walk.app.mount"
	let coldwalk = row ".walk.app.coldwalk"
	order -size_B[row]
	order image
	missing -
	-18s   image
	9.1f   size MB = size_B[row] / 1e6
	6.2f   ratio = ratio(size_B[app ".try"], size_B[row])
	|
	2s     n = any(n[row ".first"], " ")
	8d     first = int(1000 * wall_s[row ".first"] + 0.5)
	8d     second = int(1000 * wall_s[row ".second"] + 0.5)
	8d     dropped = int(1000 * wall_s[row ".dropped"] + 0.5)
	|
	8d     walk = int(1000 * wall_s[walk] + 0.5)
	8d     coldwalk = int(1000 * wall_s[coldwalk] + 0.5)' \
	    app="$1" parts=$launches_parts "$study/sizes.tsv" "$study/summary"
	rm "$study/sizes.tsv"
}

# print_cost: prints the additional cost of a cold launch compared with a warm
# one, and the amount of data that it reads, largest image first.  The spread is
# the range of the undisturbed launches, as a percentage of the median.
print_cost() {
	print_title 'The cost of a cold launch'
	{
		printf 'label\tspread\n'
		tabulate '
		where loop_B != "" && exit + signal == 0
		group label
		where count(loop_B) > 1 && median(loop_B) > 0
		line label, 100 * (max(loop_B) - min(loop_B)) / median(loop_B)' \
		    FS=, "$study/proven.csv"
	} >"$study/spread.tsv"
	tabulate '
	where label ~ /[.]first$/ && cpu_s != ""
	let row = cut(label, "[.]first$")
	let warm = row ".second"
	order cut(row, "[.].*")
	order -image_B
	order row
	missing -
	-24s   = row
	2d     n
	7.3f   CPU(s) = cpu_s
	7.3f   warm(s) = cpu_s[warm]
	7.3f   less(s) = cpu_s - cpu_s[warm]
	8.0f   requests = loop_n
	8.1f   MiB = loop_B / 1048576
	6.1f_% spread
	8.1f   MiB read = disk_B / 1048576
	7.0f   quiet = quiet_ms' "$study/spread.tsv" "$study/summary"
	rm "$study/spread.tsv"
}

# print_prewarm: prints the cost of pre-warming, and the savings for the launch
print_prewarm() {
	grep -q '[.]prewarm[.]' "$study/summary" || return 0
	print_title 'Pre-warming, and the launch after it'
	prewarm_of='
	where label ~ /[.]prewarm[.](touched|all|file)$/
	let row = cut(label, "[.]prewarm[.].*")
	let how = cut(label, ".*[.]")
	let then = row ".prewarm.after-" how
	'
	tabulate "$prewarm_of"'
	line then, row ".second"' "$study/summary" |
	    ratios "$study/pairs-cpu.csv" warm >"$study/ratios.tsv"
	tabulate "$prewarm_of"'
	missing -
	-28s   = row ": " how
	2d     n
	7.2f   seconds = wall_s
	7.2f   CPU(s) = cpu_s
	7.1f   MiB = loop_B / 1048576
	8.1f   MiB held = held_B / 1048576
	|
	9.2f   % of cold = ratio(100 * loop_B[then], loop_B[row ".first"])
	9.3f   of warm = warm[then]' "$study/ratios.tsv" "$study/summary"
	rm "$study/ratios.tsv"
	echo 'MiB: requested from the image.  The last two columns are about the launch: its
bytes in % of those of a cold one, and its CPU time divided by that of a warm one
in the same round.'
}

# print_best: prints the image with the lowest cost for a client, for several
# links, numbers of processors, and numbers of cold launches per download.  What
# the image adds to a launch is CPU time; if that was not measured, all its time.
print_best() {
	best_of='
	where label ~ /[.]first$/ && label !~ /[.]try[.]first$/ && image_B > 0
	let row = cut(label, "[.]first$")
	let app = cut(row, "[.].*")
	let image = after(row, app ".")
	'
	print_title 'The best image for a client'
	printf '%-14s %8s  %-16s %-16s %-16s %s\n' '' Mbit/s \
	    '1 core: 1 launch' 10 100 '4 cores: 10'
	for best_app in $(tabulate "$best_of
	    group app
	    line app" "$study/summary"); do
		for best_link in 1 10 100 1000; do
			tabulate "$best_of"'
			where app == of
			let get = image_B * 8 / link / 1e6
			let more = cpu_s - any(cpu_s[row ".second"], 0)
			let one = any(cpu_s, 0) > 0 ? more : wall_s
			let four = any(cpu_s, 0) > 0 ? more / 4 : wall_s
			let cost_1 = get + one
			let cost_10 = get + 10 * one
			let cost_100 = get + 100 * one
			let cost_four = get + 10 * four
			group app
			-14s   = app
			8d     = link
			gap
			-16s   = least(image, cost_1)
			-16s   = least(image, cost_10)
			-16s   = least(image, cost_100)
			s      = least(image, cost_four)' of="$best_app" \
			    link=$best_link "$study/summary"
		done
	done
	tabulate "$best_of"'
	group "all"
	line "By medians, of at least n = " min(n) "; the differences were not tested."' \
	    "$study/summary"
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

# files_words WHAT APP [N]: runs snap-startup-files.awk on these sizes
files_words() {
	files_of "$2" | awk -f "$here/snap-startup-files.awk" what="$1" \
	    app="$2" n="${3-}" -
}

# share APP N: prints the percentage of its bytes in the N largest files
share() { files_words share "$1" "$2"; }

# print_shares: prints the share of each program's bytes in its largest files
print_shares() {
	shares=$(for shares_app in $apps; do
		files_words row "$shares_app"
	done)
	[ -n "$shares" ] || return 0
	print_title 'Files'
	printf '%-14s %8s %9s %12s %12s\n%s\n' '' files MB 'largest 10' \
	    'largest 100' "$shares"
}

# print_touched: prints the files that the programs need until their windows
# appear, largest first
print_touched() {
	for touched_app in $apps; do
		touched_list=$study/touched/$touched_app.tsv
		[ -s "$touched_list" ] || continue
		{
			printf 'when\tfile\thow\tread_B\n'
			cat "$touched_list"
		} >"$study/touched.tsv"
		tabulate '
		group "all"
		above "\n" app " needs before its window, in MiB:"
		9.1f   = sum(read_B) / 1048576
		gap
		s      = files " files"' app="$touched_app" \
		    files="$(cut -f 2 "$touched_list" | sort -u | wc -l)" \
		    "$study/touched.tsv"
		tabulate '
		group file
		order -sum(read_B)
		first 10
		9.1f   = sum(read_B) / 1048576
		gap
		s      = file' "$study/touched.tsv"
		rm "$study/touched.tsv"
	done
}

# shellcheck shell=sh
# snap-startup-report.sh - tables and findings of the launches; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# Labels are APP.IMAGE.first, .second and .dropped for launches, and
# APP.IMAGE.walk.PART.mount and .coldwalk for walks.  The rows of the published
# study are converted to rows of lap and reported in the same way.

# published_rows_of FILE: lines ITER:SNAP:MODE:SIZE:START:START2[:START3:START4]
# :WALK, with times in ms, as rows of lap; the study used zstd at level 15
published_rows_of() {
	echo 'series,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal'
	awk -F : -v OFS=, '
	function row(label, ms) {
		print "published", label, "image_B=" $4, run, "all", "cold",
		    ms / 1000, "", "", 0, ""
	}
	NF != 7 && NF != 9 { exit bad = 1 }
	{
		mode = $3 == "zstd" ? "zstd15" : $3
		app = $2 == "gnome-calculator" ? "calculator" : $2
		# FILE may be several series, one after the other
		run = ++seen[app, mode]
		row(app "." mode ".first", $5)
		row(app "." mode ".second", $6)
		row(app "." mode ".walk.app.mount", $NF)
	}
	END { exit bad }' "$1"
}

# published_report: the report of $published_rows in place of those of a study
published_report() {
	[ -r "$published_rows" ] || die "$published_rows cannot be read"
	make_tmp
	study=$tmp rows_csv=$tmp/rows.csv
	published_rows_of "$published_rows" >"$rows_csv" ||
	    die "$published_rows: not ITER:SNAP:MODE:SIZE:START:START2[:START3:START4]:WALK in every line"
	apps=$(cut -d : -f 2 "$published_rows" | sort -u |
	    sed 's/^gnome-//' | tr '\n' ' ')
	printf 'The rows of %s, as the study published them.\n' "$published_rows"
	# shellcheck source=scripts/findings.sh
	. "$here/findings.sh"
	report_all
}

# report_summaries: summaries of all rows except those that were disturbed.  A
# cold launch was disturbed if any of its image was in memory before it, or if
# it made over 1.2 times as many requests as the launch with the fewest under
# its label: then something was dropped in the meantime and read twice.
report_summaries() {
	disturbed=$study/disturbed csv '
	FNR == 1 { file++ }
	!csv_row() { if (file == 2) print; next }
	file == 1 {
		n = key("loop_n")
		label = get("label")
		if (n != "" && !failed() && (!(label in least) ||
		    n + 0 < least[label]))
			least[label] = n + 0
		next
	}
	get("label") !~ /[.]second$/ && key("before_B") + 0 > 0 {
		why = "in memory before: " key("before_B") " bytes"
	}
	why == "" && key("loop_n") != "" && get("label") in least &&
	    least[get("label")] > 100 &&
	    key("loop_n") > 1.2 * least[get("label")] {
		why = key("loop_n") " requests, the least is " \
		    least[get("label")]
	}
	why != "" {
		print get("label") ", run " get("run") ": " why \
		    >ENVIRON["disturbed"]
		why = ""
		next
	}
	{ print csv_line() }' "$rows_csv" "$rows_csv" >"$study/proven.csv"
	pairs=$pairs_file rows_summary -v columns='user_s sys_s majflt' \
	    -v keys='image_B' "$study/proven.csv" >"$study/summary"
	rows_keys >"$study/key-medians"
}

# rows_keys: labels, and medians of loop_n, loop_B, disk_B and quiet_ms
rows_keys() {
	# shellcheck disable=SC2016
	awk "$(cat "$here/csv.awk" "$here/stats.awk")"'
	BEGIN { OFS = "\t"; names = split("loop_n loop_B disk_B quiet_ms", name, " ") }
	csv_row() && !failed() {
		labels[get("label")]
		for (i = 1; i <= names; i++)
			if (key(name[i]) != "")
				x[get("label"), i, ++n[get("label"), i]] = key(name[i]) + 0
	}
	END {
		print "label", "loop_n", "loop_B", "disk_B", "quiet_ms"
		for (l in labels) {
			line = l
			for (i = 1; i <= names; i++) {
				split("", a)
				for (k = 1; k <= n[l, i]; k++)
					a[k] = x[l, i, k]
				line = line OFS (n[l, i] ? median(a, n[l, i]) : "")
			}
			print line
		}
	}' "$study/proven.csv"
}

# print_launches APP: the study's columns for each image, medians in ms
print_launches() {
	printf '\n%s: medians, ms\n' "$1"
	printf '%-18s %9s %6s | %2s %8s %8s %8s | %8s %8s\n' image 'size MB' \
	    ratio n first second dropped 'walk' coldwalk
	tsv '
	csv_row() && index(get("label"), app ".") == 1 {
		label = substr(get("label"), length(app) + 2)
		match(label, /[.](first|second|dropped|walk[.]app[.](mount|coldwalk))$/)
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
		if (what == "first" || size[image] == "")
			size[image] = get("image_B")
	}
	function real(what) {
		return ms[image, what] == "" ? "-" : \
		    int(1000 * ms[image, what] + 0.5)
	}
	END {
		for (i = 1; i <= count; i++) {
			image = images[i]
			printf "%-18s %9.1f %6s | %2s %8s %8s %8s | %8s %8s\n",
			    image, size[image] / 1e6,
			    size["try"] && size[image] ? \
			    sprintf("%.2f", size["try"] / size[image]) : "-",
			    n[image, "first"], real("first"), real("second"),
			    real("dropped"), real("walk.app.mount"),
			    real("walk.app.coldwalk")
		}
	}' app="$1" "$study/summary"
}

# print_cost: what a cold launch costs over a warm one, and what it reads
print_cost() {
	printf '\n%-28s %2s %9s %9s %9s %9s %9s %9s\n' 'cold launches' n \
	    'CPU(s)' 'warm(s)' 'cold-warm' requests 'MiB asked' 'MiB read'
	tsv '
	FNR == 1 { file++ }
	!csv_row() { next }
	file == 1 {
		loop_n[get("label")] = get("loop_n")
		loop_B[get("label")] = get("loop_B")
		disk_B[get("label")] = get("disk_B")
		next
	}
	{ cpu[get("label")] = get("cpu_s") }
	get("label") ~ /[.]first$/ { labels[++n] = get("label"); runs[n] = get("n") }
	function mib(b) { return b == "" ? "-" : sprintf("%.1f", b / 1048576) }
	END {
		for (i = 1; i <= n; i++) {
			l = w = labels[i]
			sub(/first$/, "second", w)
			if (cpu[l] == "")
				continue
			printf "%-28s %2d %9.3f %9s %9s %9s %9s %9s\n", substr(l, 1,
			    length(l) - 6), runs[i], cpu[l],
			    cpu[w] == "" ? "-" : sprintf("%.3f", cpu[w]),
			    cpu[w] == "" ? "-" : sprintf("%.3f", cpu[l] - cpu[w]),
			    loop_n[l] == "" ? "-" : sprintf("%.0f", loop_n[l]),
			    mib(loop_B[l]), mib(disk_B[l])
		}
	}' "$study/key-medians" "$study/summary"
}

# print_touched: what the programs need up to their windows, largest first
print_touched() {
	for touched_app in $apps; do
		touched_list=$study/touched/$touched_app.tsv
		[ -s "$touched_list" ] || continue
		awk -F '\t' '{ n[$2] += $4; all += $4 }
		END {
			files = 0
			for (f in n)
				files++
			printf "%.0f\t%d files up to the window\n", all, files
			for (f in n)
				printf "%.0f\t%s\n", n[f], f
		}' "$touched_list" | sort -t "$tab" -k 1,1rn | head -n 11 |
		    awk -F '\t' -v app="$touched_app" '
		    NR == 1 { printf "\n%s needs, in MiB:\n", app }
		    { printf "%9.1f  %s\n", $1 / 1048576, $2 }'
	done
}

print_disturbed() {
	[ -s "$study/disturbed" ] || return 0
	printf '\nDisturbed rows, left out:\n'
	sed 's/^/  /' "$study/disturbed"
}

report_all() {
	rm -f "$study/disturbed"
	print_source
	report_summaries
	for report_app in $apps; do
		print_launches "$report_app"
	done
	[ ! -s "$study/missing" ] ||
	    awk -F '\t' '{ print $1 ": missing: " $2 }' "$study/missing"
	print_failed
	[ -n "$published_rows" ] || {
		print_cost
		print_touched
	}
	print_disturbed
	# shellcheck source=scripts/snap-startup-findings.sh
	. "$here/snap-startup-findings.sh"
	print_findings
}

# shellcheck shell=sh
# snap-startup-report.sh - report on the launches; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154
#
# Labels are APP.IMAGE.first, .second and .dropped for launches, and
# APP.IMAGE.walk.PART.mount and .coldwalk for walks.  The rows of the published
# study are converted to rows of lap and reported in the same way.

# published_rows_of FILE: prints lines
# ITER:SNAP:MODE:SIZE:START:START2[:START3:START4] :WALK, with times in ms, as
# rows of lap; the study used zstd at level 15
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
		# FILE may contain several series
		run = ++seen[app, mode]
		row(app "." mode ".first", $5)
		row(app "." mode ".second", $6)
		row(app "." mode ".walk.app.mount", $NF)
	}
	END { exit bad }' "$1"
}

# published_report: prints the report of $published_rows instead of a study's
# own rows
published_report() {
	[ -r "$published_rows" ] || die "$published_rows cannot be read"
	make_tmp
	study=$tmp rows_csv=$tmp/rows.csv
	published_rows_of "$published_rows" >"$rows_csv" ||
	    die "$published_rows: not ITER:SNAP:MODE:SIZE:START:START2[:START3:START4]:WALK in every line"
	apps=$(cut -d : -f 2 "$published_rows" | sort -u |
	    sed 's/^gnome-//' | tr '\n' ' ')
	printf 'The rows of %s, as published by the study.\n' "$published_rows"
	awk -F : '$5 < 200 || $6 < 200 { n++ } END {
		if (n)
			print "Of " NR " rows " n " have a launch of less than 200 ms: the window seen was\nprobably another one.  They are included."
	}' "$published_rows"
	# shellcheck source=scripts/findings.sh
	. "$here/findings.sh"
	report_all
}

# report_summaries: summarizes all rows except those that were disturbed.  A
# cold launch was disturbed if any of its image was in memory before it, or if
# it made more than 1.2 times the smallest number of requests of any launch with
# its label: in that case, data was dropped from the cache in the meantime and
# read twice.
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
	    key("loop_n") + 0 > 1.2 * least[get("label")] {
		why = key("loop_n") " requests, the minimum is " \
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

# rows_keys: prints labels, medians of keys, and the spread of loop_B in percent
rows_keys() {
	awk "$(cat "$here/csv.awk" "$here/stats.awk")"'
	BEGIN {
		OFS = "\t"
		names = split("loop_n loop_B disk_B quiet_ms held_B", name, " ")
	}
	csv_row() && !failed() {
		labels[get("label")]
		for (i = 1; i <= names; i++)
			if (key(name[i]) != "")
				x[get("label"), i, ++n[get("label"), i]] = key(name[i]) + 0
	}
	END {
		print "label", "loop_n", "loop_B", "disk_B", "quiet_ms", "held_B",
		    "spread"
		for (l in labels) {
			line = l
			spread = ""
			for (i = 1; i <= names; i++) {
				split("", a)
				for (k = 1; k <= n[l, i]; k++)
					a[k] = x[l, i, k]
				middle = n[l, i] ? median(a, n[l, i]) : ""
				line = line OFS middle
				if (name[i] == "loop_B" && n[l, i] > 1 && middle > 0)
					spread = 100 * (a[n[l, i]] - a[1]) / middle
			}
			print line, spread
		}
	}' "$study/proven.csv"
}

print_disturbed() {
	[ -s "$study/disturbed" ] || return 0
	printf '\nDisturbed rows, left out:\n'
	sed 's/^/  /' "$study/disturbed"
}

# report_all: prints the report of $rows_csv
report_all() {
	# shellcheck source=scripts/snap-startup-tables.sh
	. "$here/snap-startup-tables.sh"
	rm -f "$study/disturbed"
	report_kernel=$(sed -n 's/^# kernel_squashfs: *//p' "$rows_csv" |
	    sed 's/ *$//; q')
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
		print_prewarm
		print_touched
	}
	print_shares
	print_disturbed
	# shellcheck source=scripts/snap-startup-findings.sh
	. "$here/snap-startup-findings.sh"
	print_findings
	[ -n "$published_rows" ] || {
		echo
		# shellcheck source=scripts/snap-startup-plot.sh
		. "$here/snap-startup-plot.sh"
		plot_all
	}
	print_best
}

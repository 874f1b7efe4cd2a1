# shellcheck shell=sh
# tarball-report.sh - tables and findings of the tarball study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# $study/summary is what rows.awk says of the rows.

# ratio ROW REFERENCE: see pair_ratio in lib.sh
ratio() { pair_ratio "$study/pairs.csv" "$1" "$2"; }

# The study's own table, from the medians.
print_table() {
	print_width=$(table | while IFS= read -r print_row; do
		row_fields "$print_row"
		! wanted "$id" "$rows" || shown "$id" "$wrap" "$near" "$far" | wc -m
	done | sort -n | tail -n 1)
	[ "$print_width" -ge 41 ] || print_width=41
	printf "    %-${print_width}s %8s %12s %12s %11s\n" Command 'Time(s)' \
	    'In(MiB/s)' 'Out(MiB/s)' Comp.ratio
	print_series=
	table | while IFS= read -r print_row; do
		row_fields "$print_row"
		wanted "$id" "$rows" || continue
		case $id in
		"${print_series:-$id}"*) ;;
		*) echo -- ;;
		esac
		print_series=${id%"${id#?}"}
		print_what=$(shown "$id" "$wrap" "$near" "$far")
		print_missing=$(sed -n "s/^$id$tab//p" "$study/missing")
		if [ -n "$print_missing" ]; then
			printf "%-4s%-${print_width}s missing: %s\n" "$id" \
			    "$print_what" "$print_missing"
			continue
		fi
		# What B does not store, A did: the same bytes.
		awk -F '\t' -v id="$id" -v what="$print_what" \
		    -v disk="$disk_B" -v width="$print_width" '
		{ size[$1] = $8 }
		$1 == id { s = $4; bad = $3; n = $2 }
		END {
			out = size[id]
			if (id ~ /^B/)
				out = size["A" substr(id, 2)]
			if (s == "") {
				printf "%-4s%-*s failed in all of %d runs\n",
				    id, width, what, n
				exit
			}
			printf "%-4s%-*s %8.2f %12.1f", id, width, what, s,
			    disk / s / 1048576
			if (out == "")
				printf " %12s %11s\n", "", ""
			else
				printf " %12.1f %10.1f%%\n",
				    out / s / 1048576, 100 * out / disk
		}' "$study/summary"
	done
}

# What else the rows tell, a line a row: how sure the median is, what it is of
# reading alone, here and in the study, what pzc waited for, what disturbed.
print_details() {
	printf '\n%-4s %2s %8s %19s %7s %19s %6s %8s %20s\n' '' n \
	    'Time(s)' '95 % interval' '/B1' '95 % interval' 'study' \
	    'CPU(s)' 'stall in,out,work(s)'
	table | cut -f 1 | while read -r id; do
		grep -q "^$id$tab" "$study/summary" || continue
		if [ "$id" = B1 ]; then
			details_ratio="1.000$tab$tab"
		else
			details_ratio=$(ratio "$id" B1)
		fi
		printf '%s\t%s\t' "${details_ratio:-$tab$tab}" \
		    "$(study_ratio "$id" B1)"
		sed -n "s/^$id$tab/&/p" "$study/summary"
	done | awk -F '\t' '
	function span(lo, hi) {
		return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
	}
	function stall(in_s, out_s, work_s) {
		return in_s == "" ? "" : sprintf("%.2f %.2f %.2f", in_s,
		    out_s, work_s)
	}
	function real(format, x) { return x == "" ? "" : sprintf(format, x) }
	{
		printf "%-4s %2d %8s %19s %7s %19s %6s %8s %20s\n", $5,
		    $6 - $7, real("%.3f", $8), span($9, $10), real("%.3f", $1),
		    span($2, $3), $4, real("%.2f", $11),
		    stall($13, $14, $15)
	}'
	# lapcmp tells what lay behind the runs that stand apart.
	lapcmp -k cache -r "$(print_reference)" "$study/pairs.csv" |
	    grep '^outlier:' || :
}

# print_reference: B1 if it was measured, else any row
print_reference() {
	cut -f 1 "$study/summary" | grep -x B1 ||
	    head -n 1 "$study/summary" | cut -f 1
}

# study_ratio ROW REFERENCE: as published, if both are
study_ratio() {
	table | awk -F '\t' -v a="$1" -v b="$2" '
	{ s[$1] = $5 }
	END { if (s[a] != "" && s[b] != "") printf "%.3f", s[a] / s[b] }'
}

print_findings() {
	printf '\nWhat the study found (ratios of pairs of runs, 95 %% intervals):\n'
	finding 'gzip costs nothing beside the disk' A2 A1 1
	finding 'pigz -p1 is slower than gzip, to a file' A4 A2 '> 1'
	finding 'pigz -p1 is slower than gzip, to nowhere' B4 B2 '> 1'
	finding 'pigz -p4 to a file is within 9 % of reading alone' A6 B1 1.09
	finding 'pbzip2 -p4 is as fast as gzip (within 5 %)' A9 A2 1.05
	finding 'gzip slows reading down even with nothing to write' B2 B1 '> 1'
	[ -z "$remote" ] || {
		finding 'pigz at the far end beats pigz here' R5 R4 1
		finding 'pigz at the far end beats plain ssh' R5 R1 1
	}
	echo 'And beyond it:'
	finding 'pzc -p1 is no slower than gzip, to a file' A10 A2 1
	finding 'pzc -p4 is faster than pigz -p4, to a file' A12 A6 1
	finding 'pzc -p4 to a file is within 9 % of reading alone' A12 B1 1.09
	finding 'pzc -F bzip2 is no slower than pbzip2 -p4' A29 A9 1
}

# Whether the runs were cold (or warm) is asked of the kernel twice.
print_cache() {
	awk -F '\t' -v cold="$cold" -v disk="$disk_B" '
	{
		if ($14 != "" && (!r || $14 + 0 > most)) { most = $14 + 0; r = 1 }
		if ($12 != "" && (!d || $12 + 0 < least)) { least = $12 + 0; d = 1 }
		if ($13 != "" && (!g || $13 + 0 < given)) { given = $13 + 0; g = 1 }
	}
	END {
		how = "warm, read once before each run"
		if (cold == "yes")
			how = "dropped before each run"
		printf "\nCaches: %s.", how
		if (r)
			printf " At most %.1f %% of a sample of the files was in memory before a run (mincore).", most
		else
			printf " What was in memory is not known (no coldwalk)."
		if (d)
			printf " In every row tar took at least %.0f %% of the tree from the disk, its own code and read-ahead included.",
			    100 * least / disk
		if (g && given < 0.9 * disk)
			printf "\nIn some run tar read only %d of %d bytes!",
			    given, disk
		print ""
		print "B1 goes through cat: GNU tar does not read the files when it writes to /dev/null."
	}' "$study/summary"
}


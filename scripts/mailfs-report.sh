# shellcheck shell=sh
# mailfs-report.sh - tables and findings of the mail study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# $study/runs is what mailfs-rows.awk says of the rows, $study/told what
# mailfs.awk makes of that.

report_summaries() {
	awk -v invalid="$study/invalid" -f "$here/mailfs-rows.awk" \
	    "$rows_csv" >"$study/runs"
	awk -v seed="$seed" -f "$here/stats.awk" -f "$here/mailfs.awk" \
	    "$study/runs" >"$study/told"
	report_variants=$(cut -f 1 "$study/runs" | awk '!seen[$0]++')
}

# told KIND [VARIANT [WRITERS]]: its lines
told() {
	awk -F '\t' -v kind="$1" -v variant="${2:-}" -v writers="${3:-}" '
	$1 == kind && (variant == "" || $2 == variant) &&
	    (writers == "" || $4 == writers)' "$study/told"
}

# cells_of VARIANT: its cells, by writers and then as the study lists them
cells_of() {
	told cell "$1" | awk -F '\t' -v OFS='\t' '
	BEGIN {
		split("off zle lzjb lzo lz4 gzip zlib zstd", name, " ")
		for (i in name) place[name[i]] = i
		split("w1 s2 w2", name, " ")
		for (i in name) writers[name[i]] = i
	}
	{
		split($3, part, "-")
		print writers[$4], place[part[1]] * 100 + part[2], $0
	}' | sort -k 1,1n -k 2,2n | cut -f 3-
}

# stand_in: what stands for the study's algorithms on btrfs
stand_in() {
	case $1 in
	btrfs) echo 'zlib-N stands for gzip-N, lzo for lzjb' ;;
	esac
}

# print_study_table VARIANT: the study's table, and the same made here alike
print_study_table() {
	printf '\nThe study, and %s%s\n' "$1" "$(stand_in "$1" | sed 's/^/: /')"
	told cell "$1" | awk -F '\t' '!n || $16 < n { n = $16 } $5 > m { m = $5 }
	END {
		printf "(as the study has it: eff is the mean of quotients, all are means without 10 %% of outliers, which drops %d of %d values at either end)\n",
		    int(m / 10), m
	}'
	printf '%2s %-9s %9s %11s %9s %13s | %2s %11s %9s %13s %11s\n' '' \
	    algorithm nowriters eff timetaken compressratio n eff timetaken \
	    compressratio 'q.of means'
	published | awk -F '\t' -v variant="$1" -v cells="$study/told" '
	BEGIN {
		while ((getline line <cells) > 0) {
			split(line, f, "\t")
			if (f[1] == "cell" && f[2] == variant) {
				sub(/^zlib/, "gzip", f[3])
				sub(/^lzo$/, "lzjb", f[3])
				have[f[3], f[4]] = line
			}
		}
	}
	{
		printf "%2d %-9s %9d %11.9f %9.1f %13.3f | ", NR, $1, $2, $3,
		    $4, $5
		if (!(($1, "w" $2) in have)) {
			print "not measured"
			next
		}
		split(have[$1, "w" $2], f, "\t")
		printf "%2d %11.9f %9.3f %13.3f %11.9f\n", f[5], f[13], f[16],
		    f[17], f[14]
	}'
}

print_variance() {
	printf '\nVariance of the efficiency, in per cent of its mean (study: all runs, 21.56 with one writer and 29.74 with two)\n'
	printf '%-12s %7s %10s %12s %6s\n' '' Writers 'all runs' \
	    'inside cells' runs
	told group | awk -F '\t' '{
		printf "%-12s %7s %10s %12s %6d\n", $2, $3,
		    $4 == "" ? "-" : sprintf("%.2f", $4),
		    $5 == "" ? "-" : sprintf("%.2f", $5), $6
	}'
}

# print_times VARIANT
print_times() {
	printf '\n%s: seconds (medians, 95 %% intervals; /ends: of the mean of both ends of the block)\n' "$1"
	printf '%-9s %2s %2s %8s %19s %8s %7s %7s %7s %17s\n' '' W n 'Copy' \
	    interval Durable 'CPU' 'Daemon' '/ends' interval
	cells_of "$1" | awk -F '\t' '
	function span(lo, hi) {
		return lo == "" ? "" : sprintf("%.3f .. %.3f", lo, hi)
	}
	function real(format, x) { return x == "" ? "" : sprintf(format, x) }
	{
		printf "%-9s %2s %2d %8.3f %19s %8.3f %7.2f %7s %7s %17s\n", $3,
		    $4, $5, $6, span($7, $8), $9, $28, real("%.2f", $29),
		    real("%.3f", $30), span($31, $32)
	}'
}

# print_efficiency VARIANT
print_efficiency() {
	printf '\n%s: efficiency, ratio over seconds of the copy (lasting: real ratio over seconds until it is durable;\n' "$1"
	printf 'first: share of 2000 draws of rounds in which it has the highest median; of ten: among those of the study; CPU: ratio over processor time)\n'
	printf '%-9s %2s %2s %9s %21s %9s %9s %9s %6s %4s %7s %7s %8s\n' '' W \
	    n Median interval 'mean of q' 'q of mean' lasting 'CV%' Rank \
	    'first%' 'of ten%' 'CPU'
	cells_of "$1" | awk -F '\t' '
	function real(format, x) { return x == "" ? "" : sprintf(format, x) }
	{
		printf "%-9s %2s %2d %9.5f %21s %9.5f %9.5f %9.5f %6s %4d %7.1f %7s %8s\n",
		    $3, $4, $5, $10,
		    $11 == "" ? "" : sprintf("%.5f .. %.5f", $11, $12), $13,
		    $14, $26 / $25 / $9, ($5 > 1 ? sprintf("%.1f", $18) : ""), $19, $20,
		    real("%.1f", $21), real("%.4f", $34)
	}'
}

# print_sizes VARIANT: what the ratio tells and what the disk gives.  The
# ratio of ZFS counts metadata once and as compressed, about 182 bytes a file,
# and is cut after two digits; sectors that are not full it does not count.
print_sizes() {
	printf '\n%s: sizes once they are durable (ratio: as the filesystem tells; real: bytes of the files over all that the copy takes;\n' "$1"
	printf 'padding: files on disk less what the ratio says; front: p fastest and highest ratio, d soonest durable and smallest)\n'
	printf '%-9s %2s %6s %6s %13s %13s %13s %12s %5s\n' '' W ratio real \
	    'files on disk' 'metadata' 'all' padding front
	cells_of "$1" | awk -F '\t' '{
		padding = ""
		if ($2 ~ /^zfs/) {
			m = 182 * $27
			digit = $22 > 1 ? 0.005 : 0
			p = $24 - (($23 + m) / ($22 + digit) - m)
			padding = sprintf("%.1f%%", 100 * p / ($24 - p))
			if ($24 - p <= 0)
				padding = ""
		}
		printf "%-9s %2s %6.3f %6.3f %13.0f %13.0f %13.0f %12s %5s\n",
		    $3, $4, $22, $26 / $25, $24, $25 - $24, $25, padding, $33
	}'
}

# print_order VARIANT: whether the place in the block matters
print_order() {
	told order "$1" | awk -F '\t' '{
		printf "\n%s: the last copy of a block took ", $2
		if ($3 == "")
			printf "- of the first"
		else {
			printf "%.3f of the first", $3
			if ($4 != "")
				printf " (%.3f .. %.3f)%s", $4, $5,
				    ($4 > 1 || $5 < 1 ? ": the machine drifted" : "")
		}
		if ($6 != "") {
			printf "; by place %+.2f %% a cell (+-%.2f)%s",
			    100 * $6, 196 * $7, ($6 > 1.96 * $7 ||
			    $6 < -1.96 * $7 ? ": order matters" : "")
		}
		print "."
	}'
}

# Findings are about one filesystem at a time: rows for lapcmp whose time is
# the efficiency, or the seconds, labelled as the study does.

# finding_rows VARIANT COLUMN: of mailfs-rows.awk; labels gzip-5.w1
finding_rows() {
	awk -F '\t' -v OFS=, -v variant="$1" -v column="$2" '
	BEGIN {
		print "series,label,run,stage,cache,wall_s,exit,signal"
	}
	$1 == variant && $3 ~ /2$|^w1$/ && $column != "" {
		sub(/^zlib/, "gzip", $2)
		sub(/^lzo$/, "lzjb", $2)
		print "s", $2 "." $3, $4, "all", "unknown", $column, 0, ""
	}' "$study/runs"
}

# finding_pooled FILE A B FACTOR: all algorithms of the study with A and B
# writers, as pairs of the two labels many and one; many by FACTOR
finding_pooled() {
	awk -F , -v OFS=, -v many="$2" -v one="$3" -v factor="$4" '
	NR == 1 { print; next }
	{
		split($2, part, /[.]/)
		if (part[1] !~ /^(gzip-[1-9]|lzjb)$/)
			next
		key = part[1] SUBSEP $3
		if (!(key in number))
			number[key] = ++pairs
		$3 = number[key]
		if (part[2] == many) {
			$2 = "many"
			$6 *= factor
			print
		} else if (part[2] == one) {
			$2 = "one"
			print
		}
	}' "$1" >"$study/pooled.csv"
}

# study_ratio ROW REFERENCE: as published, in $finding_of (3 efficiency, 4
# seconds); many over one is the ratio of means
study_ratio() {
	published | awk -F '\t' -v a="$1" -v b="$2" -v column="$finding_of" \
	    -v factor="${pooled_factor:-1}" '
	{ x[$1 ".w" $2] = $column; mean[$2] += $column }
	END {
		if (a == "many")
			print factor == 0 ? "" : sprintf("%.3f",
			    factor * mean[2] / mean[1])
		else if ((a in x) && (b in x))
			printf "%.3f", x[a] / x[b]
	}'
}
ratio() { pair_ratio "$study/$finding_rows" "$1" "$2"; }

# finding_best VARIANT WRITERS MEDIAN SHARE: fields of its cells; the share of
# draws decides
finding_best() {
	told cell "$1" "$2" | awk -F '\t' -v writers="$2" -v of="$3" \
	    -v in_draws="$4" '
	{ sub(/^zlib/, "gzip", $3); sub(/^lzo$/, "lzjb", $3) }
	$in_draws != "" { n++; if ($of > most) { most = $of; best = $3 } }
	$3 == "gzip-5" { found = 1; share = $in_draws; runs = $5 }
	END {
		printf "  gzip-5 is the best of the ten, %s\n",
		    writers == "w1" ? "one writer" : "two writers"
		printf "    first in %s of the draws, the best median is that of %s: ",
		    found ? sprintf("%.1f %%", share) : "-",
		    best == "" ? "-" : best
		if (!found || n < 2)
			print "not measured"
		else if (runs < 6)
			print "not decided: fewer than 6 rounds"
		else
			print (share >= 95 ? "holds here" : \
			    share <= 5 ? "does not hold here" : "not decided")
	}'
}

# findings_levels WRITERS TEXT: beside gzip-5; by $measure, clock or cpu
findings_levels() {
	for n in 4 3 8; do
		finding "gzip-$n comes close, $2 (within 10 %)" \
		    "gzip-$n.$1" "gzip-5.$1" '0.9 .. 1.1'
	done
	for n in 2 9; do
		finding "gzip-$n is much worse, $2 (by 10 % and more)" \
		    "gzip-$n.$1" "gzip-5.$1" 0.9
	done
	finding_of=4 finding_rows=$measure.seconds.csv
	finding "lzjb is fast: faster than gzip-5, $2" "lzjb.$1" "gzip-5.$1" 1
	finding_of=3 finding_rows=$measure.efficiency.csv
	finding "and its ratio loses more than that: less efficient, $2" \
	    "lzjb.$1" "gzip-5.$1" 1
}

# findings_writers: all algorithms of the study together
findings_writers() {
	pooled_rows=$study/$measure.efficiency.csv
	finding_rows=pooled.csv
	finding_pooled "$pooled_rows" w2 w1 1
	pooled_loss=$(ratio many one | cut -f 1)
	finding 'two writers have a third of the efficiency (0.28 to 0.40)' \
	    many one '0.28 .. 0.40'
	finding 'and not half' many one 0.5
	finding_pooled "$pooled_rows" w2 w1 2
	pooled_factor=2
	finding 'but they write everything twice: a file written costs more, too' \
	    many one 1
	pooled_factor=0
	finding_pooled "$pooled_rows" s2 w1 1
	finding 'two that share the work lose efficiency' many one 1
	pooled_split=$(ratio many one | cut -f 1)
	pooled_factor=
	printf '  of the loss, double work is (in logarithms): study 63 %%, here '
	printf '%s\n' "$(calc 'if (l >= 1) printf "nothing, there is no loss"; else if (l >= 0.5) printf "all by count: less is lost than half"; else printf "%.0f %% by count", 100 * log(2) / log(1 / l)' l="$pooled_loss" || :)" |
	    sed 's/^$/not measured/'
	[ -z "$pooled_split" ] || [ -z "$pooled_loss" ] ||
	    calc 'if (l < 1) printf "    by two that share the work: %.0f %%\n", 100 * log(s / l) / log(1 / l)' \
	    l="$pooled_loss" s="$pooled_split"
	finding_rows=$measure.efficiency.csv
}

# findings_measure MEASURE VARIANT EFFICIENCY SECONDS: rows of the two columns
findings_measure() {
	measure=$1
	finding_rows "$2" "$3" >"$study/$1.efficiency.csv"
	finding_rows "$2" "$4" >"$study/$1.seconds.csv"
	finding_of=3 finding_rows=$1.efficiency.csv
}

# findings_cpu VARIANT: what other work on the machine disturbs less, where the
# filesystem is a process whose time is known
findings_cpu() {
	findings_measure cpu "$1" 18 17
	[ "$(wc -l <"$study/cpu.efficiency.csv")" -gt 1 ] || return 0
	printf '\nThe same on %s by processor time, that of the copy and of the daemon until it is durable:\n' "$1"
	for cpu_writers in w1 w2; do
		finding_best "$1" $cpu_writers 34 35
		told cell "$1" $cpu_writers | awk -F '\t' '
		$35 != "" { print $34, $3 }' | sort -k 1,1gr |
		    awk '{ s = s " " $2 } END { print "    order:" s }'
	done
	findings_levels w1 'one writer'
	findings_levels w2 'two writers'
	findings_writers
}

# finding_variance VARIANT: an interval of the difference by draws of rounds
finding_variance() {
	printf '  with two writers the efficiency varies more (study: by 8.18 points)\n'
	finding_rounds=$(awk -F '\t' -v v="$1" '$1 == v && !seen[$4]++ { n++ }
	    END { print n + 0 }' "$study/runs")
	finding_spread=$(told spread "$1")
	printf '%s\n' "$finding_spread" |
	    awk -F '\t' -v rounds="$finding_rounds" '
	$3 == "" { print "    not measured"; next }
	{
		printf "    here by %.2f points", $3
		if (rounds < 6)
			print ": not decided: fewer than 6 rounds"
		else
			printf " [%.2f, %.2f]: %s\n", $4, $5,
			    ($4 > 0 ? "holds here" : \
			    $5 <= 0 ? "does not hold here" : "not decided")
	}'
}

# print_findings VARIANT
print_findings() {
	printf '\nWhat the study found, on %s%s (efficiency unless it says otherwise; medians of ratios of pairs, 95 %% intervals):\n' \
	    "$1" "$(stand_in "$1" | sed 's/^/, where /')"
	findings_measure clock "$1" 9 6
	finding_best "$1" w1 10 21
	finding_best "$1" w2 10 21
	findings_levels w1 'one writer'
	findings_levels w2 'two writers'
	findings_writers
	finding_variance "$1"
}

# What the reader of the numbers must know.
print_caveats() {
	echo
	awk -F '\t' '{ n[$1]++; why[$1] = $3 } END {
		for (label in n)
			printf "%s: %d left out: %s\n", label, n[label],
			    why[label]
	}' "$study/invalid" | sort
	awk -F '\t' '
	{
		kind = $1
		if (sub(/[.][^.]*$/, "", kind)) {
			name = $1
			sub(/.*[.]/, "", name)
			if (!(kind in list))
				order[++n] = kind
			list[kind] = list[kind] " " name
		} else
			print $1 ": missing: " $2
	}
	END {
		for (i = 1; i <= n; i++)
			print order[i] ": does not know" list[order[i]]
	}' "$study/missing"
	if [ "$cold" = yes ]; then
		echo 'Copies: caches dropped before each.'
	else
		echo 'Copies: the mail was read once before each, so that it was in the cache as far as it fits.'
	fi
	[ -z "$load" ] || printf 'Under a load: %s\n' "$load"
	case " $report_variants" in
	*zfs-fuse*) echo 'zfs-fuse is a process: its times are not those of a kernel, its sizes are.' ;;
	esac
	echo 'W: w1 one writer; w2 two, each of which copies everything (as the study had it); s2 two that share the work.'
}

report_all() {
	# shellcheck source=scripts/mailfs-plot.sh
	. "$here/mailfs-plot.sh"
	report_summaries
	print_source
	echo
	published | awk -f "$here/mailfs-study.awk"
	for report_variant in $report_variants; do
		print_study_table "$report_variant"
	done
	print_variance
	for report_variant in $report_variants; do
		print_times "$report_variant"
		print_efficiency "$report_variant"
		print_sizes "$report_variant"
		print_order "$report_variant"
		print_findings "$report_variant"
		findings_cpu "$report_variant"
	done
	print_caveats
	plot_all
}

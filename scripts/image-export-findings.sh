# shellcheck shell=sh
# image-export-findings.sh - what the image study found, tested here; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154

# pooled NAME: the pairs with and without duplicate removal as pairs of two
# labels, one a round: the geometric means of all levels and threads that have
# both.  Those of one round are not independent of each other.
pooled() {
	echo 'series,label,run,stage,cache,wall_s,exit,signal'
	csv '
	csv_row() && get("label") ~ /^zstd[1-4](\.nodup)?\.p[0-9]+$/ &&
	    !failed() && get("wall_s") > 0 {
		id = get("label")
		kept = sub(/\.nodup/, "", id)
		run = get("series") SUBSEP get("run")
		log_of[kept, id, run] = log(get("wall_s"))
		ids[id] = 1
		series[run] = get("series")
		number[run] = get("run")
	}
	END {
		for (run in number) {
			n = with = without = 0
			for (id in ids) {
				if (!((0, id, run) in log_of) ||
				    !((1, id, run) in log_of))
					continue
				n++
				with += log_of[0, id, run]
				without += log_of[1, id, run]
			}
			if (!n)
				continue
			row = number[run] ",all,unknown,"
			print series[run] ",with," row exp(with / n) ",0,"
			print series[run] ",without," row exp(without / n) ",0,"
		}
	}' "$study/$1.csv"
}

# finding_pooled TEXT NAME: nothing is lost beyond 5 %
finding_pooled() {
	pooled "$2" >"$study/pooled.csv"
	pairs_file=$study/pooled.csv
	finding "$1" with without 1.05
	pairs_file=$study/pairs.csv
}

# others_busy ID: which part of the processors had other work, the median of
# the runs; nothing if that was not measured
others_busy() {
	# shellcheck disable=SC2016
	awk "$(cat "$here/csv.awk" "$here/stats.awk")"'
	csv_row() && get("label") == id && !failed() &&
	    key("machine_s") != "" {
		x[++n] = (key("machine_s") - get("user_s") - get("sys_s")) / \
		    get("wall_s") / cpus
	}
	END { if (n) printf "%.3f", median(x, n) }' id="$1" \
	    cpus="${report_cpus:-1}" "$study/proven.csv"
}

# The I/O limit: processors that were busy, of those that could have been.  The
# study saw it with 8 threads.  Where other work takes a tenth of the
# processors, idle ones are no proof of it.
finding_utilisation() {
	case " $threads " in
	*' 8 '*) ;;
	*)
		echo '    the study has it with 8 threads: not measured'
		return 0
		;;
	esac
	others=$(others_busy zstd1.p8) tsv '
	BEGIN { others = ENVIRON["others"] }
	csv_row() && get("label") == "zstd1.p8" && get("wall_s") != "" {
		most = 8 < cpus ? 8 : cpus
		lo = get("wall_lo")
		hi = get("wall_hi")
		found = 1
		printf "    utilisation of zstd1.p8 < %.2f: study 6.0 of 8, here %.2f of %d",
		    0.9 * most, get("wall_s"), most
		if (lo != "")
			printf " [%.2f, %.2f]", lo, hi
		verdict = "not decided"
		if (lo == "")
			verdict = verdict ": fewer than 6 runs"
		else if (lo >= 0.9 * most)
			verdict = "does not hold here"
		else if (hi < 0.9 * most && others > 0.1)
			verdict = sprintf("not decided: other work had %.0f %% of the processors", 100 * others)
		else if (hi < 0.9 * most)
			verdict = "holds here"
		print ": " verdict
	}
	END { if (!found) print "    zstd1.p8: not measured" }' \
	    cpus="${report_cpus:-1}" "$study/utilisation"
}

# over THREADS: a word for a verdict that more processors might change
over() { [ "$1" -le "${report_cpus:-$1}" ] || echo ' (oversubscribed)'; }

print_findings() {
	first=${threads%% *} last=${threads##* }
	findings_begin
	printf '\nWhat the study found (ratios of pairs of runs,\n95 %% intervals; sizes are exact):\n'
	for n in $threads; do
		finding "lz4 is as fast as none, $n threads (within 10 %)$(over "$n")" \
		    "lz4.p$n" "none.p$n" 1.1
	done
	for n in $threads; do
		finding "lz4hc is unusably slow, $n threads (10 times lz4)$(over "$n")" \
		    "lz4hc.p$n" "lz4.p$n" '> 10'
	done
	findings_size
	for n in $threads; do
		case $n in
		2) findings_level_1 2 ;;
		4) findings_level_1 4 ;;
		8) findings_level_1 8 ;;
		esac
	done
	echo "  An I/O limit: with 8 threads, zstd 1 does not keep them busy (90 %)$(over 8)"
	finding_utilisation
	finding "and more threads would not help (5 %)$(over $((last * 2)))" \
	    "zstd1.p$((last * 2))" "zstd1.p$last" '> 0.95'
	for n in $threads; do
		finding "level 2 costs almost nothing, $n threads (within 10 %)$(over "$n")" \
		    "zstd2.p$n" "zstd1.p$n" 1.1
	done
	finding_sweet "$first"
	for n in $threads; do
		finding "level 4 takes twice the time of 1, $n threads$(over "$n")" \
		    "zstd4.p$n" "zstd1.p$n" '1.5 .. 2.5'
		finding "level 9 takes eight times, $n threads$(over "$n")" "zstd9.p$n" \
		    "zstd1.p$n" '6 .. 10'
	done
	findings_levels "$first"
	finding_pooled 'removing duplicates is free in time (within 5 %, levels 1 to 4 pooled)' pairs
	finding_pooled 'and in memory (within 5 %)' memory
	finding_removed "$first"
	finding_memory "$first"
	findings_end
}

findings_level_1() {
	case $1 in
	2)
		finding "zstd 1 takes about twice the time of lz4, 2 threads$(over 2)" \
		    zstd1.p2 lz4.p2 '1.5 .. 2.5'
		;;
	4)
		finding "it catches up with 4: level with none (within 15 %)$(over 4)" \
		    zstd1.p4 none.p4 '0.85 .. 1.15'
		finding "and with lz4 (within 15 %), which its own table denies$(over 4)" \
		    zstd1.p4 lz4.p4 '0.85 .. 1.15'
		;;
	8)
		finding "and is the fastest with 8: faster than lz4$(over 8)" \
		    zstd1.p8 lz4.p8 1
		finding "and than none$(over 8)" zstd1.p8 none.p8 1
		;;
	esac
}

# Sizes are the same for any number of threads.
findings_size() {
	size_lz4=$(size "lz4.p$first") size_none=$(size "none.p$first")
	size_hc=$(size "lz4hc.p$first") size_1=$(size "zstd1.p$first")
	size_no=$(size "none.nodup.p$first")
	exact 'none is smaller than its content by the duplicates alone (95 % of it)' \
	    "$(calc 'print (a < 100 && (b - a) >= 0.95 * (100 - a))' \
	    a="$size_none" b="$size_no")" \
	    "study 99.7 %, here ${size_none:--} %; without removing duplicates ${size_no:--} %"
	exact 'zstd 1 is by far the smallest (5 % less than lz4hc and lz4)' \
	    "$(calc 'print (a < 0.95 * b && a < 0.95 * c)' \
	    a="$size_1" b="$size_hc" c="$size_lz4")" \
	    "study 55.4 of 60.4 and 68.5 %, here ${size_1:--} of ${size_hc:--} and ${size_lz4:--} %"
}

# finding_sweet THREADS: of levels 1 to 9 level 2 saves the most size for the
# time: the knee, where the line from the first to the last is farthest away
finding_sweet() {
	exact_text="level 2 is the sweet spot ($1 threads, by medians: the knee of size against log time)"
	sweet=$(rows_of "^zstd[1-9][.]p$1\$" | tsv '
	csv_row() {
		level[++rows] = get("level")
		t[rows] = log(get("wall_s"))
		s[rows] = get("image_B") / get("plain_B")
		if (!least || get("n") < least)
			least = get("n")
	}
	END {
		if (rows < 4 || level[1] != 1)
			exit
		for (i = 2; i < rows; i++) {
			x = t[rows] == t[1] ? 0 : (t[i] - t[1]) / (t[rows] - t[1])
			y = s[1] == s[rows] ? 0 : (s[1] - s[i]) / (s[1] - s[rows])
			if (y - x > best) {
				best = y - x
				knee = level[i]
			}
		}
		print knee + 0, level[rows], least
	}')
	sweet_knee=$(field 1 "$sweet") sweet_last=$(field 2 "$sweet")
	if [ -z "$sweet" ]; then
		exact "$exact_text" '' 'level 1 and three more of 2 to 9 are needed'
		return 0
	fi
	sweet_detail="the knee of levels 1 to $sweet_last is level $sweet_knee"
	[ "$sweet_knee" != 0 ] ||
	    sweet_detail="levels 1 to $sweet_last have no knee"
	sweet_is=0
	[ "$sweet_knee" != 2 ] || sweet_is=1
	[ "$(field 3 "$sweet")" -ge 6 ] ||
	    sweet_is='not decided: fewer than 6 runs of some level'
	exact "$exact_text" "$sweet_is" "$sweet_detail"
}

# findings_levels THREADS: what the levels save, in points of the content
findings_levels() {
	level_1=$(size "zstd1.p$1") level_2=$(size "zstd2.p$1")
	level_4=$(size "zstd4.p$1") level_9=$(size "zstd9.p$1")
	level_13=$(size "zstd13.p$1") level_14=$(size "zstd14.p$1")
	exact 'level 2 is a bit smaller than 1' \
	    "$(calc 'print (b < a)' a="$level_1" b="$level_2")" \
	    "$(saved "$level_1" "$level_2")"
	exact 'level 4 saves about 4 % (3 to 5 points)' \
	    "$(calc 'd = a - b; print (d >= 3 && d <= 5)' \
	    a="$level_1" b="$level_4")" "$(saved "$level_1" "$level_4")"
	exact 'level 9 saves about 5 % (4 to 6 points)' \
	    "$(calc 'd = a - b; print (d >= 4 && d <= 6)' \
	    a="$level_1" b="$level_9")" "$(saved "$level_1" "$level_9")"
	exact 'from 9 to 13 little is gained: less than by the one step to 14' \
	    "$(calc 'print (a - b < b - c)' a="$level_9" b="$level_13" \
	    c="$level_14")" \
	    "9 to 13: $(saved "$level_9" "$level_13"); 13 to 14: $(saved "$level_13" "$level_14")"
	level_step=$(rows_of "^zstd(9|1[0-9])[.]p$1\$" | tsv '
	csv_row() {
		if (n++ && last - get("image_B") > most) {
			most = last - get("image_B")
			step = get("level")
		}
		last = get("image_B")
	}
	END { if (n == 11) print step + 0 }')
	exact 'level 14 is the largest step from 9 to 19' \
	    "$(calc 'print (a == 14)' a="$level_step")" \
	    "the largest step is to level ${level_step:--}"
}

# saved FROM TO: in points of the content, and in per cent of the larger image
saved() {
	saved_text=$(calc 'printf "%.2f points, %.1f %% of the image", a - b,
	    100 * (a - b) / a' a="$1" b="$2")
	printf '%s' "${saved_text:-not measured}"
}

# finding_memory THREADS: a high level is safe to read, if a process reads
finding_memory() {
	[ "$reader" != cat ] || {
		printf '  %s\n    %s\n' 'reading back takes no more memory at a high level' \
		    'the kernel read: not measured'
		return 0
	}
	pairs_file=$study/memory.csv
	for n in 9 19; do
		finding "reading back takes no more memory at level $n (within 10 %)" \
		    "zstd$n.p$1.read" "zstd1.p$1.read" 1.1
	done
	pairs_file=$study/pairs.csv
}

# finding_removed THREADS: the count, and what it is worth
finding_removed() {
	removed=$(column dup_n "zstd1.p$1")
	exact 'some duplicates are removed, with some effect' \
	    "$(calc 'print (n > 0 && a < b)' n="$removed" \
	    a="$(size "zstd1.p$1")" b="$(size "zstd1.nodup.p$1")")" \
	    "study about 4000 files, here ${removed:--} of $inodes; $(saved \
	    "$(size "zstd1.nodup.p$1")" "$(size "zstd1.p$1")")"
}

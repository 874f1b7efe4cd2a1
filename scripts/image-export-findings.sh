# shellcheck shell=sh
# image-export-findings.sh - test the image study's findings; sourced
# SPDX-License-Identifier: BSD-2-Clause

. "$here/image-export-sizes.sh"

# finding_pooled TEXT NAME: tests that duplicate removal costs at most 5 %, over
# all levels and threads for which both were measured
finding_pooled() {
	tabulate '
	where label ~ /^zstd[1-4]([.]nodup)?[.]p[0-9]+$/ && wall_s > 0
	where exit + signal == 0
	line series, run, cut(label, "[.]nodup"), label ~ /nodup/ ? "without" : "with", wall_s' \
	    FS=, "$study/$2.csv" | pooled with without 1 >"$study/pooled.csv"
	pairs_file=$study/pooled.csv
	finding "$1" with without 1.05
	pairs_file=$study/pairs.csv
}

# others_busy ID: prints the median share of the processors that was used by
# other processes; empty if not measured
others_busy() {
	tabulate '
	where label == row && exit + signal == 0 && machine_s != ""
	let others = (machine_s - user_s - sys_s) / wall_s / cpus
	group 1
	.3f = median(others)' row="$1" cpus="${report_cpus:-1}" FS=, \
	    "$study/proven.csv"
}

# Tests whether I/O is the bottleneck, based on processor utilization.  The
# study observed this with 8 threads.  The finding is undecided if other
# processes used a tenth of the processors.
finding_utilisation() {
	case " $threads " in
	*' 8 '*) ;;
	*)
		echo '    the study observed it with 8 threads: not measured'
		return 0
		;;
	esac
	others=$(others_busy zstd1.p8) run_awk image-export-words -F '\t' \
	    what=utilisation cpus="${report_cpus:-1}" "$study/utilisation"
}

# over THREADS: prints a caveat if the machine has fewer processors than threads
over() { [ "$1" -le "${report_cpus:-$1}" ] || echo ' (oversubscribed)'; }

print_findings() {
	first=${threads%% *} last=${threads##* }
	findings_begin
	printf '\nWhat the study found (paired ratios of runs,\n95 %% confidence intervals; sizes are exact):\n'
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
	for n in $threads; do
		case $n in
		2 | 4) finding "zstd 1 scales from $n to $((2 * n)) threads (at most 0.65 of the time)$(over $((2 * n)))" \
		    "zstd1.p$((2 * n))" "zstd1.p$n" 0.65 ;;
		esac
	done
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
		finding "with 4 it catches up: as fast as none (within 15 %)$(over 4)" \
		    zstd1.p4 none.p4 '0.85 .. 1.15'
		finding "and with lz4 (within 15 %), which its own table denies$(over 4)" \
		    zstd1.p4 lz4.p4 '0.85 .. 1.15'
		;;
	8)
		finding "and with 8 it is fastest: faster than lz4$(over 8)" \
		    zstd1.p8 lz4.p8 1
		finding "and than none$(over 8)" zstd1.p8 none.p8 1
		;;
	esac
}

# finding_memory THREADS: tests that reading back needs no more memory at a high
# level; not measured if the image is read by the kernel
finding_memory() {
	[ "$reader" != cat ] || {
		printf '  %s\n    %s\n' 'reading back takes no more memory at a high level' \
		    'not measured: the kernel did the reading'
		return 0
	}
	pairs_file=$study/memory.csv
	for n in 9 19; do
		finding "reading back takes no more memory at level $n (within 10 %)" \
		    "zstd$n.p$1.read" "zstd1.p$1.read" 1.1
	done
	pairs_file=$study/pairs.csv
}

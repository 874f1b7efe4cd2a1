# shellcheck shell=sh
# image-export-tables.sh - more tables of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause

# Prints one line for each cell that was also measured without duplicate
# removal.
print_duplicates() {
	echo
	exports '[.]nodup([.]sqpack)?[.]p[0-9]+$' \
	    'line cut(label, "[.]nodup"), label' >"$study/pairs.tsv"
	for duplicates_of in pairs memory; do
		ratios "$study/$duplicates_of.csv" $duplicates_of \
		    <"$study/pairs.tsv" >"$study/$duplicates_of-ratios.tsv"
	done
	exports '[.]nodup([.]sqpack)?[.]p[0-9]+$' '
	let with = cut(label, "[.]nodup")
	-10s    Duplicates|removed = cut(with, "[.]p[^p]*$")
	7d      Threads = threads
	8.3f    Time|with/out = pairs[with]
	17.3f.. interval = pairs[with]
	9.2f    Size%|with = ratio(100 * image_B[with], plain_B[with])
	9.2f    Size%|without = ratio(100 * image_B, plain_B)
	9s      Removed|files = dup_n[with]
	17.3f   Memory|with/out = memory[with]' \
	    "$study/pairs-ratios.tsv" "$study/memory-ratios.tsv"
	rm "$study/pairs.tsv" "$study"/*-ratios.tsv
}

# Prints the largest process's peak memory, and the time to read everything
# back.
print_memory() {
	print_reader=$(tabulate '
	where reader != ""
	first 1
	line reader' "$study/summary")
	case $print_reader in
	cat) print_reader='cat of the mount (the kernel reads; its memory is not measured)' ;;
	esac
	printf '\nRead back by: %s; the image is in the cache.\n' \
	    "${print_reader:-nothing}"
	exports '[.]p[0-9]+$' '
	let read = label ".read"
	-12s    = method
	7d      Threads = threads
	15.1f   Export(MiB) = maxrss_KiB / 1024
	15.1f   Read(MiB) = maxrss_KiB[read] / 1024
	9.3f    Read(s) = wall_s[read]
	9.2f    CPU(s) = cpu_s[read]'
}

# Prints the number of starts after which an export pays off, compared with the
# fastest export with as many threads as there are processors or, failing that,
# with the fewest threads measured.
breakeven_threads() {
	best=${threads%% *}
	for breakeven_n in $threads; do
		[ "$breakeven_n" -gt "${report_cpus:-1}" ] || best=$breakeven_n
	done
	echo "$best"
}
print_breakeven() {
	grep -q "[.]start$tab" "$study/summary" || {
		case $mounts in
		yes) breakeven_why='no --program COMMAND' ;;
		*) breakeven_why=$mounts ;;
		esac
		printf '\nCold starts: not measured (%s).\n' "$breakeven_why"
		return 0
	}
	breakeven_n=$(breakeven_threads)
	breakeven_ids=$(exports \
	    "^[^.]*([.]sqpack)?[.]p$breakeven_n\$" 'line wall_s, label')
	breakeven_ref=$(printf '%s\n' "$breakeven_ids" | grep -v sqpack |
	    sort -s -k 1,1g | head -n 1 | cut -f 2)
	printf '\nCold start by %s: %s\n' "${start_by:-kernel}" "$start"
	printf 'Exports with %d threads, compared with the fastest by mksquashfs, %s.  "Starts to\npay" is how many starts make up for the longer export.\n' \
	    "$breakeven_n" "$breakeven_ref"
	printf '%-16s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' n 'Start(s)' \
	    interval 'Asked' 'Disk' 'Export(s)' 'saves a start(s)' 'Starts' ''
	printf '%-16s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' '' '' '' \
	    MiB MiB longer interval 'to pay' 'at 95 %'
	run_awk breakeven -v ref="$breakeven_ref" \
	    -v ids="$(printf '%s\n' "$breakeven_ids" | cut -f 2 | tr '\n' ' ')" \
	    'FS=\t' "$study/summary" FS=, "$study/pairs.csv"
}


# Prints sqpack's statistics about its stages, from the last run of each row.
print_sqpack() {
	grep -q "[.]sqpack[.]p[0-9]*$tab" "$study/summary" || return 0
	printf '\nsqpack, the last run: how busy its compressing threads were, and for how long\nthe reader and the writer waited for them.\n'
	exports '[.]sqpack[.]p[0-9]+$' '
	-19s    = method
	7d      Threads = threads
	9.1f    Busy(%) = busy_pct
	12.3f   Reader(s) = read_wait_s
	12.3f   Writer(s) = write_wait_s'
}

# Prints caveats about the numbers.
print_caveats() {
	echo
	print_failed
	print_missing
	for n in $threads $((${threads##* } * 2)); do
		[ "$n" -gt "${report_cpus:-$n}" ] || continue
		printf '%d threads on %d processors are oversubscribed: they cannot show what %d processors would do.\n' \
		    "$n" "$report_cpus" "$n"
	done
	if [ "$cold" = yes ]; then
		echo 'Exports: the caches were dropped before each.'
	else
		echo 'Exports: the tree was read once before each, so that as much of it as fits was in the cache.'
	fi
	caveats_cooler=$(tabulate '
	where resident_pct != "" && resident_pct < 99
	group 1
	line count(resident_pct)' FS=, "$rows_csv")
	tabulate '
	where resident_pct != ""
	group 1
	line sprintf("In memory before an export: %.1f to %.1f %% of a sample of the files (mincore).", min(resident_pct), max(resident_pct))
	line cooler == "" || cold == "yes" ? "" : sprintf("%d of %d exports began with less than 99 %% of it in memory: these are not warm.", cooler, count(resident_pct))' \
	    cold="$cold" cooler="$caveats_cooler" FS=, "$rows_csv" | grep . || :
	! grep -q "[.]start$tab" "$study/summary" ||
	    printf 'Starts: cold, with 0 %% of the image and of a sample of the mount in memory (mincore); %s not proven cold and left out.\n' \
	    "$(cat "$study/warm")"
	echo 'mksquashfs does not wait for the disk: its output is in the page cache when it exits.  sqpack does wait.'
}

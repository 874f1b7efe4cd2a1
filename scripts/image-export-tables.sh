# shellcheck shell=sh
# image-export-tables.sh - more tables of the image study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154

duplicates_more() {
	duplicates_with=$(echo "$3" | sed 's/[.]nodup//')
	printf '%s\t%s\t%s\t%s\t%s\t%s' "${duplicates_with%.p*}" \
	    "$(or_empty "$(ratio "$duplicates_with" "$3")")" \
	    "$(size "$duplicates_with")" "$(size "$3")" \
	    "$(column dup_n "$duplicates_with")" \
	    "$(pair_ratio "$study/memory.csv" "$duplicates_with" "$3" |
	        cut -f 1)"
}

# Prints one line for each cell that was also measured without duplicate
# removal.
print_duplicates() {
	printf '\n%-10s %7s %8s %17s %9s %9s %9s %17s\n' 'Duplicates' \
	    Threads 'Time' interval 'Size%' 'Size%' Removed Memory
	printf '%-10s %7s %8s %17s %9s %9s %9s %17s\n' removed '' \
	    'with/out' '' with without files 'with/out'
	duplicates_columns=$(printf '%s\t' with ratio lo hi size_with size_out \
	    removed memory)
	rows_with "${duplicates_columns%"$tab"}" \
	    '[.]nodup([.]sqpack)?[.]p[0-9]+$' \
	    duplicates_more | tsv "$print_awk"'
	csv_row() {
		printf "%-10s %7d %8s %17s %9.2f %9.2f %9s %17s\n",
		    get("with"), get("threads"), real("%.3f", get("ratio")),
		    span(get("lo"), get("hi")), get("size_with"),
		    get("size_out"), get("removed"),
		    real("%.3f", get("memory"))
	}'
}

memory_more() {
	printf '%s\t%s\t%s' "$(column maxrss_KiB "$3.read")" \
	    "$(column wall_s "$3.read")" "$(column cpu_s "$3.read")"
}

# Prints the largest process's peak memory, and the time to read everything
# back.
print_memory() {
	print_reader=$(tsv 'csv_row() && get("reader") != "" {
		print get("reader")
		exit
	}' "$study/summary")
	case $print_reader in
	cat) print_reader='cat of the mount (the kernel reads; its memory is not measured)' ;;
	esac
	printf '\nRead back by: %s; the image is in the cache.\n' \
	    "${print_reader:-nothing}"
	printf '%-12s %7s %15s %15s %9s %9s\n' '' Threads 'Export(MiB)' \
	    'Read(MiB)' 'Read(s)' 'CPU(s)'
	rows_with "read_KiB${tab}read_s${tab}read_cpu_s" '[.]p[0-9]+$' \
	    memory_more | tsv "$print_awk"'
	csv_row() {
		read_MiB = get("read_KiB") == "" ? "" : get("read_KiB") / 1024
		printf "%-12s %7d %15.1f %15s %9s %9s\n", get("method"),
		    get("threads"), get("maxrss_KiB") / 1024,
		    real("%.1f", read_MiB), real("%.3f", get("read_s")),
		    real("%.2f", get("read_cpu_s"))
	}'
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
	breakeven_ids=$(rows_of "^[^.]*([.]sqpack)?[.]p$breakeven_n\$" |
	    tsv 'csv_row() { print get("wall_s"), get("label") }')
	breakeven_ref=$(printf '%s\n' "$breakeven_ids" | grep -v sqpack |
	    sort -s -k 1,1g | head -n 1 | cut -f 2)
	printf '\nCold start by %s: %s\n' "${start_by:-kernel}" "$start"
	printf 'Exports with %d threads, compared with the fastest by mksquashfs, %s.  "Starts to\npay" is how many starts make up for the longer export.\n' \
	    "$breakeven_n" "$breakeven_ref"
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' n 'Start(s)' \
	    interval 'Asked' 'Disk' 'Export(s)' 'saves a start(s)' 'Starts' ''
	printf '%-12s %2s %9s %17s %8s %8s %9s %17s %8s %s\n' '' '' '' '' \
	    MiB MiB longer interval 'to pay' 'at 95 %'
	awk -f "$here/csv.awk" -f "$here/stats.awk" -f "$here/breakeven.awk" \
	    -v ref="$breakeven_ref" \
	    -v ids="$(printf '%s\n' "$breakeven_ids" | cut -f 2 | tr '\n' ' ')" \
	    'FS=\t' "$study/summary" FS=, "$study/pairs.csv"
}


# Prints sqpack's statistics about its stages, from the last run of each row.
print_sqpack() {
	grep -q "[.]sqpack[.]p[0-9]*$tab" "$study/summary" || return 0
	printf '\nsqpack, the last run: how busy its compressing threads were, and for how long\nthe reader and the writer waited for them.\n'
	printf '%-19s %7s %9s %12s %12s\n' '' Threads 'Busy(%)' \
	    'Reader(s)' 'Writer(s)'
	rows_of '[.]sqpack[.]p[0-9]+$' | tsv "$print_awk"'
	csv_row() {
		printf "%-19s %7d %9s %12s %12s\n", get("method"),
		    get("threads"), real("%.1f", get("busy_pct")),
		    real("%.3f", get("read_wait_s")),
		    real("%.3f", get("write_wait_s"))
	}'
}

# Prints caveats about the numbers.
print_caveats() {
	echo
	print_failed
	awk -F '\t' '{ printf "%s: missing: %s\n", $1, $2 }' "$study/missing"
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
	csv '
	csv_row() && key("resident_pct") != "" {
		x = key("resident_pct") + 0
		if (!n || x < least) least = x
		if (x > most) most = x
		n++
		cooler += x < 99
	}
	END {
		if (n)
			printf "In memory before an export: %.1f to %.1f %% of a sample of the files (mincore).\n",
			    least, most
		if (cooler && cold != "yes")
			printf "%d of %d exports began with less than 99 %% of it in memory: these are not warm.\n",
			    cooler, n
	}' cold="$cold" "$rows_csv"
	! grep -q "[.]start$tab" "$study/summary" ||
	    printf 'Starts: cold, with 0 %% of the image and of a sample of the mount in memory (mincore); %s not proven cold and left out.\n' \
	    "$(cat "$study/warm")"
	echo 'mksquashfs does not wait for the disk: its output is in the page cache when it exits.  sqpack does wait.'
}

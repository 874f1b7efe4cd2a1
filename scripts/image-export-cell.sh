# shellcheck shell=sh
# image-export-cell.sh - export an image, read it back and start a program;
# sourced
# SPDX-License-Identifier: BSD-2-Clause

# image, unpacked: print the image's path, and the directory to which it is
# unpacked; the names are unique to this study
image() { printf '%s/%s.sqsh' "$store" "$series"; }
unpacked() { printf '%s/%s.out' "$scratch" "$series"; }

# room_for_image: checks that there is space for an image and, if it will be
# unpacked, for a second copy of the tree
room_for_image() {
	room_B=$((tree_B + tree_B / 16 + 16777216))
	if [ "$reader" = unsquashfs ] || [ "$start_by" = create ]; then
		room "$scratch" $room_B 'what is unpacked'
		[ "$(device_of "$scratch")" != "$(device_of "$store")" ] ||
		    room_B=$((room_B * 2))
	fi
	room "$store" $room_B 'the largest image'
}

# succeeded FILE: whether all runs in FILE succeeded
succeeded() {
	csv 'csv_row() { n++; bad += failed() } END { exit bad || !n }' "$1"
}

# said PATTERN: prints a number from mksquashfs's output
said() { sed -n "s/$1/\\1/p" "$study/said" | head -n 1; }

# told NAME: prints a number from sqpack's statistics
told() { sed -n "s/.*\"$1\":\\([0-9.]*\\).*/\\1/p" "$study/stats"; }

# cell_facts PROGRAM: prints the sizes of the image and of its content, and the
# number of duplicates; for sqpack, also the utilization of its compression
# threads and the time that its reader and writer waited for them, but not the
# content's size, which only mksquashfs reports
cell_facts() {
	printf 'image_B=%s;' "$(stat -c %s "$(image)")"
	if [ "$1" = sqpack ]; then
		printf 'dup_n=%s;busy_pct=%s;read_wait_s=%s;write_wait_s=%s' \
		    "$(told duplicates)" "$(told utilisation_pct)" \
		    "$(told read_stalled_s)" "$(told write_stalled_s)"
		return 0
	fi
	facts_plain=$(said \
	    '.*of uncompressed filesystem size (\([0-9.]*\) Kbytes).*')
	printf 'plain_B=%s;dup_n=%s' "$(awk -v k="$facts_plain" -v b="$tree_B" \
	    'BEGIN { printf "%.0f", k == "" ? b : k * 1024 }')" \
	    "$(said 'Number of duplicate files found \([0-9]*\).*')"
}

# export_command THREADS PROGRAM OPTIONS: prints the command, as words for sh
export_command() {
	set -f
	# shellcheck disable=SC2086
	set -- "$1" "$2" $3
	set +f
	export_n=$1 export_program=$2
	shift 2
	if [ "$export_program" = sqpack ]; then
		words_for_sh sqpack -q -p "$export_n" "$@" --all-root \
		    --stats="$study/stats" -o "$(image)" "$dir"
	elif [ "$enroot" = yes ]; then
		# enroot redirects mksquashfs's report to standard error.
		words_for_sh env "ENROOT_DATA_PATH=$(dirname "$dir")" \
		    "ENROOT_MAX_PROCESSORS=$export_n" \
		    "ENROOT_SQUASH_OPTIONS=$*" \
		    sh -c 'exec "$@" 2>&1' sh enroot export \
		    -o "$(image)" "$(basename "$dir")"
	else
		words_for_sh mksquashfs "$dir" "$(image)" -all-root \
		    -no-progress -processors "$export_n" "$@"
	fi
}

# cell_export ID THREADS PROGRAM OPTIONS: runs the export; writes its row to
# $cell_new.export, and sets $export_machine to the processor time used by the
# whole machine during the export
cell_export() {
	export_id=$1 export_cold=
	rm -f "$(image)" "$study/stats"
	room_for_image
	export_keys=resident_pct=$(cell_input)
	eval "set -- $(export_command "$2" "$3" "$4")"
	[ "$cold" != yes ] || export_cold=-c
	export_machine=$(machine_s)
	cell_lap "$cell_new.export" $export_cold -l "$export_id" \
	    -k "$export_keys" --stdout "$study/said" -- "$@"
	export_machine=$(since "$export_machine" "$(machine_s)")
}

# cell_read ID: reads all files in the image, which is in the cache because it
# has just been written
cell_read() {
	cell_read_id=$1
	case $reader in
	coldwalk)
		set -- coldwalk --cold none --hash none --summary "$(image)"
		;;
	cat)
		mount_by kernel || {
			cell_unmounted "$cell_new.read" "$1" kernel
			return 0
		}
		# shellcheck disable=SC2016
		set -- sh -c 'cd "$1" && find . -type f -exec cat {} +' \
		    sh "$study/mount"
		;;
	unsquashfs)
		rm -rf "$(unpacked)"
		set -- unsquashfs -n -q -d "$(unpacked)" "$(image)"
		;;
	esac
	cell_lap "$cell_new.read" -l "$cell_read_id" -k "reader=$reader" -- "$@"
	unmount "$study/mount"
	rm -rf "$(unpacked)"
}

# cell ID THREADS PROGRAM OPTIONS: makes one run of one row
cell() {
	cell_export "$@"
	if ! succeeded "$cell_new.export" || [ ! -s "$(image)" ]; then
		cell_rows "$cell_new.export"
		return 0
	fi
	cell_rows "$cell_new.export" \
	    "keys=$(cell_facts "$3");machine_s=$export_machine"
	cell_read "$1.read"
	cell_rows "$cell_new.read"
	[ "$mounts" = yes ] && [ -n "$start" ] || return 0
	cell_start "$1.start" "$2" "$3"
	cell_rows "$cell_new.start" "cache=$start_cache" "keys=$start_facts"
}

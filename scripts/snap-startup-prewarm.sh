# shellcheck shell=sh
# snap-startup-prewarm.sh - run launches after reading part of an image; sourced
# SPDX-License-Identifier: BSD-2-Clause

# Each launch follows a pre-warming pass, which reads parts of the mounted
# images, or the image files.
cells_prewarm() {
	touch_make "$cell_app"
	for warm_how in touched all file; do
		parts_cold
		"warm_$warm_how" "$1.$warm_how"
		cell_launch "$1.after-$warm_how"
	done
	parts_unmount
}

# warm_touched LABEL: reads the pages that a launch needs, and looks up all
# names, because a launch searches for files in many directories and follows
# symbolic links
warm_touched() {
	for part in $cell_parts; do
		set -- "$@" "$(touch_list "$cell_app" "$part")" \
		    "$study/mount/$part"
	done
	warm_label=$1
	shift
	# shellcheck disable=SC2016
	cell_command "$warm_label" sh -c 'while [ $# -gt 0 ]; do
		coldwalk -q --cold none --files-from "$1" --ranges --summary \
		    "$2" && find "$2" -ls >/dev/null || exit
		shift 2
	done' sh "$@"
}

# warm_all LABEL: reads all files
warm_all() {
	for part in $cell_parts; do
		set -- "$@" "$study/mount/$part"
	done
	warm_label=$1
	shift
	cell_command "$warm_label" coldwalk -q --cold none --hash none \
	    --summary "$@"
}

# warm_file LABEL: reads the images themselves
warm_file() {
	for part in $cell_parts; do
		set -- "$@" "$(part_path "$part")"
	done
	warm_label=$1
	shift
	cell_command "$warm_label" cat "$@"
}

# warm_held: prints the number of bytes in memory after pre-warming: pages of
# files, without opening other files, and pages of the images
warm_held() {
	{
		for part in $cell_parts; do
			case $warm_how in
			touched)
				warm_list=$(touch_list "$cell_app" "$part")
				coldwalk --resident --csv -q --files-from \
				    "${warm_list%.tsv}.paths" \
				    "$study/mount/$part"
				;;
			all) coldwalk --resident --csv -q "$study/mount/$part" ;;
			esac
			coldwalk --resident --csv -q "$(part_path "$part")"
		done
	} 2>/dev/null | resident_bytes
}

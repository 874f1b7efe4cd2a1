# shellcheck shell=sh
# snap-startup-cell.sh - time launches from an image, or walks through it; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $cell_app and $cell_image are the application and the image being measured.
# A part's image is mounted on $study/mount/PART; for the image "try", the
# part's tree is bind-mounted there.

parts_unmount() {
	for part in app content; do
		unmount "$study/mount/$part"
	done
}

# part_path PART: prints the path of its image or tree
part_path() {
	if [ "$cell_image" = try ]; then
		app_dir "$cell_app" "$1"
	else
		image_file "$cell_app" "$1" "$cell_image"
	fi
}

parts_mount() {
	parts_unmount
	for part in $cell_parts; do
		mkdir -p "$study/mount/$part"
		if [ "$cell_image" = try ]; then
			mount --bind "$(part_path "$part")" "$study/mount/$part"
		else
			mount -t squashfs -o loop,ro "$(part_path "$part")" \
			    "$study/mount/$part" 2>>"$study/log" ||
			    die "$(part_path "$part"): $(tail -n 1 "$study/log")"
		fi
	done
}

# parts_resident HOW: prints the number of bytes of the parts in memory after
# eviction with HOW
parts_resident() {
	for part in $cell_parts; do
		coldwalk --resident --csv -q --cold "$1" "$(part_path "$part")"
	done 2>/dev/null | resident_bytes
}

# resident_bytes: prints the sum over all rows of coldwalk --resident
resident_bytes() {
	csv 'csv_row() { n += get("resident_pages") }
	    END { printf "%.0f", n * page }' page="$(getconf PAGESIZE)"
}

# parts_cold: evicts the parts and mounts them again; sets $cell_before to the
# number of bytes that remained in memory
parts_cold() {
	parts_unmount
	[ "$cold" != yes ] || caches_drop || die 'the caches cannot be dropped'
	cell_before=$(parts_resident fadvise)
	parts_mount
}

# parts_asked: prints the number of requests to the mounted images' devices, and
# their total size; nothing for a tree, for which these are unknown
parts_asked() {
	[ "$cell_image" != try ] || return 0
	for part in $cell_parts; do
		mountpoint -q "$study/mount/$part" || return 0
		cat "/sys/dev/block/$(mountpoint -d "$study/mount/$part")/stat"
	done | awk '{ n += $1; b += $3 * 512 } END { printf "%.0f\t%.0f", n, b }'
}

# asked_keys FROM: prints the requests since FROM, an earlier output of
# parts_asked, as keys
asked_keys() {
	printf '%s\t%s\n' "$1" "$(parts_asked)" | awk -F '\t' 'NF == 4 {
		printf ";loop_n=%.0f;loop_B=%.0f", $3 - $1, $4 - $2
	}'
}

# part_bytes: prints the size of the images, or of the files in the trees
part_bytes() {
	for part in $cell_parts; do
		if [ "$cell_image" = try ]; then
			du -sb "$(part_path "$part")" | cut -f 1
		else
			stat -c %s "$(part_path "$part")"
		fi
	done | awk '{ n += $1 } END { printf "%.0f", n }'
}

# cell_launch LABEL: launches once from the mounted images, and writes the row
cell_launch() {
	launch_asked=$(parts_asked)
	launch_watch=
	for part in $cell_parts; do
		[ "$cell_image" = try ] ||
		    launch_watch="$launch_watch $study/mount/$part"
	done
	set -- "$1" "$study/mount/app"
	[ "$cell_parts" = app ] || set -- "$@" "$study/mount/content"
	launch_label=$1
	shift
	rm -f "$study/launch.csv"
	# shellcheck disable=SC2086
	SNAP_TIMEOUT=$timeout cell_lap "$cell_new.launch" -l "$launch_label" -- \
	    sh "$here/snap-startup-launch.sh" "$study" \
	    "$(app_file "$cell_app")" "$@" : $launch_watch
	launch_keys="image_B=$cell_bytes;before_B=$cell_before$(asked_keys \
	    "$launch_asked");disk_B=$(parts_resident none)"
	[ -e "$study/launch.csv" ] || : >"$study/launch.csv"
	launch_values=$(csv 'csv_row() && get("result") == "seen" {
		printf "wall_s=%.6f user_s=%s sys_s=%s majflt=%s keys=mapped_ms=%s;quiet_ms=%s;",
		    get("seen_ms") / 1000, get("user_s"), get("sys_s"),
		    get("majflt"), get("mapped_ms"), get("quiet_ms")
	}' "$study/launch.csv")
	# shellcheck disable=SC2086
	cell_rows "$cell_new.launch" $launch_values "keys=$launch_keys"
}

# cell_command LABEL COMMAND...: runs a walk or a pre-warming pass, and writes
# its row
cell_command() {
	command_label=$1
	shift
	command_asked=$(parts_asked)
	cell_lap "$cell_new.command" -l "$command_label" -- "$@"
	command_keys="image_B=$cell_bytes;before_B=$cell_before$(asked_keys \
	    "$command_asked")"
	[ -z "$warm_how" ] || command_keys="$command_keys;held_B=$(warm_held)"
	cell_rows "$cell_new.command" "keys=$command_keys"
}

# Makes three launches: a cold launch; a warm launch; and another cold launch,
# which the published script called the second launch.
cells_launch() {
	parts_cold
	cell_launch "$1.first"
	cell_before=
	cell_launch "$1.second"
	parts_cold
	cell_launch "$1.dropped"
	parts_unmount
}

# Walks each part and both together: the images with coldwalk, and the mounts as
# published.
cells_walk() {
	walk_parts=$cell_parts
	for walk_of in app ${walk_parts#app}; do
		cell_parts=$walk_of
		cell_walk "$1" "$walk_of"
	done
	cell_parts=$walk_parts
	[ "$walk_parts" = app ] || cell_walk "$1" both
}

cell_walk() {
	parts_cold
	cell_bytes=$(part_bytes)
	# shellcheck disable=SC2016,SC2086
	cell_command "$1.$2.mount" sh -c 'cd "$1" && shift &&
	    find "$@" -type f -print0 | xargs -0 md5sum >/dev/null' sh \
	    "$study/mount" $cell_parts
	parts_unmount
	cell_before=$(parts_resident fadvise)
	for part in $cell_parts; do
		set -- "$@" "$(part_path "$part")"
	done
	walk_label=$1.$2.coldwalk
	shift 2
	cell_command "$walk_label" coldwalk --cold fadvise --hash md5 \
	    -o /dev/null -f "$@"
}

# cell ID KIND APP IMAGE OPTIONS: makes one run of one row
cell() {
	cell_app=$3 cell_image=$4 cell_parts=$(app_parts "$3") warm_how=
	[ "$4" = try ] || for part in $cell_parts; do
		image_make "$3" "$part" "$4" "${5-}"
	done
	cell_bytes=$(part_bytes)
	"cells_$2" "$1"
}

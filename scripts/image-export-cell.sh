# shellcheck shell=sh
# image-export-cell.sh - one export, read back and started from; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154

# kernel_options: how the kernel reads squashfs, which a start depends on
kernel_options() {
	for kernel_config in /proc/config.gz "/boot/config-$(uname -r)"; do
		[ -r "$kernel_config" ] || continue
		gzip -cdf "$kernel_config" 2>/dev/null | sed -n \
		    's/^CONFIG_SQUASHFS_\(DECOMP[A-Z_]*\|FILE[A-Z_]*\)=y$/\1/p' |
		    tr '\n' ' '
		return 0
	done
	printf 'unknown'
}

unmount() {
	! mountpoint -q "$study/mount" || umount "$study/mount"
}
mount_image() {
	mkdir -p "$study/mount"
	unmount
	mount -t squashfs -o loop,ro "$study/image.sqsh" "$study/mount" \
	    2>>"$study/log"
}

# cell_unmounted FILE ID: the kernel does not mount the image: a failed row
cell_unmounted() {
	cell_lap "$1" -l "$2" -- mount -t squashfs -o loop,ro \
	    "$study/image.sqsh" "$study/mount"
}

# succeeded FILE: all its runs did
succeeded() {
	csv 'csv_row() { n++; bad += failed() } END { exit bad || !n }' "$1"
}

# said PATTERN: a number from what mksquashfs printed
said() { sed -n "s/$1/\\1/p" "$study/said" | head -n 1; }

# cell_facts: size of the image and of what is in it, and the duplicates
cell_facts() {
	facts_plain=$(said \
	    '.*of uncompressed filesystem size (\([0-9.]*\) Kbytes).*')
	printf 'image_B=%s;plain_B=%s;dup_n=%s' \
	    "$(stat -c %s "$study/image.sqsh")" \
	    "$(awk -v k="$facts_plain" -v b="$tree_B" \
	    'BEGIN { printf "%.0f", k == "" ? b : k * 1024 }')" \
	    "$(said 'Number of duplicate files found \([0-9]*\).*')"
}

# cell_export ID THREADS OPTIONS: the export, its row to $cell_new.export, and
# the processor time of everything meanwhile to $export_machine
cell_export() {
	export_id=$1 export_n=$2 export_options=$3 export_cold=
	rm -f "$study/image.sqsh"
	room_for_image
	export_keys=resident_pct=$(cell_input)
	if [ "$enroot" = yes ]; then
		# It has mksquashfs say on standard error what it did.
		set -- env "ENROOT_DATA_PATH=$(dirname "$dir")" \
		    "ENROOT_MAX_PROCESSORS=$export_n" \
		    "ENROOT_SQUASH_OPTIONS=$export_options" \
		    sh -c 'exec "$@" 2>&1' sh enroot export \
		    -o "$study/image.sqsh" "$(basename "$dir")"
	else
		# shellcheck disable=SC2086
		set -- mksquashfs "$dir" "$study/image.sqsh" -all-root \
		    -no-progress -processors "$export_n" $export_options
	fi
	[ "$cold" != yes ] || export_cold=-c
	export_machine=$(machine_s)
	# shellcheck disable=SC2086
	cell_lap "$cell_new.export" $export_cold -l "$export_id" \
	    -k "$export_keys" --stdout "$study/said" -- "$@"
	export_machine=$(since "$export_machine" "$(machine_s)")
}

# rm_out: what unsquashfs has unpacked, under a name that is only this study's
rm_out() {
	[ "$reader" != unsquashfs ] || [ -z "$series" ] ||
	    rm -rf "$scratch/$series.out"
}

# cell_read ID: all files of the image, just written and so in the cache
cell_read() {
	cell_read_id=$1
	case $reader in
	coldwalk)
		set -- coldwalk --cold none --hash none --summary \
		    "$study/image.sqsh"
		;;
	cat)
		mount_image || {
			cell_unmounted "$cell_new.read" "$1"
			return 0
		}
		# shellcheck disable=SC2016
		set -- sh -c 'cd "$1" && find . -type f -exec cat {} +' \
		    sh "$study/mount"
		;;
	unsquashfs)
		rm_out
		set -- unsquashfs -n -q -d "$scratch/$series.out" "$study/image.sqsh"
		;;
	esac
	cell_lap "$cell_new.read" -l "$cell_read_id" -k "reader=$reader" -- "$@"
	unmount
	rm_out
}

# loop_read: bytes that squashfs has asked of the image's loop device
loop_read() {
	loop_name=$(losetup -n -O NAME -j "$study/image.sqsh" | head -n 1)
	awk '{ printf "%.0f", $3 * 512 }' \
	    "/sys/block/${loop_name#/dev/}/stat" 2>/dev/null || :
}

# image_resident: bytes of the image that are in memory, if that can be known
image_resident() {
	coldwalk --resident --csv -q "$study/image.sqsh" 2>/dev/null |
	    csv 'csv_row() && get("resident_pages") != "" {
		printf "%.0f", get("resident_pages") * page
		exit
	}' page="$(getconf PAGESIZE)"
}

# cell_start ID: the program, cold.  A new mount has no pages and no names in
# the cache; the image's pages are dropped by advice.  Both are asked for, of
# the mount for a few files only, since that is a look at their inodes.
cell_start() {
	start_cache=unknown start_facts=
	mount_image || {
		cell_unmounted "$cell_new.start" "$1"
		return 0
	}
	from=$dir/ to=$study/mount/ awk '
	NR % 25 == 1 && index($0, ENVIRON["from"]) == 1 {
		print ENVIRON["to"] substr($0, length(ENVIRON["from"]) + 1)
	}' "$study/sample" >"$study/mounted"
	start_mount=$(resident none <"$study/mounted")
	start_image=$(echo "$study/image.sqsh" | resident fadvise)
	start_loop=$(loop_read)
	# shellcheck disable=SC2016
	cell_lap "$cell_new.start" -l "$1" \
	    -k "image_pct=$start_image" -k "mount_pct=$start_mount" -- \
	    sh -c 'cd "$1" && eval "$2"' sh "$study/mount" "$start"
	start_loop=$(($(loop_read) - start_loop))
	start_disk=$(image_resident)
	unmount
	[ "$start_image/$start_mount" != 0.0/0.0 ] || start_cache=cold
	start_facts="loop_B=$start_loop;disk_B=$start_disk"
}

# cell ID THREADS OPTIONS: one run of one row
cell() {
	cell_export "$@"
	if ! succeeded "$cell_new.export" || [ ! -s "$study/image.sqsh" ]; then
		cell_rows "$cell_new.export"
		return 0
	fi
	cell_rows "$cell_new.export" \
	    "keys=$(cell_facts);machine_s=$export_machine"
	cell_read "$1.read"
	cell_rows "$cell_new.read"
	[ "$mounts" = yes ] && [ -n "$start" ] || return 0
	cell_start "$1.start"
	cell_rows "$cell_new.start" "cache=$start_cache" "keys=$start_facts"
}

# shellcheck shell=sh
# image-export-start.sh - start a program cold from an image; sourced
# SPDX-License-Identifier: BSD-2-Clause
# This is the time that a user of a cluster waits for: the program is started
# from a mount by the kernel or by squashfuse, as with enroot start, or from a
# tree that is unpacked first, as with enroot create.

# mount_command HOW IMAGE: prints the command, as words for sh
mount_command() {
	case $1 in
	kernel) words_for_sh mount -t squashfs -o loop,ro "$2" "$study/mount" ;;
	squashfuse) words_for_sh squashfuse "$2" "$study/mount" ;;
	esac
}
mount_by() {
	mkdir -p "$study/mount"
	unmount "$study/mount"
	eval "$(mount_command "$1" "$(image)")" 2>>"$study/log" 8>&- \
	    9>&-
}

# cell_unmounted FILE ID HOW: writes a failed row for an image that cannot be
# mounted
cell_unmounted() {
	eval "set -- \"\$1\" \"\$2\" $(mount_command "$3" "$(image)")"
	unmounted_file=$1 unmounted_id=$2
	shift 2
	cell_lap "$unmounted_file" -l "$unmounted_id" -- "$@"
}

# can_start: prints "yes", or the reason why no program can be started from an
# image
can_start() {
	case $start_by in
	create)
		echo yes
		return 0
		;;
	squashfuse)
		have squashfuse || {
			echo 'squashfuse is not installed'
			return 0
		}
		;;
	esac
	[ "$(id -u)" = 0 ] || {
		echo 'only root can mount'
		return 0
	}
	mkdir -p "$study/try" "$study/mount"
	rm -f "$study/try.sqsh"
	mksquashfs "$study/try" "$study/try.sqsh" -no-progress >/dev/null 2>&1
	if eval "$(mount_command "$start_by" "$study/try.sqsh")" \
	    2>"$study/try.log" 8>&- 9>&-; then
		unmount "$study/mount"
		echo yes
	else
		head -n 1 "$study/try.log"
	fi
}

# loop_read: prints how many bytes squashfs has read from the image's loop
# device
loop_read() {
	loop_name=$(losetup -n -O NAME -j "$(image)" | head -n 1)
	[ -z "$loop_name" ] || awk '{ printf "%.0f", $3 * 512 }' \
	    "/sys/block/${loop_name#/dev/}/stat" 2>/dev/null || :
}

# image_resident: prints how many bytes of the image are in memory, if known
image_resident() {
	coldwalk --resident --csv -q "$(image)" 2>/dev/null |
	    csv 'csv_row() && get("resident_pages") != "" {
		printf "%.0f", get("resident_pages") * page
		exit
	}' page="$(getconf PAGESIZE)"
}

# mount_resident: prints how much of a sample of the mount's files is in memory,
# in percent.  Only part of the sample is examined, because examining a file
# reads its inode.
mount_resident() {
	from=$dir/ to=$study/mount/ awk '
	NR % 25 == 1 && index($0, ENVIRON["from"]) == 1 {
		print ENVIRON["to"] substr($0, length(ENVIRON["from"]) + 1)
	}' "$study/sample" >"$study/mounted"
	resident none <"$study/mounted"
}

# cell_start ID THREADS PROGRAM: makes a cold start.  A new mount has no pages
# or names in the cache, and neither has a tree that is not unpacked yet; the
# image's pages are dropped with posix_fadvise.
cell_start() {
	case $start_by in
	create) start_create "$@" ;;
	*) start_mounted "$1" ;;
	esac
}

start_mounted() {
	start_cache=unknown start_facts=
	mount_by "$start_by" || {
		cell_unmounted "$cell_new.start" "$1" "$start_by"
		return 0
	}
	start_mount=$(mount_resident)
	start_image=$(image | resident fadvise)
	start_loop=$(loop_read)
	# shellcheck disable=SC2016
	cell_lap "$cell_new.start" -l "$1" \
	    -k "image_pct=$start_image" -k "mount_pct=$start_mount" -- \
	    sh -c 'cd "$1" && eval "$2"' sh "$study/mount" "$start"
	start_loop=$(calc 'printf "%.0f", b - a' a="$start_loop" b="$(loop_read)")
	start_disk=$(image_resident)
	unmount "$study/mount"
	[ "$start_image/$start_mount" != 0.0/0.0 ] || start_cache=cold
	start_facts="loop_B=$start_loop;disk_B=$start_disk"
}

# start_create ID THREADS PROGRAM: unpacks the image with the tool that belongs
# to the program, and starts from the resulting tree
start_create() {
	start_cache=unknown
	rm -rf "$(unpacked)"
	start_image=$(image | resident fadvise)
	# shellcheck disable=SC2016
	case $3 in
	mksquashfs) start_unpack='unsquashfs -n -q -p "$4" -d "$2" "$1"' ;;
	sqpack) start_unpack='sqpack -q -p "$4" -x "$2" "$1"' ;;
	esac
	# shellcheck disable=SC2016
	cell_lap "$cell_new.start" -l "$1" -k "image_pct=$start_image" -- \
	    sh -c "$start_unpack"' >/dev/null && cd "$2" && eval "$3"' \
	    sh "$(image)" "$(unpacked)" "$start" "$2"
	rm -rf "$(unpacked)"
	[ "$start_image" != 0.0 ] || start_cache=cold
	start_facts="loop_B=;disk_B=$(image_resident)"
}

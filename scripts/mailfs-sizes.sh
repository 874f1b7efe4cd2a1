# shellcheck shell=sh
# mailfs-sizes.sh - query the sizes in compressing filesystems; sourced
# SPDX-License-Identifier: BSD-2-Clause

# fs_commit_command VARIANT: prints the command that makes the copied data
# durable.  On zfs-fuse neither sync nor waiting is sufficient: after a few
# seconds the sizes are those of the last transaction group written.  A snapshot
# waits for the current transaction group.
fs_commit_command() {
	case $1 in
	zfs*) printf 'zfs snapshot %s/mail@durable\n' "$pool" ;;
	btrfs) printf 'btrfs filesystem sync %s\n' "$(words_for_sh "$(fs_mnt)")" ;;
	esac
}

# fs_daemon_s VARIANT: prints the processor time used by the daemon, or nothing
# if the filesystem is in the kernel
fs_daemon_s() {
	case $1 in
	zfs-fuse.*)
		awk -v tick="$(getconf CLK_TCK)" '{
			sub(/.*\) /, "")
			printf "%.2f", ($12 + $13) / tick
		}' "/proc/$fuse_pid/stat" 2>/dev/null || :
		;;
	esac
}

# logical_of: prints the size of ZFS's records, from the file sizes on standard
# input: one record, rounded up to 512 bytes, if the file fits in it; otherwise
# full records
logical_of() {
	awk '{
		record = $1 <= 131072 ? 512 : 131072
		n += int(($1 + record - 1) / record) * record
	} END { printf "%.0f", n }'
}

# fs_anew VARIANT: remounts the filesystem, because for up to an hour, the
# kernel may cache attributes that zfs-fuse reported before the file was on disk
fs_anew() {
	case $1 in
	zfs*)
		patiently zfs umount "$pool/mail" &&
		    patiently zfs mount "$pool/mail" && fs_mounted
		;;
	esac
}

# fs_sizes VARIANT: prints, as keys, the ratio reported by the filesystem; the
# files' size before compression; the space that they occupy (ZFS also counts
# their 512-byte dnodes); and the total space in use
fs_sizes() {
	case $1 in
	zfs*)
		sizes_ratio=$(zfs get -Hp -o value compressratio "$pool/mail")
		sizes_all=$(zfs get -Hp -o value referenced "$pool/mail")
		sizes_logical=$(find "$(fs_mnt)" -type f -printf '%s\n' |
		    logical_of)
		sizes_files=$(find "$(fs_mnt)" -type f -printf '%b\n' |
		    awk '{ n += ($1 - 1) * 512 } END { printf "%.0f", n }')
		;;
	btrfs)
		sizes_line=$(compsize -b "$(fs_mnt)" | awk '
		    $1 == "TOTAL" { print $3, $4 }')
		sizes_files=${sizes_line% *} sizes_logical=${sizes_line#* }
		sizes_ratio=$(awk -v a="$sizes_logical" -v b="$sizes_files" \
		    'BEGIN { if (b > 0) printf "%.3f", a / b }')
		sizes_all=$(($(used_B) - fs_empty_B))
		;;
	esac
	printf 'compressratio=%s;logical_B=%s;files_B=%s;all_B=%s' \
	    "${sizes_ratio%x}" "$sizes_logical" "$sizes_files" "$sizes_all"
}

# fs_algorithms VARIANT: prints the supported algorithms, one per line; the
# others go to $study/lacking, with a reason
fs_algorithms() {
	case $1 in
	openzfs.* | libzpool.*)
		algorithms_wanted 1 "$1"
		return
		;;
	esac
	fs_begin "$1" off || cannot "$1 cannot be created here; see $study/log"
	algorithms_wanted 1 "$1" | while read -r algorithms_name; do
		if fs_takes "$1" "$algorithms_name"; then
			printf '%s\n' "$algorithms_name"
		else
			printf '%s.%s\t%s\n' "$1" "$algorithms_name" \
			    'this filesystem does not know it' \
			    >>"$study/lacking"
		fi
	done
	fs_end
}
algorithms_wanted() {
	case $2 in
	zfs* | openzfs* | libzpool*) set -- off lzjb zle gzip lz4 zstd ;;
	btrfs) set -- off lzo zlib zstd ;;
	esac
	for algorithms_word in "$@"; do
		case $algorithms_word in
		gzip | zlib)
			for algorithms_level in 1 2 3 4 5 6 7 8 9; do
				printf '%s-%s\n' "$algorithms_word" \
				    "$algorithms_level"
			done
			;;
		zstd)
			printf 'zstd-%s\n' 1 3 9 15 19
			;;
		*) printf '%s\n' "$algorithms_word" ;;
		esac
	done
}
fs_takes() {
	case $1 in
	zfs*) zfs set compression="$2" "$pool/mail" >/dev/null 2>&1 ;;
	btrfs)
		# The kernel silently replaces an unknown level with another.
		takes_option=$(btrfs_option "$2")
		mount -o "remount,$takes_option" "$(fs_mnt)" 2>/dev/null &&
		    { [ "$2" = off ] ||
		    grep -q -F "/mnt btrfs rw,relatime,$takes_option," \
		    /proc/self/mounts; }
		;;
	esac
}

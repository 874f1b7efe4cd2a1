# shellcheck shell=sh
# mailfs-machine.sh - a copy into the real OpenZFS, in an emulated machine or by
# its library; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The library copies at native speed, without a kernel, with one writer.  Its
# times contain the commit.
#
# The machine has one processor, on which an instruction takes a nanosecond of
# its time, whatever else runs here.  So its processor time is a count of
# instructions, in billions, and takes the place of the time of the copy.

# openzfs_lacking KIND: prints the reason why it cannot be used here, if any
openzfs_lacking() {
	[ -x "$here/openzfs" ] || {
		echo 'scripts/openzfs is not installed: use the source tree'
		return 0
	}
	case $1 in
	openzfs) set -- base.cpio 'emulated machine' module ;;
	libzpool) set -- zpcopy 'copier' library ;;
	esac
	[ -n "$(find "${COLDPRESS_OPENZFS:-$HOME/.cache/coldpress-openzfs}" \
	    -name "$1" 2>/dev/null)" ] ||
	    echo "there is no $2: run '$here/openzfs $3' first"
}

# whether all files and bytes arrived, as keys
# shellcheck disable=SC2016
openzfs_valid='
	function openzfs_valid(files, bytes, want_files, want_bytes) {
		if (files == want_files && bytes == want_bytes)
			return "valid=yes"
		return "valid=no;why=" files "_files_" bytes "_bytes"
	}'

# library_cell ID VARIANT ALGORITHM: makes one copy by the library, and prints
# the rows of the copy and of the commit, which takes no time of its own
library_cell() {
	# shellcheck disable=SC2016
	cell_lap "$cell_new.copy" -l "$1" -- sh -c 'exec "$@" >"$0"' \
	    "$cell_new.csv" "$here/openzfs" copy -a "${2#*.}" -c "$3" "$dir"
	cell_lap "$cell_new.commit" -l "$1.commit" -- true
	library_row=$(sed -n 2p "$cell_new.csv")
	[ -n "$library_row" ] || die "$1: the copier failed; see $study/log"
	library_values=$(printf '%s\n' "$library_row" | awk -F , -v n="$files" \
	    -v b="$apparent_B" '{
		printf "%s %s ", $8, $9
		printf "files_n=%s;apparent_B=%s;compressratio=%s;", $2, $3, $6
		printf "logical_B=%s;files_B=%s;all_B=%s;", $5, $7, $4
		print openzfs_valid($2, $3, n, b)
	    }'"$openzfs_valid")
	library_wall=${library_values%% *}
	library_values=${library_values#* }
	library_cpu=${library_values%% *}
	cell_rows "$cell_new.copy" "wall_s=$library_wall" \
	    "user_s=$library_cpu" "sys_s=0" \
	    "keys=corpus=$corpus;fstype=zfs;load=idle;clock=process;${library_values#* }"
	cell_rows "$cell_new.commit" wall_s=0 user_s=0 sys_s=0
	rm -f "$cell_new.csv"
}

# machine_cell ID VARIANT ALGORITHM WRITERS: makes one copy in the machine, and
# prints the rows of the copy and of the commit
machine_cell() {
	rm -f "$cell_new.csv"
	# shellcheck disable=SC2016
	cell_lap "$cell_new.copy" -l "$1" -- sh -c 'exec "$@" >"$0"' \
	    "$cell_new.csv" "$here/openzfs" machine -a "${2#*.}" -c "$3" \
	    -w "${4#?}" "$dir"
	cell_lap "$cell_new.commit" -l "$1.commit" -- true
	machine_row=$(sed -n 2p "$cell_new.csv")
	[ -n "$machine_row" ] || die "$1: the machine failed; see $study/log"
	machine_values=$(printf '%s\n' "$machine_row" | awk -F , -v n="$files" \
	    -v b="$apparent_B" '{
		printf "%s %s ", $9, $10 - $9
		printf "files_n=%s;apparent_B=%s;compressratio=%s;", $2, $3, $6
		printf "logical_B=%s;files_B=%s;all_B=%s;", $5, $8, $4
		print openzfs_valid($2, $3, n, b)
	    }'"$openzfs_valid")
	machine_copy=${machine_values%% *}
	machine_values=${machine_values#* }
	machine_commit=${machine_values%% *}
	cell_rows "$cell_new.copy" "wall_s=$machine_copy" "user_s=0" \
	    "sys_s=$machine_copy" \
	    "keys=corpus=$corpus;fstype=zfs;load=idle;clock=instructions;${machine_values#* }"
	cell_rows "$cell_new.commit" "wall_s=$machine_commit" "user_s=0" \
	    "sys_s=$machine_commit"
	rm -f "$cell_new.csv"
}

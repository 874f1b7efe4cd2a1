# shellcheck shell=sh
# mailfs-machine.sh - a copy into the real OpenZFS, in an emulated machine;
# sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The machine has one processor, on which an instruction takes a nanosecond of
# its time, whatever else runs here.  So its processor time is a count of
# instructions, in billions, and takes the place of the time of the copy.

# machine_lacking: prints the reason why there is no machine, if any
machine_lacking() {
	[ -x "$here/openzfs" ] || {
		echo 'scripts/openzfs is not installed: use the source tree'
		return 0
	}
	[ -n "$(find "${COLDPRESS_OPENZFS:-$HOME/.cache/coldpress-openzfs}" \
	    -name base.cpio 2>/dev/null)" ] ||
	    echo "there is no emulated machine: run '$here/openzfs module' first"
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
		if ($2 == n && $3 == b)
			print "valid=yes"
		else
			print "valid=no;why=" $2 "_files_" $3 "_bytes"
	    }')
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

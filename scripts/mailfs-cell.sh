# shellcheck shell=sh
# mailfs-cell.sh - make, time and verify one copy; sourced
# SPDX-License-Identifier: BSD-2-Clause

# load_start: runs $load repeatedly in its own session
load_start() {
	load_pid=
	[ -n "$load" ] || return 0
	# shellcheck disable=SC2016
	setsid sh -c 'while sh -c "$1"; do :; done' sh "$load" </dev/null \
	    >>"$study/log" 2>&1 8>&- &
	load_pid=$!
}
load_alive() { [ -z "$load_pid" ] || kill -0 "$load_pid" 2>/dev/null; }
load_stop() {
	[ -n "${load_pid:-}" ] || return 0
	kill -s TERM -- "-$load_pid" 2>/dev/null || :
	sleep 0.1
	kill -s KILL -- "-$load_pid" 2>/dev/null || :
	wait "$load_pid" 2>/dev/null || :
	load_pid=
}

# verify: prints one word that describes the error in the copy, or nothing if
# the copy is correct
verify() {
	verify_sizes=$(source_sizes "$(fs_mnt)")
	if [ "${verify_sizes% *}" != "$files" ]; then
		echo "${verify_sizes% *}_of_${files}_files"
	elif [ "${verify_sizes#* }" != "$apparent_B" ]; then
		echo "${verify_sizes#* }_of_${apparent_B}_bytes"
	else
		[ ! -s "$study/sums" ] ||
		    (cd "$(fs_mnt)" && sha256sum -c --status "$study/sums") ||
		    echo 'contents_differ'
	fi
}

# cell_measure ID VARIANT ALGORITHM WRITERS: writes the rows of the copy and of
# the commit to $cell_new.copy and .commit, and puts the keys of both in
# $measure_keys
cell_measure() {
	fs_begin "$2" "$3" || die "$2 with $3 cannot be created; see $study/log"
	measure_keys="corpus=$corpus;files_n=$files;apparent_B=$apparent_B"
	measure_keys="$measure_keys;fstype=$(stat -f -c %T "$(fs_mnt)")"
	measure_keys="$measure_keys;load=$([ -z "$load" ] && echo idle || echo live)"
	measure_keys="$measure_keys;load1=$(cut -d ' ' -f 1 /proc/loadavg)"
	measure_resident=$(cell_input)
	measure_cold=
	[ "$cold" != yes ] || measure_cold=-c
	measure_daemon=$(fs_daemon_s "$2") measure_machine=$(machine_s)
	load_start
	cell_lap "$cell_new.copy" $measure_cold -l "$1" \
	    -k "resident_pct=$measure_resident" -- \
	    sh "$here/mailfs-copy.sh" "$4" "$dir" "$(fs_mnt)" "$tmp/list"
	cell_lap "$cell_new.commit" -l "$1.commit" -- \
	    sh -c "$(fs_commit_command "$2")"
	measure_why=
	load_alive || measure_why=the_load_ended
	load_stop
	measure_keys="$measure_keys;machine_s=$(since "$measure_machine" "$(machine_s)")"
	[ -z "$measure_daemon" ] ||
	    measure_keys="$measure_keys;daemon_s=$(since "$measure_daemon" "$(fs_daemon_s "$2")")"
	fs_anew "$2" || die "$1: cannot be remounted; see $study/log"
	measure_keys="$measure_keys;$(fs_sizes "$2")"
	measure_why=${measure_why:-$(verify)}
	if [ -n "$measure_why" ]; then
		say "$1: $measure_why: not valid"
		measure_keys="$measure_keys;valid=no;why=$measure_why"
	else
		measure_keys="$measure_keys;valid=yes"
	fi
}

# cell ID VARIANT ALGORITHM WRITERS: makes one copy on a new filesystem
cell() {
	case $2 in
	openzfs.*)
		machine_cell "$@"
		return
		;;
	libzpool.*)
		library_cell "$@"
		return
		;;
	esac
	cell_measure "$@"
	cell_rows "$cell_new.copy" "keys=$measure_keys"
	cell_rows "$cell_new.commit"
}

# run_facts: prints other conditions that affect the results
run_facts() {
	printf '# source: %s, %s files, %s bytes, %s\n' "${from:-$dir}" \
	    "$files" "$apparent_B" "$corpus"
	printf '# filesystems:%s\n' "$variants"
	! have dpkg-query ||
	    dpkg-query -W -f '# ${Package}: ${Version}\n' zfs-fuse \
	    zfsutils-linux btrfs-compsize 2>/dev/null | grep '[0-9]$' || :
	case " $variants" in
	*' openzfs.'* | *' libzpool.'*)
		"$here/openzfs" release | sed 's/^/# /'
		;;
	esac
	printf '# zfs: pool and dataset with defaults except ashift and compression\n'
	printf '# btrfs: mkfs.btrfs -m single; compress-force\n'
	printf '# governor: %s\n' "$(cat \
	    /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor \
	    2>/dev/null || echo unknown)"
	printf '# load: %s\n' "${load:-none}"
}

#!/bin/sh
# Tests the mail study on real filesystems: zfs-fuse and btrfs are created,
# filled, verified, and removed, no matter how the study ends.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
. "$SRC/tests/mailfs.sh"
PATH=$PATH:/usr/sbin:/sbin
quick() { study --quick "$@"; }
# keys FILE LABEL NAME: prints the values of a key in the cell's rows
keys() {
	grep "^[^,]*,[^,]*,[^,]*,$2," "$1" | tr ',;' '\n' |
	    sed -n "s/^$3=//p" | tr '\n' ' '
}
# valid FILE: prints the number of valid copies
valid() { grep -c 'valid=yes' "$1"; }
# left: prints our mounts, loop devices, daemons and files
left() {
	grep -c "$PWD" /proc/mounts || :
	losetup -a | grep -c "$PWD" || :
	pgrep -f "zfs-fuse -n -p $PWD" || :
	# the mount of a dead daemon, not that of a running one
	pgrep -x zfs-fuse >/dev/null || {
		grep ' /zfs-kstat ' /proc/mounts || :
		ls -d /zfs-kstat 2>/dev/null || :
	}
	find . -path './*.csv.d/fs*'
}

# filesystem KIND VARIANT STRONG WEAK: runs one round of the study on it, with a
# stronger and a weaker compression algorithm
filesystem() {
	t "$1" 0 to table quick --fs "$1" --mode both,split -n 1 -o "$1.csv" \
	    --rows "*.off.* *.$3.* *.$4.*"
	is 'every copy is correct' "$(valid "$1.csv")" 11
	t 'the stronger compressor is smaller' 0 test \
	    "$(keys "$1.csv" "$2.$3.w1" all_B)" \
	    -lt "$(keys "$1.csv" "$2.$4.w1" all_B)"
	t 'the weaker is smaller than off' 0 test \
	    "$(keys "$1.csv" "$2.$4.w1" all_B)" \
	    -lt "$(keys "$1.csv" "$2.off.w1" all_B)"
	is 'off has ratio 1' "$(keys "$1.csv" "$2.off.w1" compressratio |
	    awk '{ print $1 + 0 }')" 1
	t 'files occupy what the ratio says' 0 awk -v \
	    f="$(keys "$1.csv" "$2.$3.w1" files_B)" \
	    -v l="$(keys "$1.csv" "$2.$3.w1" logical_B)" \
	    -v r="$(keys "$1.csv" "$2.$3.w1" compressratio)" \
	    'BEGIN { d = f * r / l; exit !(d > 0.9 && d < 1.1) }'
	t 'the study is named' 0 grep -q "^The study, and $2" table
	is 'nothing is left' "$(left)" "$none"
}

# in_second NAME: whether the study NAME has a row and a filesystem image
in_second() {
	[ -e "$1.csv.d/fs/img" ] &&
	    [ -n "$(find "$1.csv.d/rows" -name '0*.csv' 2>/dev/null)" ]
}
# mounted: prints leftovers that must disappear without another run: all except
# files and the folder created by zfs-fuse
mounted() { left | grep -v -e '^\./' -e '^/zfs-kstat$'; }
unmounted() { [ "$(mounted)" = "$none_mounted" ]; }
answers() { zpool list >/dev/null 2>&1; }

# stopped KIND NAME ROUNDS COMMAND...: runs the study, stopped by the command in
# its second cell
stopped() {
	stopped_kind=$1 stopped_name=$2 stopped_rounds=$3
	shift 3
	# A background job of sh would ignore INT; a terminal's job does not.
	setsid env --default-signal=INT sh "$SRC/scripts/mailfs" --quick \
	    --fs "$stopped_kind" -n "$stopped_rounds" \
	    --rows '*.gzip-9.w1 *.zlib-9.w1' -o "$stopped_name.csv" \
	    >/dev/null 2>&1 &
	stopped=$!
	await in_second "$stopped_name"
	"$@"
	t "$stopped_kind, $stopped_name: it ends" 0 await gone "$stopped"
	kill -s KILL -- "-$stopped" 2>/dev/null
	wait "$stopped" 2>/dev/null
	is 'as it should' $? "$stopped_status"
	t 'nothing is mounted' 0 await unmounted
	[ "$stopped_status" = 137 ] ||
	    is 'nor is anything else left' "$(left)" "$none"
	t 'some cells are done' 0 test -n \
	    "$(find "$stopped_name.csv.d/rows" -name '0*.csv')"
	t 'resumed' 0 quick --fs "$stopped_kind" -n "$stopped_rounds" \
	    -o "$stopped_name.csv"
	is 'to the end' "$(find "$stopped_name.csv.d/rows" -name '0*.csv' |
	    wc -l)" $((stopped_rounds * 3))
	is 'nothing is left' "$(left)" "$none"
	rm -rf "$stopped_name".csv*
}
# by SIGNAL [ALL]: sends it to the script, or to all its processes, as a
# terminal would; checks the exit status
by() {
	kill -s "$1" -- "${2:+-}$stopped"
	case $1 in
	INT) stopped_status=130 ;;
	KILL) stopped_status=137 ;;
	TERM) stopped_status=143 ;;
	esac
}

# stale: creates a mounted pool with the name in the plan, as a crash would
# leave it
stale() {
	mkdir -p c.csv.d/fs/mnt
	echo new >c.csv.d/fs/kstat
	truncate -s 1G c.csv.d/fs/img
	pool=$(sed -n 's/^pool	//p' c.csv.d/plan)
	setsid zfs-fuse -n -p "$PWD/c.csv.d/fs/pid" >/dev/null 2>&1 &
	await answers
	zpool create -f -o cachefile=none -o ashift=9 -m none "$pool" \
	    "$PWD/c.csv.d/fs/img"
	zfs create -o mountpoint="$PWD/c.csv.d/fs/mnt" "$pool/mail"
}

# undone: removes the files and mounts of a stopped test
undone() {
	pkill -KILL -f "zfs-fuse -n -p $PWD"
	umount -q -l mounted ./*.csv.d/fs/mnt 2>/dev/null
}
trap undone EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
none=$(left) none_mounted=$(mounted)
tried=0
mkdir -p mounted
if have mkfs.btrfs && have compsize && truncate -s 256M img &&
    mkfs.btrfs -q img >/dev/null 2>&1 && mount -o loop img mounted 2>/dev/null
then
	umount mounted
	tried=1
	filesystem btrfs btrfs zlib-9 lzo
	is 'it was on btrfs' "$(keys btrfs.csv btrfs.lzo.w1 fstype)" 'btrfs '
	stopped btrfs term 2 by TERM
	stopped btrfs int 2 by INT all
	stopped btrfs kill 2 by KILL all
else
	skip 'no btrfs can be created and mounted here'
fi
rm -f img
if ! have zfs-fuse; then
	skip 'no zfs-fuse'
elif [ ! -e /dev/fuse ]; then
	skip 'no /dev/fuse'
elif zpool list >/dev/null 2>&1; then
	skip 'another zfs-fuse is running'
else
	tried=1
	filesystem zfs-fuse zfs-fuse.9 gzip-9 lzjb
	is 'the type is fuse'\''s' \
	    "$(keys zfs-fuse.csv zfs-fuse.9.lzjb.w1 fstype)" 'fuseblk '
	t 'with 4096-byte sectors' 0 quick --fs zfs-fuse --ashift 12 \
	    --writers 1 -n 1 -o wide.csv --rows '*.gzip-9.*'
	is 'the ratio is about the same' \
	    "$(keys wide.csv zfs-fuse.12.gzip-9.w1 compressratio | cut -c 1-3)" \
	    "$(keys zfs-fuse.csv zfs-fuse.9.gzip-9.w1 compressratio | cut -c 1-3)"
	t 'but many more bytes' 0 test \
	    "$(keys wide.csv zfs-fuse.12.gzip-9.w1 all_B)" -gt \
	    $(($(keys zfs-fuse.csv zfs-fuse.9.gzip-9.w1 all_B) * 13 / 10))
	stopped zfs-fuse term 1 by TERM
	stopped zfs-fuse int 1 by INT
	stopped zfs-fuse terminal 1 by INT all
	stopped zfs-fuse one 1 by KILL
	stopped zfs-fuse all 1 by KILL all

	# Another daemon must not be killed.
	zfs-fuse -n -p "$PWD/pid" >/dev/null 2>&1 &
	other=$!
	await answers
	t 'next to another zfs-fuse' 77 told quick --fs zfs-fuse -n 1 -o o.csv
	t 'says how to stop it' 0 grep -q "stop it by .* process $other" err
	t 'which is kept' 0 zpool list
	kill $other
	wait $other
	umount -l /zfs-kstat 2>/dev/null
	rmdir /zfs-kstat 2>/dev/null
	# A pool and a mount left by a crash, outside any namespace; the second
	# time, the daemon is dead.
	t 'prepare' 0 quick --fs zfs-fuse -n 1 --writers 1 --rows '*.lzjb.*' \
	    -o c.csv prepare
	for dead in no yes; do
		stale
		[ $dead = no ] || pkill -KILL -f "zfs-fuse -n -p $PWD"
		is "stale, and mounted (dead: $dead)" \
		    "$(grep -c "$PWD/c.csv.d" /proc/mounts)" 1
		t 'is cleaned up' 0 quick -o c.csv run
		is 'and measured' "$(valid c.csv)" 3
		is 'nothing is left of it' "$(left)" "$none"
		rm -r c.csv.d/rows
	done
fi
[ $tried = 1 ] || skip_all 'neither btrfs nor zfs-fuse is available'
done_testing

# shellcheck shell=sh
# mailfs-fs.sh - create and remove compressing filesystems; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# All files are in $study/fs: img is the sparse file of $image_B bytes that
# contains the filesystem, mnt its mount point, and pid the process id of
# zfs-fuse.  A variant is zfs.9, zfs.12 (the sector size, log2), zfs-fuse.9 and
# so on, or btrfs. $pool is a unique name.  mailfs-sizes.sh queries the contents.
#
# The pool of zfs-fuse is not recorded in a cache file, because the next daemon
# would otherwise show a pool that no longer exists as FAULTED, and its name
# would remain in use.

. "$here/mailfs-sizes.sh"

fs_img() { printf '%s/fs/img\n' "$study"; }
fs_mnt() { printf '%s/fs/mnt\n' "$study"; }

# module_zfs: whether the kernel has ZFS, and zpool and zfs belong to it
module_zfs() {
	[ -e /dev/zfs ] && have zpool && have zfs && ! have zfs-fuse &&
	    zpool list >/dev/null 2>&1
}

# fs_lacking KIND: prints the reason why it cannot be used here, if any
fs_lacking() {
	[ "$(id -u)" = 0 ] || {
		echo 'only root can mount'
		return 0
	}
	case $1 in
	openzfs | libzpool) openzfs_lacking "$1" ;;
	zfs) module_zfs || echo 'this kernel has no zfs module' ;;
	zfs-fuse)
		if ! have zfs-fuse; then
			echo 'zfs-fuse is not installed'
		elif [ ! -e /dev/fuse ]; then
			echo '/dev/fuse does not exist'
		elif zpool list >/dev/null 2>&1; then
			echo "another zfs-fuse is running, and there can be only one: $(fuse_stop)"
		fi
		;;
	btrfs)
		for lacking_tool in mkfs.btrfs btrfs compsize losetup; do
			have "$lacking_tool" || {
				echo "$lacking_tool is not installed"
				return 0
			}
		done
		;;
	esac
}

# fuse_stop: prints how the running daemon can be stopped
fuse_stop() {
	stop_pid=$(grep -l -s -x zfs-fuse /proc/[0-9]*/comm | head -n 1)
	stop_pid=${stop_pid#/proc/}
	stop_pid=${stop_pid%/comm}
	echo "stop it by 'systemctl stop zfs-fuse', or kill process $stop_pid"
}

# kstat_end: unmounts /zfs-kstat, which zfs-fuse mounts but does not unmount
# when it exits
kstat_end() {
	[ -e "$study/fs/kstat" ] || return 0
	! grep -q ' /zfs-kstat fuse ' /proc/self/mounts ||
	    ls /zfs-kstat >/dev/null 2>&1 || umount -l /zfs-kstat || :
	[ "$(cat "$study/fs/kstat")" != new ] ||
	    rmdir /zfs-kstat 2>/dev/null || :
	rm -f "$study/fs/kstat"
}

# fs_daemons: prints the process ids of the daemons that any run of this study
# has started.  All processes are examined by a single process, because starting
# one for each of them can take longer than the copy.
fs_daemons() {
	grep -l -s -a -F -e "$study/fs/pid" /proc/[0-9]*/cmdline |
	    while read -r daemons_file; do
		daemons_pid=${daemons_file%/cmdline}
		! fs_daemon_is "${daemons_pid#/proc/}" ||
		    printf '%s\n' "${daemons_pid#/proc/}"
	done
}
# fs_daemon_is PID: whether PID is running and is one of these daemons
fs_daemon_is() {
	case $(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline") in
	*zfs-fuse\ -n\ -p\ "$study/fs/pid ") return 0 ;;
	esac
	return 1
}

# fs_mounted: whether the filesystem is mounted, even if its daemon has died
fs_mounted() {
	mountpoint -q "$(fs_mnt)" 2>/dev/null ||
	    cut -d ' ' -f 2 /proc/self/mounts | grep -q -x -F -e \
	    "$(fs_mnt | sed 's/\\/\\134/g; s/ /\\040/g')"
}

# pool_listed: whether the pool's name is listed; the exit status is not
# sufficient, because zpool may report success while a daemon is exiting
pool_listed() {
	[ "$(zpool list -H -o name "$pool" 2>/dev/null)" = "$pool" ]
}
pool_gone() { zpool destroy -f "$pool" || ! pool_listed; }

# daemon_idle: whether the daemon responds and has no pools.  If so, it can be
# killed without losing data, which is faster than asking it to exit.
daemon_idle() {
	daemon_pools=$(zpool list -H -o name 2>&1) && [ -z "$daemon_pools" ]
}

# fs_end: removes all files and mounts, including those of a crashed run
fs_end() {
	[ -e "$study/fs" ] || return 0
	# zfs-fuse takes some time to handle an unmount
	if fs_mounted; then
		patiently umount "$(fs_mnt)" || umount -l "$(fs_mnt)" || :
	fi
	if have zpool && pool_listed; then
		patiently pool_gone ||
		    say "$pool: cannot be destroyed; see $study/log"
	fi
	for end_pid in $(fs_daemons); do
		end_signal=TERM
		! daemon_idle || end_signal=KILL
		kill -s "$end_signal" "$end_pid" || :
		end_waited=0
		while fs_daemon_is "$end_pid"; do
			[ "$end_waited" -ne 50 ] ||
			    kill -s KILL "$end_pid" || :
			[ "$end_waited" -lt 100 ] || break
			sleep 0.1
			end_waited=$((end_waited + 1))
		done
		# Some shells report a killed child unless wait is called for
		# it.
		fs_daemon_is "$end_pid" || wait "$end_pid" || :
	done 2>/dev/null
	kstat_end
	# The filesystem may still be mounted if its daemon has died.
	! fs_mounted || umount "$(fs_mnt)" || umount -l "$(fs_mnt)" || :
	if have losetup; then
		losetup -n -O NAME -j "$(fs_img)" 2>/dev/null |
		    while read -r end_loop; do
			losetup -d "$end_loop" 2>/dev/null || :
		done
	fi
	if fs_mounted; then
		say "$(fs_mnt) cannot be unmounted"
		return 1
	fi
	rm -f "$(fs_img)" "$study/fs/pid"
	[ ! -d "$(fs_mnt)" ] || rmdir "$(fs_mnt)"
	rmdir "$study/fs"
}

# fuse_start: starts the daemon, and waits until it responds
fuse_start() {
	! zpool list >/dev/null 2>&1 || {
		say "another zfs-fuse is running, and there can be only one: $(fuse_stop)"
		return 1
	}
	fuse_kstat=there
	[ -e /zfs-kstat ] || fuse_kstat=new
	echo $fuse_kstat >"$study/fs/kstat"
	zfs-fuse -n -p "$study/fs/pid" </dev/null >>"$study/log" 2>&1 8>&- &
	fuse_pid=$!
	fuse_waited=0
	until zpool list >/dev/null 2>&1; do
		fuse_waited=$((fuse_waited + 1))
		[ "$fuse_waited" -lt 3000 ] &&
		    kill -0 "$fuse_pid" 2>/dev/null || return 1
		sleep 0.1
	done
	# The daemon that responds may be another one, started in the meantime.
	kill -0 "$fuse_pid" 2>/dev/null
}

# pool_make ASHIFT COMPRESSION: creates an empty pool with one dataset, mounted
pool_make() {
	zpool create -f -o ashift="$1" -o cachefile=none -m none "$pool" \
	    "$(fs_img)" &&
	    zfs create -o compression="$2" -o mountpoint="$(fs_mnt)" \
	    "$pool/mail"
}

# btrfs_option ALGORITHM: prints the mount option for it
btrfs_option() {
	case $1 in
	off) echo compress=no ;;
	lzo) echo compress-force=lzo ;;
	*) echo "compress-force=${1%-*}:${1#*-}" ;;
	esac
}

# fs_try VARIANT ALGORITHM: attempts once to create the filesystem
fs_try() {
	mkdir -p "$(fs_mnt)" || return
	truncate -s "$image_B" "$(fs_img)" || return
	case $1 in
	zfs.*) pool_make "${1#*.}" "$2" ;;
	zfs-fuse.*) fuse_start && pool_make "${1#*.}" "$2" ;;
	btrfs)
		mkfs.btrfs -q -m single "$(fs_img)" &&
		    mount -t btrfs -o "loop,$(btrfs_option "$2")" "$(fs_img)" \
		    "$(fs_mnt)"
		;;
	esac >>"$study/log" 2>&1 || return
	fs_empty_B=$(used_B)
	fs_proven "$1"
}
used_B() { df -B1 --output=used "$(fs_mnt)" | tail -n 1 | tr -d ' '; }

# fs_proven VARIANT: checks that such a filesystem is mounted at the mount point
# and is empty.  If nothing were mounted, the data would be copied to the
# underlying disk without an error.
fs_proven() {
	case $1/$(stat -f -c %T "$(fs_mnt)") in
	zfs.*/zfs | zfs-fuse.*/fuse | zfs-fuse.*/fuseblk | btrfs/btrfs) ;;
	*)
		say "$(fs_mnt) is $(stat -f -c %T "$(fs_mnt)"), not $1"
		return 1
		;;
	esac
	[ "$(device_of "$(fs_mnt)")" != "$(device_of "$study/fs")" ] ||
	    return 1
	[ -z "$(ls -A "$(fs_mnt)")" ]
}

# fs_begin VARIANT ALGORITHM: creates an empty filesystem at fs_mnt
fs_begin() {
	fs_end || return
	fs_try "$@" && return
	say "$1 with $2: trying again"
	fs_end || return
	fs_try "$@"
}

# shellcheck shell=sh
# lazy-pull-root.sh - use a directory as the root of a container; sourced
# SPDX-License-Identifier: BSD-2-Clause

# root_mount ROOT: mounts the filesystems that programs expect; a read-only tree
# must contain proc, dev and tmp
root_mount() {
	mount -t proc proc "$1/proc"
	mount -t tmpfs -o mode=755 dev "$1/dev"
	for root_node in null zero full random urandom; do
		: >"$1/dev/$root_node"
		mount --bind "/dev/$root_node" "$1/dev/$root_node"
	done
	mount -t tmpfs -o mode=1777 tmp "$1/tmp"
}

# root_run ROOT COMMAND: runs the command with sh
root_run() {
	env -i HOME=/tmp LANG=C.UTF-8 PATH=/usr/bin:/bin:/usr/sbin:/sbin \
	    unshare --pid --ipc --uts --fork --kill-child \
	    chroot "$1" /bin/sh -c "$2"
}

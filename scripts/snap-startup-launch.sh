#!/bin/sh
# snap-startup-launch.sh - one launch, in its own namespaces
# SPDX-License-Identifier: BSD-2-Clause
#
# snap-startup-launch.sh FOLDER DESCRIPTION TREE [CONTENT] [: IMAGE...]:
# launches the program in TREE, overlaid on CONTENT, under an X server and a
# window manager, and writes winwait's row to FOLDER/launch.csv.  All other
# mounts, processes and files of this script disappear when it ends, even if it
# is killed by a signal: all processes are in a PID namespace, and their files
# are in memory.
set -eu
[ "${SNAP_INSIDE-}" = yes ] || SNAP_INSIDE=yes exec unshare --pid --fork \
    --kill-child --mount --net --mount-proc sh "$0" "$@"
. "$(dirname "$0")/lib.sh"
. "$here/xserver.sh"

folder=$1 description=$2 tree=$3
shift 3
content=
[ "${1-:}" = : ] || {
	content=$1
	shift
}
[ $# = 0 ] || shift
get() { sed -n "s/^$1=//p" "$description" | head -n 1; }

# The command is ended half a second after its window appeared and after the
# last request to these images, so that processor times are comparable.
images=
for image in "$@"; do
	images="$images --image $image"
done

world=$folder/world
mkdir -p "$world"
mount -t tmpfs -o mode=755 world "$world"
mkdir "$world/x" "$world/home"
criterion=$(get criterion)
if [ "${criterion:-window}" = window ]; then
	# The socket is private to this namespace, so no lock is needed.
	mkdir -p /tmp/.X11-unix
	mount -t tmpfs -o mode=1777 x /tmp/.X11-unix
	x_options=-nolock
	x_start "$world/x" || die "no X server: $(tail -n 1 "$world/x/x.log")"
fi

# root_make: makes the tree usable as a root directory without modifying it
root_make() {
	mkdir "$world/root"
	if [ -n "$content" ]; then
		mount -t overlay -o "lowerdir=$tree:$content" root \
		    "$world/root"
	else
		mount --bind "$tree" "$world/root"
		mount -o remount,bind,ro "$world/root"
	fi
	mount --rbind /dev "$world/root/dev"
	mount -t proc proc "$world/root/proc"
	for root_dir in tmp run root; do
		mount -t tmpfs -o mode=1777 "$root_dir" "$world/root/$root_dir"
	done
	mkdir "$world/root/tmp/.X11-unix"
	[ ! -d /tmp/.X11-unix ] ||
	    mount --bind /tmp/.X11-unix "$world/root/tmp/.X11-unix"
}

if [ "$(get host)" = yes ]; then
	export HOME="$world/home" ROOT="$tree"
	set -- sh -c "$(get command)"
else
	root_make
	set -- chroot "$world/root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
	    PATH=/usr/local/bin:/usr/bin:/bin:/usr/games:/usr/sbin:/sbin \
	    "DISPLAY=${DISPLAY-}" XDG_RUNTIME_DIR=/run LIBGL_ALWAYS_SOFTWARE=1 \
	    sh -c "$(get command)"
fi
pattern=$(get class)
if [ "$criterion" = line ]; then
	pattern=$(get match)
	set -- --criterion line ${pattern:+--match "$pattern"} -- "$@"
else
	set -- ${pattern:+--class "$pattern"} -- "$@"
fi
rm -f "$folder/launch.csv"
status=0
# shellcheck disable=SC2086
winwait -t "${SNAP_TIMEOUT:-120}" --linger 0.5 $images \
    -o "$folder/launch.csv" "$@" >>"$folder/launch.log" 2>&1 || status=$?
exit $status

# shellcheck shell=sh
# lazy-pull-containerd.sh - containerd and snapshotters, in a cell; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154
#
# They are started before a cell's run, with empty directories, and end with it.
# Their sockets are where their clients look for them, in a /run of the cell's.

# containerd_start SYSTEM: starts containerd and the system's snapshotter
containerd_start() {
	mount -t tmpfs run /run
	containerd_place=$study/clients/containerd
	mkdir -p "$containerd_place"
	LAZY_SNAPSHOTTER=overlayfs
	case $1 in
	stargz*)
		LAZY_SNAPSHOTTER=stargz
		snapshotter_stargz
		;;
	esac
	export LAZY_SNAPSHOTTER
	cat >"$containerd_place/containerd.toml" <<EOF
version = 2
root = "$containerd_place/root"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.grpc.v1.cri",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[proxy_plugins.$LAZY_SNAPSHOTTER]
  type = "snapshot"
  address = "/run/snapshotter.sock"
EOF
	[ "$LAZY_SNAPSHOTTER" != overlayfs ] ||
	    sed -i '/^.proxy_plugins/,$d' "$containerd_place/containerd.toml"
	daemon /run/containerd/containerd.sock containerd \
	    --config "$containerd_place/containerd.toml"
}

# snapshotter_stargz: without its fetching in the background, which would pull
# the whole image
snapshotter_stargz() {
	cat >"$containerd_place/stargz.toml" <<EOF
no_background_fetch = true
[[resolver.host."$cell_from".mirrors]]
  host = "$cell_from"
  insecure = true
EOF
	daemon /run/snapshotter.sock containerd-stargz-grpc \
	    --address /run/snapshotter.sock --root "$containerd_place/stargz" \
	    --config "$containerd_place/stargz.toml"
}

# daemon SOCKET COMMAND...: starts it and waits for its socket
daemon() {
	daemon_socket=$1
	shift
	"$@" >>"$study/log" 2>&1 8>&- &
	daemons="$daemons $!"
	helper_wait $! test -S "$daemon_socket"
	daemon_cpu=$(daemons_cpu)
}

# daemons_cpu: their processor seconds, with those of children that have ended
daemons_cpu() {
	for cpu_pid in $daemons; do
		sed 's/.*) //' "/proc/$cpu_pid/stat"
	done | awk -v tick="$(getconf CLK_TCK)" '{ n += $12 + $13 + $14 + $15 }
	    END { printf "%.2f", n / tick }'
}

# daemon_keys: the daemons' time and peak memory, and how many layers FUSE serves
daemon_keys() {
	[ -n "$daemons" ] || return 0
	printf ';daemon_cpu_s=%s;rss_KiB=%s' \
	    "$(since "$daemon_cpu" "$(daemons_cpu)")" \
	    "$(for keys_pid in $daemons; do
		sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$keys_pid/status"
	    done | awk '{ n += $1 } END { print n }')"
	sed 's/\(.*\)	\(.*\)/;\1=\2/' "$study/clients/1/facts" 2>/dev/null ||
	    :
}

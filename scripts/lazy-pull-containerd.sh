# shellcheck shell=sh
# lazy-pull-containerd.sh - containerd and snapshotters, in a cell; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# Each client is a node with its own daemons, which are started before the run
# with empty directories, and exit with the cell.  Their sockets are at the
# usual paths, in /run of the node's mount namespace.

daemons=''

# nodes_start SYSTEM N: starts containerd and the system's snapshotter N times;
# sets LAZY_NODES, the processes that hold the namespaces
nodes_start() {
	LAZY_NODES='' LAZY_SNAPSHOTTER=overlayfs daemons=
	case $1 in
	stargz*) LAZY_SNAPSHOTTER=stargz ;;
	soci*) LAZY_SNAPSHOTTER=soci ;;
	esac
	while [ "$(echo "$LAZY_NODES" | wc -w)" -lt "$2" ]; do
		node_start "$study/clients/node$(echo "$LAZY_NODES" | wc -w)"
	done
	daemons_before=$(daemons_cpu)
	export LAZY_NODES LAZY_SNAPSHOTTER
}

# node_start DIR: starts one node, whose files are in DIR
node_start() {
	mkdir "$1"
	unshare --mount --propagation slave \
	    sh -c 'mount -t tmpfs run /run && exec sleep infinity' 8>&- &
	node=$!
	service_wait "$study/log" grep -q -s '^run /run tmpfs' /proc/$node/mounts
	LAZY_NODES="$LAZY_NODES $node"
	[ "$LAZY_SNAPSHOTTER" = overlayfs ] ||
	    "snapshotter_$LAZY_SNAPSHOTTER" "$1"
	containerd_config "$1" >"$1/containerd.toml"
	daemon containerd/containerd.sock containerd \
	    --config "$1/containerd.toml"
}

# containerd_config DIR [RUN]: with RUN, its sockets are in this directory
containerd_config() {
	cat <<END
version = 2
root = "$1/root"
state = "${2:-/run/containerd}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
END
	[ $# -lt 2 ] || printf '[grpc]\n  address = "%s/socket"\n' "$2"
	[ "$LAZY_SNAPSHOTTER" = overlayfs ] || cat <<END
[proxy_plugins.$LAZY_SNAPSHOTTER]
  type = "snapshot"
  address = "/run/snapshotter.sock"
END
}

# snapshotter_stargz DIR: starts it without background fetching, which would
# pull the whole image
snapshotter_stargz() {
	cat >"$1/stargz.toml" <<END
no_background_fetch = true
[[resolver.host."$cell_from".mirrors]]
  host = "$cell_from"
  insecure = true
END
	daemon snapshotter.sock containerd-stargz-grpc --root "$1/stargz" \
	    --address /run/snapshotter.sock --config "$1/stargz.toml"
}

# snapshotter_soci DIR: does the same for soci-snapshotter
snapshotter_soci() {
	cat >"$1/soci.toml" <<END
[background_fetch]
  disable = true
[[resolver.host."$cell_from".mirrors]]
  host = "http://$cell_from"
  insecure = true
END
	mkdir "$1/soci"
	daemon snapshotter.sock soci-snapshotter-grpc --root "$1/soci" \
	    --address /run/snapshotter.sock --config "$1/soci.toml"
}

# daemon SOCKET COMMAND...: starts a daemon in the node, and waits for its
# socket in /run
daemon() {
	daemon_socket=/proc/$node/root/run/$1
	shift
	nsenter -t "$node" -m "$@" >>"$study/log" 2>&1 8>&- &
	daemons="$daemons $!"
	service_wait "$study/log" test -S "$daemon_socket"
}

# daemons_cpu: prints the processor seconds of the daemons, including exited
# children
daemons_cpu() {
	for cpu_pid in $daemons; do
		sed 's/.*) //' "/proc/$cpu_pid/stat"
	done | awk -v tick="$(getconf CLK_TCK)" '{ n += $12 + $13 + $14 + $15 }
	    END { printf "%.2f", n / tick }'
}

# daemon_keys CLIENTS: prints the processor time of the daemons, the peak memory
# of one client's daemons, and the number of layers mounted with FUSE
daemon_keys() {
	[ -n "$daemons" ] || return 0
	printf ';daemon_cpu_s=%s;rss_KiB=%s' \
	    "$(since "$daemons_before" "$(daemons_cpu)")" \
	    "$(for keys_pid in $daemons; do
		sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$keys_pid/status"
	    done | awk -v clients="$1" '{ n += $1 }
		END { printf "%.0f", n / clients }')"
	sed 's/\(.*\)	\(.*\)/;\1=\2/' "$study/clients/1/facts" 2>/dev/null ||
	    :
}

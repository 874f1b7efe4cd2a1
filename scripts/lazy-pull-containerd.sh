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
	nydus*) LAZY_SNAPSHOTTER=nydus ;;
	coldpress) LAZY_SNAPSHOTTER=coldpress ;;
	esac
	LAZY_SYSTEM=$1
	while [ "$(echo "$LAZY_NODES" | wc -w)" -lt "$2" ]; do
		node_start "$study/clients/node$(echo "$LAZY_NODES" | wc -w)"
	done
	daemons_before=$(daemons_cpu)
	export LAZY_NODES LAZY_SNAPSHOTTER LAZY_SYSTEM
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
	soci_config "$LAZY_SYSTEM" "$cell_from" >"$1/soci.toml"
	mkdir "$1/soci"
	daemon snapshotter.sock soci-snapshotter-grpc --root "$1/soci" \
	    --address /run/snapshotter.sock --config "$1/soci.toml"
}

# soci_config SYSTEM REGISTRY [SOCKET]: prints the configuration; soci-parallel
# pulls whole images, as SOCI's documentation proposes for large layers.  SOCKET
# is containerd's.
soci_config() {
	case $1 in
	soci-parallel) cat <<END ;;
[content_store]
  type = "containerd"
  containerd_address = "${3:-/run/containerd/containerd.sock}"
[pull_modes.soci_v2]
  enable = false
[pull_modes.parallel_pull_unpack]
  enable = true
  max_concurrent_downloads_per_image = 10
  concurrent_download_chunk_size = "8mb"
  max_concurrent_unpacks_per_image = 10
  discard_unpacked_layers = true
END
	*) cat <<'END' ;;
[background_fetch]
  disable = true
END
	esac
	cat <<END
[[resolver.host."$2".mirrors]]
  host = "http://$2"
  insecure = true
END
}

# snapshotter_nydus DIR: starts nydus-snapshotter as its example configures it,
# but does not prefetch the whole image; only nydus-prefetch prefetches anything,
# and nydus64 does not enlarge requests beyond its chunks
snapshotter_nydus() {
	nydus_prefetch=false nydus_amplify=1048576
	case $LAZY_SYSTEM in
	nydus-prefetch) nydus_prefetch=true ;;
	nydus64) nydus_amplify=65536 ;;
	esac
	cat >"$1/nydusd.json" <<END
{
  "device": {
    "backend": { "type": "registry", "config": { "scheme": "http",
      "timeout": 5, "connect_timeout": 5, "retry_limit": 2 } },
    "cache": { "type": "blobcache" }
  },
  "mode": "direct",
  "digest_validate": false,
  "iostats_files": false,
  "enable_xattr": true,
  "amplify_io": $nydus_amplify,
  "fs_prefetch": { "enable": $nydus_prefetch, "prefetch_all": false,
    "threads_count": 8, "merging_size": 1048576 }
}
END
	# by itself, nydusd exits unless it may raise its limit of open files
	cat >"$1/nydusd" <<END
#!/bin/sh
exec "$(command -v nydusd)" "\$@" --rlimit-nofile 0
END
	chmod +x "$1/nydusd"
	cat >"$1/nydus.toml" <<END
version = 1
root = "$1/nydus"
address = "/run/snapshotter.sock"
daemon_mode = "dedicated"
[system]
enable = false
[daemon]
nydusd_config = "$1/nydusd.json"
nydusd_path = "$1/nydusd"
nydusimage_path = "$(command -v nydus-image)"
fs_driver = "fusedev"
[cgroup]
enable = false
[log]
log_to_stdout = true
END
	daemon snapshotter.sock containerd-nydus-grpc --config "$1/nydus.toml"
}

# snapshotter_coldpress DIR: starts layermount as a snapshotter
snapshotter_coldpress() {
	daemon snapshotter.sock layermount --foreground --plain-http \
	    --containerd /run/snapshotter.sock "$1/coldpress"
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

# daemons_all: prints the daemons, and the processes with which they serve files
daemons_all() {
	# shellcheck disable=SC2086
	printf '%s\n' $daemons
	for all_node in $LAZY_NODES; do
		all_here=$(readlink "/proc/$all_node/ns/mnt")
		for all_comm in /proc/[0-9]*/comm; do
			case $(cat "$all_comm" 2>/dev/null) in
			layermount | nydusd)
				all_dir=${all_comm%/comm}
				[ "$(readlink "$all_dir/ns/mnt")" != "$all_here" ] ||
				    echo "${all_dir#/proc/}"
				;;
			esac
		done
	done
}

# daemons_cpu: prints the processor seconds of the daemons, including exited
# children
daemons_cpu() {
	daemons_all | sort -u | while read -r cpu_pid; do
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
	    "$(daemons_all | sort -u | while read -r keys_pid; do
		sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$keys_pid/status"
	    done | awk -v clients="$1" '{ n += $1 }
		END { printf "%.0f", n / clients }')"
	sed 's/\(.*\)	\(.*\)/;\1=\2/' "$study/clients/1/facts" 2>/dev/null ||
	    :
}

# shellcheck shell=sh
# lazy-pull-runtimes.sh - containerd and podman as pullers; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# They have the same functions as in lazy-pull-pullers.sh.  Both silently pull
# the whole image if they cannot pull it lazily, which is treated as an error
# here.

# containerd, with ctr; $LAZY_SNAPSHOTTER is the plugin's name
container_name() { echo "lazy${place##*/}"; }
pull_containerd() {
	case $LAZY_SNAPSHOTTER in
	overlayfs)
		ctr images pull --plain-http --snapshotter overlayfs \
		    "$LAZY_REFERENCE" >/dev/null
		return 0
		;;
	# These use containerd's labels.
	soci | nydus) set -- --use-containerd-labels ;;
	*) set -- ;;
	esac
	ctr-remote images rpull --plain-http --snapshotter "$LAZY_SNAPSHOTTER" \
	    "$@" "$LAZY_REFERENCE" >/dev/null
}
create_containerd() {
	# create also needs the command
	ctr containers create --snapshotter "$LAZY_SNAPSHOTTER" -- \
	    "$LAZY_REFERENCE" "$(container_name)" /bin/sh -c "$command"
	case $LAZY_SYSTEM in
	containerd | soci-parallel) return 0 ;;
	esac
	# nydus-snapshotter mounts an image only now
	containerd_fuse=$(grep -c ' fuse[. ]' /proc/mounts) || {
		echo "$LAZY_SNAPSHOTTER has mounted no layer" >&2
		return 1
	}
	echo "fuse_mounts	$containerd_fuse" >"$place/facts"
}
run_containerd() { ctr tasks start "$(container_name)"; }
remove_containerd() { ctr containers delete "$(container_name)"; }

# podman, with layers from layermount's additional layer store
podman_here() {
	CONTAINERS_STORAGE_CONF=$place/storage.conf podman --runtime runc \
	    --cgroup-manager cgroupfs --events-backend file \
	    --tmpdir "$place/tmp/podman" "$@"
}
pull_podman() {
	mkdir "$place/lower"
	cat >"$place/storage.conf" <<EOF
[storage]
driver = "overlay"
graphroot = "$place/graph"
runroot = "$place/run"
[storage.options]
additionallayerstores = ["$place/lower:ref"]
EOF
	TMPDIR=$place/tmp layermount --store --plain-http \
	    --stats="$place/stats" "$place/lower"
	podman_here pull -q --tls-verify=false "$LAZY_REFERENCE" >/dev/null
	[ -z "$(find "$place/graph/overlay" -type f -path '*/diff/*')" ] || {
		echo 'podman has not used the store' >&2
		return 1
	}
}
create_podman() {
	podman_here create --name lazy --network none \
	    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
	    "$LAZY_REFERENCE" /bin/sh -c "$command" >/dev/null
}
run_podman() { podman_here start -a lazy; }
remove_podman() {
	podman_here rm -f lazy >/dev/null
	layermount_end "$place/lower"
}

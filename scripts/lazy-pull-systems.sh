# shellcheck shell=sh
# lazy-pull-systems.sh - the systems that pull images; sourced
# SPDX-License-Identifier: BSD-2-Clause

# The real client of CVMFS must know its repository's name
cvmfs_name=lazy.pull

# systems_table: prints the name; the puller, from lazy-pull-pullers.sh or
# lazy-pull-runtimes.sh; layerpack's options for the image, where a final
# --order means a list of the data that the main workload touches, --orders such
# a list of each workload, and --key a key made for the study; or "optimize" if
# ctr-remote makes the image, "nydus" with options if nydusify does; and the
# required programs.
# containerd's snapshotter is overlayfs, unless the system's name begins with
# another snapshotter's.
systems_table() {
	sed "s/|/$(printf '\t')/g" <<'EOF'
overlayfs|whole||tar setfattr
estargz|layermount|-F estargz|
estargz64|layermount|-F estargz -c 64K|
estargz-trace|layermount|-F estargz -c 64K --orders|
zstd|layermount|-F zstd-chunked|
zstd64|layermount|-F zstd-chunked -c 64K|
zstd-trace|layermount|-F zstd-chunked -c 64K --orders|
zstd-files|files|-F zstd-chunked -c 64K --orders|nginx curl
ztoc|ztoc|-F ztoc|curl
ztoc-10M|ztoc|-F ztoc --min-layer 10M|curl setfattr
cas|cas|-F cas|nginx
cas-squid|cas|-F cas|nginx squid
cvmfs|cvmfs|-F cas --key|nginx openssl
cvmfs-squid|cvmfs|-F cas --key|nginx openssl squid
podman|podman|-F estargz -c 64K --orders|podman runc
containerd|containerd||containerd ctr runc
coldpress|containerd|-F estargz -c 64K --orders|containerd ctr runc ctr-remote
stargz|containerd|-F estargz|containerd ctr runc containerd-stargz-grpc ctr-remote
stargz-order|containerd|-F estargz --order|containerd ctr runc containerd-stargz-grpc ctr-remote
stargz-optimized|containerd|optimize|containerd ctr runc containerd-stargz-grpc ctr-remote
soci|containerd|-F ztoc|containerd ctr runc soci-snapshotter-grpc ctr-remote
soci-10M|containerd|-F ztoc --min-layer 10M|containerd ctr runc soci-snapshotter-grpc ctr-remote
soci-parallel|containerd||containerd ctr runc soci-snapshotter-grpc ctr-remote
nydus|containerd|nydus|containerd ctr runc containerd-nydus-grpc nydusd nydus-image nydusify ctr-remote
nydus64|containerd|nydus --fs-chunk-size 0x10000|containerd ctr runc containerd-nydus-grpc nydusd nydus-image nydusify ctr-remote
nydus-prefetch|containerd|nydus --prefetch-patterns|containerd ctr runc containerd-nydus-grpc nydusd nydus-image nydusify ctr-remote
EOF
}

systems_names() { systems_table | cut -f 1 | tr '\n' ' ' | sed 's/ $//'; }

# system_get SYSTEM N: prints a field of its line
system_get() {
	systems_table | awk -F '\t' -v s="$1" -v n="$2" '$1 == s { print $n }'
}

# system_lacks SYSTEM: prints the requirement missing on this machine
system_lacks() {
	for lacks_tool in $(system_get "$1" 4); do
		have "$lacks_tool" || {
			echo "there is no $lacks_tool"
			return 0
		}
	done
	[ "$1" != cas ] || layermount --help | grep -q -e --key ||
	    echo 'layermount reads no repositories'
	[ "$1" != podman ] || layermount --help | grep -q -e --store ||
	    echo 'layermount has no --store'
	[ "$1" != coldpress ] || layermount --help | grep -q -e --containerd ||
	    echo 'layermount has no --containerd'
	case $1 in
	cvmfs*)
		[ -x "${COLDPRESS_CVMFS:-}/cvmfs2" ] ||
		    echo 'COLDPRESS_CVMFS is not a directory with cvmfs2'
		;;
	esac
}

#!/bin/sh
# Every layer format under every program that reads it: whether it is read lazily,
# and whether the whole tree is right.  A reader that silently pulls all of a
# layer that it should mount fails the test.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/layer_readers.sh
. "$SRC/tests/layer_readers.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in layerpack layermount docker-registry skopeo umoci getfattr setfattr \
    setcap ip unshare; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --image || skip_all 'built without OCI'
# All traffic in this network namespace is between the registry and a reader, all
# mounts are its own, and all daemons end with the first process.
[ -n "${READERS_INSIDE:-}" ] || {
	unshare -nmpf --mount-proc true 2>/dev/null || skip_all 'no namespaces'
	READERS_INSIDE=1 exec unshare -nmpf --kill-child --propagation private \
	    --mount-proc sh "$0" "$@"
}
ip link set lo up || skip_all 'no loopback interface'
mount -t tmpfs run /run || skip_all 'no tmpfs'
umask 022
trap readers_stop EXIT

# The image
readers_image
manifest plain
t 'umoci unpacks the image' 0 umoci unpack --image layout:plain reference
seen reference/rootfs >want
shows 'with its last layer' 'changed/by-three' want
t 'and its first layer' 0 umoci unpack --image layout:first reference.first
seen reference.first/rootfs >want.first
t 'eStargz' 0 layerpack -q -F estargz --image layout:plain estargz
t 'zstd:chunked' 0 layerpack -q -F zstd-chunked --image layout:plain \
    zstd-chunked
t "zstd:chunked for the stargz project's readers" 0 layerpack -q \
    -F zstd-chunked --stargz --image layout:plain zstd-stargz
t 'ztocs' 0 layerpack -q -F ztoc --image layout:plain ztoc
registry_start
for image in estargz zstd-chunked zstd-stargz ztoc; do
	t "$image is pushed" 0 skopeo --insecure-policy copy -q --all \
	    --dest-tls-verify=false "oci:$image:plain" \
	    "docker://$host/a/image:$image"
done

if layermount --help | grep -q -e --key; then
	mkdir served
	serve_start
	t 'a repository' 0 to cas.said layerpack -q -F cas --image layout:plain \
	    served/cas.example.org
	ln -s served/cas.example.org cas.example.org
fi

readers_start
# The last: stargz-snapshotter fetches a layer whose index has no digest before
# it refuses it, and goes on with that
reader stargz 3 estargz=lazily zstd-stargz=lazily ztoc=whole zstd-chunked=whole
reader soci 3 estargz=whole zstd-chunked=whole zstd-stargz=whole ztoc=lazily
# 0.15.15 finds the table, and then asks nydusd to convert it, which cannot
reader nydus 0 estargz=whole
reader coldpress 3 estargz=lazily zstd-chunked=lazily zstd-stargz=lazily \
    ztoc=whole
reader overlayfs 0 estargz=whole zstd-chunked=whole zstd-stargz=whole ztoc=whole
reader podman 0 estargz=whole zstd-chunked=whole zstd-stargz=whole ztoc=whole
# Podman 4.3 leaves their times to files and directories
reader_but='times'
reader podman_partial 0 estargz=parts zstd-chunked=parts zstd-stargz=parts \
    ztoc=whole
reader_but=''
reader podman_store 0 estargz=lazily zstd-chunked=lazily zstd-stargz=lazily \
    ztoc=whole
reader crio 0 estargz=whole zstd-chunked=whole zstd-stargz=whole ztoc=whole
# CRI-O 1.36 leaves their times to directories and symbolic links, and makes no
# devices and FIFOs
reader_but='dirs'
reader crio_partial 0 estargz=whole zstd-chunked=parts zstd-stargz=whole \
    ztoc=whole
reader_but=''
reader crio_store 0 estargz=lazily zstd-chunked=lazily zstd-stargz=lazily \
    ztoc=whole
reader skopeo 0 estargz=copied zstd-chunked=copied zstd-stargz=copied \
    ztoc=copied
reader umoci 0 estargz=whole zstd-chunked=refused zstd-stargz=refused ztoc=whole
reader layerpack 0 estargz=whole zstd-chunked=whole zstd-stargz=whole ztoc=whole
reader layermount 1 estargz=lazily zstd-chunked=lazily zstd-stargz=lazily \
    ztoc=refused
reader_want=want.first
reader layermount_ztoc 1 ztoc=lazily
reader_want=want
# as the format has it
reader_but='links'
reader layermount_cas 1 cas.example.org=lazily
reader cvmfs2 1 cas.example.org=lazily

# Odd files, on which the readers do not agree: a name that is not UTF-8, a time
# before 1970, a symbolic link with permissions, a file with a time in a global
# extended header, and a hard link to a file of a lower layer.
t 'odd images' 0 odd_images
for format in estargz zstd-chunked ztoc; do
	t "as $format, are pushed" 0 odd_push $format
done
odd stargz estargz 'M-oM-?M-= -86400 640 77 refused'
odd soci ztoc 'M-^? -86400 640 77 refused'
odd coldpress estargz 'M-^? -86400 777 77 refused'
odd coldpress zstd-chunked 'M-^? -86400 777 77 refused'
odd overlayfs ztoc 'M-^? 0 777 1000000000 refused'
odd podman ztoc 'M-^? 0 777 1000000000 refused'
odd podman_store estargz 'M-^? -86400 777 77 refused'
odd podman_store zstd-chunked 'M-^? -86400 777 77 refused'
odd crio ztoc 'M-^? 0 777 1000000000 refused'
odd crio_partial zstd-chunked 'M-^? -86400 777 1000000000 refused'
odd crio_store estargz 'M-^? -86400 777 77 refused'
odd umoci ztoc 'M-^? -86400 777 refused 2'
odd layerpack ztoc 'M-^? -86400 777 77 2'
odd layermount estargz 'M-^? -86400 777 77 2'
done_testing

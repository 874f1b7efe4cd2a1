#!/bin/sh
# layerpack reads what ctr-remote and soci make of an image in containerd.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/layer_tree.sh
. "$SRC/tests/layer_tree.sh"
# shellcheck source=scripts/lazy-pull-containerd.sh
. "$SRC/scripts/lazy-pull-containerd.sh"
# shellcheck source=scripts/bench-layers-images.sh
. "$SRC/scripts/bench-layers-images.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in containerd ctr sha256sum; do
	have $tool || skip_all "no $tool"
done

layer_tree
layer tree gzip
cp layer.z layer.tar.gz
manifest one

die() {
	not_ok "$*"
	exit 1
}
tmp=$PWD
trap containerd_stop EXIT
containerd_start layout

# archived DIR: writes DIR's tree as an archive, without times
archived() {
	tar --format=gnu --sort=name --mtime=@0 -C "$1" -cf "$1.tar" .
}
archived tree

# manifest_blob TYPE: prints the file of the blob that a manifest describes with
# this media type; the last one, if there are several manifests
manifest_blob() {
	find "$store/blobs/sha256" -type f -size -64k \
	    -newer started -exec cat {} + | tr -d ' \n' |
	    grep -o "\"mediaType\":\"$1\",\"digest\":\"sha256:[0-9a-f]*" |
	    tail -n 1 | sed "s,.*sha256:,$store/blobs/sha256/,"
}

for format in estargz/tar+gzip zstdchunked/tar+zstd; do
	have ctr-remote || {
		skip "${format%/*}: no ctr-remote"
		continue
	}
	touch started
	t "ctr-remote makes ${format%/*}" 0 ctr-remote -a "$socket" images \
	    convert --oci "--${format%/*}" "$image" "made:${format%/*}"
	made=$(manifest_blob "application/vnd.oci.image.layer.v1.${format#*/}")
	t 'is verified' 0 layerpack --verify "$made"
	rm -rf got
	t 'is extracted' 0 layerpack -q -x got "$made"
	archived got
	same 'as the tree was' got.tar tree.tar
done

if have soci; then
	touch started
	t 'soci makes a ztoc' 0 soci -a "$socket" --root "$PWD/soci" create \
	    --min-layer-size 0 "$image"
	made=$(manifest_blob application/octet-stream)
	t 'is verified' 0 layerpack --verify --ztoc "$made" layer.tar.gz
	t 'is made by layerpack, too' 0 layerpack -q -F ztoc -o ours \
	    layer.tar.gz
	# the name of the program differs
	more=$(($(wc -c <"$made") - $(wc -c <ours)))
	is 'of about the same length' "$((more > -64 && more < 64))" 1
else
	skip 'soci is not installed'
fi
done_testing

#!/bin/sh
# What layerpack --pull unpacks from a real registry is what umoci unpacks.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/pull.sh
. "$SRC/tests/pull.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in layerpack docker-registry skopeo umoci zstd getfattr; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --pull || skip_all 'layerpack has no --pull'

umask 022
pull_image
registry=
cleanup() { [ -z "$registry" ] || kill "$registry"; }
trap cleanup EXIT
mkdir registry
registry_start
for tag in t g; do
	t "the image $tag is pushed" 0 skopeo --insecure-policy copy -q \
	    --dest-tls-verify=false --preserve-digests oci:layout:$tag \
	    "docker://$host/a/image:$tag"
done

t 'it is pulled' 0 layerpack --pull "docker://$host/a/image:t" -o out
is 'in silence' "$(cat .t.out .t.err)" ''
listing out >out.list
listing tree >tree.list
same 'it is the tree' out.list tree.list
t 'umoci unpacks it' 0 umoci unpack --image layout:g bundle
listing bundle/rootfs >bundle.list
same 'it is what umoci makes' out.list bundle.list
digest=sha256:$(sha256sum <manifest.json | cut -d ' ' -f 1) # of g
for name in "a/image@$digest" "a/image:t@$digest" "a/image:u@$digest"; do
	rm -rf out
	t "$name" 0 layerpack --pull "docker://$host/$name" -o out
	listing out >out.list
	same 'is the same' out.list tree.list
done
for n in 1 2 16; do
	rm -rf out
	t "$n connections, $n threads" 0 layerpack -p $n --connections $n \
	    --pull "docker://$host/a/image:t" -o out
	listing out >out.list
	same 'make the same' out.list tree.list
done
t 'an existing directory' 1 layerpack --pull "docker://$host/a/image:t" -o out
shows 'is refused' 'out: File exists' .t.err
t 'a missing tag' 1 layerpack --pull "docker://$host/a/image:u" -o new
shows 'is named' 'manifests/u: the server returned status 404' .t.err

for tag in t g; do
	t "$tag to a layout" 0 layerpack --pull "docker://$host/a/image:$tag" \
	    -o oci:$tag:x
	t 'skopeo copies it' 0 skopeo --insecure-policy copy -q \
	    --src-tls-verify=false --preserve-digests \
	    "docker://$host/a/image:$tag" oci:theirs.$tag:x
	(cd theirs.$tag/blobs/sha256 && sha256sum ./*) >theirs.sums
	(cd $tag/blobs/sha256 && sha256sum ./*) >our.sums
	same 'blob by blob' our.sums theirs.sums
done
t 'umoci reads it' 0 umoci unpack --image g:x again
listing again/rootfs >again.list
same 'and makes the tree' again.list tree.list

# Another program's mirror, an index of platforms, Docker's media types
cat >registries.conf <<END
[[registry]]
prefix = "images.example.test/a"
location = "127.0.0.1:1/nothing"
[[registry.mirror]]
location = "$host/a"
END
t 'a mirror' 0 layerpack --registries-conf registries.conf --timeout 2 \
    --pull docker://images.example.test/a/image:t -o mirrored
listing mirrored >out.list
same 'has the same' out.list tree.list
t 'with types of Docker' 0 skopeo --insecure-policy copy -q -f v2s2 \
    --dest-tls-verify=false oci:layout:g "docker://$host/a/docker:t"
t 'it is pulled, too' 0 layerpack --pull "docker://$host/a/docker:t" -o docker
listing docker >out.list
same 'and is the same' out.list tree.list
t "a name without a tag" 1 layerpack --pull "docker://$host/a/docker" -o oci:none
shows "is that of latest" 'manifests/latest' .t.err

for left in .coldpress-*; do
	[ ! -e "$left" ] || not_ok "$left was left behind"
done
done_testing

#!/bin/sh
# podman runs images from an additional store, without pulling their layers.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in layerpack docker-registry skopeo podman runc base64; do
	have $tool || skip_all "no $tool"
done

# An image of two layers, the second with whiteouts
# program NAME: copies a program and its libraries to the first layer
program() {
	program_path=$(command -v "$1")
	for f in "$program_path" $(ldd "$program_path" | grep -o '/[^ ]*'); do
		mkdir -p "1$(dirname "$f")"
		cp -L "$f" "1$f"
	done
}
mkdir -p 1/data 1/dir 1/etc 2/data 2/dir 2/open mnt store
for p in sh cat ls id; do program $p; done
head -c 20000000 /dev/urandom >1/data/large
echo 'root:x:0:0::/:/bin/sh' >1/etc/passwd
for f in 1/data/gone 1/dir/old; do echo old >$f; done
: >2/data/.wh.gone
: >2/dir/.wh..wh..opq
: >2/open/.wh..wh..opq
echo new >2/dir/new
echo hello >2/hello
chmod 700 2/dir
layer 1 gzip
layer 2 gzip
manifest plain
t 'layers that can be read lazily' 0 layerpack -F estargz \
    --image layout:plain lazy
t 'and compressed by zstd' 0 layerpack -F zstd-chunked --image layout:plain \
    lazy-zstd

registry=
pods() {
	CONTAINERS_STORAGE_CONF=$PWD/storage.conf podman --runtime runc \
	    --cgroup-manager cgroupfs --events-backend file \
	    --tmpdir "$PWD/tmp" "$@"
}
cleanup() {
	pods system reset --force >/dev/null 2>&1
	umount -l store 2>/dev/null
	[ -z "$registry" ] || kill "$registry"
}
trap cleanup EXIT
registry_start
push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$1" \
	    "docker://$host/a/$2"
}
t 'the images are pushed' 0 push lazy:plain lazy:1
t 'another' 0 push lazy-zstd:plain lazy-zstd:1
t 'and one that is not lazy' 0 push layout:plain plain:1

cat >storage.conf <<END
[storage]
driver = "overlay"
graphroot = "$PWD/graph"
runroot = "$PWD/run"
[storage.options]
additionallayerstores = ["$PWD/store:ref"]
END
# run IMAGE COMMAND...: runs the command in a new container, as $user
user=0
run() {
	run_image=$host/a/$1
	shift
	pods run --rm --tls-verify=false --network none --user "$user" \
	    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
	    "$run_image" "$@"
}
mounted() { grep -q " $PWD/store fuse.layermount " /proc/mounts; }
unmounted() { ! mounted; }
stop() {
	umount store
	await unmounted
}
# written AGENT: prints the number of blob bytes that the registry sent to it
written() {
	grep 'uri="/v2/[^"]*/blobs/' registry.out |
	    grep "useragent=\"\{0,1\}$1" |
	    sed -n 's/.*http.response.written=\([0-9]*\).*/\1/p' |
	    awk '{ sum += $1 } END { print sum + 0 }'
}
large=$(wc -c <1/data/large)
sum=$(sha256sum <1/data/large)

# Without a store, podman pulls all layers
run plain:1 cat /hello >out 2>err || {
	cat err
	skip_all 'podman cannot run a container here'
}
t 'otherwise, all of an image is pulled' 0 test "$(written containers/)" -gt \
    "$large"
t 'and removed' 0 pods rmi "$host/a/plain:1"
pulled=$(written containers/)

t 'a store' 0 layermount --store --stats=stats --cache cache \
    --prefetch none "$PWD/store"
is 'a container starts' "$(run lazy:1 cat /hello)" hello
t 'without pulling its layers' 0 test $(($(written containers/) - pulled)) \
    -lt 10000
t 'some of them are fetched' 0 test "$(written coldpress/)" -gt 10000
t 'not all' 0 test "$(written coldpress/)" -lt $((large / 4))
t 'names are removed by the second layer' 0 run lazy:1 ls /data /dir
is 'as whiteouts say' "$(cat .t.out)" '/data:
large

/dir:
new'
user=1000
t 'another user' 0 run lazy:1 cat /hello
t 'reads only what it may' 1 run lazy:1 cat /dir/new
user=0
t 'a container writes to its own layer' 0 run lazy:1 sh -c \
    'echo changed >>/hello && cat /hello'
is 'not to the image' "$(run lazy:1 cat /hello)" hello
is 'a large file is right' "$(run lazy:1 cat /data/large | sha256sum)" "$sum"

# The store's own files
key=$(printf %s "$host/a/lazy:1" | base64 -w 0)
first=$(skopeo inspect --tls-verify=false "docker://$host/a/lazy:1" |
    grep -o 'sha256:[0-9a-f]*' | sed -n 2p)
at=store/$key/$first
is 'a blob is the layer' "sha256:$(sha256sum <"$at/blob" | cut -d' ' -f1)" \
    "$first"
t 'its description' 0 cat "$at/info"
shows 'has the digest of the archive' "$(gzip -dc "$at/blob" | sha256sum |
    sed 's/\([0-9a-f]*\).*/"diff-digest":"sha256:\1"/')"
t 'a second diff' 2 ls "$at/diff1"
t 'a use is counted' 1 touch "$at/use"
t 'and its end' 1 rmdir "$at"
t 'nothing can be written' 1 touch "$at/diff/x"
t 'nor to the files' 1 dd if=/dev/null of="$at/info"
t 'the layer is still there' 0 ls "$at/diff/data/large"
for name in a/lazy a/lazy:1; do
	by_digest=$host/$name@$(skopeo inspect --tls-verify=false \
	    --format '{{.Digest}}' "docker://$host/a/lazy:1")
	t "$name by its digest" 0 cmp \
	    "store/$(printf %s "$by_digest" | base64 -w 0)/$first/info" \
	    "$at/info"
done
t 'an invalid name' 2 ls store/x
t 'a missing image' 2 ls "store/$(printf %s "$host/a/b:1" |
    base64 -w 0)/$first/diff"

# An opaque directory is marked for every overlayfs, but only root's mark is
# listed: no copy takes the other one along.
second=$(skopeo inspect --tls-verify=false "docker://$host/a/lazy:1" |
    grep -o 'sha256:[0-9a-f]*' | sed -n 3p)
open=store/$key/$second/diff/open
ls "store/$key/$second/diff" >/dev/null
if have getfattr; then
	is 'only "trusted" is listed' "$(getfattr -d -m - "$open" |
	    grep '=')" 'trusted.overlay.opaque="y"'
	is '"user" can be read' "$(getfattr --only-values \
	    -n user.overlay.opaque "$open")" y
	mkdir -p copied
	cp -a "$open" copied
	t 'but is not copied' 1 getfattr -n user.overlay.opaque copied/open
else
	skip 'no getfattr'
fi
# merged OPTION: prints what an overlayfs with the layer above shows in the
# directory
mkdir -p lower/open merged
# overlayfs separates its layers by colons
layers=$(printf %s "$PWD/store/$key/$second/diff" | sed 's/:/\\:/g'):$PWD/lower
: >lower/open/hidden
merged() {
	mount -t overlay none -o "${1:+$1,}lowerdir=$layers" \
	    merged && ls -A merged/open && umount merged
}
hides() { is "$1" "$(grep hidden .t.out)" ''; }
t 'an overlayfs of root' 0 merged ''
hides 'hides what is below'
t 'an overlayfs with userxattr' 0 merged userxattr
hides 'hides it'
merged_inside() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare -Urm sh -c '
	    mount -t overlay none -o "userxattr,lowerdir=$1" merged &&
	    ls -A merged/open' sh "$layers"
}
if unshare -Urm true 2>/dev/null; then
	t 'an overlayfs in a user namespace' 0 merged_inside
	hides 'hides it'
else
	skip 'no user namespaces'
fi

t 'a zstd:chunked image' 0 run lazy-zstd:1 cat /hello
t 'an image that is not lazy' 0 run plain:1 cat /hello
t 'is saved' 0 pods save -q -o saved.tar "$host/a/lazy:1"
t 'has the layers' 0 tar -tf saved.tar

# Other users may use a store, but not choose its hosts.
stop
mkdir served
serve_start
# requests: prints the number of requests so far
requests() {
	mode good 1
	tail -n 1 server.out
}
# look HOST: looks for a layer of an image as another user
look() {
	setpriv --reuid 65534 --clear-groups ls \
	    "store/$(printf %s "$1/a/lazy:1" | base64 -w 0)/$first/diff/data"
}
chmod 711 .
t 'a store for all users' 0 layermount --store --allow-other \
    --registry "$host" --registry registry.invalid "$PWD/store"
t 'has the images of this registry' 0 look "$host"
shows 'for them' large
other=${site#http://} before=$(requests)
t 'an image elsewhere' 2 look "$other"
shows 'does not exist' 'No such file' .t.err
t 'nor in a similar place' 2 look "localhost:${other##*:}"
is 'and nobody is asked' "$(requests)" "$before"
stop
t 'a store with another list' 0 layermount --store --registry "$other" \
    "$PWD/store"
t 'asks only there' 2 ls "store/$key/$first"
ls "store/$(printf %s "$other/a/lazy:1" | base64 -w 0)/$first" 2>/dev/null
t 'and there it does' 0 test "$(requests)" -gt "$before"

# A restarted store serves the same layers
stop
t 'the store again' 0 layermount --store --cache cache "$PWD/store"
is 'runs what was pulled' "$(run lazy:1 cat /dir/new)" new
t 'an image is removed' 0 pods rmi "$host/a/lazy:1"
t 'and comes back' 0 run lazy:1 cat /hello
stop
done_testing

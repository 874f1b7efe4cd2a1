#!/bin/sh
# podman pulls our zstd:chunked layers from a registry, and only the missing
# data of a second image.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in podman docker-registry skopeo unshare ip sha256sum; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --image || skip_all 'built without OCI'
# In a network namespace, all traffic is between the registry and podman.
if [ -z "${INSIDE-}" ]; then
	unshare -nm true 2>/dev/null || skip_all 'no namespaces'
	INSIDE=1 exec unshare -nm --propagation slave sh "$0"
fi
ip link set lo up || skip_all 'no loopback interface'

# Two images that share most of their data
mkdir one
for i in $(seq 40); do
	head -c 200000 /dev/urandom >one/shared"$i"
done
head -c 300000 /dev/urandom >one/old
mkdir one/dir
ln one/shared1 one/dir/hard
ln -s ../shared2 one/dir/soft
cp -a one two
rm two/old
head -c 500000 /dev/urandom >two/new
seq 1000 >two/dir/text
for image in one two; do
	layers='' diffs=''
	layer $image gzip
	manifest $image
done
t 'both are converted' 0 \
    layerpack -q --image -F zstd-chunked layout chunked
rm -rf layout

cat >registry.yml <<END
version: 0.1
storage: { filesystem: { rootdirectory: $PWD/registry } }
http: { addr: "127.0.0.1:5000" }
END
docker-registry serve registry.yml >registry.log 2>&1 &
registry=$!
mkdir -p store run
cat >storage.conf <<END
[storage]
driver = "overlay"
graphroot = "$PWD/store"
runroot = "$PWD/run"
[storage.options]
pull_options = { enable_partial_images = "true" }
END
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >policy.json
CONTAINERS_STORAGE_CONF=$PWD/storage.conf
export CONTAINERS_STORAGE_CONF
cleanup() {
	podman image unmount -a >/dev/null 2>&1
	umount store/overlay 2>/dev/null
	kill $registry 2>/dev/null
}
trap cleanup EXIT
# whether port 5000 is open
listens() { grep -q ':1388 .* 0A ' /proc/net/tcp /proc/net/tcp6; }
await listens || skip_all 'the registry does not start'
for image in one two; do
	t "$image is pushed" 0 skopeo --insecure-policy copy \
	    --dest-tls-verify=false "oci:chunked:$image" \
	    "docker://127.0.0.1:5000/t:$image"
done

wire() { sed -n 's/^ *lo: *\([0-9]*\) .*/\1/p' /proc/net/dev; }
# pull IMAGE: pulls it, and prints the number of bytes transferred
pull() {
	before=$(wire)
	podman --log-level debug pull -q --tls-verify=false \
	    --signature-policy policy.json "127.0.0.1:5000/t:$1" || return 1
	echo $(($(wire) - before)) >"$1.bytes"
}
# tree DIR
tree() {
	(cd "$1" && find . -mindepth 1 -printf '%y %m %U %G %n %P %l\n' |
	    sed 's/^d \(.*\) [0-9]* \(.*\)/d \1 \2/' | sort
	find . -type f -exec sha256sum {} + | sort)
}
for image in one two; do
	t "$image is pulled" 0 pull $image
	cp .t.err $image.log
	mount=$(podman image mount "127.0.0.1:5000/t:$image" 2>err)
	if [ -n "$mount" ]; then
		tree "$mount" >got
		tree $image >want
		same "$image has the files of its archive" got want
	else
		skip "$image is not mounted: $(head -n 1 err)"
	fi
done
# The first image is 8,300,000 bytes; the second adds 500,000 of its own.
for image in one two; do
	shows "$image: a part of the layer" 'Retrieved partial blob' $image.log
done
one_bytes=$(cat one.bytes) two_bytes=$(cat two.bytes)
echo "# bytes on the wire: $one_bytes and $two_bytes"
t 'all of the first' 0 test "$one_bytes" -gt 8300000
t 'the new part of the second' 0 test "$two_bytes" -gt 500000
t 'and little else' 0 test "$two_bytes" -lt 700000
done_testing

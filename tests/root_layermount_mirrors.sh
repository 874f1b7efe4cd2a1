#!/bin/sh
# A confined layermount uses mirrors that are configured while it runs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/certs.sh
. "$SRC/tests/certs.sh"

certs_for_mounts
mkdir -p home store hosts conf temp
# layermount may read what is in TMPDIR
export HOME="$PWD/home" TMPDIR="$PWD/temp"
unset REGISTRY_AUTH_FILE CONTAINERS_REGISTRIES_CONF

# annotation NAME: prints the annotation as layerpack printed it
annotation() { sed -n "s|^annotation \\($1\\)=\\(.*\\)|\"\\1\":\"\\2\"|p" made; }
# image TAG: has the servers offer i:TAG, with one layer, and sets $digest
image() {
	mkdir "tree.$1"
	for image_file in file more; do
		head -c 300000 /dev/urandom >"tree.$1/$image_file"
	done
	tar --numeric-owner -cf layer.tar -C "tree.$1" .
	rm -f layer.z
	layerpack -F estargz -c 64K -o layer.z layer.tar >made
	diffs="\"sha256:$(sha256sum <layer.tar | cut -d ' ' -f 1)\""
	digest=sha256:$(sha256sum <layer.z | cut -d ' ' -f 1)
	layers="{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",\
$(blob layer.z),\"annotations\":{$(annotation \
	    containerd.io/snapshot/stargz/toc.digest)}}"
	refs=''
	manifest "$1"
	for image_blob in layout/blobs/sha256/*; do
		cp "$image_blob" \
		    "served/v2/i/blobs/sha256:${image_blob##*/}"
	done
	cp manifest.json "served/v2/i/manifests/$1"
}
for tag in 1 2 3 4; do
	image $tag
	eval "digest_$tag=\$digest"
done

# at HOST TAG: prints the layer of the image in the store
at() {
	eval "at_digest=\$digest_$2"
	printf 'store/%s/%s/diff' "$(printf %s "$1/i:$2" | base64 -w 0)" \
	    "$at_digest"
}
# has HOST TAG: the image is there
has() { cmp "tree.$2/file" "$(at "$1" "$2")/file"; }
# host NAME: has images of that host fetched as standard input says
host() {
	mkdir -p "hosts/$1"
	cat >hosts.new
	cp ca.pem client.pem "hosts/$1"
	mv hosts.new "hosts/$1/hosts.toml"
}
# asked SERVER TAG: it was asked for that manifest
asked() { grep -q "^$1 GET /v2/i/manifests/$2 " tls.log; }

unmounted() { ! grep -q " $PWD/store fuse.layermount " /proc/mounts; }
trap 'umount -l store 2>/dev/null || :' EXIT
host reg.test <<END
server = 'https://127.0.0.1:$port_client'
ca = 'ca.pem'
client = 'client.pem'
END
echo >conf/registries.conf
t 'a store' 0 layermount --store --timeout 4 --prefetch none --idle 1 \
    --hosts-dir hosts --registries-conf conf/registries.conf \
    --log "$PWD/log" "$PWD/store"
t 'an image' 0 has reg.test 1
exec 5<"$(at reg.test 1)/file"

# A mirror, which has no use for a certificate
host reg.test <<END
server = 'https://127.0.0.1:1'
[host.'https://127.0.0.1:$port_plain']
ca = 'ca.pem'
header.x-pass = 'mirror'
END
t 'another image' 0 has reg.test 2
t 'comes from the mirror' 0 asked plain 2
t 'not from where images were' 1 asked client 2
t 'with its fields' 0 grep -q '^plain .*/2 .* pass=mirror ' tls.log
: >tls.log
t 'what is open' 0 cmp tree.1/more "$(at reg.test 1)/more"
t 'is still read as before' 0 grep -q '^client GET .*/blobs/.* cert=yes' tls.log
t 'and from there only' 1 grep -q ^plain tls.log
exec 5<&-

# Files that are damaged
sed 2q "hosts/reg.test/hosts.toml" >hosts.new
echo '[host' >>hosts.new
mv hosts.new hosts/reg.test/hosts.toml
t 'with a damaged file' 0 has reg.test 3
t 'nothing changes' 0 asked plain 3
t 'another host, the same' 2 has new.test 4
reports() { grep -c 'mirrors: what was read before is used: hosts/reg' log; }
is 'it is said once' "$(reports)" 1
host reg.test <<END
server = 'https://127.0.0.1:$port_client'
ca = 'ca.pem'
client = 'client.pem'
END

# A host of which nothing was known, and Podman's file
host new.test <<END
server = 'https://127.0.0.1:$port_client'
ca = 'ca.pem'
client = 'client.pem'
END
t 'a new host' 0 has new.test 4
t 'is asked as it says' 0 asked client 4
mkdir conf/registries.conf.d
printf '[[registry]]\nprefix = "new.test"\nblocked = true\n' >conf/new
mv conf/new conf/registries.conf.d/1.conf
rm -r hosts/new.test
t 'a new file of Podman'\''s' 2 has new.test 3
t 'is used' 0 grep -q 'the registry new.test is blocked' log

# A layer that is not used any more is looked for where it is now
: >tls.log
host reg.test <<END
server = 'https://127.0.0.1:$port_plain'
ca = 'ca.pem'
END
sleep 3
echo 2 >/proc/sys/vm/drop_caches
sleep 3
t 'an image of before' 0 has reg.test 1
t 'is asked for where it is now' 0 asked plain 1
umount store
await unmounted
done_testing

#!/bin/sh
# An image in a real registry, and layers on a real web server, are mounted.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in layerpack docker-registry skopeo nginx; do
	have $tool || skip_all "no $tool"
done

mkdir -p tree/dir registry mnt www
seq 300000 >tree/dir/text
head -c 500000 /dev/urandom >tree/random
tar --numeric-owner -cf layer.tar -C tree .
layerpack -F estargz -c 64K -o www/blob layer.tar >made
digest() { printf 'sha256:%s' "$(sha256sum <"$1" | cut -d ' ' -f 1)"; }
# annotation NAME: prints the annotation as layerpack printed it
annotation() { sed -n "s|^annotation \\($1\\)=\\(.*\\)|\"\\1\":\"\\2\"|p" made; }

# An image layout with that layer
mkdir -p layout/blobs/sha256
put() { cp "$1" "layout/blobs/sha256/$(sha256sum <"$1" | cut -d ' ' -f 1)"; }
printf '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers",%s' \
    "\"diff_ids\":[\"$(digest layer.tar)\"]}}" >config
type=application/vnd.oci.image
printf '{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"%s",' \
    $type.manifest.v1+json $type.config.v1+json >manifest
printf '"digest":"%s","size":%d},"layers":[{"mediaType":"%s",' \
    "$(digest config)" "$(wc -c <config)" $type.layer.v1.tar+gzip >>manifest
printf '"digest":"%s","size":%d,"annotations":{%s}}]}' "$(digest www/blob)" \
    "$(wc -c <www/blob)" \
    "$(annotation containerd.io/snapshot/stargz/toc.digest)" >>manifest
printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s","digest":"%s",' \
    $type.manifest.v1+json "$(digest manifest)" >layout/index.json
printf '"size":%d,"platform":{"architecture":"amd64","os":"linux"},%s}]}' \
    "$(wc -c <manifest)" \
    '"annotations":{"org.opencontainers.image.ref.name":"t"}' \
    >>layout/index.json
echo '{"imageLayoutVersion":"1.0.0"}' >layout/oci-layout
put config
put manifest
put www/blob

registry=
cleanup() {
	umount -l mnt 2>/dev/null
	[ -z "$registry" ] || kill "$registry"
	[ ! -s nginx.pid ] || kill "$(cat nginx.pid)"
}
trap cleanup EXIT
registry_start

unmounted() { ! grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
stop() {
	umount mnt
	await unmounted
}
same_tree() { diff -r tree mnt; }

t 'a layout' 0 layermount layout:t mnt
t 'has the files' 0 same_tree
stop
t 'the image is pushed' 0 skopeo --insecure-policy copy -q \
    --dest-tls-verify=false oci:layout:t "docker://$host/a/image:t"
t 'it is mounted' 0 layermount --stats=stats --prefetch none \
    "docker://$host/a/image:t" mnt
is 'a file' "$(tail -n 1 mnt/dir/text)" 300000
stop
await test -s stats
t 'only part of it was fetched' 0 test \
    "$(sed 's/.*"wire_B":\([0-9]*\).*/\1/' stats)" -lt \
    "$(wc -c <www/blob)"
t 'again' 0 layermount "docker://$host/a/image:t" mnt
t 'all files' 0 same_tree
stop
for name in a/image a/image:t a/image:u; do
	t "$name and a digest" 0 layermount \
	    "docker://$host/$name@$(digest manifest)" mnt
	t 'all files, too' 0 same_tree
	stop
done
t 'by its digest with a cache' 0 layermount --cache cache \
    "docker://$host/a/image@$(digest manifest)" mnt
stop
for text in cache/*.text; do
	rm "$text"
	mkfifo "$text"
done
t 'with a FIFO in the cache' 0 timeout 60 layermount --cache cache \
    "docker://$host/a/image@$(digest manifest)" mnt
t 'all files are there' 0 same_tree
stop
t 'a registry without TLS' 1 timeout 30 layermount "https://$host/v2/" mnt
shows 'is not asked again' 'wrong version number$' .t.err
t 'a missing tag' 1 layermount "docker://$host/a/image:u" mnt
shows 'is named' 'manifests/u: the server returned status 404' .t.err
# mirrors: a name of which only the mirror knows
cat >registries.conf <<END
[[registry]]
prefix = "images.example.test/a"
location = "127.0.0.1:1/nothing"
[[registry.mirror]]
location = "127.0.0.1:1"
[[registry.mirror]]
location = "$host/a"
[[registry]]
location = "blocked.example.test"
blocked = true
END
t 'a mirror' 0 layermount --registries-conf registries.conf --timeout 2 \
    docker://images.example.test/a/image:t mnt
t 'has all files' 0 same_tree
stop
t 'what is blocked' 1 layermount --registries-conf registries.conf \
    docker://blocked.example.test/a/image:t mnt
shows 'is refused' 'the registry blocked.example.test is blocked' .t.err
t 'a configuration that is none' 1 layermount --registries-conf manifest \
    "docker://$host/a/image:t" mnt
shows 'is refused' 'manifest: line 1: expected' .t.err
mkdir -p certs.d/images.example.test
cat >certs.d/images.example.test/hosts.toml <<END
server = "http://127.0.0.1:1"
[host."http://$host"]
  capabilities = ["pull", "resolve"]
END
t 'a mirror of containerd'\''s' 0 layermount --hosts-dir certs.d --timeout 2 \
    docker://images.example.test/a/image:t mnt
t 'all files of it' 0 same_tree
stop
t 'by digest' 0 layermount --hosts-dir certs.d --timeout 2 \
    "docker://images.example.test/a/image@$(digest manifest)" mnt
stop
t 'the registry is probed' 0 layermount --probe "docker://$host/a/image:t"
shows 'it answers several ranges' "$(printf 'ranges\tyes')"

# nginx cannot choose a port itself
port=$((20000 + $$ % 20000))
cat >nginx.conf <<END
pid $PWD/nginx.pid;
error_log $PWD/nginx.log;
events {}
http {
	access_log off;
	client_body_temp_path $PWD; proxy_temp_path $PWD;
	fastcgi_temp_path $PWD; uwsgi_temp_path $PWD; scgi_temp_path $PWD;
	server { listen 127.0.0.1:$port; root $PWD/www; }
}
user root;
END
if nginx -c "$PWD/nginx.conf" 2>/dev/null; then
	t 'nginx' 0 layermount --prefetch none "http://127.0.0.1:$port/blob" \
	    mnt
	t 'has the files, too' 0 same_tree
	stop
else
	skip "nginx could not listen on port $port"
fi
done_testing

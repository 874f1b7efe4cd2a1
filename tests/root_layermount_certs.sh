#!/bin/sh
# A confined layermount shows certificates, and has helpers run whenever
# credentials are needed.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/certs.sh
. "$SRC/tests/certs.sh"

certs_for_mounts
unset REGISTRY_AUTH_FILE

mkdir -p mnt layer/many helpers temp
# layermount may read what is in TMPDIR
export TMPDIR="$PWD/temp"
for i in 1 2 3 4; do head -c 300000 /dev/urandom >layer/many/$i; done
tar --numeric-owner -cf layer.tar -C layer .
layerpack -F estargz -c 64K -o served/blob layer.tar >made 2>&1
for port in "$port_client" "$port_basic"; do
	mkdir -p "hosts/127.0.0.1:$port"
	cp ca.pem "hosts/127.0.0.1:$port/ca.crt"
	cp client.pem "hosts/127.0.0.1:$port/client.cert"
done

unmounted() { ! grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
servers() { pgrep -f "^layermount .* $PWD/mnt\$" || :; }
no_servers() { [ -z "$(servers)" ]; }
stop() {
	umount mnt
	await unmounted
	await no_servers
}
trap 'umount -l mnt 2>/dev/null || :' EXIT
start() {
	layermount --timeout 4 --prefetch none --hosts-dir hosts "$@" \
	    "$PWD/mnt"
}

t 'a certificate' 0 start "https://127.0.0.1:$port_client/blob"
t 'is shown' 0 diff -r layer mnt
stop

# certificates are renewed as certbot does: a link gets another target
mkdir archive
cp client.pem archive/1.pem
(mkdir -p other && cd other && certs_make) || exit
cp other/client.pem archive/2.pem
cp client.pem archive/3.pem
leads_to() {
	ln -s "$PWD/archive/$1.pem" link
	mv link "hosts/127.0.0.1:$port_client/client.cert"
}
leads_to 1
t 'a link to a certificate' 0 start "https://127.0.0.1:$port_client/blob"
t 'is followed' 0 cmp layer/many/1 mnt/many/1
leads_to 2
t 'if it then leads to one of a stranger' 2 cmp layer/many/2 mnt/many/2
shows 'reads fail' 'Input/output error' .t.err
leads_to 3
t 'until it leads to a good one' 0 cmp layer/many/2 mnt/many/2
stop
mv "hosts/127.0.0.1:$port_client" hosts/other
t 'without it' 1 start "https://127.0.0.1:$port_client/blob"
await no_servers

PATH=$PWD/helpers:$PATH
cat >helpers/docker-credential-made <<END
#!/bin/sh
cat >>'$PWD/calls'
echo >>'$PWD/calls'
[ ! -e '$PWD/locked' ] || {
	echo 'the keyring is locked' >&2
	exit 1
}
printf '{"Username":"user","Secret":"%s"}' "\$(cat '$PWD/password')"
END
chmod 755 helpers/docker-credential-made
echo one >password
: >calls
echo "{\"credHelpers\":{\"127.0.0.1:$port_basic\":\"made\"}}" >auth.json
t 'a helper' 0 start --authfile auth.json --log "$PWD/log" \
    "https://127.0.0.1:$port_basic/blob"
t 'has a password' 0 cmp layer/many/1 mnt/many/1
is 'it is asked once' "$(wc -l <calls)" 1
t 'a process waits' 0 pgrep -f "^helpers .* $PWD/mnt\$"
# answers are kept for ten seconds
sleep 11
echo two >password
t 'when it has changed' 0 cmp layer/many/2 mnt/many/2
is 'it is asked again' "$(wc -l <calls)" 2
sleep 11
: >locked
echo three >password
t 'if it has none' 2 cmp layer/many/3 mnt/many/3
shows 'reads fail' 'Input/output error' .t.err
shows 'and the log says why' 'docker-credential-made ended with status 1: the k' \
    log
sleep 11
rm locked
t 'they go on afterwards' 0 cmp layer/many/3 mnt/many/3
stop
t 'no process is left' 1 pgrep -f "^helpers .* $PWD/mnt\$"
t 'the log has no password' 1 grep -q -e two -e three log
done_testing

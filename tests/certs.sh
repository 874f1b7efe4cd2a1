# shellcheck shell=sh
# certs.sh - registries that speak TLS; sourced by tests of certificates and of
# credentials
# SPDX-License-Identifier: BSD-2-Clause
#
# The tests use the variables that are set here, and oci.sh's.

# certs_make: makes ca.pem, whose certificates server.pem and client.pem are; with
# their keys, which client.crt and client.key are parts of
certs_make() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem \
	    -days 2 -subj /CN=ca 2>openssl.err || return 1
	for certs_name in server client; do
		openssl req -newkey rsa:2048 -nodes -keyout $certs_name.key \
		    -out csr -subj "/CN=$certs_name" 2>>openssl.err &&
		    echo subjectAltName=IP:127.0.0.1,DNS:reg.localhost >ext &&
		    openssl x509 -req -in csr -CA ca.pem -CAkey ca.key \
		    -CAcreateserial -days 2 -extfile ext \
		    -out $certs_name.crt 2>>openssl.err || return 1
		cat $certs_name.crt $certs_name.key >$certs_name.pem
	done
}

certs_ready() { [ "$(wc -l <ports)" = 5 ]; }

# certs_serve: has the servers offer an image i:t with ./tree; $port_NAME is the
# port of each
certs_serve() {
	mkdir -p tree served/v2/i/blobs served/v2/i/manifests
	seq 1000 >tree/file
	layers='' diffs='' refs=''
	layer tree gzip
	manifest t
	for certs_blob in layout/blobs/sha256/*; do
		cp "$certs_blob" "served/v2/i/blobs/sha256:${certs_blob##*/}"
	done
	cp manifest.json served/v2/i/manifests/t
	: >tls.log
	: >ports
	mkfifo certs.end
	python3 "$SRC/tests/registry_tls.py" served server.pem ca.pem \
	    <certs.end >ports 2>servers.err &
	# the servers end when this is closed
	exec 4>certs.end
	await certs_ready || return 1
	while read -r certs_name certs_port; do
		eval "port_$certs_name=$certs_port"
	done <ports
}

# certs_for_mounts: makes certificates and serves with them; skips a test that
# cannot mount from there
certs_for_mounts() {
	[ "$(id -u)" = 0 ] || skip_all 'not root'
	[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
	for certs_tool in layerpack openssl python3; do
		have $certs_tool || skip_all "no $certs_tool"
	done
	python3 -c 'import ssl' 2>/dev/null || skip_all 'Python has no ssl'
	certs_make || skip_all 'openssl makes no certificates'
	certs_serve || skip_all 'no server'
	unset https_proxy HTTPS_PROXY all_proxy ALL_PROXY
}

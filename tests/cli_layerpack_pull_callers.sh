#!/bin/sh
# Whichever call of layerpack --pull fails: the result is an error and nothing, or
# the right tree.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'
layerpack-fault -h | grep -q -e --pull || skip_all 'layerpack has no --pull'

umask 022
mkdir served one one/dir one/opaque two two/opaque d
seq 9000 >one/text
head -c 270000 /dev/urandom >one/random
seq 10 >one/dir/small
ln one/dir/small one/name
ln -s text one/link
mkfifo one/fifo
truncate -s 90000 one/hole
: >one/opaque/old
: >two/opaque/.wh..wh..opq
: >two/.wh.text
seq 20 >two/opaque/new
ln two/opaque/new two/name
layer one gzip
layer two gzip
manifest t
mkdir -p served/v2/i/blobs served/v2/i/manifests
for blob in layout/blobs/sha256/*; do
	cp "$blob" "served/v2/i/blobs/sha256:${blob##*/}"
done
cp manifest.json served/v2/i/manifests/t
serve_start
ref=docker://${site#http://}/i:t
cd d || exit
suffers 'memory' -f malloc:ENOMEM -o out layerpack-fault -q -p 2 --timeout 6 \
    --connections 2 --pull "$ref" -o out
suffers 'a directory' -n 200 -x malloc -o out layerpack-fault -q -p 2 --timeout 6 \
    --connections 2 --pull "$ref" -o out
suffers 'a layout' -n 120 -x chmod -o out layerpack-fault -q -p 2 --timeout 6 \
    --connections 2 --pull "$ref" -o oci:out

# Certificates and header fields of servers, and a credential helper
if have openssl && openssl req -x509 -newkey rsa:2048 -nodes -keyout ../key \
    -out ../cert -days 2 -subj /CN=x 2>../openssl.err; then
	mkdir ../hosts ../hosts/reg.test ../hosts/other.test ../helpers
	cat >../hosts/reg.test/hosts.toml <<END
server = '$site'
ca = '../../cert'
client = [['../../cert', '../../key']]
header.x = ['1', '2']
[host.'https://mirror.test']
capabilities = ['push']
skip_verify = true
END
	cp ../cert ../hosts/other.test/ca.crt
	printf '%s\n' '#!/bin/sh' \
	    'echo "{\"Username\":\"user\",\"Secret\":\"password\"}"' \
	    >../helpers/docker-credential-made
	chmod 755 ../helpers/docker-credential-made
	PATH=$PWD/../helpers:$PATH
	echo '{"credsStore":"made"}' >../auth.json
	cd .. && mode basic 1 && cd d || exit
	suffers 'a server of its own' -n 200 -o out layerpack-fault -q -p 2 \
	    --timeout 6 --connections 2 --hosts-dir ../hosts \
	    --authfile ../auth.json --pull docker://reg.test/i:t -o out
else
	skip 'openssl makes no certificate'
fi
exec 3>&-
wait
done_testing

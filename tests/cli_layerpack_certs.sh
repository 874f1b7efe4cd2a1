#!/bin/sh
# layerpack --pull with certificates and header fields for single servers.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/certs.sh
. "$SRC/tests/certs.sh"

for tool in layerpack openssl python3; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --pull || skip_all 'layerpack has no --pull'
python3 -c 'import ssl' 2>/dev/null || skip_all 'Python has no ssl'
certs_make || skip_all 'openssl makes no certificates'
certs_serve || skip_all 'no server'
unset https_proxy HTTPS_PROXY all_proxy ALL_PROXY
mkdir home
export HOME="$PWD/home" CONTAINERS_REGISTRIES_CONF=/dev/null
unset REGISTRY_AUTH_FILE

# host SERVER: begins ./hosts anew, with the host reg.test, which is that server;
# more of its hosts.toml is in standard input
host() {
	rm -rf hosts
	mkdir -p hosts/reg.test
	cp ca.pem client.* hosts/reg.test
	eval "host_port=\$port_$1"
	{
		echo "server = 'https://127.0.0.1:$host_port'"
		cat
	} >hosts/reg.test/hosts.toml
}
# pull IMAGE [OPTION...]: fetches it to ./out
pull() { layerpack --timeout 4 --hosts-dir hosts --pull "$@" -o out; }
# pulled NAME [IMAGE]: the image is there
pulled() {
	t "$1" 0 pull "docker://${2-reg.test/i:t}"
	t "$1: it is whole" 0 diff -r tree out
	rm -rf out
}
# refused NAME WHY [IMAGE]: it is not, and a message says why
refused() {
	t "$1" 1 pull "docker://${3-reg.test/i:t}"
	shows "$1: is refused" "$2" .t.err
	t "$1: nothing is there" 0 test ! -e out
}

# A CA of its own, and a client's certificate
host client <<END
ca = 'ca.pem'
client = [['client.crt', 'client.key']]
END
pulled 'a certificate and its key'
shows 'it was shown' '^client GET /v2/i/manifests/t cert=yes' tls.log
host client <<END
ca = ['client.crt', 'ca.pem']
client = '$PWD/client.pem'
END
pulled 'both in one file'
host client <<END
ca = '$PWD/ca.pem'
client = ['client.pem']
END
pulled 'a list of one file'
host client <<END
ca = 'ca.pem'
client = [['client.pem', '']]
END
pulled 'a pair without a key'
openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt \
    -days 2 -subj /CN=other 2>openssl.err
# this server does not say which ones it accepts
host client <<END
ca = 'ca.pem'
client = [['client.crt', 'client.key'], ['$PWD/other.crt', '$PWD/other.key']]
END
pulled 'the first of two pairs'
host client <<END
ca = 'ca.pem'
client = [['$PWD/other.crt', '$PWD/other.key'], ['client.crt', 'client.key']]
END
refused 'the other one' "127.0.0.1:$port_client accepts none of the client's"
host client <<END
ca = 'ca.pem'
END
begin=$(date +%s)
refused 'without a certificate' 'certificate required'
t 'at once' 0 test $(($(date +%s) - begin)) -lt 4
host client <<END
client = 'client.pem'
END
refused 'without the CA' 'certificate'
host plain <<END
END
refused 'nothing' 'certificate'
t 'the CA of --cacert' 0 pull docker://reg.test/i:t --cacert ca.pem
rm -rf out
host plain <<END
ca = 'client.crt'
END
t 'is trusted besides' 0 pull docker://reg.test/i:t --cacert ca.pem
rm -rf out

# What a mirror gets is not what the server gets
host plain <<END
ca = 'ca.pem'
[host.'https://127.0.0.1:$port_client']
ca = 'ca.pem'
client = 'client.pem'
END
: >tls.log
pulled 'a mirror'
t 'is used' 0 grep -q '^client GET /v2/i/blobs' tls.log
t 'the server is not' 1 grep -q '^plain' tls.log

if have layermount; then
	rm -r hosts/reg.test
	mkdir "hosts/127.0.0.1:$port_client"
	cp ca.pem "hosts/127.0.0.1:$port_client/ca.crt"
	cp client.pem "hosts/127.0.0.1:$port_client/client.cert"
	url=https://127.0.0.1:$port_client/v2/i/manifests/t
	t 'layermount --probe' 0 layermount --probe --hosts-dir hosts "$url"
	rm "hosts/127.0.0.1:$port_client/client.cert"
	t 'without the certificate' 1 layermount --timeout 4 --probe \
	    --hosts-dir hosts "$url"
	shows 'says so' 'certificate required' .t.err
else
	skip 'no layermount'
fi

# Files that cannot be used
bad() {
	host plain
	: >tls.log
	refused "$@"
	t "$1: there is no request" 0 test ! -s tls.log
}
bad 'no such file' 'hosts/reg.test/none.pem: No such file' <<END
ca = 'none.pem'
END
echo nothing >empty.pem
bad 'no certificate' "$PWD/empty.pem: expected a certificate (PEM), found none" <<END
ca = ['$PWD/ca.pem', '$PWD/empty.pem']
END
sed '4s/./!/' ca.pem >damaged.pem
bad 'a damaged one' 'expected certificates (PEM), found a damaged one' <<END
ca = '$PWD/damaged.pem'
END
bad 'no key' 'client.crt: expected a private key (PEM) without a passphrase' <<END
ca = 'ca.pem'
client = 'client.crt'
END
bad 'another key' "server.key: expected the key of .*client.crt, found another" <<END
ca = 'ca.pem'
client = [['client.crt', '$PWD/server.key']]
END
openssl rsa -aes128 -passout pass:x -in client.key -out locked.key 2>/dev/null
bad 'a key with a passphrase' 'locked.key: expected a private key' <<END
ca = 'ca.pem'
client = [['client.crt', '$PWD/locked.key']]
END
bad 'the second of two' 'empty.pem: expected a certificate (PEM), found none' <<END
ca = 'ca.pem'
client = ['client.pem', '$PWD/empty.pem']
END
host plain <<END
ca = 'ca.pem'
END
mkdir hosts/other.test
echo "ca = 'none.pem'" >hosts/other.test/hosts.toml
pulled 'those of other hosts do not matter'

# Values that are not what is expected
bad 'a number' 'hosts.toml: line 2: expected a path or a list' <<END
ca = 1
END
bad 'an empty path' 'line 2: expected a path or a list' <<END
ca = ''
END
bad 'lists in lists' 'line 2: expected a path or a list' <<END
ca = [['ca.pem']]
END
bad 'a pair of three' 'line 2: expected the path of a certificate, or a list' <<END
client = [['client.crt', 'client.key', 'ca.pem']]
END
bad 'a pair of one' 'line 3: expected the path of a key before this' <<END
client = [['client.crt']]
skip_verify = false
END
bad 'at the end' 'hosts.toml: expected the path of a key after that' <<END
client = [['client.crt']]
END
bad 'no truth' 'line 2: expected true or false' <<END
skip_verify = 'yes'
END
bad 'no table' 'line 2: expected a table of header fields' <<END
header = 'X-Pass: sesame'
END
bad 'no string' 'line 2: expected a string or a list' <<END
header.x = 1
END
bad 'a name' 'line 2: expected the name of a header field' <<END
header."x y" = '1'
END
bad 'a value with a line of its own' 'expected a value without control' <<END
header.x = "1\\r\\nAuthorization: x"
END

# skip_verify
host plain <<END
skip_verify = true
END
pulled 'without verification'
host plain <<END
skip_verify = true
END
t 'it is said' 0 pull docker://reg.test/i:t
is 'once' "$(cat .t.err)" "layerpack: https://127.0.0.1:$port_plain: the\
 server's certificate is not verified (skip_verify)"
rm -rf out
sed -i s/127.0.0.1/localhost/ hosts/reg.test/hosts.toml
pulled 'nor is the name'
sed -i 's/^skip.*/ca = "ca.pem"/' hosts/reg.test/hosts.toml
refused 'otherwise, it is' 'localhost'
host plain <<END
skip_verify = true
END
cp -r hosts/reg.test hosts/other.test
sed -i /skip/d hosts/other.test/hosts.toml
refused 'one host says it, another does not' 'certificate'
host plain <<END
skip_verify = false
END
refused 'false' 'certificate'

# Header fields, and redirects to another port
host header <<END
ca = 'ca.pem'
client = 'client.pem'
[header]
  x-pass = 'sesame'
  x-empty = ''
  x-more = ['1', '2']
  accept = 'nothing/of-this'
[host.'https://127.0.0.1:$port_plain']
  capabilities = ['push']
  ca = 'ca.pem'
END
: >tls.log
pulled 'a header field'
t 'and the certificate' 0 grep -q \
    '^header GET /v2/i/blobs/.* cert=yes pass=sesame' tls.log
t 'none replaces one of ours' 1 grep -q '/manifests/.*nothing/of-this' tls.log
t 'are not sent elsewhere' 0 grep -q \
    '^plain GET /v2/i/blobs/.* cert=no pass=None' tls.log
t 'at all' 1 grep -q '^plain.*\(cert=yes\|sesame\)' tls.log
sed -i '/host/,$d' hosts/reg.test/hosts.toml
refused 'nor is the other server trusted' 'certificate'
host header <<END
ca = 'ca.pem'
END
refused 'without it' 'status 403'

# What several hosts say of a server
host header <<END
ca = 'ca.pem'
header.x-pass = 'sesame'
END
cp -r hosts/reg.test hosts/other.test
sed -i s/sesame/other/ hosts/other.test/hosts.toml
refused 'hosts that differ' 'several hosts differ in what they say of https:'
sed -i /pass/d hosts/other.test/hosts.toml
mkdir hosts/127.0.0.1:"$port_plain"
cp ca.pem hosts/127.0.0.1:"$port_plain"/ca.crt
pulled 'hosts that do not'

# Token servers are trusted like the servers that name them
host token <<END
ca = 'ca.pem'
client = 'client.pem'
END
printf '{"auths":{"127.0.0.1:%s":{"auth":"%s"}}}' "$port_token" \
    "$(printf user:swordfish | base64)" >auth.json
: >tls.log
t 'a token server' 0 pull docker://reg.test/i:t \
    --authfile auth.json
shows 'gets the password' '^plain GET /token.* auth=Basic' tls.log
t 'but no certificate' 1 grep -q '^plain.*cert=yes' tls.log
rm -rf out
: >token-moves
t 'where that redirects to' 1 pull docker://reg.test/i:t --authfile auth.json
shows 'is not trusted' 'certificate' .t.err
rm token-moves

# Docker's folders
local=reg.localhost:$port_client
rm -rf hosts
mkdir -p "hosts/$local"
cp ca.pem "hosts/$local/ca.crt"
cp client.crt "hosts/$local/client.cert"
cp client.key "hosts/$local"
image=$local/i:t
if layerpack --timeout 4 --pull "docker://$image" -o out 2>&1 |
    grep -q -i resolve; then
	skip 'reg.localhost is not the loopback address'
else
	pulled 'a folder without hosts.toml' "$image"
	rm "hosts/$local/client.key"
	refused 'without the key' 'client.cert: expected a private key' \
	    "$image"
	cp client.pem "hosts/$local/client.cert"
	pulled 'the key in the same file' "$image"
	mkdir -p home/.config/containers
	mv hosts home/.config/containers/certs.d
	mkdir hosts
	pulled "the user's folder" "$image"
	mkdir -p "hosts/$local"
	cp client.crt "hosts/$local/other.crt"
	refused 'the other is more important' 'certificate' "$image"
	rm -rf "hosts/$local"
	mkdir hosts/_default
	cat >hosts/_default/hosts.toml <<END
ca = '$PWD/client.crt'
END
	pulled 'but not what is said of others' "$image"
	rm -r home/.config
	refused 'these' 'certificate' "$image"
	cp ca.pem client.pem hosts/_default
	cat >hosts/_default/hosts.toml <<END
ca = 'ca.pem'
client = 'client.pem'
END
	pulled 'others' "$image"
fi
done_testing

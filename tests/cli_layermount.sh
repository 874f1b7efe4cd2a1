#!/bin/sh
# Tests layermount's command line, and what --probe reports about servers.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

mkdir mnt served
head -c 100000 /dev/zero >served/blob

t 'no operand' 1 layermount
t 'only a directory' 1 layermount mnt
t 'an unknown prefetch mode' 1 layermount --prefetch some x mnt
shows 'lists the known ones' "'some' is not auto, none or all" .t.err
t 'no time' 1 layermount --timeout 0 x mnt
t 'a digest for two layers' 1 layermount --index-digest sha256:0 a b mnt
t 'a store with a password' 1 layermount --store --creds a:b mnt
shows 'for every host is refused' 'use --authfile' .t.err
t 'a store for all users' 1 layermount --store --allow-other mnt
shows 'needs a list of hosts' '--allow-other needs --registry' .t.err
t 'a list of hosts' 1 layermount --registry x a mnt
shows 'is for a store' '--registry is for --store' .t.err
t 'an invalid host' 1 layermount --store --registry a/b mnt
shows 'is refused' "registry 'a/b' is not HOST or HOST:PORT" .t.err
t 'a missing directory' 1 layermount x nowhere
shows 'is named' 'nowhere: No such file' .t.err

# The names of images; nothing answers
named() { layermount --probe --timeout 1 "docker://$1"; }
# asked NAME URL: checks that the first message is about this URL
asked() { is "$1" "$(sed -n '1s/^layermount: \([^ ]*\): .*/\1/p' .t.err)" "$2"; }
for name in 127.0.0.1.evil.invalid 127.evil.invalid localhost.invalid; do
	t "$name" 1 named $name/x
	asked 'is not a loopback address' https://$name/v2/x/manifests/latest
done
for name in 127.0.0.1:1 '[::1]:1' localhost:1 127.8.9.1:1; do
	t "$name" 1 named "$name/a/b:t"
	asked 'is one' "http://$name/v2/a/b/manifests/t"
done
digest=sha256:$(printf %064d 0)
for name in a/b a/b:t; do
	t "a digest after $name" 1 named "127.0.0.1:1/$name@$digest"
	asked 'is requested' "http://127.0.0.1:1/v2/a/b/manifests/$digest"
done
t 'a user in a host' 1 named localhost:1@registry.invalid/x
shows 'is refused' "the host contains '@'" .t.err
for name in 'a b/x' '[::1/x' '[x]/x' 127.0.0.1:70000/x 'a?b/x'; do
	t "$name" 1 named "$name"
	shows 'is not a host' 'is not HOST or HOST:PORT' .t.err
done
for name in x a/ a//b a/../b 'a/b?c' a/b: a/b:c/d; do
	t "$name" 1 named "$name"
	shows 'is not a name' 'expected docker://HOST/NAME' .t.err
done
t 'a digest of another kind' 1 named a/b@sha512:00
shows 'is refused, too' 'is not sha256: followed by 64' .t.err

serve_start
url=$site/blob
mkdir -p served/v2/x/manifests
echo '{"schemaVersion":2,"layers":[]}' >served/v2/x/manifests/latest
cp served/v2/x/manifests/latest "served/v2/x/manifests/$digest"
t 'a manifest by its tag' 1 named "${site#http://}/x"
shows 'is used' 'has no layers' .t.err
t 'another by its digest' 1 named "${site#http://}/x@$digest"
shows 'must have it' 'does not match that digest' .t.err
probe() { layermount --probe --timeout 3 "$@"; }
line() { printf '%s\t%s' "$1" "$2"; }

t 'a good server' 0 probe "$url"
shows 'ranges' "$(line ranges yes)"
shows 'one range' "$(line range yes)"
shows 'no redirect' "$(line redirect none)"
shows 'a validator' "$(line validator '"v0"')"
mode ignores 1
t 'a server that ignores ranges' 0 probe "$url"
shows 'is reported' "$(line range 'no (200)')"
mode one-range 1
t 'one range only' 0 probe "$url"
shows 'not two' "$(line ranges 'no (400)')"
mode redirects 1
t 'a redirect' 0 probe "$url"
shows 'where to' '^redirect.*/moved$'
mode basic 1
t 'a password is needed' 0 probe "$url"
shows 'and missing' "$(line range 'no (401)')"
t 'and given' 0 probe --creds user:password "$url"
shows 'is sent' "$(line range yes)"
echo user:password >creds
t 'and in a file of its own' 0 probe --creds-file creds "$url"
shows 'is sent, too' "$(line range yes)"
from_input() { probe --creds-file - "$url" <creds; }
t 'and on standard input' 0 from_input
shows 'is sent as well' "$(line range yes)"
for bad in user '' 'user:pass
word'; do
	echo "$bad" >bad
	t "not a password: '$bad'" 1 probe --creds-file bad "$url"
	shows 'is named' '^layermount: bad: expected one line' .t.err
	t "nor as an argument" 1 probe --creds "$bad" "$url"
	shows 'but is not shown' '^layermount: --creds: expected one line' .t.err
done
t 'no such file' 1 probe --creds-file none "$url"
shows 'is named, too' 'none: No such file' .t.err
port=${url%/blob} port=${port##*:}
t 'two servers' 1 layermount --creds user:password "$url" \
    "docker://localhost:$port/x" mnt
shows 'do not get the same password' 'are on several servers' .t.err
printf '{"auths":{"127.0.0.1:%s":{"auth":"dXNlcjpwYXNzd29yZA=="}}}' "$port" \
    >auth.json
t 'and in a file' 0 probe --authfile auth.json "$url"
shows 'is found' "$(line range yes)"
echo 'not json' >bad.json
t 'a damaged file' 1 probe --authfile bad.json "$url"
shows 'is named' 'bad.json: not a JSON object' .t.err
mode token 1
t 'a token' 0 probe "$url"
shows 'is fetched' "$(line range yes)"
mode silent 1
t 'a silent server' 1 probe "$url"
shows 'is no server' 'little or no data' .t.err
t 'no server' 1 probe http://127.0.0.1:1/
for there in docker://127.0.0.1:1/x docker://registry.invalid/x; do
	t "nothing at $there" 1 timeout 30 layermount --probe $there
	shows 'is not waited for' 'onnect\|resolve' .t.err
done
t 'no URL' 1 probe ftp://127.0.0.1/

if have openssl; then
	# an untrusted certificate
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert \
	    -subj /CN=localhost -days 1 2>/dev/null
	openssl s_server -accept 127.0.0.1:0 -cert cert -key key -WWW \
	    >tls.out 2>&1 &
	tls=$!
	await grep -q ACCEPT tls.out
	tls_port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' tls.out)
	# on a busy machine, the handshake may take seconds
	t 'an untrusted certificate' 1 probe --timeout 60 \
	    "https://127.0.0.1:$tls_port/x"
	shows 'is named' '[Cc]ertificate' .t.err
	kill $tls
else
	skip 'no openssl'
fi
exec 3>&-
wait

# A snapshotter
if layermount --help | grep -q -e --containerd; then
	t 'a snapshotter and a store' 1 layermount --containerd s --store dir
	shows 'are refused' 'cannot be used together' .t.err
	t 'a snapshotter with credentials' 1 layermount --containerd s \
	    --creds a:b dir
	shows 'is refused' 'use --authfile' .t.err
	t 'a snapshotter of two directories' 1 layermount --containerd s a b
else
	skip 'no --containerd'
fi
done_testing

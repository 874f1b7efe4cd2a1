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
t 'a missing directory' 1 layermount x nowhere
shows 'is named' 'nowhere: No such file' .t.err

serve_start
url=$site/blob
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
port=${url%/blob} port=${port##*:}
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
done_testing

#!/bin/sh
# What mounts say of themselves: --status, and a socket for metrics and health.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"
for tool in curl python3; do
	have $tool || skip_all "no $tool"
done

# get PAGE: prints a page from the socket
get() { curl -s -m 20 --unix-socket m.sock "http://localhost$1"; }
# metric NAME: prints the sum of a metric's samples
metric() {
	get /metrics | awk -v name="coldpress_layermount_$1" '
	    { n = $1; sub("{.*", "", n) } n == name { sum += $2 }
	    END { print sum + 0 }'
}
health() {
	curl -s -m 20 -o health -w '%{http_code}' --unix-socket m.sock \
	    http://localhost/healthz
}

t 'a mount' 0 start --metrics m.sock --cache cache --cache-size 50M \
    --prefetch none "$url"
is 'only its user can connect' "$(stat -c %a m.sock)" 600
is 'it is healthy' "$(health; cat health)" '200ok'
t 'its type' 0 sh -c 'curl -si --unix-socket m.sock http://x/metrics |
    grep -q "^Content-Type: text/plain; version=0.0.4"'
cat mnt/dir/text >/dev/null
fetched=$(metric bytes_fetched_total)
t 'bytes are counted' 0 test "$fetched" -gt 100000
is 'the limit' "$(metric cache_limit_bytes)" 52428800
t 'what is in the cache' 0 test "$(metric cache_bytes)" -gt 100000
is 'failures' "$(metric read_failures_total)" 0
is 'no other page' "$(get /other)" 'Not Found'
# each metric has a help and a type before its samples, and only once
get /metrics | awk '
    $1 == "#" && $2 == "HELP" { help = $3; next }
    $1 == "#" && $2 == "TYPE" { if ($3 != help || seen[$3]++) print; type = $4; next }
    { n = $1; sub("{.*", "", n)
      if (n != help || $2 !~ /^[0-9]+$/ || (n ~ /_total$/) != (type == "counter"))
          print }' >wrong
same 'the format' wrong /dev/null
if have promtool; then
	t 'promtool agrees' 0 sh -c 'curl -s --unix-socket m.sock \
	    http://x/metrics | promtool check metrics'
fi

t 'the status' 0 layermount --status
grep -A 9 "^$PWD/mnt" .t.out >text
is 'is that of the mount' "$(head -n 1 text)" "$PWD/mnt: ok"
t 'it names the layer' 0 grep -q "  layer    $url\$" text
t 'and the cache' 0 grep -q "of 52428800 B, .*, $PWD/cache\$" text
t 'of one mount, as JSON' 0 layermount --status --json mnt
cp .t.out object
t 'which is JSON' 0 python3 -c 'import json, sys
s = json.load(open("object"))
assert s["mountpoint"] == sys.argv[1] and s["healthy"] and s["kind"] == "mount"
assert s["layers"][0]["format"] == "estargz" and s["images"] == [sys.argv[2]]
assert s["cache"]["limit_B"] == 52428800 and s["counts"]["failures"] == 0
assert s["last_message"] is None' "$PWD/mnt" "$url"
t 'another directory' 1 layermount --status tree
shows 'is no mount' 'tree: not a mount of layermount' .t.err
t '--json alone' 1 layermount --json
t 'another user' 1 runuser -u nobody -- "$(command -v layermount)" --status "$PWD/mnt"
t 'the attribute is not listed' 0 sh -c '! getfattr -d -m - mnt | grep -q status'

# A socket in use
mkdir mnt2
t 'the same socket' 1 layermount --metrics m.sock "$url" "$PWD/mnt2"
shows 'is in use' 'm.sock: another process serves this socket' .t.err
t 'and still there' 0 test "$(metric layers)" = 1

# The server does not answer
mode 404 1
echo 3 >/proc/sys/vm/drop_caches
t 'a failing read' 1 cat mnt/big
is 'makes it unhealthy' "$(health)" 503
shows 'for a reason' 'data cannot be fetched: .*404' health
is 'is counted' "$(($(metric read_failures_total) > 0))" 1
is 'as is health' "$(metric healthy)" 0
t 'the status says so' 1 layermount --status mnt
shows 'in words' "$PWD/mnt: data cannot be fetched" .t.out
shows 'with the message' '  message  20.*404' .t.out
mode good 1
t 'a read that succeeds' 0 cmp mnt/big tree/big
is 'makes it healthy' "$(health)" 200

# Clients that misbehave delay neither reads nor, for long, other clients.
cat >hostile.py <<'END'
import socket, sys, time
s = []
for i in range(60):
    c = socket.socket(socket.AF_UNIX)
    c.setblocking(False)
    try:
        c.connect("m.sock")
        c.send([b"", b"GET /met", b"x" * 5000, b"GET /metrics HTTP/1.1\r\n\r\n"][i % 4])
    except OSError:
        pass
    s.append(c)
print("connected", flush=True)
time.sleep(30)
END
python3 hostile.py >said &
hostile=$!
await test -s said
echo 3 >/proc/sys/vm/drop_caches
from=$(date +%s)
what mnt >got
same 'reads are right meanwhile' got want
t 'and in time' 0 test $(($(date +%s) - from)) -lt 5
t 'metrics are, too' 0 test "$(metric layers)" = 1
kill $hostile
wait $hostile 2>/dev/null

# A stopped server
server=$(servers | tail -n 1)
# shellcheck disable=SC2046
kill -STOP $(servers)
t 'a mount that is stopped' 1 timeout 20 layermount --status mnt
shows 'does not answer' "$PWD/mnt: it does not answer" .t.out
# shellcheck disable=SC2046
kill -CONT $(servers)
t 'and does' 0 layermount --status mnt
kill -9 "$server"
await unmounted
await no_servers
t 'its socket is replaced' 0 start --metrics m.sock "$url"
is 'and answers' "$(health)" 200
stop
t 'at the end it is removed' 0 test ! -e m.sock

# A store, and a snapshotter
mkdir store
t 'a store' 0 layermount --store --metrics m.sock --cache cache "$PWD/store"
is 'answers' "$(metric layers)" 0
t 'has a status' 0 layermount --status --json store
shows 'of a store' '"kind":"store"' .t.out
umount store
await test ! -e m.sock
if layermount --help | grep -q -e --containerd; then
	layermount --foreground --metrics m.sock --containerd "$PWD/s.sock" \
	    root >service.log 2>&1 &
	service=$!
	await test -S s.sock
	await test -S m.sock
	is 'a snapshotter answers' "$(health)" 200
	t 'and has a status' 0 layermount --status root/layers
	shows 'of its store' "$PWD/root/layers: ok" .t.out
	kill -INT $service
	wait $service
	await test ! -e m.sock
	ok 'its socket is removed'
fi
exec 3>&-
wait
done_testing

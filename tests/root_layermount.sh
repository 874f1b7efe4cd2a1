#!/bin/sh
# Layers are mounted from a server that may misbehave: reads return the right
# bytes or fail with EIO.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"

t 'a file' 0 start --prefetch none served/blob
what mnt >got
same 'has what was packed' got want
t 'nothing can be written' 1 touch mnt/x
# Names and attributes that the kernel has cached do not require the server.
seen() { stat -c '%n %s' mnt/many/* mnt/dir/*; }
seen >seen.first
kill -STOP "$(servers | tail -n 1)"
timeout 300 sh -c "stat -c '%n %s' mnt/many/* mnt/dir/*" >seen.again
kill -CONT "$(servers | tail -n 1)"
same 'the kernel keeps names and attributes' seen.again seen.first
t 'a missing name' 1 cat mnt/none
stop

tar --mode=0644 -cf modes.tar -C tree link
layerpack -q -F estargz -o modes modes.tar >said
t 'a symbolic link with other permissions' 0 layermount modes "$PWD/mnt"
is 'has all, as when it is extracted' "$(stat -c %a mnt/link)" 777
stop

long=$PWD/a-directory-whose-name-is-longer-than-forty-bytes
mkdir "$long"
# long_tmp OPTION...: mounts, with the temporary file in a directory with a long
# name
long_tmp() (
	TMPDIR=$long
	export TMPDIR
	start "$@"
)
t 'a long TMPDIR' 0 long_tmp "$url"
stop

t 'a URL' 0 start --stats=stats --prefetch none --cache cache "$url"
what mnt >got
same 'has what was packed, too' got want
stop
t 'counters are written' 0 test "$(field requests)" -gt 1
is 'no unit had a wrong digest' "$(field wrong_units)" 0

t 'the cache' 0 start --stats=stats --prefetch none --cache cache "$url"
what mnt >got
same 'has all of it' got want
stop
is 'so that one request is enough' "$(field requests)" 1

# A cache that others may write to, or that is someone else's, is not used.
# refused NAME OWNER MODE [LINK]: checks a directory
refused() {
	rm -rf shared link
	mkdir shared
	chown "$2" shared
	chmod "$3" shared
	ln -s shared link
	t "$1" 1 start --cache "${4-shared}" "$url"
	shows 'is refused' "^layermount: ${4-shared}: its owner is $2 and its mode $3, " \
	    .t.err
	t 'before the mount' 0 unmounted
}
refused "a cache of another user" 65534 0700
refused 'a cache for all' 0 1777
refused 'a cache for a group' 0 0770
refused 'a link to one' 65534 0755 link
chown 0 shared
chmod 0755 shared
t 'a link to our own' 0 start --cache link "$url"
stop
chown -h 65534 link
t "another user's link to our own" 1 start --cache link "$url"
shows 'is refused' '^layermount: link: a link that belongs to user 65534' .t.err
mkdir sticky
chmod 1777 sticky
t 'our own in a directory for all' 0 start --cache sticky/own "$url"
stop
# A FIFO in the cache blocks nothing.
cached=$(ls -d cache/*.layer)
rm -r "$cached"
mkfifo "$cached"
t 'a FIFO in the cache' 1 timeout 60 layermount --timeout 3 --cache cache \
    "$url" "$PWD/mnt"
shows 'is refused' 'is not that of a directory' .t.err
await unmounted
rm "$cached"

t 'everything in the background' 0 start --stats=stats --prefetch all "$url"
requests_done() {
	pkill -USR1 -f "^layermount .* $PWD/mnt\$"
	sleep 1
	fetched_before=${fetched-0} fetched=$(field background_wire_B)
	[ "${fetched:-0}" -gt 2500000 ] && [ "$fetched" = "$fetched_before" ]
}
await requests_done
mode 500 1
what mnt >got
same 'needs no server afterwards' got want
mode good 1
stop

# Every third reply is bad: all data is still correct and complete.
for m in dies ignores short long flips moves no-range 500 503 redirects \
    one-range whole-for-many bad-parts garbage encodes token; do
	mode good 1
	t "$m: mounted" 0 start --stats=stats --prefetch none "$url"
	mode "$m" 3
	what mnt >got
	same "$m: the right bytes" got want
	stop
done
# Killed processes
mode good 1
t 'a mount' 0 start --cache cache2 "$url"
cat mnt/dir/text >/dev/null
kill -9 "$(servers | tail -n 1)"
await unmounted
ok 'whose server is killed is unmounted'
t 'and mounted again' 0 start --cache cache2 --prefetch none "$url"
what mnt >got
same 'has the same contents' got want
kill "$(servers | head -n 1)"
await unmounted
ok 'a signal unmounts'

# Credentials are not left where all users can see them.
visible() {
	for pid in $(servers); do
		tr '\0' ' ' <"/proc/$pid/cmdline"
		echo
	done
}
mode basic 1
for option in '--creds user:password' --creds=user:password; do
	# shellcheck disable=SC2086
	t "$option" 0 start $option "$url"
	is 'is used' "$(cat mnt/many/7)" 7
	is 'by two processes' "$(visible | grep -c layermount)" 2
	is 'that do not show it' "$(visible | grep -e user -e password)" ''
	stop
done
mode good 1

# The server opens no files that it does not need.  Here, the C library is told to
# read one when it looks up a name, in the resolver and then, as that found no
# address, in the server.
if have strace && strace -o trace true 2>/dev/null; then
	secret=$(mktemp /run/coldpress.XXXXXX)
	trap 'rm -f "$secret"; umount -l mnt 2>/dev/null || :' EXIT
	for file in "$secret" /proc/self/environ; do
		HOSTALIASES=$file strace -f -e trace=openat,open -o trace \
		    layermount http://nowhere:1/x "$PWD/mnt" 2>/dev/null
		t "$file" 0 grep "\"$file\".*EACCES" trace
		t 'cannot be read' 1 grep "\"$file\".* = [0-9]" trace
	done
	t 'the resolver reads /etc' 0 grep '"/etc/hosts".* = [0-9]' trace
	t 'the server does not' 0 grep '"/etc/hosts".*EACCES' trace
	rm "$secret"
else
	skip 'strace cannot trace here'
fi

# A signal ends every mount, whatever its server does.
# within SECONDS COMMAND...: waits for the command to succeed
within() {
	w_end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $w_end ] || return 1
		sleep 0.1
	done
}
ended() { unmounted && no_servers; }
t 'a mount' 0 start "$url"
stopped=$(servers | tail -n 1)
kill -STOP "$stopped"
kill "$(servers | head -n 1)"
t 'whose server is stopped ends' 0 within 30 ended
gone "$stopped" || kill -9 "$stopped"
t 'a mount' 0 start --prefetch none "$url"
mode silent 1
cat mnt/big >/dev/null 2>&1 &
sleep 0.5
kill "$(servers | head -n 1)"
t 'whose server waits for data ends' 0 within 30 ended
for which in head tail; do
	# the process that waits for the mount, or the one behind it
	layermount --timeout 600 "$url" "$PWD/mnt" 2>err &
	waits=$!
	within 10 mounted
	within 10 sh -c "[ \$(pgrep -f '^layermount .* $PWD/mnt\$' |
	    wc -l) = 3 ]"
	kill "$(servers | sed -n "$([ $which = head ] && echo 1 || echo 2)p")"
	t "a start that hangs ends ($which)" 0 within 30 ended
	wait $waits
done
shows 'and says why' 'interrupted before the mount was ready' err
mode good 1

# Both processes are killed.
t 'a mount' 0 start "$url"
# shellcheck disable=SC2046
kill -9 $(servers)
await no_servers
for again in 1 2; do
	t "a dead mount ($again)" 1 start "$url"
	shows 'is named' "/mnt: a dead mount, .*'umount -l'" .t.err
done
umount -l mnt
t 'without it' 0 start "$url"
stop

# Nothing waits for a store that is in the background.
captured() {
	timeout 60 sh -c "got=\$(layermount --store --log log '$PWD/mnt' 2>&1)"
}
t 'a store keeps no output open' 0 captured
t 'an image of no server' 2 ls "mnt/$(printf 127.0.0.1:1/a/b |
    base64)/sha256:$(printf %064d 0)"
shows 'is in the log' \
    '^layermount: http://127.0.0.1:1/v2/a/b/.*onnect' log
stop
t 'a log in the foreground' 1 layermount -f --log log "$url" mnt
shows 'is refused' '--log is for mounts in the background' .t.err
t 'a log that cannot be written' 1 start --log none/log "$url"
shows 'is named' 'none/log: No such file' .t.err

# A mount that something else still uses is served after it was unmounted.
mkdir over up work
t 'a mount' 0 start --prefetch none "$url"
t 'below an overlay' 0 mount -t overlay overlay \
    -o "lowerdir=mnt,upperdir=up,workdir=work" over
umount mnt
t 'is unmounted' 0 unmounted
same 'and still read' over/dir/text tree/dir/text
umount over
t 'until that is unmounted' 0 within 30 no_servers

mode no-range 1
t 'part of an object' 1 start "$url"
shows 'must be stated' 'without saying which part (Content-Range)' .t.err
mode leaves 1
t 'a redirect to a file' 1 start --timeout 600 "$url"
shows 'is refused at once' 'Protocol .file. not supported' .t.err
mode good 1
t 'a server that does not exist' 1 timeout 30 layermount \
    http://127.0.0.1:1/x "$PWD/mnt"
shows 'is not waited for' 'onnect to' .t.err
await unmounted

t 'a file that is not a layer' 1 start layer.tar
await unmounted
ok 'leaves no mount'
t 'a changed index' 1 start --index-digest \
    "sha256:$(printf '%064d' 0)" "$url"
await unmounted
ok 'is refused'

# A mount point in use, and a mount that immediately follows another
t 'a mount' 0 start "$url"
t 'a second one there' 1 start "$url"
shows 'is refused' 'resource busy' .t.err
t 'the first still works' 0 cmp mnt/dir/text tree/dir/text
for i in 1 2 3 4 5; do
	umount mnt
	t 'the next one' 0 start "$url"
done
await_one() { [ "$(servers | wc -l)" = 2 ]; }
await await_one
t 'is not unmounted by earlier ones' 0 cmp mnt/dir/text tree/dir/text
stop
# A server that notices late that it has been unmounted: what follows it often
# has the same device number.  umount would look at the mount, and wait.
late_has_ended() { ! kill -0 "$late_first" 2>/dev/null; }
for i in 1 2 3; do
	t "late $i: a mount" 0 start "$url"
	late_first=$(servers | head -n 1)
	late_server=$(servers | tail -n 1)
	kill -STOP "$late_server"
	umount -ci "$PWD/mnt"
	t "late $i: the next one" 0 start "$url"
	kill -CONT "$late_server"
	await late_has_ended
	t "late $i: stays" 0 cmp mnt/dir/text tree/dir/text
	stop
done
# a caller that reads to the end of its pipe does not wait for the unmount
is 'nothing keeps standard output open' "$(start "$url")" ''
stop

# Two layers
mkdir -p up/dir up/many
echo new >up/dir/new
: >up/many/.wh.1
: >up/.wh.sparse
tar -cf up.tar -C up .
layerpack -F estargz -o served/up up.tar >made
t 'two layers' 0 start "$url" "${url%blob}up"
is 'are merged' "$(cat mnt/dir/new; head -n 1 mnt/dir/text)" 'new
1'
t 'a removed file is gone' 1 test -e mnt/sparse
t 'and so is another one' 1 test -e mnt/many/1
t 'other files remain' 0 test -e mnt/many/2
stop
exec 3>&-
wait
done_testing

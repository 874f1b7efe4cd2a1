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
mkdir sticky
chmod 1777 sticky
t 'our own in a directory for all' 0 start --cache sticky/own "$url"
stop
# A FIFO in the cache blocks nothing.
cached=$(ls -d cache/*.ranges)
rm "$cached"
mkfifo "$cached"
t 'a FIFO in the cache' 1 timeout 60 layermount --timeout 3 --cache cache \
    "$url" "$PWD/mnt"
shows 'is refused' 'is not that of a regular file' .t.err
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

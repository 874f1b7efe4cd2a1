#!/bin/sh
# A repository in CVMFS format is mounted from a server that may misbehave:
# reads return the right bytes or fail with EIO.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
layerpack -h | grep -q -e '-F cas' || skip_all 'layerpack without SQLite'
for tool in openssl python3; do
	have $tool || skip_all "no $tool"
done

mkdir -p tree/dir/sub tree/many served mnt
head -c 1500000 /dev/urandom >tree/big
seq 200000 >tree/dir/text
ln tree/dir/text tree/dir/hard
ln -s dir/text tree/link
chmod 4755 tree/big
for i in $(seq 100); do echo "$i" >"tree/many/$i"; done
: >tree/empty
truncate -s 1M tree/sparse
mkfifo tree/fifo
tar --format=gnu --numeric-owner -cf layer.tar -C tree .
openssl genrsa -out key.pem 2048 2>/dev/null
openssl rsa -in key.pem -pubout -out pub.pem 2>/dev/null
openssl genrsa 2048 2>/dev/null | openssl rsa -pubout -out other.pem 2>/dev/null
layerpack -q -F cas --name a.test --key key.pem -c 64K --catalog 50 -o served/repo \
    layer.tar >said || skip_all 'layerpack writes no repository'

# what TREE: prints every file's name, attributes and contents
what() {
	(cd "$1" && find . ! -type d -printf '%p %y %m %U %G %s %n %l %T@\n' |
	    sed 's/\.[0-9]*$//' | LC_ALL=C sort
	find . -type d -printf '%p %m %n\n' | LC_ALL=C sort
	find . -type f -exec sha256sum {} + | LC_ALL=C sort)
}
what tree >want

serve_start
url=$site/repo
# start OPTION...: mounts the repository
start() { layermount --timeout 3 --key pub.pem "$@" "$PWD/mnt"; }
mounted() { grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
unmounted() { ! mounted; }
no_servers() { ! pgrep -f "^layermount .* $PWD/mnt\$" >/dev/null; }
stop() {
	umount mnt
	await unmounted
	await no_servers
}
trap 'umount -l mnt 2>/dev/null || :' EXIT
# field NAME: prints a field from the last line of stats
field() { tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }

t 'a directory' 0 start served/repo
what mnt >got
same 'has what was packed' got want
t 'and no marks' 1 test -e mnt/many/.cvmfscatalog
stop

t 'a URL' 0 start -F cas --stats=stats --cache cache "$url"
what mnt >got
same 'has what was packed, too' got want
stop
is 'no unit was wrong' "$(field wrong_units)" 0
is 'each object is fetched once' "$(($(field requests) - $(field index_requests)))" "$(find \
    served/repo/data -type f ! -name '*[A-Z]' -o -type f -name '*P' | wc -l |
    awk '{ print $1 - 1 }')"
t 'the cache' 0 start -F cas --stats=stats --cache cache "$url/"
stop
t 'a slash makes no difference' 0 start -F cas --stats=stats --cache cache \
    "$url"
what mnt >got
same 'has all of it' got want
stop
is 'but the manifest' "$(field requests)" 1

t 'another key' 1 layermount -F cas --key other.pem "$url" "$PWD/mnt"
shows 'is refused' 'not signed by the expected key' .t.err
await unmounted
t 'no repository' 1 start -F cas "${url}x"
shows 'is reported' 'status 404' .t.err
await unmounted

# Every third reply is bad: all data is still correct and complete.
for m in dies short flips 500 503 garbage changes ignores; do
	mode good 1
	t "$m: mounted" 0 start -F cas --prefetch none "$url"
	mode "$m" 3
	what mnt >got
	same "$m: the right bytes" got want
	stop
done
# Every reply is bad: reads fail with EIO in time, and the mount recovers.
for m in dies short flips 404 429 500 stalls silent loops garbage encodes; do
	mode good 1
	t "$m: mounted" 0 start -F cas --prefetch none "$url"
	ls -R mnt >/dev/null
	mode "$m" 1
	from=$(date +%s)
	if cat mnt/big >got.big 2>err; then
		same "$m: the right bytes" got.big tree/big
	else
		t "$m: EIO" 0 grep -q 'Input/output error' err
		t "$m: no wrong byte" 0 cmp -n "$(wc -c <got.big)" got.big \
		    tree/big
	fi
	t "$m: in time" 0 test $(($(date +%s) - from)) -lt 100
	mode good 1
	t "$m: alive" 0 cmp mnt/dir/text tree/dir/text
	stop
done

# The index is bad: the mount fails, or shows the correct files.
for m in flips short dies 500 garbage; do
	mode "$m" 2
	if start -F cas --prefetch none "$url" 2>err; then
		mode good 1
		what mnt >got
		same "$m: the right tree" got want
		stop
	else
		t "$m: a reason" 0 test -s err
		await unmounted
	fi
done
mode good 1

# Nested catalogs are fetched when their directories are entered.
mkdir -p deep/a/b/c deep/x/y deep/z
touch deep/a/.cvmfscatalog deep/a/b/.cvmfscatalog deep/x/.cvmfscatalog
for d in . a a/b a/b/c x x/y z; do
	echo "$d" >"deep/$d/file"
	ln "deep/$d/file" "deep/$d/again"
	mkdir "deep/$d/empty"
done
seq 30000 >deep/x/y/long
tar --format=gnu --numeric-owner -cf deep.tar -C deep .
layerpack -q -F cas --name b.test --key key.pem -c 64K -o served/deep deep.tar >said
is 'there are four catalogs' "$(find served/deep/data -name '*C' | wc -l)" 4
deep=$site/deep
# their marks are shown, because they are in the archive
what deep >want.deep
# asked: prints the number of requests so far
asked() {
	asked_lines=$(wc -l <stats)
	pkill -USR1 -o -f "^layermount .* $PWD/mnt\$"
	await grew stats "$asked_lines"
	field requests
}
grew() { [ "$(wc -l <"$1")" -gt "$2" ]; }
t 'nested catalogs' 0 start -F cas --stats=stats "$deep"
ls -l mnt >/dev/null
is 'are not fetched at the start' "$(asked)" 3
t 'a file in one of them' 0 cmp mnt/x/y/file deep/x/y/file
is 'needs that one, and itself' "$(asked)" 5
t 'a missing name' 1 cat mnt/a/missing
shows 'is missing' 'No such file or directory' .t.err
is 'needs it, too' "$(asked)" 6
is 'the way up leads to the same directory' "$(stat -c %i mnt/a/b/c/../..)" \
    "$(stat -c %i mnt/a)"
is 'in listings, too' "$(python3 -c 'import os
print(*(e.inode() for e in os.scandir("mnt/a") if e.name == "b"))')" \
    "$(stat -c %i mnt/a/b)"
(cd mnt && find . -printf '%i %p\n') | sort | sed 's,/again$,/file,' | uniq |
    cut -d ' ' -f 1 | uniq -d >twice
t 'no inode number is used twice' 0 test ! -s twice
what mnt >got
same 'the whole tree' got want.deep
stop
is 'each is fetched once' "$(field index_requests)" 6

t 'many at once' 0 start -F cas --stats=stats "$deep"
for i in $(seq 12); do cat mnt/a/b/c/file >"at.$i" & done
for i in $(seq 12); do ls mnt/x/y >"ls.$i" & done
# lines FILES PATTERN: whether 12 lines match
lines() { [ "$(cat "$1".* | grep -c "$2")" = 12 ]; }
await lines at '^a/b/c$'
await lines ls '^long$'
is 'fetch each of them once' "$(asked)" 7
stop
t 'a directory that is local' 0 start served/deep
what mnt >got
same 'has the same' got want.deep
stop
t 'what is fetched beforehand' 0 start -F cas --stats=stats --prefetch all \
    "$deep"
stop
is 'includes all catalogs' "$(field index_requests)" 6

for m in 404 500 dies flips; do
	mode good 1
	t "$m: mounted" 0 start -F cas --log log --stats=stats "$deep"
	t "$m: one is entered" 0 cmp mnt/a/file deep/a/file
	mode "$m" 1
	t "$m: another cannot be" 2 ls mnt/x
	shows "$m: that is an error" 'Input/output error' .t.err
	t "$m: nor can what is in it" 1 cat mnt/x/y/file
	shows "$m: be read" 'Input/output error' .t.err
	is "$m: the others" "$(cat mnt/a/file; echo mnt/*)" \
	    'a
mnt/a mnt/again mnt/empty mnt/file mnt/x mnt/z'
	t "$m: a reason is given" 0 grep -q '/x: ' log
	mode good 1
	t "$m: a later try succeeds" 0 cmp mnt/x/y/file deep/x/y/file
	stop
	: >log
done

# Another layer on top of it
mkdir -p up/dir up/many
echo new >up/dir/new
: >up/many/.wh.1
tar -cf up.tar -C up .
layerpack -F estargz -o up.esgz up.tar >said
t 'a layer over a repository' 0 layermount served/repo up.esgz "$PWD/mnt"
is 'are merged' "$(cat mnt/dir/new; head -n 1 mnt/dir/text)" 'new
1'
t 'without whited-out files' 1 test -e mnt/many/1
stop
exec 3>&-
wait
done_testing

#!/bin/sh
# The unmodified CVMFS client mounts what layerpack publishes, follows updates,
# and its publisher's tools check and replicate it.
# scripts/cvmfs-client builds them; COLDPRESS_CVMFS is the directory.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/cas.sh
. "$SRC/tests/cas.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
layerpack -h | grep -q -e '-F cas' || skip_all 'layerpack without SQLite'
have openssl || skip_all 'no openssl'
client=${COLDPRESS_CVMFS:-}
[ -x "$client/cvmfs2" ] || skip_all \
    'no CVMFS client: COLDPRESS_CVMFS is to be what scripts/cvmfs-client built'
LD_LIBRARY_PATH=$client CVMFS_LIBRARY_PATH=$client
name=sw.example.org
mkdir -p served cache sockets mnt

# as_client COMMAND...: runs a program of CVMFS's
as_client() {
	env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" \
	    CVMFS_LIBRARY_PATH="$CVMFS_LIBRARY_PATH" "$@"
}

# publish DIRECTORY OPTION... ARCHIVE...: writes a revision, and serves it
publish() {
	publish_as=$1
	shift
	layerpack -q -F cas --name $name --key key.pem -o "served/$publish_as" \
	    "$@" >said || return
	ln -sfn "$publish_as" served/$name
}

# start: mounts the repository that is served
start() {
	cat >config <<-END
		CVMFS_CACHE_BASE=$PWD/cache
		CVMFS_RELOAD_SOCKETS=$PWD/sockets
		CVMFS_SERVER_URL=$site/$name
		CVMFS_HTTP_PROXY=DIRECT
		CVMFS_SHARED_CACHE=no
		CVMFS_QUOTA_LIMIT=4000
		CVMFS_USYSLOG=$PWD/log
		CVMFS_CLAIM_OWNERSHIP=no
		CVMFS_MAGIC_XATTRS_VISIBILITY=never
		$1
	END
	as_client "$client/cvmfs2" -o config="$PWD/config" $name "$PWD/mnt"
}
mounted() { grep -q " $PWD/mnt fuse" /proc/mounts; }
unmounted() { ! mounted; }
stop() {
	umount mnt
	await unmounted
}
trap 'umount -l "$PWD/mnt" 2>/dev/null || :' EXIT
# remount: makes the client look for a new revision
remount() {
	as_client "$client/cvmfs_talk" -p "$(find cache -name 'cvmfs_io.*' -type s |
	    head -n 1)" remount sync
}

# seen DIR: prints names, attributes and contents, without CVMFS's marks; a file
# with names in several directories counts as several files
seen() {
	(cd "$1" && find . ! -name '.cvmfs*' ! -type d \
	    -printf '%P %y %m %U %G %s %T@ %l\n' | sort
	find . ! -name '.cvmfs*' -type d -printf '%P %m %T@ %n\n' | sort
	find . ! -name '.cvmfs*' -type f -exec sha256sum {} + | sort
	getfattr -dhR -m - . 2>/dev/null || :) |
	    sed 's/\(\.[0-9]\{9\}\)0*/\1/'
}

openssl genrsa -out key.pem 2048 2>/dev/null
openssl rsa -in key.pem -pubout -out pub.pem 2>/dev/null
openssl genrsa -out master.pem 2048 2>/dev/null
openssl rsa -in master.pem -pubout -out master.pub 2>/dev/null

nasty_tree
mkdir -p tree/hl tree/sizes tree/many tree/sub/.x
echo one >tree/hl/one
ln tree/hl/one tree/hl/two
for size in 4194303 4194304 4194305 8388608; do
	head -c $size /dev/urandom >tree/sizes/$size
done
truncate -s 20M tree/sizes/hole
for i in $(seq 3000); do echo "$i" >"tree/many/$i"; done
mkdir tree/many/below
: >tree/many/below/.cvmfscatalog
mkfifo tree/fifo
mknod tree/null c 1 3
chmod 4755 tree/hl/one
chown -h 1234:70000 tree/hl/two
touch -d 1969-12-31 tree/many/1
touch -d 2060-01-01 tree/many/2
setfattr -n user.key -v value tree/hl/one 2>/dev/null || :
setfattr -n trusted.empty tree/hl 2>/dev/null || :
(cd tree && tar --sort=name --xattrs --xattrs-include='*' --format=pax \
    -cf ../one.tar .)

serve_start
t 'a repository' 0 publish one --catalog 500 one.tar
t 'is extracted' 0 layerpack -q -x want served/one
seen want >want.seen
t 'the client mounts it' 0 start "CVMFS_PUBLIC_KEY=$PWD/pub.pem"
seen mnt >got.seen
# ours leaves the time and links of the root as they are
same 'and sees the same' got.seen want.seen
t 'a program in it runs' 0 test -d mnt/hl

# updates
echo new >tree/hl/three
rm tree/many/7
echo changed >tree/many/8
(cd tree && tar --sort=name --xattrs --xattrs-include='*' --format=pax \
    -cf ../two.tar .)
t 'an update' 0 publish two --catalog 500 --update served/one two.tar
t 'a file that was not read before, of the revision before' 0 \
    cmp mnt/many/9 tree/many/9
t 'the client looks' 0 remount
layerpack -q -x want2 served/two
seen want2 >want.seen
seen mnt >got.seen
same 'and sees the second revision' got.seen want.seen
touch -d 2001-01-01 tree/many/8
rm -r tree/sizes
(cd tree && tar --sort=name --xattrs --xattrs-include='*' --format=pax \
    -cf ../three.tar .)
t 'another, with older files' 0 publish three --catalog 500 \
    --update served/two three.tar
t 'the client looks again' 0 remount
layerpack -q -x want3 served/three
seen want3 >want.seen
# the kernel keeps the root's own attributes for a while
seen mnt | grep -v '^ ' >got.seen
grep -v '^ ' want.seen >want.below
same 'and sees the third revision' got.seen want.below
stop

# another key, a master key, and none
rm -rf cache sockets
mkdir cache sockets
t 'another public key' 16 start "CVMFS_PUBLIC_KEY=$PWD/master.pub" 2>/dev/null ||
    stop
t 'the same by a master key' 0 publish four --master-key master.pem \
    --update served/three three.tar
t 'the client trusts the master' 0 start "CVMFS_PUBLIC_KEY=$PWD/master.pub"
stop
rm -rf cache sockets
mkdir cache sockets
t 'the hash of the root needs no key' 0 start "CVMFS_ROOT_HASH=$(
    sed -n 's/^root_catalog //p' said)"
seen mnt >got.seen
same 'and the same is seen' got.seen want.seen
stop

# the publisher's tools
t 'the check finds nothing' 0 as_client "$client/cvmfs_swissknife" check -c \
    -l 1 -r "$PWD/served/three" -t "$PWD" -N $name
t 'of any revision' 0 as_client "$client/cvmfs_swissknife" check -c \
    -l 1 -r "$PWD/served/one" -t "$PWD" -N $name
mkdir -p replica/data/txn
for i in $(seq 0 255); do mkdir "replica/data/$(printf %02x "$i")"; done
t 'it is replicated' 0 as_client "$client/cvmfs_swissknife" pull -m $name \
    -u "$site/$name" -r "local,$PWD/replica/data/txn,$PWD/replica" \
    -w "$site/$name" -k "$PWD/master.pub" -x "$PWD/replica/data/txn" -n 2
is 'object by object' "$(misnamed replica)" ''
t 'and can be read' 0 layerpack -q -x want4 replica
seen want4 >got.seen
same 'as it was' got.seen want.seen
done_testing

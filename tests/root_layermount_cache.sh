#!/bin/sh
# Several mounts, of several processes, share a cache with one limit, even if
# they are killed, and do without it if the disk is full.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in layerpack docker-registry skopeo base64; do
	have $tool || skip_all "no $tool"
done

# Two images of 12 MB: the first layer is the same
mkdir -p base one two cache mnt store
for i in $(seq 40); do head -c 100000 /dev/urandom >"base/b$i"; done
for i in $(seq 80); do
	head -c 100000 /dev/urandom >"one/f$i"
	head -c 100000 /dev/urandom >"two/f$i"
done
layer base gzip
base_layers=$layers base_diffs=$diffs
layer one gzip
manifest one
layers=$base_layers diffs=$base_diffs
layer two gzip
manifest two
t 'the layers can be read lazily' 0 layerpack -F estargz --image layout:one lazy1
t 'both' 0 layerpack -F estargz --image layout:two lazy2

registry=
cleanup() {
	umount -l mnt 2>/dev/null
	umount -l store 2>/dev/null
	umount -l small 2>/dev/null
	[ -z "$registry" ] || kill "$registry"
}
trap cleanup EXIT
registry_start
push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$1" \
	    "docker://$host/$2"
}
t 'one image' 0 push lazy1:one a/one:1
t 'another' 0 push lazy2:two b/two:1

limit=8000000
# a unit and its header, for each of four readers
most=$((limit + 4 * 106496))
start_mnt() {
	layermount --cache cache --cache-size $limit --prefetch none \
	    --stats="$PWD/stats" "docker://$host/$1" "$PWD/mnt"
}
start_store() {
	layermount --store --cache cache --cache-size $limit --prefetch none \
	    "$PWD/store"
}
gone() { ! grep -q " $PWD/$1 fuse.layermount " /proc/mounts; }
none_left() { ! pgrep -f "^layermount .* $PWD/$1\$" >/dev/null; }
stop() {
	umount "$1"
	await gone "$1"
	await none_left "$1"
}
kill_server() {
	pkill -KILL -n -f "^layermount .* $PWD/$1\$"
	await gone "$1"
	await none_left "$1"
}
# path_in_store IMAGE N: prints the directory of a layer
path_in_store() {
	skopeo inspect --tls-verify=false --raw "docker://$host/$1" |
	    grep -o '"digest": *"sha256:[0-9a-f]*' >digests
	# the first is that of the config
	path_digest=$(sed -n "$(($2 + 1))s/.*\(sha256:\)/\1/p" digests)
	printf '%s/%s/diff' "$(printf %s "$host/$1" | base64 -w0)" \
	    "$path_digest"
}
field() { tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }

# all_of_one: compares the files of one image
all_of_one() {
	for i in $(seq 80); do
		cmp "mnt/f$i" "one/f$i" || return
	done
}

# The same layer of another image, by another process
t 'a mount' 0 start_mnt a/one:1
t 'reads a layer' 0 sh -c 'cat mnt/b* >/dev/null'
stop mnt
t 'a mount of another image' 0 start_mnt b/two:1
for i in $(seq 40); do
	cmp "mnt/b$i" "base/b$i" || echo "b$i differs"
done >differ
t 'reads the same layer' 0 test ! -s differ
stop mnt
is 'from the cache' "$(field read_requests)" 0

# Three mounts of layers that are larger than the limit
check_space() {
	while sleep 0.02; do
		du -s -B1 --apparent-size cache >/dev/null 2>&1
		space=$(du -s -B1 cache 2>/dev/null | cut -f 1)
		[ "${space:-0}" -le $most ] || echo "$space"
	done
}
check_space >exceeded &
checker=$!
one=$(path_in_store a/one:1 2) two=$(path_in_store b/two:1 2)
# read_some DIR TREE SEED: reads files in random order, and compares them
read_some() {
	for i in $(seq 80 | shuf --random-source="$3"); do
		[ ! -e "$2/f$i" ] || cmp "$1/f$i" "$2/f$i" || echo "$2/f$i"
	done
}
t 'a store' 0 start_store
t 'and a mount' 0 start_mnt b/two:1
is 'the names of a layer' "$(find "store/$one/" -name 'f*' | wc -l)" 80
for round in 1 2 3; do
	read_some "store/$one" one base/b1 >wrong.1 2>&1 &
	first=$!
	read_some "store/$two" two base/b2 >wrong.2 2>&1 &
	second=$!
	read_some mnt two base/b3 >wrong.3 2>&1 &
	wait $first $second $!
	t "round $round: all bytes are right" 0 test ! -s wrong.1 -a \
	    ! -s wrong.2 -a ! -s wrong.3
	echo 3 >/proc/sys/vm/drop_caches
	case $round in
	1)
		read_some mnt two base/b4 >wrong.3 2>&1 &
		sleep 0.1
		kill_server mnt
		wait $!
		t 'a killed server is replaced' 0 start_mnt b/two:1
		;;
	2)
		read_some "store/$one" one base/b5 >wrong.3 2>&1 &
		sleep 0.1
		kill_server store
		wait $!
		t 'and a store' 0 start_store
		;;
	esac
done
kill $checker
wait $checker 2>/dev/null
t 'the limit was never exceeded' 0 test ! -s exceeded
t 'and is used' 0 test "$(du -s -B1 cache | cut -f 1)" -gt $((limit / 2))
# the second evicts what the first stored
stop mnt
t 'only one is left' 0 sh -c "cat 'store/$one'/f* >/dev/null; sleep 3
    cat 'store/$two'/f* >/dev/null"
stop store
t 'a mount of what was read first' 0 start_mnt a/one:1
t 'is right' 0 all_of_one
stop mnt
t 'and was fetched again' 0 test "$(field read_requests)" -gt 20
t 'within the limit' 0 test "$(du -s -B1 cache | cut -f 1)" -le $limit

# A full disk
mkdir small
mount -t tmpfs -o size=2m none small
t 'a cache on a small disk' 0 layermount --cache small/cache --log log \
    --prefetch none "docker://$host/a/one:1" "$PWD/mnt"
t 'all is right' 0 all_of_one
is 'it is said once' "$(grep -c 'nothing is stored.*No space left' log)" 1
stop mnt
cat /dev/zero >small/rest 2>/dev/null
rm -rf small/cache
mkdir small/cache
cat /dev/zero >small/rest 2>/dev/null
t 'a disk that is full before' 0 layermount --cache small/cache --log log \
    "docker://$host/a/one:1" "$PWD/mnt"
t 'makes no difference' 0 all_of_one
stop mnt
t 'a temporary file on it' 0 env TMPDIR="$PWD/small" layermount \
    --log log "docker://$host/a/one:1" "$PWD/mnt"
t 'neither' 0 all_of_one
stop mnt
done_testing

#!/bin/sh
# A store frees layers that are not in use, and reopens them on demand.
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
layers_made=50 names=2000

# Layers with many long names, so that each index takes about 1 MB
mkdir -p tree/d store
long=$(printf '%0180d' 0)
(cd tree/d && seq -f "%04g$long" $names | xargs touch)
i=0
while [ $i -lt $layers_made ]; do
	i=$((i + 1))
	seq $i 20000 >tree/text
	layer tree gzip
done
manifest plain
t 'many layers' 0 layerpack -q -F estargz --image layout:plain lazy

registry=
cleanup() {
	umount -l store 2>/dev/null
	[ -z "$registry" ] || kill "$registry"
}
trap cleanup EXIT
registry_start
t 'are pushed' 0 skopeo --insecure-policy copy -q --dest-tls-verify=false \
    oci:lazy:plain "docker://$host/a/many:1"
at=store/$(printf %s "$host/a/many:1" | base64 -w 0)
skopeo inspect --tls-verify=false "docker://$host/a/many:1" |
    grep -o 'sha256:[0-9a-f]*' | awk '!seen[$0]++' | tail -n $layers_made >all
# nth N: prints the directory of a layer
nth() { echo "$at/$(sed -n "$1p" all)"; }

mounted() { grep -q " $PWD/store fuse.layermount " /proc/mounts; }
unmounted() { ! mounted; }
server() { pgrep -f "^layermount .* $PWD/store\$" | tail -n 1; }
start() { layermount --store --stats=stats --idle 1 "$@" "$PWD/store"; }
stop() {
	umount store
	await unmounted
}
# memory: prints the server's resident memory, in KiB
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$(server)/status"; }
has_more() { [ "$(wc -l <stats)" -gt "$field_lines" ]; }
# field NAME: prints a counter
field() {
	field_lines=$(wc -l <stats)
	kill -USR1 "$(server)"
	await has_more >&2
	tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"
}
: >stats
open_layers() { [ "$(field layers)" = "$1" ]; }

# right N: whether layer N contains what was packed
right() {
	seq "$1" 20000 | cmp -s - "$(nth "$1")/diff/text" &&
	    [ "$(find "$(nth "$1")/diff/d" -type f | wc -l)" = $names ]
}
# use N: uses layer N as containers/storage does, up to its removal
use() {
	right "$1" && cat "$(nth "$1")/info" >/dev/null
	use_status=$?
	touch "$(nth "$1")/use" 2>/dev/null
	rmdir "$(nth "$1")" 2>/dev/null
	return $use_status
}

t 'a store' 0 start
t 'a layer is right' 0 use 1
before=$(memory)
wrong=0
for i in $(seq 2 $layers_made); do
	use "$i" || wrong=$((wrong + 1))
done
is 'so are all others' $wrong 0
await open_layers 0
ok 'all are unloaded'
is 'each at least once' "$(($(field unloaded_layers) >= layers_made))" 1
after=$(memory)
echo "# $before KiB after one layer, $after KiB at the end"
t 'memory was freed' 0 test "$after" -lt $((before + 12000))

t 'a layer can be used again' 0 use 7
touch "$(nth 8)/use" 2>/dev/null
exec 4<"$(nth 9)/diff/text"
head -c 10 <&4 >got
t 'another while its file is open' 0 use 10
await open_layers 2
ok 'what is used or open stays'
rmdir "$(nth 8)" 2>/dev/null
await open_layers 1
ok 'until its last use ends'
# the kernel was asked, in vain, to drop the open file's name
sleep 3
cat <&4 >>got
exec 4<&-
t 'the file is complete' 0 sh -c 'seq 9 20000 | cmp - got'
await open_layers 0
ok 'and its layer is unloaded once it is closed'

# Readers use layers that are being unloaded and reopened
reader() {
	for reader_i in $(seq 12); do
		right $((($1 + reader_i) % 6 + 1)) || return 1
		sleep "0.$((reader_i * $1 % 10))"
		[ $((reader_i % 4)) != 0 ] || sleep 1.5
	done
}
for i in 1 2 3; do
	{
		reader $i
		echo $? >status.$i
	} &
	readers="${readers-} $!"
done
# shellcheck disable=SC2086
wait $readers
is 'readers always see what was packed' "$(cat status.*)" '0
0
0'
await open_layers 0
ok 'then nothing is open'

# Background fetching also ends
stop
t 'a slow store' 0 start --prefetch all --rate 1K
t 'a layer' 0 right 3
await open_layers 0
ok 'is unloaded while it is being fetched'
t 'and comes back' 0 right 3
stop
done_testing

#!/bin/sh
# Data next to the bytes read is pushed into the page cache, even while
# processes are killed.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
have layerpack || skip_all 'no layerpack'

mkdir -p tree served mnt
head -c 9000001 /dev/urandom >tree/big
seq 400000 >tree/text
tar --numeric-owner -cf layer.tar -C tree .
layerpack -F estargz -c 1M -o served/blob layer.tar >made
printf '1\tbig\t0\t4096\n2\tbig\t40960\t200000\n3\tbig\t8990720\t9281\n' >order
layerpack -F zstd-chunked -c 1M --order order -o served/traced layer.tar >made

serve_start
start() { layermount --timeout 3 --stats=stats "$@" "$PWD/mnt"; }
mounted() { grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
unmounted() { ! mounted; }
servers() { pgrep -f "^layermount .* $PWD/mnt\$" || :; }
no_servers() { [ -z "$(servers)" ]; }
stop() {
	umount mnt
	await unmounted
	await no_servers
}
trap 'umount -l mnt 2>/dev/null || :' EXIT
# field NAME: prints a counter's current value
field() {
	field_lines=$(wc -l <stats)
	pkill -USR1 -f "^layermount .* $PWD/mnt\$"
	await more_lines
	tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"
}
more_lines() { [ "$(wc -l <stats)" -gt "$field_lines" ]; }
# pushed BYTES: whether at least this many bytes have been pushed
pushed() { [ "$(field pushed_B)" -ge "$1" ]; }
# page FILE N: reads its page N
page() { dd if="$1" bs=4096 skip="$2" count=1 status=none; }
: >stats

t 'a unit' 0 start --prefetch none "$site/blob"
if [ ! -w "/sys/class/bdi/$(mountpoint -d mnt)/read_ahead_kb" ]; then
	umount mnt
	skip_all 'the readahead of a mount cannot be set'
fi
page mnt/big 300 >got
page tree/big 300 >want
same 'a page' got want
# the unit is 1 MiB, less the page that the read itself has stored
await pushed 1044480
mode 500 1
dd if=mnt/big bs=1M skip=1 count=1 status=none >got
dd if=tree/big bs=1M skip=1 count=1 status=none >want
same 'all of its unit is there without the server' got want
t 'the next one is not' 1 page mnt/big 600
mode good 1
t 'everything' 0 cmp mnt/big tree/big
t 'and again' 0 cmp mnt/big tree/big
is 'one unit was fetched once' "$(field units)" 9
stop

t 'a trace' 0 start "$site/traced"
page mnt/big 0 >got
page tree/big 0 >want
same 'the first page' got want
await pushed 205000
mode 500 1
for i in 10 11 57 2195 2197; do
	page mnt/big $i >got
	page tree/big $i >want
	same "page $i without the server" got want
done
is 'nothing was fetched to read them' "$(field units)" 0
mode good 1
t 'everything' 0 cmp mnt/big tree/big
t 'another file' 0 cmp mnt/text tree/text
stop

# readers: starts processes that read random pages until a read fails
readers() {
	readers_pids=
	for readers_n in 1 2 3; do
		awk -v seed="$1$readers_n" 'BEGIN {
			srand(seed)
			for (;;)
				print int(rand() * 2190)
		}' | while read -r readers_page; do
			dd if=mnt/big bs=4096 skip="$readers_page" count=3 \
			    status=none >/dev/null 2>&1 || break
		done &
		readers_pids="$readers_pids $!"
	done
}
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	mode good 1
	start --prefetch none "$site/blob" || break
	readers $i
	# at different times within the first second
	sleep "0.$((i % 4))$i"
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$(servers | tail -n 1)"
	else
		[ $((i % 3)) != 0 ] || mode stalls 1
		kill "$(servers | head -n 1)"
	fi
	await unmounted
	await no_servers
	# shellcheck disable=SC2086
	wait $readers_pids || :
done
is 'killed at any time, it is unmounted' $i 12
mode good 1
t 'the next mount' 0 start "$site/blob"
t 'has the same bytes' 0 cmp mnt/big tree/big
stop
exec 3>&-
wait
done_testing

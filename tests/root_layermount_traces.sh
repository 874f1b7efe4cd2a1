#!/bin/sh
# Of several traces in a layer, a mount fetches what its reads need.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
have layerpack || skip_all 'no layerpack'

# Files of one command, of the other, and of both; and pages of one file
mkdir -p tree served mnt
for name in both small large pages rest; do
	head -c 400000 /dev/urandom >tree/$name
done
head -c 6000000 /dev/urandom >tree/large
tar --numeric-owner -cf layer.tar -C tree .
printf '%s\t%s\t%s\t%s\n' 1 both 0 400000 2 small 0 400000 \
    3 pages 0 40960 4 pages 81920 40960 >first
printf '%s\t%s\t%s\t%s\n' 1 both 0 400000 2 large 0 6000000 \
    3 pages 40960 40960 4 pages 81920 40960 >second

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
# field NAME: prints a field from the last line of stats
field() { tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
# value NAME: prints a value from the layer's statistics
value() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" made; }
# reads NAME FILE...: mounts the layer, and compares these files
reads() {
	reads_name=$1
	shift
	t "$reads_name: a mount" 0 start "$site/$reads_layer"
	for reads_file; do
		t "$reads_name: $reads_file" 0 \
		    cmp "mnt/$reads_file" "tree/$reads_file"
	done
	stop
}
# page FILE N: reads its page N
page() { dd if="$1" bs=4096 skip="$2" count=1 status=none; }

for format in estargz zstd-chunked; do
	rm -f made
	reads_layer=$format
	layerpack -q -f -F $format -c 64K --order first --order second \
	    --stats=made -o served/$format layer.tar >said
	t "$format: is valid" 0 layerpack --verify served/$format
	is "$format: has sections" "$(value sections)" 2
	rm -f stats
	reads "$format, none"
	none=$(field wire_B)
	# the trace itself is that of `both` and a part of `pages`
	t "$format: nothing more than the trace" 0 test "$none" -lt 520000
	reads "$format, both" both
	t "$format: which is there" 0 test "$(field wire_B)" -lt 520000
	t "$format: and read" 0 test "$(field trace_B)" -gt 0
	is "$format: no unit of both" "$(field units)" 0
	reads "$format, first" both small
	t "$format: one section more" 0 test "$(field wire_B)" -gt \
	    $((none + 400000))
	t "$format: and no more than that" 0 test "$(field wire_B)" -lt \
	    $((none + 520000))
	is "$format: in one request" "$(field prefetch_requests)" 2
	is "$format: no unit" "$(field units)" 0
	reads "$format, second" both large
	t "$format: the other section" 0 test "$(field wire_B)" -gt \
	    $((none + 6000000))
	t "$format: and no more" 0 test "$(field wire_B)" -lt \
	    $((none + 6250000))
	is "$format: no unit of the second" "$(field units)" 0
	reads "$format, all" rest small both pages large
	is "$format: in all, units of others" "$(field failures)" 0

	# what is pushed into the page cache is more after a section
	if start "$site/$format" &&
	    [ -w "/sys/class/bdi/$(mountpoint -d mnt)/read_ahead_kb" ]; then
		for n in 20 0; do
			page mnt/pages $n >got
			page tree/pages $n >want
			same "$format: page $n" got want
			sleep 0.2
		done
		mode 500 1
		for n in 29 5; do
			page mnt/pages $n >got
			page tree/pages $n >want
			same "$format: page $n without the server" got want
		done
		mode good 1
		stop
		# some of the file is there, so this may be by chance
		is "$format: pages of all sections, and one unit" \
		    "$(field units)" 1
		t "$format: few reads" 0 test "$(field reads)" -le 4
	fi

	t "$format: --prefetch none" 0 start --prefetch none "$site/$format"
	t "$format: reads a file" 0 cmp mnt/small tree/small
	stop
	is "$format: fetches none" "$(field trace_B)" 0
	t "$format: --prefetch all" 0 start --prefetch all "$site/$format"
	for name in small large rest; do
		t "$format: reads $name" 0 cmp mnt/$name tree/$name
	done
	stop
	is "$format: which is right" "$(field wrong_units)" 0

	# a damaged section
	at=$(($(value trace_offset_B) - 1000000))
	cp served/$format served/bent
	old=$(od -An -tu1 -j $at -N 1 served/bent)
	printf '%b' "\\0$(printf %o $((old ^ 4)))" |
	    dd of=served/bent bs=1 seek=$at conv=notrunc 2>/dev/null
	t "$format: a damaged section" 1 layerpack --verify served/bent
	shows "$format: is named" 'section [12] of the trace is damaged' .t.err
	is "$format: once" "$(wc -l <.t.err)" 1
	: >log
	t "$format: a mount of it" 0 start --log log "$site/bent"
	for name in both small large pages; do
		t "$format: $name is right" 0 cmp mnt/$name tree/$name
	done
	stop
	shows "$format: says so" 'ignoring a section of the trace' log
	is "$format: once only" "$(grep -c 'ignoring a section' log)" 1
	t "$format: units instead" 0 test "$(field units)" -gt 5

	# the server fails while it is fetched
	t "$format: a server" 0 start "$site/$format"
	mode 500 1
	t "$format: that fails" 1 cat mnt/large
	mode good 1
	t "$format: and returns" 0 cmp mnt/large tree/large
	t "$format: with the other" 0 cmp mnt/small tree/small
	stop
done
exec 3>&-
wait
done_testing

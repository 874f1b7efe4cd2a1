#!/bin/sh
# Data from damaged traces and caches is not returned, and stopped processes
# resume.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"

# has_all: checks that the mount contains all files that were packed
has_all() {
	what mnt >got
	cmp got want
}

# If a byte of the trace changes, the chunks are read instead.
{ echo dir/text; for i in $(seq 300); do echo "many/$i"; done; } >list
for format in estargz zstd-chunked; do
	rm -f made
	layerpack -q -F $format -c 64K --order list --stats=made -T . \
	    -o served/$format layer.tar >said
	value() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" made; }
	at=$(value trace_offset_B) size=$(value trace_B)
	rm -f stats
	t "$format: a trace" 0 start --stats=stats served/$format
	t "$format: is right" 0 has_all
	stop
	t "$format: and read" 0 test "$(field trace_B)" -gt 1000
	for k in $(seq 0 19); do
		cp served/$format bent
		byte=$((at + k * (size - 1) / 19))
		old=$(od -An -tu1 -j $byte -N 1 bent)
		printf '%b' "\\0$(printf %o $((old ^ 1 << k % 8)))" |
		    dd of=bent bs=1 seek=$byte conv=notrunc 2>/dev/null
		rm -f stats
		t "$format: byte $k of 20 is changed" 0 start --stats=stats bent
		shows 'says so' 'ignoring the trace' .t.err
		t "$format: all bytes are right" 0 has_all
		stop
		is 'none is of the trace' "$(field trace_B)" 0
	done
done

# Data from a replaced cache is not returned.
cached() { start --cache cache --prefetch none "$url"; }
# anew: creates a full cache, with the only layer $layer
anew() {
	rm -rf cache
	cached
	what mnt >got
	stop
	layer=$(ls -d cache/*.layer)
}
anew
cp -r "$layer" good
for file in "$layer"/*; do
	head -c "$(wc -c <"$file")" /dev/urandom >other
	mv other "$file"
done
t 'a cache of other bytes' 0 cached
t 'all bytes are right' 0 has_all
stop
mkdir -p up/dir
seq 200001 400000 >up/dir/text
tar -cf up.tar -C up .
layerpack -q -F estargz -c 64K -o served/second up.tar >made
t 'another layer' 0 start --cache other --prefetch none "${url%blob}second"
cat mnt/dir/text >/dev/null
stop
rm -r "$layer"
cp -r other/*.layer "$layer"
t "another layer's cache" 0 cached
t 'all bytes are right' 0 has_all
stop
# each range in the place of another
rm -r "$layer"
mkdir "$layer"
for file in good/*; do
	last=${file#good/}
done
for file in good/*; do
	cp "good/$last" "$layer/${file#good/}"
	last=${file#good/}
done
t 'ranges in other places' 0 cached
t 'all bytes are right' 0 has_all
stop
rm -r "$layer"
ln -s "$PWD/good" "$layer"
cksum good/* >sum
t 'a link' 1 cached
shows 'is named' 'the cache: ' .t.err
await unmounted
is 'its target is unchanged' "$(cksum good/*)" "$(cat sum)"
rm "$layer"
mkfifo "$layer"
t 'a FIFO' 1 cached
shows 'is named' 'the cache: ' .t.err
await unmounted
rm "$layer"

# Both processes are stopped and continued repeatedly.
t 'a mount' 0 start --prefetch none --stats=stats "$url"
pids=$(servers)
(
	while sleep 0.02; do
		for signal in STOP CONT USR1; do
			# shellcheck disable=SC2086
			kill -s $signal $pids
		done
	done
) 2>/dev/null &
stopper=$!
for i in 1 2 3; do
	t 'with interrupted calls, all bytes are right' 0 has_all
	echo 3 >/proc/sys/vm/drop_caches
done
kill $stopper
wait $stopper 2>/dev/null
# shellcheck disable=SC2086
kill -s CONT $pids
stop
exec 3>&-
wait
done_testing

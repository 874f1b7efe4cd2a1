#!/bin/sh
# Layers are mounted using their compact index; a damaged index is not trusted.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

layerpack -h | grep -q -e --image || skip_all 'layerpack has no --image'

has_all() {
	what mnt >got
	cmp got want
}
# pages TREE: prints a page from each of 20 chunks, read one after the other
pages() {
	for page in $(seq 0 2 38); do
		dd if="$1/big" bs=4096 skip=$((page * 16)) count=1 2>dd.err ||
		    return 1
	done
}
# bend FILE OFFSET: flips one bit of the byte at OFFSET
bend() {
	bend_old=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf '%b' "\\0$(printf %o $((bend_old ^ 4)))" |
	    dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# value NAME: prints a value from the last layer's statistics
value() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" made; }
# annotation PATTERN: prints the value of an annotation of that layer
annotation() { sed -n "s/^annotation $1=//p" said; }

printf 'many/%s\n' $(seq 100) >list
mkdir -p served/blobs
layers='' diffs='' refs=''
layer tree gzip
manifest t
for format in estargz zstd-chunked; do
	rm -f made
	layerpack -q -f -F $format -c 64K --order list --no-trace \
	    --stats=made -T . -o served/blob layer.tar >said
	compact=$(annotation coldpress.compact-index)
	digest=$(annotation '.*\(toc.digest\|io.containers.*checksum\)')
	name=blobs/$(sed -n 's/^digest //p' said)
	cp served/blob "served/$name"

	rm -f stats
	start --prefetch none --stats=stats --index-digest "$digest" "$url"
	stop
	full=$(field index_wire_B)
	t "$format: the compact index" 0 start --prefetch none --stats=stats \
	    --index-digest "$compact" "$url"
	t "$format: has everything" 0 has_all
	stop
	t "$format: is smaller" 0 test \
	    $(($(field index_wire_B) * 2)) -lt "$full"
	is "$format: no unit is wrong" "$(field wrong_units)" 0
	t "$format: ahead of reads" 0 start --stats=stats \
	    --index-digest "$compact" "$url"
	marked() {
		# shellcheck disable=SC2046
		kill -s USR1 $(servers)
		[ "$(field background_requests)" -gt 0 ]
	}
	t "$format: what the landmark marks is fetched" 0 await marked
	stop

	for i in 1 2; do
		rm -f stats
		t "$format: a cache" 0 start --prefetch none --stats=stats \
		    --cache "cache.$format" --index-digest "$compact" \
		    "$site/$name"
		t "$format: has everything, too" 0 has_all
		stop
	done
	is "$format: nothing is requested again" "$(field requests)" 0

	# Data and digests that are damaged in transit are fetched again.
	t "$format: a server" 0 start --prefetch none --stats=stats \
	    --index-digest "$compact" "$url"
	mode flips 2
	t "$format: reads succeed, despite damaged replies" 0 to pages.got \
	    pages mnt
	pages tree >pages.want
	same "$format: and have the right bytes" pages.got pages.want
	mode good 1
	stop
	t "$format: some units were wrong" 0 test "$(field wrong_units)" -gt 0
	is "$format: but not in the end" "$(field failed_units)" 0

	# A changed compact index is refused, unless the full index's digest is
	# known.
	bend served/blob $(($(value compact_offset_B) + 200))
	t "$format: a changed index" 1 start --index-digest "$compact" "$url"
	shows "$format: is refused" 'the compact index' .t.err
	await unmounted
	cp "served/$name" served/blob
	rm -rf lazy
	layerpack -q --image -F $format -c 64K layout lazy
	t "$format: an image" 0 start lazy:t
	t "$format: has everything, again" 0 has_all
	stop
	place=$(sed -n 's/.*compact-index":"sha256:[^:]*:\([0-9]*\):.*/\1/p' \
	    lazy/blobs/sha256/* | head -n 1)
	for file in lazy/blobs/sha256/*; do
		[ "$(wc -c <"$file")" -lt "$place" ] ||
		    bend "$file" $((place + 200))
	done
	t "$format: an image with a changed index" 0 start lazy:t
	shows "$format: is mounted by the other one" \
	    'using the other index' .t.err
	t "$format: and has everything" 0 has_all
	stop

	# Without their digests, units are not decoded.
	at=$(value digests_offset_B) end=$(value compact_offset_B)
	while [ "$at" -lt "$end" ]; do
		[ $((at + 100)) -ge "$end" ] || bend served/blob $((at + 100))
		at=$((at + 1024))
	done
	t "$format: changed digests" 0 start --prefetch none --stats=stats \
	    --index-digest "$compact" "$url"
	t "$format: a file cannot be read" 1 cat mnt/many/7
	is "$format: not even in part" "$(cat .t.out)" ''
	stop
	t "$format: the attempts are counted" 0 test \
	    "$(field wrong_units)" -ge 3
	t "$format: the other index" 0 start --prefetch none \
	    --index-digest "$digest" "$url"
	t "$format: does not need them" 0 has_all
	stop
done
exec 3>&-
wait
done_testing

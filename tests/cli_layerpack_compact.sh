#!/bin/sh
# Listing and verifying give the same results with the compact index as with the
# full index, or the compact index is refused.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/graft.sh
. "$SRC/tests/graft.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

have zstd || skip_all 'no zstd'

# pack NAME FORMAT OPTION...: makes a layer of the archive NAME.tar
pack() {
	pack_name=$1 pack_as=$2
	shift 2
	rm -f "$pack_name.stats"
	layerpack -q -f -F "$pack_as" --stats="$pack_name.stats" \
	    -o "$pack_name" "$@" "$pack_name.tar" >said
}
# compact_of: prints the last layer's compact index annotation
compact_of() { sed -n 's/^annotation coldpress.compact-index=//p' said; }
# read_B FILE: prints how many bytes were read for the index
read_B() { sed -n 's/.* \([0-9]*\) bytes read for the index/\1/p' "$1"; }
# units NAME: prints the offsets of a layer's units, and where the last one ends
units() {
	table "$1" | sed '$d' | grep -o '"offset":[0-9]*'
	stat_of "$1" digests_offset_B
}
# graft FROM FORMAT: makes `grafted`, which is the layer `honest` up to the
# offset in column FROM of its statistics, and the layer `liar` from there on
graft() {
	head -c "$(stat_of honest "$1")" honest >grafted
	part liar "$(stat_of liar "$1")" $(($(stat_of liar compact_offset_B) +
	    $(stat_of liar compact_B) - $(stat_of liar "$1"))) >>grafted
	part liar "$(stat_of liar compact_offset_B)" \
	    "$(stat_of liar compact_B)" >compact
	table honest | sed "s/\(\"coldpressIndex\":{\"offset\":[0-9]*\)[^}]*/\1,\
\"length\":$(wc -c <compact),\
\"digest\":\"sha256:$(sha256sum compact | cut -d ' ' -f 1)\"/" >table.json
	finish "$2" grafted
}

nasty_tree
tar --xattrs -cf nasty.tar --sort=name -C tree . 2>/dev/null ||
    tar -cf nasty.tar --sort=name -C tree .
for format in estargz zstd-chunked; do
	for options in '' '-c 4K' '-c 64K --min-chunk 16K' '-L 1'; do
		name="$format${options:+ $options}"
		# shellcheck disable=SC2086
		pack nasty $format $options
		compact=$(compact_of)
		t "$name: is good" 0 layerpack --verify nasty
		layerpack --json -t nasty | sed 's/"stored_B":[0-9]*//' >want
		t "$name: the compact index" 0 \
		    layerpack --json -t --index-digest "$compact" nasty
		sed 's/"stored_B":[0-9]*//' .t.out >got
		same "$name: lists the same" got want
		layerpack -tvv nasty 2>full >/dev/null
		layerpack -tvv --index-digest "$compact" nasty 2>few >/dev/null
		t "$name: is smaller" 0 test \
		    $(($(read_B few) * 3)) -lt $(($(read_B full) * 2))
		rm -rf x
		t "$name: extracts" 0 \
		    layerpack -x x --index-digest "$compact" nasty
		tree_of tree >want
		tree_of x >got
		same "$name: all of it" got want
		t "$name: verifies" 0 \
		    layerpack --verify --index-digest "$compact" nasty
		cp nasty once
		# shellcheck disable=SC2086
		pack nasty $format $options -p 1
		same "$name: one thread makes the same" nasty once
		t "$name: another digest" 1 \
		    layerpack -t --index-digest "$(echo "$compact" |
			sed 's/:[0-9]*:/:1:/')" nasty
	done
	pack nasty $format --no-compact-index
	is "$format: it can be left out" "$(compact_of)" ''
	is "$format: with its digests" "$(stat_of nasty digests_B)" 0
	t "$format: the index is the same" 0 layerpack --verify nasty
done
t 'a malformed place' 1 layerpack -t --index-digest "$compact:1" nasty
shows 'is named' 'sha256: followed by 64 hexadecimal digits' .t.err
t 'not for a ztoc' 1 layerpack -F ztoc --no-compact-index -o no nasty.tar
shows 'says so' 'no-compact-index cannot be used with -F ztoc' .t.err

# --verify reports a compact index that differs from the full index.
mkdir honest.d
# dense, but the same in each run: with other bytes each change of the first may
# change the compressed length
seq 2000 | gzip -n | head -c 3000 >honest.d/first
seq 100 >honest.d/second
touch -d @1 honest.d/* honest.d
tar -cf honest.tar --sort=name -C honest.d .
for format in estargz zstd-chunked; do
	pack honest $format --no-tar-split 2>/dev/null || pack honest $format
	tar -cf liar.tar --sort=name --mode=0700 -C honest.d .
	pack liar $format --no-tar-split 2>/dev/null || pack liar $format
	graft digests_offset_B $format
	t "$format: other modes" 1 layerpack --verify grafted
	shows "$format: are reported" 'differs from the index at' .t.err
	cp -a honest.d liar.d
	# a different first byte that leaves the compressed length unchanged
	k=0
	until [ $k -gt 0 ] && [ "$(units liar)" = "$(units honest)" ]; do
		k=$((k + 1))
		[ $k -le 255 ] || break
		byte=$(od -An -tu1 -N 1 honest.d/first)
		printf '%b' "\\0$(printf %o $((byte ^ k)))" |
		    dd of=liar.d/first conv=notrunc 2>/dev/null
		touch -d @1 liar.d/* liar.d
		tar -cf liar.tar --sort=name -C liar.d .
		pack liar $format --no-tar-split 2>/dev/null ||
		    pack liar $format
	done
	is "$format: a change that keeps all lengths" "$(units liar)" \
	    "$(units honest)"
	graft compact_offset_B $format
	t "$format: digests of digests" 1 layerpack --verify grafted
	shows "$format: are reported, too" \
	    'from chunk 0 do not match the compact index' .t.err
	graft digests_offset_B $format
	t "$format: other digests" 1 layerpack --verify grafted
	shows "$format: are reported as well" \
	    'from chunk 0 differ from the index' .t.err
	rm -r liar.d
done
done_testing

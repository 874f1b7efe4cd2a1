#!/bin/sh
# layerpack makes ztocs for unmodified layers, and reads layers through them.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

# index OPTION... LAYER: makes its ztoc `out' and the description `said'
index() { layerpack -q -f -F ztoc -o out "$@" >said; }

# trip NAME LAYER TREE OPTION...: checks that the tree can be read through a
# ztoc for the layer
trip() {
	trip_name=$1 trip_layer=$2 trip_tree=$3
	shift 3
	t "$trip_name: is made" 0 index "$@" "$trip_layer"
	rm -rf got
	t "$trip_name: is extracted" 0 \
	    layerpack -x got --ztoc out "$trip_layer"
	tree_of got >got.tree
	same "$trip_name: the tree" got.tree "$trip_tree"
	t "$trip_name: is verified" 0 layerpack --verify --ztoc out \
	    --index-digest "$(sed -n 's/^index_digest //p' said)" \
	    "$trip_layer"
}

# flip FILE OFFSET: changes a bit
flip() {
	flip_byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((flip_byte ^ 4)))" |
	    dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

nasty_tree
mkdir tree/etc
seq 300000 | tac >tree/etc/much
(cd tree && tar --sort=name -cf ../gnu.tar . &&
    tar --sort=name --format=pax --pax-option='comment=a,LIB.x=y' \
	-cf ../pax.tar . &&
    tar --sort=name --format=pax -Scf ../sparse.tar .)
for i in gnu pax sparse; do
	mkdir want
	tar -xpf $i.tar -C want
	tree_of want >$i.tree
	rm -rf want
	gzip -nk6 $i.tar
done
{
	head -c 1500000 gnu.tar | gzip -n9
	: | gzip -n
	tail -c +1500001 gnu.tar | head -c 1000000 | gzip -n1
	tail -c +2500001 gnu.tar | gzip -n
} >many.gz

for windows in raw packed; do
	trip "$windows, 16K" gnu.tar.gz gnu.tree -c 16K --windows $windows
	trip "$windows, 64M" gnu.tar.gz gnu.tree -c 64M --windows $windows
	trip "$windows: members" many.gz gnu.tree -c 300000 --windows $windows
	trip "$windows: not compressed" gnu.tar gnu.tree --windows $windows
	trip "$windows: pax" pax.tar.gz pax.tree --windows $windows
	cp out first
	index --windows $windows - <pax.tar.gz
	same "$windows: from standard input" out first
done
trip 'sparse files' sparse.tar.gz sparse.tree --windows packed
index --windows packed -c 16K many.gz
t 'a packed ztoc is a zstd file' 0 zstd -qtf out

# Layers that cannot have a ztoc
rm -f out
t 'a sparse file' 1 index sparse.tar.gz
shows 'says so' 'a sparse file cannot be' .t.err
zstd -q gnu.tar
t 'a zstd layer' 1 index gnu.tar.zst
shows 'says so' 'compressed by zstd' .t.err
head -c 100000 gnu.tar.gz >short.gz
t 'a truncated layer' 1 index short.gz
shows 'says so' 'truncated' .t.err
cp gnu.tar.gz bad.gz
flip bad.gz 60000
t 'a damaged layer' 1 index bad.gz
printf x | cat gnu.tar.gz - >more.gz
t 'a layer followed by something else' 1 index more.gz
t 'no layer' 1 index "$SRC/README.md"
t 'an order' 1 index --order said gnu.tar.gz
t 'a small layer' 0 index --min-layer 1G gnu.tar.gz
is 'nothing was written' "$([ -e out ] || echo none)" none
t 'a sufficiently large layer' 0 index --min-layer 1000 gnu.tar.gz

# Damage
for windows in raw packed; do
	index -c 300000 --windows $windows gnu.tar.gz
	cp gnu.tar.gz bad.gz
	flip bad.gz 60000
	t "$windows: a damaged span" 1 layerpack --verify --ztoc out bad.gz
	shows 'says so' 'does not match its digest' .t.err
	rm -rf got
	t "$windows: is not extracted" 1 layerpack -x got --ztoc out bad.gz
	t "$windows: the ztoc of another layer" 1 \
	    layerpack -t --ztoc out many.gz
	shows 'says so' 'describes a layer of' .t.err
	t "$windows: another digest" 1 layerpack -t --ztoc out \
	    --index-digest "sha256:$(printf '%064d' 0)" gnu.tar.gz
	size=$(stat -c %s out)
	for at in $((size - 60)) $((size - 20)) $((size / 2)); do
		cp out bad
		flip bad $at
		t "$windows: a ztoc damaged at $at" 1 \
		    layerpack --verify --ztoc bad --index-digest \
		    "$(sed -n 's/^index_digest //p' said)" gnu.tar.gz
	done
	for at in 0 1 40 1000 $((size - 1)); do
		head -c $at out >bad
		t "$windows: a ztoc of $at bytes" 1 \
		    layerpack -t --ztoc bad gnu.tar.gz
	done
done

# Memory
mkdir names
(cd names && seq -f '%06.0f-a-name-that-is-not-very-short' 100000 |
    xargs touch)
tar -cf - names | gzip -1n >names.gz
for windows in raw packed; do
	index --windows $windows --stats=stats names.gz
	memory=$(sed -n 's/.*"maxrss_KiB":\([0-9]*\).*/\1/p' stats)
	sanitized layerpack || is "$windows: 100,000 entries in $memory KiB" \
	    "$([ "$memory" -le 65536 ] && echo less)" less
	is "$windows: all of them" "$(layerpack -t --ztoc out names.gz |
	    wc -l)" 100001
	rm stats
done

done_testing

#!/bin/sh
# Whichever of layerpack's calls fails while it reads a layer, or makes an index or
# an image: the result is an error or right.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'

tree_to_pack
(cd tree && tar --format=posix --sort=name -cf ../a.tar .)
gzip -nk a.tar

for f in estargz zstd-chunked; do
	layerpack -q -F $f -L 1 -c 16K -o layer a.tar >/dev/null
	suffers "$f: names" layerpack-fault -tv layer
	suffers "$f: rows" -c : layerpack-fault --json -t layer
	suffers "$f: verified" layerpack-fault -q -T . --verify layer
	suffers "$f: a tree" -p x layerpack-fault -q -x x -p 2 layer
	rm layer
done
suffers 'ztoc' -o out layerpack-fault -q -F ztoc -c 16K -T . -o out a.tar.gz
suffers 'ztoc, packed' -o out layerpack-fault -q -F ztoc --windows packed \
    -c 16K -T . -o out a.tar.gz
if layerpack -h | grep -q -e --image; then
	layer tree gzip
	manifest one
	suffers 'an image' -x chmod -o out layerpack-fault -q -p 2 -L 1 --image \
	    -F estargz layout out
	rm -r layout
fi
done_testing

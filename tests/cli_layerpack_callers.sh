#!/bin/sh
# Whichever of layerpack's calls fails: the result is an error or the right layer.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'

tree_to_pack
(cd tree && tar --format=posix --sort=name -cf ../a.tar .)
gzip -nk a.tar
printf '1\tsub/small\t0\t292\n' >list

# makes NAME ARGUMENT...
makes() {
	m_name=$1
	shift
	suffers "$m_name" -o out layerpack-fault -q -p 2 -L 1 -c 16K -T . \
	    -o out "$@"
}
for f in estargz zstd-chunked; do
	makes $f -F $f a.tar
	makes "$f in order" -F $f --order list --min-chunk 4K a.tar.gz
done
done_testing

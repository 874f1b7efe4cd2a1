#!/bin/sh
# Whichever of layerpack's calls fails: the result is an error or the right layer.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'

mkdir -p d/tree/sub
cd d || exit
seq 12000 >tree/n
seq 100 >tree/sub/small
ln tree/sub/small tree/name
ln -s sub/small tree/link
mkfifo tree/fifo
truncate -s 90000 tree/hole
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

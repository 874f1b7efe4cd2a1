#!/bin/sh
# SOCI's own library reads our ztocs, and writes the same bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

# tool: prints the build tool that a ztoc names
tool="coldpress $(layerpack -V | sed -n 's/.*(coldpress) //p')"

command -v go >/dev/null || skip_all 'go is not installed'
cp -r "$SRC/tests/interop/soci" source
(cd source && go mod download) 2>err ||
    skip_all "SOCI's modules cannot be fetched: $(head -n 1 err)"
t 'SOCI is built' 0 sh -c 'cd source && go build -o ../soci .'
# its ztocs contain local times
TZ=UTC0
export TZ

nasty_tree
(cd tree && tar --sort=name -cf ../gnu.tar . &&
    tar --sort=name --format=pax -cf ../pax.tar .)
(cd tree && find . -type f ! -links +1 -exec sha256sum {} + |
    sed 's/^\\//' | sort) >once.sums
for i in gnu pax; do
	gzip -nk1 $i.tar
	gzip -n9c $i.tar >$i-9.tar.gz
	for layer in $i.tar $i.tar.gz $i-9.tar.gz; do
		for span in 4194304 100000; do
			t "$layer, $span: SOCI's" 0 \
			    ./soci make "$layer" theirs $span "$tool"
			t "$layer, $span: ours" 0 layerpack -q -f -F ztoc \
			    -c $span -o ours "$layer"
			same "$layer, $span: the same" ours theirs
		done
		t "$layer: we verify SOCI's" 0 \
		    layerpack --verify --ztoc theirs "$layer"
		t "$layer: SOCI reads ours" 0 ./soci read "$layer" ours
		cp .t.out read
		sort read >read.sorted
		is "$layer: all files that have one name" \
		    "$(comm -23 once.sums read.sorted)" ''
	done
done

# An image: its SOCI index is found and read as the snapshotter does
if layerpack -h | grep -q -e --image && have sha256sum; then
	mkdir -p 1/etc 2/usr
	seq 200000 >1/etc/large
	seq 3000 >2/usr/file
	layer 1 gzip
	layer 2 tar
	manifest one
	layer 1 zstd
	manifest two
	t 'an image' 0 layerpack -q --image -F ztoc -c 100000 layout out
	t 'SOCI reads its index' 0 ./soci index out
	is 'of both images' "$(grep -c ^image .t.out)" 2
	is 'and all layers but that of zstd' "$(grep -c ^layer .t.out)" 4
	grep -l soci.build-tool out/blobs/sha256/* | while read -r f; do
		sed -i 's/index.v2/index.v3/' "$f"
	done
	t 'a modified index' 1 ./soci index out
else
	skip 'an image: built without OCI'
fi

done_testing

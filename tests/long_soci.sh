#!/bin/sh
# SOCI's own library reads our ztocs, and makes the same bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

# tool: who made a ztoc, as it says itself
tool="coldpress $(layerpack -V | sed -n 's/.*(coldpress) //p')"

command -v go >/dev/null || skip_all 'there is no go'
cp -r "$SRC/tests/interop/soci" source
(cd source && go mod download) 2>err ||
    skip_all "SOCI's modules cannot be had: $(head -n 1 err)"
t 'SOCI is built' 0 sh -c 'cd source && go build -o ../soci .'
# its ztocs have local times
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
			t "$layer, $span: theirs" 0 \
			    ./soci make "$layer" theirs $span "$tool"
			t "$layer, $span: ours" 0 layerpack -q -f -F ztoc \
			    -c $span -o ours "$layer"
			same "$layer, $span: the same" ours theirs
		done
		t "$layer: we verify theirs" 0 \
		    layerpack --verify --ztoc theirs "$layer"
		t "$layer: they read ours" 0 ./soci read "$layer" ours
		cp .t.out read
		sort read >read.sorted
		is "$layer: all files that have one name" \
		    "$(comm -23 once.sums read.sorted)" ''
	done
done

done_testing

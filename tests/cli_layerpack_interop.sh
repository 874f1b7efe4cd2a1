#!/bin/sh
# The stargz project's library reads our layers, and layerpack reads its layers.
# SPDX-License-Identifier: BSD-2-Clause
# The program is built if go is installed and the library is available or can be
# fetched.
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layer_tree.sh
. "$SRC/tests/layer_tree.sh"

have go || skip_all 'go is not installed'
mkdir go
cp "$SRC"/tests/interop/*.* go
GOFLAGS=-mod=mod peer=$PWD/estargz
export GOFLAGS
(cd go && timeout 300 go build -o "$peer" .) >go.log 2>&1 || {
	sed 's/^/# /' go.log | head -n 5
	skip_all 'the stargz library cannot be built'
}

layer_tree
tar -C tree --sort=name -cf t.tar .
printf '%s\n' etc/file7 bin/large >order

# files DIR: prints type, size and SHA-256 as the program lists them
files() {
	(cd "$1" && find . -mindepth 1 -printf '%y %P\n') | sort -k 2 |
	    while read -r type path; do
		case $type in
		f) set -- "$1" reg "$(stat -c %s "$1/$path")" ;;
		d) set -- "$1" dir 0 ;;
		l) set -- "$1" symlink 0 ;;
		p) set -- "$1" fifo 0 ;;
		esac
		sum=-
		[ "$2" != reg ] || [ "$3" = 0 ] ||
		    sum=$(sha256sum <"$1/$path" | cut -d ' ' -f 1)
		echo "$sum $2 $3 $path"
	done
}

# index_digest: prints the digest that the program checks: that of the JSON, in
# both formats.  Without --stargz, a zstd:chunked layer has no annotation for it.
index_digest() {
	if grep -q stargz/toc.digest said; then
		sed -n 's/^annotation .*stargz.toc.digest=//p' said
	else
		at=$(sed -n 's/^annotation io.containers.*position=//p' said)
		rest=${at#*:}
		echo "sha256:$(tail -c "+$((${at%%:*} + 1))" out |
		    head -c "${rest%%:*}" | zstd -dc | sha256sum |
		    cut -d ' ' -f 1)"
	fi
}

files tree | sort >want
for kind in gzip zstd; do
	[ $kind = gzip ] && format=estargz || format=zstd-chunked
	for options in '' '-c 64K' '--order order' --stargz \
	    '--stargz --order order'; do
		[ "$kind ${options%% *}" != 'gzip --stargz' ] || continue
		# shellcheck disable=SC2086
		layerpack -f -F $format $options -o out t.tar >said
		t "$format $options: every chunk is verified" 0 \
		    "$peer" verify $kind out "$(index_digest)"
		grep -v landmark .t.out | sort >got
		same 'and every file is read' got want
	done
	layerpack -f -F "$format" --min-chunk 64K -o out t.tar >said
	t "$format: files that share a unit, which the library refuses" 1 \
	    "$peer" verify $kind out "$(index_digest)"
	shows 'for its own reason' 'offset [0-9]* found twice' .t.err
	t "the library's $kind layer" 0 \
	    "$peer" make $kind t.tar theirs 100000 etc/file7
	t 'is verified' 0 layerpack --verify theirs
	rm -rf got.tree
	t 'is extracted' 0 layerpack -q -x got.tree theirs
	files got.tree | sort >got
	same 'as the tree was' got want
done
done_testing

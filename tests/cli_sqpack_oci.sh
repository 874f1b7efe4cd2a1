#!/bin/sh
# An image made from an OCI layout contains the merged tree of its layers.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

sqpack -h | grep -q 'OCI' || skip_all 'sqpack was built without OCI'
have unsquashfs || skip_all 'unsquashfs is not installed'
have sha256sum || skip_all 'no sha256sum'

# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

facts() {
	(cd "$1" && find . -mindepth 1 -printf '%y %m %U %G %n %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
	    sort
	find . -type f -exec sha256sum {} + | sort
	! have getfattr || getfattr -Rhd -m user - . 2>/dev/null)
}

# The lowest layer, a layer that hides and replaces files, and a layer that adds
# files
mkdir -p 1/keep/deep 1/gone/deep 1/opaque/lower/deep 1/becomes-file \
    1/listed-again
seq 50000 >1/keep/large
seq 70000 >1/gone/large
echo deep >1/gone/deep/file
echo lower >1/opaque/lower/deep/file
echo old >1/opaque/old
echo x >1/becomes-file/x
echo file >1/becomes-dir
echo one >1/listed-again/one
echo stays >1/keep/deep/file
echo hidden >1/keep/hidden
seq 9000 >1/first
ln 1/first 1/keep/hard
ln 1/first 1/other-hard
ln -s keep/large 1/soft
chmod 700 1/listed-again
setfattr -n user.a -v lower 1/listed-again 2>/dev/null
setfattr -n user.b -v gone 1/gone/large 2>/dev/null
setfattr -n user.c -v kept 1/keep/large 2>/dev/null
mkdir -p 2/opaque/upper 2/keep 2/becomes-dir 2/listed-again
: >2/.wh.gone
: >2/keep/.wh.hidden
: >2/opaque/.wh..wh..opq
echo new >2/opaque/upper/file
echo new >2/opaque/a-file
echo now a file >2/becomes-file
echo y >2/becomes-dir/y
chmod 711 2/listed-again
setfattr -n user.a -v upper 2/listed-again 2>/dev/null
echo replaced >2/first
: >2/.wh.not-there
mkdir -p 3/gone 3/keep
echo again >3/gone/file
ln -s ../nowhere 3/soft
seq 30000 >3/keep/third
layer 1 gzip
layer 2 tar
layer 3 "$(if have zstd; then echo zstd; else echo gzip; fi)"
manifest latest

t 'a layout' 0 sqpack -p3 -F zstd -L 1 -o image layout
t 'unsquashfs accepts it' 0 unsquashfs -q -n -d got image
facts got >got.facts
mkdir want
tar -C want --xattrs -xf layout/blobs/sha256/"$(echo "$layers" |
    sed 's/.*sha256:\([0-9a-f]*\).*/\1/')" 2>/dev/null
rm -rf want
# the expected tree, made by hand
mkdir want
cp -a 1/. want
rm -rf want/gone want/keep/hidden want/opaque/* want/becomes-file \
    want/becomes-dir want/soft
(cd 2 && tar --xattrs --exclude='.wh.*' -cf - opaque becomes-file becomes-dir \
    listed-again) | tar -C want --xattrs -xpf -
cp -a --remove-destination 2/first want
(cd 3 && tar -cf - .) | tar -C want --xattrs -xpf -
touch -r 3/keep want/keep
touch -r 2/opaque want/opaque
facts want >want.facts
same 'the merged layers' got.facts want.facts
sqpack -f -p1 -F zstd -L 1 -o one image >/dev/null
sqpack -f -p1 -F zstd -L 1 -o one layout
same 'also with one thread' one image
t 'it can be rebuilt from its own tree' 0 sqpack --rebuild-check image
is 'no hidden file is stored' \
    "$(sqpack --dry-run --stats -F none layout 2>&1 |
    sed 's/.*"files_B":\([0-9]*\).*/\1/')" \
    "$(find got -type f -size +0 ! -samefile got/keep/hard -printf '%s\n' |
    awk -v n="$(wc -c <got/keep/hard)" '{ s += $1 } END { print s + n }')"
printf 'keep/third\nkeep/large\n' >list
t 'with a list' 0 sqpack -f -F zstd -L 1 --order list -o ordered layout
rm -rf got
t 'unsquashfs accepts this one' 0 unsquashfs -q -n -d got ordered
facts got >got.facts
same 'it is the same tree' got.facts want.facts
t 'the list is followed' 0 sqpack --rebuild-check ordered

# Whiteouts at any depth: in this order a layer's whiteouts precede its names,
# and in reverse they follow them.
# scatter LAYER: makes a random tree in DIR r.LAYER, and its list of names
scatter() {
	awk -v layer="$1" 'function grow(dir, depth,    i) {
		if (layer > 1 && rand() < 0.3)
			print "f", dir ".wh..wh..opq"
		for (i = 0; i < 3; i++) {
			if (layer > 1 && rand() < 0.1)
				print "f", dir ".wh." names[int(rand() * 6) + 1]
			if (rand() < 0.5)
				print "f", dir names[i + 4]
			if (depth < 5 && rand() < 0.7) {
				print "d", dir names[i + 1]
				grow(dir names[i + 1] "/", depth + 1)
			}
		}
	}
	BEGIN {
		split("a b c 1 2 3", names)
		srand(layer)
		grow("", 0)
	}' >r.names
	while read -r type path; do
		case $type in
		d) mkdir -p "r.$1/$path" ;;
		f) echo "$1" >"r.$1/$path" ;;
		esac
	done <r.names
	awk '!seen[$2]++ { print $2 }' r.names >"r.$1.list"
}
# apply DIR: applies a layer's whiteouts to the tree want, then adds its names
apply() {
	(cd "$1" && find . -name '.wh.*') | while read -r path; do
		dir=want/${path%/*} name=${path##*/.wh.}
		[ "$name" != .wh..opq ] || name='*'
		# shellcheck disable=SC2086
		[ ! -d "$dir" ] || (cd "$dir" && rm -rf $name)
	done
	(cd "$1" && tar --exclude='.wh.*' -cf - .) | tar -C want -xf -
}
names_of() {
	(cd "$1" && find . -mindepth 1 -type d && grep -r '' .) | sort
}
rm -rf want got
mkdir want r.1 r.2 r.3
for i in 1 2 3; do
	scatter $i
	apply r.$i
	tac r.$i.list >r.$i.reverse
done
names_of want >want.names
is 'random layers: files of each remain' \
    "$(sed -n 's/.*:\(.\)$/\1/p' want.names | sort | uniq -c |
    awk '$1 > 5 { print $2 }' | tr '\n' ' ')" '1 2 3 '
mv layout layout.kept
for order in list reverse; do
	diffs='' layers='' refs=''
	for i in 1 2 3; do
		layer r.$i tar r.$i.$order
	done
	manifest latest
	t "random layers, $order" 0 sqpack -f -F none -o random layout
	rm -rf got layout
	unsquashfs -q -n -d got random >/dev/null
	names_of got >got.names
	same 'have the expected names' got.names want.names
done
mv layout.kept layout

# Layouts written by other programs
if have umoci && [ "$(id -u)" = 0 ]; then
	diffs='' layers='' refs=''
	cp -R layout layout.kept
	layer 1 gzip
	layer 2 gzip
	layer 3 gzip
	manifest latest
	t 'umoci unpacks it' 0 umoci unpack --image layout:latest bundle
	facts bundle/rootfs >umoci.facts
	same 'to the same tree' got.facts umoci.facts
	if have skopeo; then
		t 'skopeo copies it' 0 skopeo copy -q --insecure-policy \
		    oci:layout:latest oci:other:copy
		t 'and its layout can be read' 0 sqpack -f -F zstd -L 1 \
		    -o copied other:copy
		same 'as the same image' copied image
	else
		skip 'skopeo is not installed'
	fi
	rm -rf layout
	mv layout.kept layout
else
	skip 'umoci is not installed, or not root'
fi

# Tags, architectures, indices
diffs='' layers='' refs=''
layer 1 gzip
manifest small
layer 3 gzip
manifest both
t 'several images' 1 sqpack -o two layout
shows 'require a tag' 'several images; select.*: small, both$' .t.err
t 'a tag' 0 sqpack -f -F lz4 -o two layout:small
is 'is that image' "$(sqpack -l two | grep -c third)" 0
t 'another' 0 sqpack -f -F lz4 -o two layout:both
is 'is the other' "$(sqpack -l two | grep -c third)" 1
t 'a missing tag' 1 sqpack -f -o two layout:none
shows 'is named' 'no image with the tag none: small, both$' .t.err
case $(uname -m) in
x86_64) ours=amd64 ;;
aarch64) ours=arm64 ;;
*) ours=$(uname -m) ;;
esac
refs=''
manifest a ',"platform":{"architecture":"pdp11","os":"linux"}'
manifest a ",\"platform\":{\"architecture\":\"$ours\",\"os\":\"linux\"}"
t 'one of several architectures' 0 sqpack -f -F lz4 -o two layout
cp layout/index.json index.json
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json",%s}]}' \
    "$(blob index.json)" >layout/index.json
t 'an index in an index' 0 sqpack -f -F lz4 -o two layout
sed "s/$ours/pdp11/; s/,\"annotations\":{[^}]*}//g" index.json >foreign
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json",%s}]}' \
    "$(blob foreign)" >layout/index.json
t 'an index without an image for this machine' 1 sqpack -f -o two layout
shows 'is the reason' ': none of its 2 images is for ' .t.err
rm -f two

# Damage
layers='' diffs='' refs=''
layer 1 gzip
manifest latest
hex=$(echo "$layers" | sed 's/.*sha256:\([0-9a-f]*\).*/\1/')
cp "layout/blobs/sha256/$hex" kept
printf x >>"layout/blobs/sha256/$hex"
t 'a replaced layer' 1 sqpack -o two layout
shows 'is not trusted' "$hex: its content does not match" .t.err
rm "layout/blobs/sha256/$hex"
t 'a missing layer' 1 sqpack -o two layout
shows 'is named' 'layout: layer 1 of 1: No such file' .t.err
cp kept "layout/blobs/sha256/$hex"
t 'the original layer works again' 0 sqpack -o two layout
rm two
for bad in '' '{' '[]' '{"manifests":3}' '{"manifests":[]}' \
    '{"manifests":[{"digest":"sha256:../../x","size":1}]}' \
    "{\"manifests\":[{\"digest\":\"md5:$hex\",\"size\":1}]}" \
    "{\"manifests\":[{\"digest\":\"sha256:$hex\"}]}" \
    "{\"manifests\":[{\"digest\":\"sha256:$hex\",\"size\":-1}]}"; do
	printf '%s' "$bad" >layout/index.json
	t "refused: $bad" 1 sqpack -o two layout
	shows 'is reported' '^sqpack: layout: ' .t.err
done
head -c 100000 /dev/zero | tr '\0' '[' >layout/index.json
t 'refused: a hundred thousand brackets' 1 sqpack -o two layout
t 'no image is created from these' 1 test -e two
done_testing

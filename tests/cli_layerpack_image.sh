#!/bin/sh
# layerpack --image converts the layers of OCI layouts, and registries accept
# them.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

layerpack -h | grep -q -e --image || skip_all 'built without OCI'
have sha256sum || skip_all 'no sha256sum'

# values FILE NAME: prints the values of a member, one per line
values() {
	grep -o "\"$2\":\"[^\"]*\"" "$1" | sed 's/^[^:]*:"//; s/"$//'
}

# digests FILE: prints the digests in a document
digests() {
	grep -o 'sha256:[0-9a-f]\{64\}' "$1" | sed 's/^sha256://'
}

# is_whole LAYOUT: checks that every blob matches its digest, and that every
# reference has a blob
is_whole() {
	(cd "$1/blobs/sha256" && for f in *; do
		printf '%s  %s\n' "$f" "$f"
	done | sha256sum -c --quiet) || return 1
	find "$1" -name '.*' | grep . && return 1
	digests "$1/index.json" | while read -r hex; do
		[ -e "$1/blobs/sha256/$hex" ] || return 1
	done
}

# manifest_of LAYOUT [N]: prints the path of manifest N in its index
manifest_of() {
	printf '%s/blobs/sha256/%s' "$1" \
	    "$(digests "$1/index.json" | sed -n "${2:-1}p")"
}

# layers_of LAYOUT [N]: prints the layers' digests, lowest first
layers_of() {
	sed 's/.*"layers":\[//' "$(manifest_of "$@")" |
	    grep -o '"digest":"sha256:[0-9a-f]*"' | sed 's/.*sha256://; s/"//'
}

# archive LAYOUT DIGEST: prints the archive in a layer
archive() {
	case $(head -c 2 "$1/blobs/sha256/$2" | od -An -tx1) in
	' 1f 8b') gzip -dc "$1/blobs/sha256/$2" ;;
	' 28 b5') zstd -qdc "$1/blobs/sha256/$2" ;;
	*) cat "$1/blobs/sha256/$2" ;;
	esac
}

# tree_of LAYOUT: prints the names and contents of two layers as extracted by
# tar
tree_of() {
	for hex in $(layers_of "$1" | head -n 2); do
		mkdir t
		archive "$1" "$hex" | tar -xf - -C t --exclude='*.landmark' \
		    --exclude=stargz.index.json
		(cd t && find . -printf '%P %y %m %l\n' | sort &&
		    find . -type f -exec sha256sum {} + | sort)
		rm -rf t
	done
}

# diff_ids LAYOUT: checks that the config contains the digests of the archives
diff_ids() {
	config=$1/blobs/sha256/$(sed 's/"layers".*//' "$(manifest_of "$1")" |
	    grep -o 'sha256:[0-9a-f]\{64\}' | sed 's/sha256://')
	for hex in $(layers_of "$1" | head -n 2); do
		archive "$1" "$hex" | sha256sum | cut -d' ' -f1
	done >want
	sed 's/.*"diff_ids"//' "$config" | grep -o 'sha256:[0-9a-f]\{64\}' |
	    sed 's/sha256://' >got
	cmp want got
}

mkdir -p 1/etc 2/usr
seq 100000 >1/etc/large
seq 10 >1/etc/small
ln 1/etc/small 1/etc/hard
: >2/.wh.etc
ln -s nowhere 2/usr/soft
seq 3000 >2/usr/file
find 1 2 -exec touch -h -d '2001-09-09 01:46:40 UTC' {} +
layer 1 gzip
layer 2 tar
layers="$layers,{\"mediaType\":\"application/vnd.in-toto+json\",$(blob 1/etc/small)}"
manifest one
tree_of layout >tree

for format in estargz zstd-chunked; do
	out=out-$format
	t "$format" 0 layerpack --image -F $format layout $out
	t "$format: nothing is missing" 0 is_whole $out
	t "$format: the archives' digests" 0 diff_ids $out
	for hex in $(layers_of $out | head -n 2); do
		t "$format: a layer is good" 0 \
		    layerpack --verify -F $format "$out/blobs/sha256/$hex"
	done
	is "$format: other layers unchanged" "$(layers_of $out | sed -n 3p)" \
	    "$(layers_of layout | sed -n 3p)"
	is "$format: the tag is kept" "$(values $out/index.json \
	    org.opencontainers.image.ref.name)" one
	t "$format: and again" 1 layerpack --image -F $format layout $out
	shows "is refused" 'File exists' .t.err
	t "$format: one thread" 0 layerpack -p 1 --image -F $format layout \
	    again
	t "$format: gives the same" 0 diff -r $out again
	rm -rf again
done
shows 'estargz: media types' \
    '"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip"' \
    "$(manifest_of out-estargz)"
shows 'the digest of the index' \
    '"containerd.io/snapshot/stargz/toc.digest":"sha256:' \
    "$(manifest_of out-estargz)"
toc=$(values "$(manifest_of out-estargz)" \
    containerd.io/snapshot/stargz/toc.digest | head -n 1)
first=out-estargz/blobs/sha256/$(layers_of out-estargz | head -n 1)
t 'which the layer has' 0 layerpack -t --index-digest "$toc" "$first"
shows 'zstd:chunked: media types' \
    '"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd"' \
    "$(manifest_of out-zstd-chunked)"
shows 'where the index is' \
    '"io.github.containers.zstd-chunked.manifest-position":"[0-9:]*:1"' \
    "$(manifest_of out-zstd-chunked)"

# zstd:chunked: containers/storage rejects a layer with the digests of both
# projects, so the annotations are for one of them
chunked() { grep -o '"io[^"]*zstd-chunked.manifest-c[^"]*"' "$1" | sort -u; }
manifest=$(manifest_of out-zstd-chunked)
is 'the digest for containers/storage' "$(chunked "$manifest" | head -n 1)" \
    '"io.containers.zstd-chunked.manifest-checksum"'
is 'in both spellings' "$(chunked "$manifest" | wc -l)" 2
is 'and none for stargz' "$(grep -c stargz/toc.digest "$manifest")" 0
t 'for stargz' 0 layerpack --image -F zstd-chunked --stargz layout stargz
t 'nothing is missing' 0 is_whole stargz
t "the archives' digests" 0 diff_ids stargz
manifest=$(manifest_of stargz)
is 'the digest as the stargz project spells it' "$(chunked "$manifest")" \
    '"io.containers.zstd-chunked.manifest-checksum"'
is 'no tar-split' "$(grep -c tarsplit "$manifest")" 0
first=stargz/blobs/sha256/$(layers_of stargz | head -n 1)
at=$(values "$manifest" io.containers.zstd-chunked.manifest-position |
    head -n 1)
rest=${at#*:}
is "the digest of the table's text" "$(values "$manifest" \
    containerd.io/snapshot/stargz/toc.digest | head -n 1)" \
    "sha256:$(tail -c "+$((${at%%:*} + 1))" "$first" |
	head -c "${rest%%:*}" | zstd -dc | sha256sum | cut -d ' ' -f 1)"
is "the archive's size" "$(values "$manifest" \
    io.containers.estargz.uncompressed-size | head -n 1)" \
    "$(zstd -qdc "$first" | wc -c)"
is 'a landmark' "$(zstd -qdc "$first" | tar -t | head -n 1)" \
    .no.prefetch.landmark
t 'the layer is good' 0 layerpack --verify "$first"
tree_of stargz | grep -v -e landmark >got
same 'and has the same files' got tree
t 'estargz for stargz' 1 layerpack --image -F estargz --stargz layout none
shows 'needs no option' '^layerpack: --stargz cannot be used with -F estargz' \
    .t.err

# SOCI: layers and configs do not change, and an index of ztocs is added
soci_type=application/vnd.amazon.soci.index.v2+json
t 'ztoc' 0 layerpack --image -F ztoc layout out-ztoc
t 'ztoc: nothing is missing' 0 is_whole out-ztoc
index=$(manifest_of out-ztoc)
shows 'ztoc: the image is in an index' \
    '"mediaType":"application/vnd.oci.image.index.v1+json"' "$index"
image=out-ztoc/blobs/sha256/$(digests "$index" | sed -n 1p)
# soci DOCUMENT: prints the path of the SOCI index that it refers to
soci() {
	grep -o '"com.amazon.soci.index-digest":"sha256:[0-9a-f]*' "$1" |
	    sed 's,.*:,out-ztoc/blobs/sha256/,'
}
is 'ztoc: the index and the image name its ztocs' "$(soci "$index")" \
    "$(soci "$image")"
shows "ztoc: the type of the SOCI index" "\"artifactType\":\"$soci_type\"" \
    "$index"
shows 'ztoc: for which image' "\"com.amazon.soci.image-manifest-digest\":\"sha256:${image##*/}\"" \
    "$index"
is 'ztoc: and its platform, twice' "$(grep -o \
    '"platform":{"architecture":"amd64","os":"linux"}' "$index" | wc -l)" 2
shows 'ztoc: it is an OCI manifest' "\"config\":{\"mediaType\":\"$soci_type\"" \
    "$(soci "$image")"
sed 's/.*"layers":\[//; s/"annotations":{"com.amazon.soci.index.*//' "$image" |
    digests /dev/stdin >got
is 'ztoc: the layers are unchanged' "$(cat got)" "$(layers_of layout)"
is "the manifest has an annotation" "$(grep -c com.amazon.soci.index-digest "$image")" 1
sed 's/},{/\n/g' "$(soci "$image")" | grep octet-stream | head -n 2 |
    sed 's/.*"digest":"sha256:\([0-9a-f]*\).*layer-digest":"sha256:\([0-9a-f]*\).*/\1 \2/' \
    >pairs
is 'ztoc: one per layer' "$(wc -l <pairs)" 2
while read -r ztoc hex; do
	t 'ztoc: it matches its layer' 0 layerpack --verify \
	    --ztoc "out-ztoc/blobs/sha256/$ztoc" "layout/blobs/sha256/$hex"
done <pairs
t 'ztoc: again' 0 layerpack --image -F ztoc out-ztoc again
t 'ztoc: is the same' 0 diff -r out-ztoc again
rm -rf again
t 'ztoc: to estargz' 0 layerpack --image -F estargz out-ztoc again
is 'ztoc: nothing from SOCI remains' \
    "$(grep -rl 'amazon' again/index.json again/blobs | wc -l)" 0
rm -rf again
t 'ztoc: only large layers' 0 layerpack --image -F ztoc --min-layer 100K layout \
    again
is 'ztoc: there is only one' "$(cat again/blobs/sha256/* |
    grep -a -o '"com.amazon.soci.image-layer-digest"' | wc -l)" 1
rm -rf again
t 'ztoc: no layer is large' 1 layerpack --image -F ztoc --min-layer 1G layout \
    again
shows 'ztoc: says so' 'no layer is a gzip-compressed or uncompressed' .t.err
t 'ztoc: packed windows' 1 layerpack --image -F ztoc --windows packed \
    layout again
shows 'ztoc: are refused' 'cannot be used with --image' .t.err

# From one format to the other
t 'estargz to zstd:chunked' 0 layerpack --image -F zstd-chunked out-estargz \
    both
is "the old format's annotations are gone" \
    "$(grep -c stargz/toc.digest "$(manifest_of both)")" 0
tree_of both >got
grep -v -e landmark got >both.tree
same 'the trees are the same' both.tree tree

# Several images, several platforms
layers='' diffs=''
layer 2 gzip
manifest two ',"platform":{"os":"linux","architecture":"arm64"}'
t 'two images' 0 layerpack --image -F estargz layout two
t 'nothing is missing' 0 is_whole two
is 'in the same order' "$(values two/index.json \
    org.opencontainers.image.ref.name | tr '\n' ' ')" 'one two '
t 'ztocs of two images' 0 layerpack --image -F ztoc layout ztocs
t 'nothing is missing here either' 0 is_whole ztocs
# The SOCI index is listed for the same platform, but is not an image; skopeo
# drops the artifactType before 1.13
if have sqpack; then
	index=$(manifest_of ztocs 2)
	t 'ztoc: the image is found' 0 sqpack -q -F gzip -o found ztocs:two
	rm -rf typeless
	cp -r ztocs typeless
	sed 's/,"artifactType":"[^"]*"//' "$index" >typeless.json
	hex=$(sha256sum <typeless.json | cut -d' ' -f1)
	cp typeless.json "typeless/blobs/sha256/$hex"
	sed "s/${index##*/}/$hex/; s/\($hex\",\"size\":\)[0-9]*/\1$(wc -c \
	    <typeless.json)/" ztocs/index.json >typeless/index.json
	t 'ztoc: also without its type' 0 sqpack -f -q -F gzip -o found \
	    typeless:two
	rm -f found
else
	skip 'no sqpack'
fi
t 'one tag' 0 layerpack --image -F estargz layout:two tagged
is 'is alone' "$(values tagged/index.json \
    org.opencontainers.image.ref.name)" two
t 'another platform' 1 layerpack --image -F estargz --platform linux/s390x \
    layout:two none
shows 'does not exist' 'no image for that platform' .t.err
t 'a missing tag' 1 layerpack --image -F estargz layout:x none
shows 'says so' 'no image with that tag' .t.err

# A failed conversion leaves no files
hex=$(layers_of layout 2)
cp "layout/blobs/sha256/$hex" kept
printf x >>"layout/blobs/sha256/$hex"
t 'a damaged blob' 1 layerpack --image -F estargz layout none
shows 'is named' "$hex: its content does not match" .t.err
cp kept "layout/blobs/sha256/$hex"
sed 's/vnd.oci.image.layer.v1.tar+gzip/vnd.docker.image.rootfs.diff.tar.gzip/' \
    "$(manifest_of layout 2)" >docker.json
printf '{"schemaVersion":2,"manifests":[{%s}]}' "$(blob docker.json)" \
    >layout/index.json
t 'zstd in a Docker manifest' 1 layerpack --image -F zstd-chunked \
    layout none
shows 'is refused' 'cannot contain zstd' .t.err
t 'gzip is accepted' 0 layerpack --image -F estargz layout docker
for text in '' '{' '{"manifests":[{}]}' '{"manifests":[]}' \
    "{\"manifests\":[{\"digest\":\"sha256:$hex\",\"size\":1}]}"; do
	printf %s "$text" >layout/index.json
	t "refused: $text" 1 layerpack --image -F estargz layout none
	shows 'and named' '^layerpack: layout: [a-z0-9]' .t.err
done

# The config is missing, or does not match its descriptor
layers='' diffs='' refs=''
layer 2 gzip
# spoil HOW: replaces the blob $config
spoil() {
	rm -rf "$config"
	case $1 in
	'no file') ;;
	directory) mkdir "$config" ;;
	FIFO) mkfifo "$config" ;;
	'other content') echo other >"$config" ;;
	'no rights') chmod 0 kept; cp -p kept "$config" ;;
	esac
}
for type in image.config in-toto; do
	manifest config
	case $type in
	in-toto)
		sed "s/oci.image.config/$type/" manifest.json >manifest.other
		refs="{$(blob manifest.other)}"
		printf '{"manifests":[%s]}' "$refs" >layout/index.json ;;
	esac
	config=layout/blobs/sha256/$(sha256sum <config.json | cut -d' ' -f1)
	cp "$config" kept
	for how in 'no file' directory FIFO 'other content' 'no rights'; do
		[ "$how" != 'no rights' ] || [ "$(id -u)" != 0 ] || continue
		spoil "$how"
		for format in estargz ztoc; do
			t "a config, $type: $how, $format" 1 \
			    layerpack --image -F $format layout none
			shows 'is named' "layout: ${config##*/}: " .t.err
			t 'and nothing is made' 1 test -e none
		done
	done
	rm -rf "$config"
	cp kept "$config"
	t "a good config, $type" 0 layerpack --image -F estargz layout "$type"
	refs=''
done
t 'no layout' 1 layerpack --image -F estargz tree none
t 'nowhere to write' 1 layerpack --image -F estargz out-estargz no/where
is 'nothing is left' "$(find . -name none -o -name '.coldpress-*')" ''

# A registry
if ! have skopeo || ! have docker-registry; then
	skip 'pushing: skopeo or docker-registry is not installed'
	done_testing
	exit
fi
registry=
trap '[ -z "$registry" ] || kill "$registry"' EXIT
if ! registry_start; then
	cat registry.out
	skip 'pushing: the registry does not start'
	done_testing
	exit
fi
to=docker://$host/test
for format in estargz zstd-chunked; do
	t "$format: pushed" 0 skopeo --insecure-policy copy --dest-tls-verify=false \
	    "oci:out-$format:one" "$to:$format"
	t "$format: and pulled" 0 skopeo --insecure-policy copy \
	    --src-tls-verify=false "$to:$format" "oci:back-$format:one"
	is "$format: the layers are unchanged" \
	    "$(layers_of "back-$format")" "$(layers_of "out-$format")"
done
# skopeo compresses uncompressed layers; the second image has none.  Versions
# before 1.13 drop artifactType, so the index may change.
t 'ztoc: pushed' 0 skopeo --insecure-policy copy --all \
    --dest-tls-verify=false oci:ztocs:two "$to:ztoc"
t 'ztoc: and pulled' 0 skopeo --insecure-policy copy --all \
    --src-tls-verify=false "$to:ztoc" oci:back-ztoc:two
index=$(manifest_of back-ztoc)
image=$(digests "$index" | sed -n 1p)
t 'ztoc: the image is the same' 0 cmp "ztocs/blobs/sha256/$image" \
    "back-ztoc/blobs/sha256/$image"
for hex in $(digests "$index") $(digests "back-ztoc/blobs/sha256/$image"); do
	[ -e "ztocs/blobs/sha256/$hex" ] &&
	    cmp "ztocs/blobs/sha256/$hex" "back-ztoc/blobs/sha256/$hex" ||
	    echo "$hex"
done >changed
is 'ztoc: and everything that it refers to' "$(cat changed)" ''
shows 'ztoc: the SOCI index names the image' \
    "\"com.amazon.soci.image-manifest-digest\":\"sha256:$image\"" "$index"
kill "$registry"
trap - EXIT
done_testing

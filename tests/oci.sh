# shellcheck shell=sh
# oci.sh - create an OCI image layout by hand; sourced by tests of images
# SPDX-License-Identifier: BSD-2-Clause
#
# Layers are added one by one, and a manifest includes all layers so far: those
# in $layers and $diffs, which must be emptied for the next image; $refs lists
# the manifests.

# blob FILE: adds FILE to the layout; prints digest and size as JSON members
blob() {
	blob_hex=$(sha256sum <"$1" | cut -d' ' -f1)
	mkdir -p layout/blobs/sha256
	cp "$1" "layout/blobs/sha256/$blob_hex"
	printf '"digest":"sha256:%s","size":%s' "$blob_hex" \
	    "$(wc -c <"$1" | tr -d ' ')"
}

# layer DIR FORMAT [LIST]: adds the contents of DIR as a layer, compressed by
# FORMAT; with LIST, only the names in that file, in that order
layer() {
	if [ $# -gt 2 ]; then
		tar --format=posix --numeric-owner --no-recursion \
		    -cf layer.tar -C "$1" -T "$3"
	else
		tar --format=posix --xattrs --sort=name --numeric-owner \
		    -cf layer.tar -C "$1" .
	fi
	case $2 in
	tar) cp layer.tar layer.z ;;
	*) $2 -c <layer.tar >layer.z ;;
	esac
	diffs="${diffs:+$diffs,}\"sha256:$(sha256sum <layer.tar |
	    cut -d' ' -f1)\""
	type=application/vnd.oci.image.layer.v1.tar
	case $2 in gzip | zstd) type=$type+$2 ;; esac
	layers="${layers:+$layers,}{\"mediaType\":\"$type\",$(blob layer.z)}"
}

# manifest TAG [MORE]: writes the manifest for the layers added so far, and a config
# that contains $oci_config
manifest() {
	printf '{"architecture":"amd64","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
	    "${oci_config-"{}"}" "$diffs" >config.json
	printf '{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[%s]}' \
	    "$(blob config.json)" "$layers" >manifest.json
	refs="${refs:+$refs,}{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",$(blob manifest.json),\"annotations\":{\"org.opencontainers.image.ref.name\":\"$1\"}${2-}}"
	printf '{"schemaVersion":2,"manifests":[%s]}' "$refs" \
	    >layout/index.json
	printf '{"imageLayoutVersion":"1.0.0"}' >layout/oci-layout
}

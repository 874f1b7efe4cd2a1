# shellcheck shell=sh
# lazy-pull-pullers.sh - pull images and create containers; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A puller has four functions: pull_NAME makes the image's files available,
# create_NAME prepares a container, run_NAME COMMAND runs the command in it, and
# remove_NAME removes it.  All of their files are in $place.

# overlay LOWER: mounts a container's writable root over these directories.
# Writes go to a tmpfs, because not every filesystem can be used as an upper
# layer.
overlay() {
	mkdir "$place/upper" "$place/root"
	mount -t tmpfs upper "$place/upper"
	mkdir "$place/upper/upper" "$place/upper/work"
	mount -t overlay -o "lowerdir=$1,upperdir=$place/upper/upper,workdir=$place/upper/work" \
	    root "$place/root"
	mkdir -p "$place/root/proc" "$place/root/dev" "$place/root/tmp"
	root_mount "$place/root"
}
# Any program that watches files can keep a mount busy for a moment.
overlay_remove() {
	umount -R "$place/root" || umount -R -l "$place/root"
	umount "$place/upper" || umount -l "$place/upper"
}

# Pulls the whole image, as an ordinary snapshotter does: blobs are stored and
# verified, then each layer is unpacked into a directory.
pull_whole() {
	skopeo --insecure-policy copy -q --src-tls-verify=false \
	    "docker://$LAZY_REFERENCE" "oci:$place/image:image"
	whole_lower=
	whole_blobs=$place/image/blobs/sha256
	for whole_layer in $(layers_of "$whole_blobs/$(grep -o \
	    '"sha256:[0-9a-f]*' "$place/image/index.json" |
	    sed 's/.*://; q')"); do
		mkdir -p "$place/$whole_layer"
		unpack "$whole_blobs/$whole_layer" "$place/$whole_layer"
		whole_lower=$place/$whole_layer${whole_lower:+:$whole_lower}
	done
}
create_whole() { overlay "$whole_lower"; }
run_whole() { root_run "$place/root" "$1"; }
remove_whole() { overlay_remove; }

# layers_of MANIFEST: prints the digests of its layers in hexadecimal
layers_of() {
	sed 's/.*"layers"//' "$1" | grep -o '"digest": *"sha256:[0-9a-f]*' |
	    sed 's/.*://'
}

# unpack LAYER DIR
unpack() {
	tar --numeric-owner --xattrs --xattrs-include='*' -xpf "$1" -C "$2"
	whole_whiteouts "$2"
}

# whole_whiteouts DIR: converts whiteouts to overlayfs whiteouts
whole_whiteouts() {
	find "$1" -name '.wh.*' | while IFS= read -r whiteout; do
		rm -f "$whiteout"
		whiteout_name=${whiteout##*/.wh.}
		if [ "$whiteout_name" = .wh..opq ]; then
			setfattr -n trusted.overlay.opaque -v y \
			    "${whiteout%/*}"
		else
			mknod "${whiteout%/*}/$whiteout_name" c 0 0
		fi
	done
}

# layermount.  Its peak memory is known only after its process has exited.
pull_layermount() {
	mkdir "$place/lower"
	TMPDIR=$place/tmp layermount --plain-http --stats="$place/stats" \
	    "docker://$LAZY_REFERENCE" "$place/lower"
}
create_layermount() { overlay "$place/lower"; }
run_layermount() { root_run "$place/root" "$1"; }
remove_layermount() {
	overlay_remove
	layermount_end "$place/lower"
}
layermount_end() {
	umount "$1" || umount -l "$1"
	while grep -q -s -F -e "$1" /proc/[0-9]*/cmdline; do
		sleep 0.01
	done
}

# layermount with a CVMFS repository; $LAZY_PROXY may be squid
pull_cas() {
	mkdir "$place/lower"
	http_proxy=$LAZY_PROXY TMPDIR=$place/tmp layermount -q -F cas \
	    --stats="$place/stats" "$LAZY_REFERENCE" "$place/lower"
}
create_cas() { create_layermount; }
run_cas() { run_layermount "$1"; }
remove_cas() { remove_layermount; }

# The real client of CVMFS; $LAZY_PROXY may be squid.  The key is named after the
# repository, as usual.
pull_cvmfs() {
	mkdir "$place/lower" "$place/cache" "$place/sockets"
	cat >"$place/config" <<EOF
CVMFS_CACHE_BASE=$place/cache
CVMFS_RELOAD_SOCKETS=$place/sockets
CVMFS_SERVER_URL=$LAZY_REFERENCE
CVMFS_HTTP_PROXY=${LAZY_PROXY:-DIRECT}
CVMFS_PUBLIC_KEY=$LAZY_KEY
CVMFS_SHARED_CACHE=no
CVMFS_QUOTA_LIMIT=4000
CVMFS_CLAIM_OWNERSHIP=no
EOF
	LD_LIBRARY_PATH=$COLDPRESS_CVMFS CVMFS_LIBRARY_PATH=$COLDPRESS_CVMFS \
	    "$COLDPRESS_CVMFS/cvmfs2" -o "config=$place/config" \
	    "$(basename "$LAZY_KEY" .pub)" "$place/lower" >/dev/null
}
create_cvmfs() { create_layermount; }
run_cvmfs() { run_layermount "$1"; }
remove_cvmfs() {
	# shellcheck disable=SC2046
	sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' $(grep -l -s -F \
	    -e "$place/lower" /proc/[0-9]*/cmdline | sed 's/cmdline/status/') |
	    awk '$1 > most { most = $1 } END {
		if (NR) printf "{\"maxrss_KiB\":%d}\n", most }' >"$place/stats"
	remove_layermount
}

# An OCI layout on any web server; without a registry, the layers are found
# through the layout's index and manifest
pull_files() {
	files_urls=
	curl -fsS -o "$place/index" "$LAZY_REFERENCE/index.json"
	curl -fsS -o "$place/manifest" "$LAZY_REFERENCE/blobs/sha256/$(
	    grep -o '"sha256:[0-9a-f]*' "$place/index" | sed 's/.*://; q')"
	for files_layer in $(layers_of "$place/manifest"); do
		files_urls="$files_urls $LAZY_REFERENCE/blobs/sha256/$files_layer"
	done
	mkdir "$place/lower"
	# shellcheck disable=SC2086
	TMPDIR=$place/tmp layermount --stats="$place/stats" $files_urls \
	    "$place/lower"
}
create_files() { create_layermount; }
run_files() { run_layermount "$1"; }
remove_files() { remove_layermount; }

# An image with a SOCI index: its layers are mounted one by one, each with its
# ztoc.  A layer without a ztoc is unpacked.
pull_ztoc() {
	ztoc_url=http://${LAZY_REFERENCE%:*} ztoc_lower='' ztoc_mounts=''
	ztoc_url=${ztoc_url%/*}/v2/${ztoc_url##*/}
	ztoc_get "manifests/${LAZY_REFERENCE##*:}" "$place/index"
	grep -o '"digest":"sha256:[0-9a-f]*' "$place/index" |
	    sed 's/.*://' >"$place/manifests"
	while read -r ztoc_manifest; do
		ztoc_get "manifests/sha256:$ztoc_manifest" "$place/manifest"
		if grep -q image-layer-digest "$place/manifest"; then
			mv "$place/manifest" "$place/soci"
		else
			mv "$place/manifest" "$place/image"
		fi
	done <"$place/manifests"
	for ztoc_layer in $(layers_of "$place/image"); do
		ztoc_pull_layer "$ztoc_layer" "$(tr '{' '\n' <"$place/soci" |
		    awk -v layer="sha256:$ztoc_layer" '
		    match($0, /"digest":"sha256:[0-9a-f]*/) {
			digest = substr($0, RSTART + 10, RLENGTH - 10)
		    }
		    index($0, "image-layer-digest\":\"" layer) { print digest }')"
	done
}

# ztoc_pull_layer DIGEST [DIGEST-OF-ZTOC]
ztoc_pull_layer() {
	mkdir "$place/$1"
	ztoc_lower=$place/$1${ztoc_lower:+:$ztoc_lower}
	if [ -n "$2" ]; then
		ztoc_get "blobs/$2" "$place/$1.ztoc"
		printf '{"index_wire_B":%s}\n' "$(stat -c %s "$place/$1.ztoc")" \
		    >>"$place/stats"
		ztoc_mounts="$ztoc_mounts $place/$1"
		TMPDIR=$place/tmp layermount --stats="$place/stats" \
		    --ztoc "$place/$1.ztoc" "$ztoc_url/blobs/sha256:$1" \
		    "$place/$1"
	else
		ztoc_get "blobs/sha256:$1" "$place/tmp/layer"
		unpack "$place/tmp/layer" "$place/$1"
		rm "$place/tmp/layer"
	fi
}

# ztoc_get PATH FILE: fetches PATH from the registry
ztoc_get() {
	curl -fsS -o "$2" -H 'Accept: application/vnd.oci.image.index.v1+json' \
	    -H 'Accept: application/vnd.oci.image.manifest.v1+json' \
	    "$ztoc_url/$1"
}
create_ztoc() { overlay "$ztoc_lower"; }
run_ztoc() { root_run "$place/root" "$1"; }
remove_ztoc() {
	overlay_remove
	for ztoc_mount in $ztoc_mounts; do
		layermount_end "$ztoc_mount"
	done
}

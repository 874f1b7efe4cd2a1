# shellcheck shell=sh
# lazy-pull-pullers.sh - pulling images, creating containers; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# A puller has four functions: pull_NAME makes the image's files available,
# create_NAME what a container needs beside them; run_NAME COMMAND runs it, and
# remove_NAME removes it.  All of it is in $place.

# overlay LOWER: a container's root, which is writable, on these directories.
# What it writes is in memory, since not every file system takes it.
overlay() {
	mkdir "$place/upper" "$place/root"
	mount -t tmpfs upper "$place/upper"
	mkdir "$place/upper/upper" "$place/upper/work"
	mount -t overlay -o "lowerdir=$1,upperdir=$place/upper/upper,workdir=$place/upper/work" \
	    root "$place/root"
	mkdir -p "$place/root/proc" "$place/root/dev" "$place/root/tmp"
	root_mount "$place/root"
}
overlay_remove() {
	umount -R "$place/root"
	umount "$place/upper"
}

# The whole image, as by an ordinary snapshotter: blobs are stored and verified,
# then each layer is unpacked into a directory.
pull_whole() {
	skopeo --insecure-policy copy -q --src-tls-verify=false \
	    "docker://$LAZY_REFERENCE" "oci:$place/image:image"
	whole_lower=
	for whole_layer in $(whole_layers "$place/image"); do
		mkdir -p "$place/$whole_layer"
		tar --numeric-owner --xattrs --xattrs-include='*' -xpf \
		    "$place/image/blobs/sha256/$whole_layer" \
		    -C "$place/$whole_layer"
		whole_whiteouts "$place/$whole_layer"
		whole_lower=$place/$whole_layer${whole_lower:+:$whole_lower}
	done
}
create_whole() { overlay "$whole_lower"; }
run_whole() { root_run "$place/root" "$1"; }
remove_whole() { overlay_remove; }

# whole_layers LAYOUT: the hexadecimal digests of its only image's layers
whole_layers() {
	layers_manifest=$(grep -o '"sha256:[0-9a-f]*' "$1/index.json" |
	    sed 's/.*://; q')
	sed 's/.*"layers"//' "$1/blobs/sha256/$layers_manifest" |
	    grep -o '"digest": *"sha256:[0-9a-f]*' | sed 's/.*://'
}

# whole_whiteouts DIR: turns whiteouts into those of overlayfs
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

# Our own client.  Its process must have ended before its memory is known.
pull_layermount() {
	mkdir "$place/lower"
	TMPDIR=$place/tmp layermount --plain-http --stats="$place/stats" \
	    "docker://$LAZY_REFERENCE" "$place/lower"
}
create_layermount() { overlay "$place/lower"; }
run_layermount() { root_run "$place/root" "$1"; }
remove_layermount() {
	overlay_remove
	umount "$place/lower"
	while grep -q -s -F -e "$place/lower" /proc/[0-9]*/cmdline; do
		sleep 0.01
	done
}

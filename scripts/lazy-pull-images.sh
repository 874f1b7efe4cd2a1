# shellcheck shell=sh
# lazy-pull-images.sh - the images and the data derived from them; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/images/NAME contains an image as it was built (layout), its files
# (tree), and a list of the data that each workload touches (WORKLOAD.touched).
# $study/registry is the registry's storage.

# ROOT's packages are published as alpha versions; they require numpy.
root_wheels='root==0.1a12 numpy==2.2.6'

# workloads IMAGE: prints names and commands; the last one is the main workload.
# The module ROOT loads its libraries on first use.
workloads() {
	case $1 in
	own)
		printf 'run\t%s\n' "$user_command"
		return 0
		;;
	quick)
		printf 'sh\techo ready\n'
		printf 'read\tcat /data/*[05] >/dev/null && echo ready\n'
		return 0
		;;
	esac
	cat <<'EOF'
bash	exec bash -c "echo ready"
hello	exec python3 -c 'print("Hello World")'
EOF
	[ "$1" = root ] || return 0
	cat <<'EOF'
fillrandom	exec python3 -c 'import ROOT; f = ROOT.TF1("f", "x * gaus(0) + [3] * abs(sin(x) / x)", 0, 10); f.SetParameters(10, 4, 1, 20); h = ROOT.TH1F("h", "", 200, 0, 10); h.FillRandom("f", 10000); print(h.GetEntries())'
import	exec python3 -c 'import ROOT; print(ROOT.gROOT.GetVersion())'
EOF
}

# workload_command IMAGE WORKLOAD
workload_command() {
	workloads "$1" | awk -F '\t' -v w="$2" '$1 == w { print $2 }'
}

# image_make NAME: builds the image, which is renamed into place once complete
image_make() {
	[ ! -d "$study/images/$1" ] || return 0
	make_dir=$study/images/$1.new
	rm -rf "$make_dir"
	mkdir -p "$make_dir/tree"
	[ "$verbosity" = 0 ] || say "making the image $1"
	"image_$1" "$make_dir"
	for make_name in $(workloads "$1" | cut -f 1); do
		image_touch "$make_dir" "$make_name" \
		    "$(workload_command "$1" "$make_name")"
	done
	mv "$make_dir" "$study/images/$1"
}

# layers_add DIR ARCHIVE...: makes the image from these layers, and its tree
layers_add() {
	layers_dir=$1
	shift
	umoci init --layout "$layers_dir/layout" >>"$study/log" 2>&1
	umoci new --image "$layers_dir/layout:plain" >>"$study/log" 2>&1
	for layers_tar; do
		umoci raw add-layer --image "$layers_dir/layout:plain" \
		    "$layers_tar" >>"$study/log" 2>&1 ||
		    die "$layers_tar: $(tail -n 1 "$study/log")"
		tar -C "$layers_dir/tree" --numeric-owner -xpf "$layers_tar"
		rm "$layers_tar"
	done
}

# layer_tar DIR: makes DIR.tar from the contents of DIR, and removes DIR
layer_tar() {
	tar --sort=name --owner=0 --group=0 --numeric-owner -cf "$1.tar" \
	    -C "$1" .
	rm -r "$1"
}

# debian_tar FILE PACKAGES: archives a minimal Debian system with these packages
debian_tar() {
	have mmdebstrap || cannot 'mmdebstrap is not installed'
	room "$study" 2000000000 'a Debian system'
	mmdebstrap -q --variant=minbase --include="$2" bookworm "$1" >&2 ||
	    cannot 'mmdebstrap could not create a Debian system'
}

image_py() {
	debian_tar "$1/debian.tar" python3
	layers_add "$1" "$1/debian.tar"
}

# image_root DIR: makes a layer with ROOT's dependencies, such as the headers
# read by its interpreter, and a layer with ROOT
image_root() {
	have pip3 || cannot 'pip3 is not installed'
	room "$study" 8000000000 'the image with ROOT'
	root_packages=$1/root/usr/local/lib/python3.11/dist-packages
	mkdir -p "$1/wheels/tmp" "$root_packages"
	# shellcheck disable=SC2086
	TMPDIR=$1/wheels/tmp pip3 download -q --no-deps --no-cache-dir \
	    --only-binary=:all: --python-version 3.11 --implementation cp \
	    --platform manylinux_2_28_x86_64 \
	    --platform manylinux2014_x86_64 -d "$1/wheels" $root_wheels >&2 ||
	    cannot 'ROOT cannot be downloaded'
	for root_wheel in "$1"/wheels/*.whl; do
		python3 -m zipfile -e "$root_wheel" "$root_packages"
	done
	rm -r "$1/wheels"
	chmod -R u=rwX,go=rX "$1/root"
	layer_tar "$1/root"
	debian_tar "$1/debian.tar" python3,g++,libfreetype6,libx11-6
	layers_add "$1" "$1/debian.tar" "$1/root.tar"
}

# image_quick DIR: makes a layer with a shell and 32 MB, of which a start reads
# a fifth
image_quick() {
	mkdir -p "$1/new/bin" "$1/new/data"
	for quick_program in sh cat; do
		quick_path=$(command -v $quick_program)
		cp -L "$quick_path" "$1/new/bin/"
		ldd "$quick_path" 2>/dev/null | grep -o '/[^ )]*' |
		    while read -r quick_library; do
			mkdir -p "$1/new${quick_library%/*}"
			cp -L "$quick_library" "$1/new$quick_library"
		done
	done
	quick_i=100
	while [ $quick_i -lt 164 ]; do
		{
			seq $((quick_i * 1000)) $((quick_i * 1000 + 36000))
			head -c 250000 /dev/urandom
		} >"$1/new/data/$quick_i"
		quick_i=$((quick_i + 1))
	done
	layer_tar "$1/new"
	layers_add "$1" "$1/new.tar"
}

# image_own DIR: copies the image from the user's layout
image_own() {
	own_from=$layout
	case ${layout##*/} in
	*:*) ;;
	*) own_from=$layout:latest ;;
	esac
	{
		skopeo --insecure-policy copy -q "oci:$own_from" \
		    "oci:$1/layout:plain" &&
		    umoci unpack --image "$1/layout:plain" "$1/bundle"
	} >>"$study/log" 2>&1 || die "$layout: $(tail -n 1 "$study/log")"
	rmdir "$1/tree"
	mv "$1/bundle/rootfs" "$1/tree"
	rm -r "$1/bundle"
	for own_blob in "$1"/layout/blobs/sha256/*; do
		! tar -tf "$own_blob" 2>/dev/null | grep -q '\(^\|/\)[.]wh[.]' ||
		    : >"$1/whiteouts"
	done
}

# image_touch DIR WORKLOAD COMMAND: lists the data that the workload touches, as
# individual pages if they can be observed
image_touch() {
	touch_how=--pages
	! have mkfs.erofs || ! grep -q erofs /proc/filesystems ||
	    touch_how=--exact
	mkdir -p "$1/tree/proc" "$1/tree/dev" "$1/tree/tmp"
	# shellcheck disable=SC2016
	TMPDIR=$study touchlog -q $touch_how --root "$1/tree" \
	    -o "$1/$2.touched" -- sh -c '. "$1" && root_mount "$2" &&
	    root_run "$2" "$3"' sh "$here/lazy-pull-root.sh" "$1/tree" "$3" \
	    >>"$study/log" 2>&1 || die "$2: $(tail -n 1 "$study/log")"
}

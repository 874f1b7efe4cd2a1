# shellcheck shell=sh
# image-export-tree.sh - create the image's content; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# tree_KIND creates $study/tree, and sets $start, the command whose cold start
# is measured; it is run by sh in the root of the mounted image.  The directory
# is renamed to its final name only at the end, so an existing directory is
# complete.

# The requirements of torch 2.1.0 for Linux, pinned so that the tree can be
# reproduced later; the study's image also contains Debian and Conda.
tree_wheels='torch==2.1.0 numpy==1.26.0 scipy==1.11.3
    nvidia-cublas-cu12==12.1.3.1'
tree_wheels_more='filelock==3.12.4 typing-extensions==4.8.0 sympy==1.12
    mpmath==1.3.0 networkx==3.1 jinja2==3.1.2 markupsafe==2.1.3
    fsspec==2023.9.2 triton==2.1.0 nvidia-cuda-cupti-cu12==12.1.105
    nvidia-cuda-nvrtc-cu12==12.1.105 nvidia-cuda-runtime-cu12==12.1.105
    nvidia-cudnn-cu12==8.9.2.26 nvidia-cufft-cu12==11.0.2.54
    nvidia-curand-cu12==10.3.2.106 nvidia-cusolver-cu12==11.4.5.107
    nvidia-cusparse-cu12==12.1.0.106 nvidia-nccl-cu12==2.18.1
    nvidia-nvjitlink-cu12==12.1.105 nvidia-nvtx-cu12==12.1.105'


# python_find: sets $python and its version, for wheels and for the start
python_find() {
	python=/usr/bin/python3
	[ -x $python ] || python=$(command -v python3) ||
	    cannot 'python3 is not installed'
	python_version=$("$python" -c \
	    'import sys; print("%d.%d" % sys.version_info[:2])')
	case $python_version in
	3.9 | 3.10 | 3.11) python_runs=yes ;;
	*) python_version=3.10 python_runs=no ;;
	esac
}

# tree_pytorch: unpacks and compiles the wheels, as an installer would
tree_pytorch() {
	have pip || have pip3 || cannot 'pip is not installed'
	pip=$(command -v pip3 || command -v pip)
	python_find
	if [ "$subset" = yes ]; then
		room "$study" 4000000000 'the subset, with the wheels it is made of,'
		set -f
		# shellcheck disable=SC2086
		set -- $tree_wheels
	else
		room "$study" 12000000000 'the tree, with the wheels it is made of,'
		set -f
		# shellcheck disable=SC2086
		set -- $tree_wheels $tree_wheels_more
	fi
	set +f
	say "downloading $# wheels for Python $python_version"
	# pip stores downloads in TMPDIR until all are complete.
	rm -rf "$study/wheels"
	mkdir -p "$study/wheels/tmp"
	TMPDIR=$study/wheels/tmp "$pip" download -q --no-deps --only-binary=:all: --no-cache-dir \
	    --python-version "$python_version" --implementation cp \
	    --platform manylinux1_x86_64 --platform manylinux2014_x86_64 \
	    --platform manylinux_2_17_x86_64 --platform any \
	    -d "$study/wheels" "$@" >&2 ||
	    cannot 'the wheels cannot be downloaded'
	for pytorch_wheel in "$study"/wheels/*.whl; do
		"$python" -m zipfile -e "$pytorch_wheel" "$study/tree.new"
	done
	rm -r "$study/wheels"
	# shellcheck disable=SC2016
	start='exec env PYTHONPATH="$PWD" PYTHONNOUSERSITE=1 '$python' -c "'
	if [ "$subset" = yes ]; then
		rm -f "$study"/tree.new/torch/lib/libtorch_cuda*.so \
		    "$study"/tree.new/nvidia/cublas/lib/libcublasLt.so.*
		# torch itself cannot be imported without libtorch_cuda.
		start=$start'import scipy.linalg, scipy.optimize, scipy.signal, scipy.sparse, scipy.stats"'
	else
		start=$start'import torch; torch.zeros(4).sum()"'
	fi
	if [ $python_runs = yes ]; then
		# Images contain byte code, because each start would otherwise
		# compile it again.  Some of the sources are for other Python
		# versions.
		"$python" -m compileall -q -j 0 "$study/tree.new" \
		    >/dev/null 2>&1 || :
	else
		start=
	fi
}

# tree_debian: creates a small system with Python
tree_debian() {
	have mmdebstrap || cannot 'mmdebstrap is not installed'
	[ "$(id -u)" = 0 ] || say 'not root: mmdebstrap must use another mode'
	room "$study" 2000000000 'a Debian system'
	mmdebstrap -q --variant=minbase \
	    --include=python3,python3-numpy,perl,ca-certificates \
	    bookworm "$study/tree.new" >&2 ||
	    cannot 'mmdebstrap could not create a Debian system'
	# Container images contain no devices.
	find "$study/tree.new" \( -type b -o -type c \) -exec rm -f {} +
	start='exec chroot . /usr/bin/python3 -c "import asyncio, http.client, json, numpy, sqlite3, ssl, xml.dom.minidom"'
}

# tree_oci IMAGE: unpacks the image
tree_oci() {
	have skopeo || cannot 'skopeo is not installed'
	have umoci || cannot 'umoci is not installed'
	oci_image=$1
	room "$study" 2000000000 'an image'
	rm -rf "$study/oci" "$study/bundle"
	set --
	case $oci_image in
	*://* | oci:* | oci-archive:* | dir:* | docker-archive:* | \
	    docker-daemon:* | containers-storage:*) oci_from=$oci_image ;;
	*) oci_from=docker://$oci_image ;;
	esac
	# A registry on this machine does not need a certificate.
	case $oci_from in
	docker://localhost[:/]* | docker://127.*)
		set -- --src-tls-verify=false ;;
	esac
	skopeo --insecure-policy copy -q "$@" "$oci_from" \
	    "oci:$study/oci:image" >&2 ||
	    cannot "$oci_image cannot be reached"
	room "$study" $((3 * $(du -sb "$study/oci" | cut -f 1))) \
	    'the unpacked image'
	set --
	[ "$(id -u)" = 0 ] || set -- --rootless
	umoci unpack "$@" --image "$study/oci:image" "$study/bundle" >&2 ||
	    die 'umoci could not unpack the image'
	mv "$study/bundle/rootfs" "$study/tree.new"
	rm -rf "$study/oci" "$study/bundle"
	start='exec chroot . /bin/sh -c :'
}

# tree_generated: makes a small tree in which every fourth file is a duplicate;
# the started program reads some of the other files
tree_generated() {
	mkdir -p "$study/tree.new/log" "$study/tree.new/sql" \
	    "$study/tree.new/src" "$study/tree.new/data" "$study/tree.new/copy"
	dir=$study/tree.new awk -v kib=3072 -f "$here/tree.awk"
	find "$study/tree.new/src" -name '*[048]' \
	    -exec cp -p {} "$study/tree.new/copy" \;
	# A file that consists of a hole.
	truncate -s 65536 "$study/tree.new/data/hole"
	printf 'cat src/*[1357] | grep -c return\n' >"$study/tree.new/start"
	start='exec sh ./start'
}

# tree_make KIND [IMAGE]: creates $study/tree, if missing, and sets $start
tree_make() {
	if [ -d "$study/tree" ]; then
		start=$(cat "$study/start")
		return 0
	fi
	rm -rf "$study/tree.new"
	case $1 in
	pytorch | debian | generated) "tree_$1" ;;
	oci) tree_oci "$2" ;;
	*) die "--from '$1': debian, pytorch or oci" ;;
	esac
	printf '%s\n' "$start" >"$study/start"
	mv "$study/tree.new" "$study/tree"
}

# shellcheck shell=sh
# bench-layers-images.sh - ctr-remote and soci as peers; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# These programs convert images in the content store of a containerd, which is
# started for the benchmark.  The sourcing script has called make_tmp, and has
# sourced lazy-pull-containerd.sh.

# image_jobs: job | layerpack's options | the peer's command
image_jobs() {
	sed "s/ *| */$tab/g" <<'EOF'
image-estargz | -F estargz | convert --estargz
image-zstd-chunked-3 | -F zstd-chunked -L 3 | convert --zstdchunked
image-ztoc | -F ztoc | create
EOF
}

image_words() {
	cat <<EOF
image() { layerpack -q -p$threads --image "\$@" "\$in" "\$out"; }
convert() {
	GOMAXPROCS=$threads ctr-remote -a "\$socket" images convert --oci \
	    "\$@" "\$image" converted:1
}
create() {
	GOMAXPROCS=$threads soci -a "\$socket" --root "\$store/soci" create -f \
	    --min-layer-size 0 "\$image"
}
# kept DIR FILE: writes the total size of the new blobs in DIR that a manifest
# refers to, if there are any
kept() {
	find "\$1" -type f -size -1024k \
	    -exec grep -aoh '"digest": *"sha256:[0-9a-f]*' {} + 2>/dev/null |
	    sed 's/.*://' | sort -u | grep -v -x -F -f "\$known" |
	    (cd "\$1" && xargs stat -c %s) 2>/dev/null |
	    awk '{ n += \$1 } END { if (n) printf "%.0f\n", n }' >"\$2.new"
	[ ! -s "\$2.new" ] || mv "\$2.new" "\$2"
	rm -f "\$2.new"
}
clean() {
	kept "\$out/blobs/sha256" "\$sizes.layerpack"
	kept "\$store/blobs/sha256" "\$sizes.library"
	rm -rf "\$out"
	ctr -a "\$socket" images rm --sync converted:1 >/dev/null 2>&1 ||
	    :
}
EOF
}

# containerd_start LAYOUT: starts containerd, and imports the image
containerd_start() {
	containerd_dir=$tmp/containerd
	mkdir "$containerd_dir"
	LAZY_SNAPSHOTTER=overlayfs
	containerd_config "$containerd_dir" "$containerd_dir" \
	    >"$containerd_dir/config"
	containerd --config "$containerd_dir/config" >"$containerd_dir/log" 2>&1 &
	containerd_pid=$!
	socket=$containerd_dir/socket
	store=$containerd_dir/root/io.containerd.content.v1.content
	until ctr -a "$socket" version >/dev/null 2>&1; do
		kill -0 $containerd_pid 2>/dev/null ||
		    die "containerd: $(tail -n 1 "$containerd_dir/log")"
		sleep 0.2
	done
	tar -C "$1" -cf "$tmp/image.tar" .
	ctr -a "$socket" images import --no-unpack "$tmp/image.tar" >/dev/null
	rm "$tmp/image.tar"
	image=$(ctr -a "$socket" images ls -q | head -n 1)
	export socket store image
}

# containerd_stop: may be called at any time
containerd_stop() {
	[ -n "${containerd_pid-}" ] || return 0
	kill "$containerd_pid" 2>/dev/null
	wait "$containerd_pid" 2>/dev/null || :
	containerd_pid=
	rm -rf "$tmp/containerd"
}

# image_job: runs a job with the image
image_job() {
	find "$store/blobs" -type f -printf '%f\n' >"$known"
	{
		# shellcheck disable=SC2016
		printf 'layerpack\t. "$words"; image %s\n' "$ours"
		# shellcheck disable=SC2016
		printf 'library\t. "$words"; %s >/dev/null\n' "$theirs"
	} >"$tmp/commands"
	# shellcheck disable=SC2016
	lap -q -r --provenance -w 0 -n "$runs" -k "job=$job" -k "archive=$name" \
	    -p '. "$words"; clean' -o "$study/rows/$name.$job.csv" \
	    -f "$tmp/commands"
	sh -c '. "$words"; clean'
}

# run_image LAYOUT: runs the selected jobs with the image in an OCI layout
run_image() {
	for image_need in containerd ctr; do
		have "$image_need" || {
			say "$name: skipped, because $image_need is not installed"
			return 0
		}
	done
	containerd_start "$1"
	known=$tmp/known sizes=
	export known sizes
	image_jobs >"$tmp/jobs"
	while IFS=$tab read -r job ours theirs <&4; do
		wanted "$job" "$jobs" || continue
		case $theirs in
		convert*) image_need=ctr-remote ;;
		*) image_need=soci ;;
		esac
		have "$image_need" || {
			say "$job: skipped, because $image_need is not installed"
			continue
		}
		say "$name: $job"
		sizes=$study/sizes/$name.$job
		image_job 4<&-
	done 4<"$tmp/jobs"
	containerd_stop
}

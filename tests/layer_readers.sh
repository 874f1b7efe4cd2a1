# shellcheck shell=sh
# layer_readers.sh - programs that read images from a registry; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A reader has three functions.  lacks_READER prints what is missing here.
# open_READER IMAGE makes the image's tree available, and sets $tree to its
# directory.  close_READER IMAGE removes the image and all that came with it.
#
# serve.sh sets host and site, lib.sh t_got
# shellcheck disable=SC2154

# readers_image: makes ./layout with the three layers of an image
readers_image() {
	readers_one
	readers_two
	mkdir -p 3/changed 3/keep
	head -c 4000000 /dev/urandom >3/three
	: >3/.wh.two
	: >3/keep/.wh.from-two
	echo three >3/changed/by-three
	chmod 0750 3/changed
	readers_times
	layer 1 gzip
	manifest first
	layer 2 gzip
	layer 3 gzip
}

readers_one() {
	mkdir -p 1/data 1/etc 1/keep/sub 1/opaque/sub 1/dir-to-file \
	    1/dir-to-link 1/modes/sticky 1/changed 1/devices 1/xattrs/dir
	seq 1000 >1/etc/small
	head -c 16000000 /dev/urandom >1/data/large
	head -c 300000 /dev/urandom >1/data/sparse
	truncate -s 9000000 1/data/sparse
	seq 200000 >1/data/text
	: >1/data/empty
	ln 1/data/large 1/keep/hard
	ln 1/etc/small 1/keep/sub/hard
	ln 1/etc/small 1/etc/hard
	ln -s large 1/data/soft
	ln -s /etc/small 1/keep/absolute
	ln -s ../../../.. 1/keep/above
	ln -s nowhere 1/keep/dangling
	ln 1/keep/dangling 1/keep/dangling-too
	for readers_file in keep/gone keep/sub/gone opaque/old opaque/sub/old \
	    dir-to-file/x dir-to-link/x file-to-dir link-to-file changed/file; do
		echo old >"1/$readers_file"
	done
	ln -sf keep 1/link-to-dir
	for readers_mode in 4755 2755 6711 0000 0200 0777; do
		echo mode >1/modes/$readers_mode
		chown 1234:70000 1/modes/$readers_mode
		chmod $readers_mode 1/modes/$readers_mode
	done
	chmod 1777 1/modes/sticky
	chown 1234:4321 1/keep/sub
	chmod 2750 1/keep/sub
	chown -h 77:88 1/keep/dangling
	mkfifo -m 640 1/devices/fifo
	mknod -m 666 1/devices/null c 1 3
	mknod -m 660 1/devices/loop b 7 200
	: >"1/keep/$(printf %0255d 0)"
	readers_deep=1/$(printf %090d 1)/$(printf %090d 2)/$(printf %090d 3)
	mkdir -p "$readers_deep"
	echo deep >"$readers_deep/file"
	ln -s "$(printf %0300d 0)" "$readers_deep/link"
	ln "$readers_deep/file" "$readers_deep/hard"
	printf x >"1/keep/$(printf 'new\nline \\ "quote" \303\251')"
	for readers_file in 1/xattrs/file 1/xattrs/dir; do
		echo xattrs >1/xattrs/file
		setfattr -n user.some -v value $readers_file
		setfattr -n user.binary -v 0x00ff0a3d $readers_file
	done
	: >1/xattrs/capable
	setcap cap_net_raw+ep 1/xattrs/capable
}

# readers_two: the layer that changes things of the first
readers_two() {
	mkdir -p 2/keep/sub 2/opaque/sub 2/file-to-dir 2/link-to-dir 2/changed
	head -c 4000000 /dev/urandom >2/two
	echo two >2/keep/from-two
	: >2/keep/.wh.gone
	: >2/keep/sub/.wh.gone
	: >2/keep/.wh.missing
	: >2/opaque/.wh..wh..opq
	echo new >2/opaque/new
	echo new >2/opaque/sub/new
	echo file >2/dir-to-file
	ln -s keep 2/dir-to-link
	echo inside >2/file-to-dir/inside
	echo inside >2/link-to-dir/inside
	ln -s etc/small 2/link-to-file
	echo new >2/changed/file
	chmod 0600 2/changed/file
	chmod 0700 2/keep/sub
	setfattr -n user.two -v two 2/keep/sub
}

# readers_times: gives all names times of their own, in whole seconds
readers_times() {
	readers_n=0
	find 1 2 3 -depth >names
	while IFS= read -r readers_name; do
		readers_n=$((readers_n + 1))
		if [ -e "$readers_name" ] || [ -L "$readers_name" ]; then
			touch -h -d "@$((1000000000 + readers_n * 1000))" \
			    "$readers_name"
		fi
	done <names
}

# seen DIR: prints all names with everything about them
seen() {
	(cd "$1" || exit
	find . \( -type f -printf '%P\t%y\t%#m\t%U:%G\t%T@\t%s\n' \) -o \
	    -printf '%P\t%y\t%#m\t%U:%G\t%T@\t%l\n' |
	    sed 's/\(\t-\{0,1\}[0-9]*\)\.[0-9]*\t/\1\t/' | sort
	find . ! -type d -links +1 -printf '%i\t%p\n' | sort -t '	' -k 2 |
	    awk -F '\t' '
		$1 in first { print $2, "=", first[$1] }
		!($1 in first) { first[$1] = $2 }'
	find . \( -type c -o -type b \) -exec stat -c '%n %t:%T' {} + | sort
	find . -type f -exec sha256sum {} + | sort
	find . -print0 | sort -z |
	    xargs -0 getfattr -h -d -m - -e hex 2>/dev/null)
}

# layers_of MANIFEST: prints the digests of its layers, in hexadecimal
layers_of() {
	sed 's/.*"layers"//' "$1" | grep -o '"digest":"sha256:[0-9a-f]*' |
	    sed 's/.*://'
}

# fuse: prints the number of FUSE mounts; wire: that of bytes transferred
fuse() { grep -c ' fuse[. ]' /proc/mounts || :; }
wire() { sed -n 's/^ *lo: *\([0-9]*\) .*/\1/p' /proc/net/dev; }

# reader READER MOUNTS IMAGE=HOW...: has the program open each image, and compares
# how it did so, and the tree.  HOW is lazily, with this number of FUSE mounts;
# whole; parts, as a whole, but through its table, of which parts_READER knows;
# copied, without a tree; or refused.  $reader_want is the tree.  $reader_but may
# name differences that are the reader's own: "times"; or those of "dirs" and
# symbolic links, and all special files; or "links" between directories.
reader_but='' reader_want=want
reader() {
	reader_name=$1 reader_mounts=$2
	shift 2
	reader_lacks=$("lacks_$reader_name" | head -n 1)
	[ -z "$reader_lacks" ] || {
		skip "$reader_name: $reader_lacks"
		return 0
	}
	for reader_cell; do
		reader_cell "${reader_cell%=*}" "${reader_cell#*=}"
	done
}

# reader_cell IMAGE HOW
reader_cell() {
	cell=$reader_name,$1
	tree='' cell_fuse=$(fuse) cell_wire=$(wire)
	case $2 in
	refused)
		t "$cell: is refused" 1 "open_$reader_name" "$1"
		"close_$reader_name" "$1" >/dev/null 2>&1
		return 0
		;;
	esac
	t "$cell: is opened" 0 "open_$reader_name" "$1"
	[ "$t_got" = 0 ] || {
		"close_$reader_name" "$1" >/dev/null 2>&1
		return 0
	}
	[ "$2" = copied ] ||
	    t "$cell: a file" 0 cmp "$tree/etc/small" 1/etc/small
	cell_mounts=$(($(fuse) - cell_fuse)) cell_wire=$(($(wire) - cell_wire))
	cell_size=$(find -L "$1" -type f -printf '%s\n' |
	    awk '{ n += $1 } END { print n }')
	echo "# $cell: $2, $cell_mounts mounts, $cell_wire bytes of $cell_size"
	case $2 in
	lazily)
		is "$cell: lazily, by FUSE mounts" "$cell_mounts" \
		    "$reader_mounts"
		t "$cell: by bytes" 0 test "$cell_wire" -lt $((cell_size / 16))
		;;
	*)
		is "$cell: as a whole, without FUSE mounts" "$cell_mounts" 0
		t "$cell: by bytes" 0 test "$cell_wire" -gt \
		    $((cell_size * 9 / 10))
		;;
	esac
	[ "$2" != parts ] ||
	    t "$cell: by its table" 0 "parts_$reader_name"
	case $2 in
	copied)
		blobs "$1" >want.blobs
		blobs copied >got.blobs
		same "$cell: the blobs" got.blobs want.blobs
		;;
	*)
		seen "$tree" | but "$2" >got
		but "$2" <"$reader_want" >want.but
		same "$cell: the whole tree" got want.but
		;;
	esac
	t "$cell: is removed" 0 "close_$reader_name" "$1"
	t "$cell: with its mounts" 0 await readers_unmounted
}
readers_unmounted() { [ "$(fuse)" = "$cell_fuse" ]; }

# but HOW: passes on what seen prints, except for differences that are the
# reader's own: what eStargz adds to the archive, and the attributes of the root,
# which those who unpack an image choose themselves
but() {
	case $1 in
	whole | parts) sed -e '/^	d	/d' -e '/^\.no\.prefetch\.landmark	/d' \
	    -e '/^stargz\.index\.json	/d' \
	    -e '/  \.\/stargz\.index\.json$/d' \
	    -e '/  \.\/\.no\.prefetch\.landmark$/d' ;;
	*) cat ;;
	esac |
	    case " $reader_but " in
	    *' times '*) sed 's/^\(.*	[a-z]	.*	\)[0-9]*\(	[^	]*\)$/\1\2/' ;;
	    *' dirs '*) sed -e '/^[^	]*	[pcb]	/d' -e '/^\.\/[^ ]* [0-9a-f]*:[0-9a-f]*$/d' \
		-e 's/^\(.*	[dl]	.*	\)[0-9]*\(	[^	]*\)$/\1\2/' ;;
	    *' links '*) awk -F ' = ' 'NF == 2 {
		one = $1
		other = $2
		sub(/[^\/]*$/, "", one)
		sub(/[^\/]*$/, "", other)
		if (one != other)
			next
	    }
	    { print }' ;;
	    *) cat ;;
	    esac
}

# blobs LAYOUT: prints the digests of all blobs except indices, which skopeo 1.9
# rewrites without the member artifactType
blobs() {
	(cd "$1/blobs/sha256" && grep -L '"manifests":\[' ./* | xargs sha256sum)
}

# odd_images: makes ./odd.FORMAT with images whose second layer has one odd file
odd_images() {
	mkdir o
	echo below >o/below
	layers='' diffs=''
	layer o gzip
	odd_layers=$layers odd_diffs=$diffs
	mkdir o/odd
	: >"$(printf 'o/odd/\377')"
	odd_image name
	: >o/odd/file
	odd_image time --mtime=@-86400
	ln -s below o/odd/link
	odd_image mode --mode=0640
	: >o/odd/file
	# whole seconds, which need no record of the file's own
	odd_image global --mtime=@1000000000 --pax-option=mtime=77
	ln o/below o/odd/hard
	odd_image hard
	for odd_format in estargz zstd-chunked ztoc; do
		layerpack -q -F $odd_format --image layout "odd.$odd_format" ||
		    return 1
	done
}
# odd_image NAME TAR-OPTION...: adds the image whose second layer is o/odd, which
# is emptied.  With the name "hard", the layer has a link to a file below it.
odd_image() {
	odd_name=$1
	shift
	layers=$odd_layers diffs=$odd_diffs
	if [ "$odd_name" = hard ]; then
		tar --format=posix -cf layer.tar -C o ./below ./odd
		tar --delete -f layer.tar ./below
	else
		tar --format=posix -cf layer.tar "$@" -C o ./odd
	fi
	gzip -c <layer.tar >layer.z
	diffs="$diffs,\"sha256:$(sha256sum <layer.tar | cut -d ' ' -f 1)\""
	layers="$layers,{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",$(blob layer.z)}"
	manifest "$odd_name"
	rm -rf o/odd
	mkdir o/odd
}
odd_push() {
	for odd_kind in name time mode global hard; do
		skopeo --insecure-policy copy -q --all \
		    --dest-tls-verify=false "oci:odd.$1:$odd_kind" \
		    "docker://$host/a/image:$1-$odd_kind" || return 1
	done
}

# odd READER FORMAT WANT: compares what the reader makes of them: the name, the
# time, the permissions of the symbolic link, the time again, and the number of
# links, or "refused"
odd() {
	reader_name=$1 odd_got=
	[ -z "$("lacks_$1")" ] || return 0
	for odd_kind in name time mode global hard; do
		tree='' cell_fuse=$(fuse)
		if ! "open_$1" "$2-$odd_kind" >odd.out 2>&1; then
			odd_got="$odd_got refused"
		else
			case $odd_kind in
			name) odd_form=%f ;;
			mode) odd_form=%m ;;
			hard) odd_form=%n ;;
			*) odd_form=%Ts ;;
			esac
			odd_got="$odd_got $(find "$tree/odd" -mindepth 1 \
			    -printf $odd_form | cat -v)"
		fi
		"close_$1" "$2-$odd_kind" >/dev/null 2>&1
		await readers_unmounted
	done
	is "$1, odd files in $2" "${odd_got# }" "$3"
}

# readers_start: starts the daemons that are there; readers_stop: ends them all
daemons=''
readers_start() {
	mkdir -p view mnt store
	[ -n "$(lacks_stargz)" ] || snapshotter_stargz
	[ -n "$(lacks_soci)" ] || snapshotter_soci
	[ -n "$(lacks_nydus)" ] || snapshotter_nydus
	[ -n "$(lacks_coldpress)" ] || snapshotter_coldpress
	[ -n "$(lacks_overlayfs)" ] || {
		containerd_config >containerd.toml
		daemon /run/containerd/containerd.sock containerd \
		    --config "$PWD/containerd.toml"
		await ctr version >/dev/null 2>&1
	}
	podman_config podman ''
	podman_config podman_partial \
	    'pull_options = { enable_partial_images = "true" }'
	for readers_name in podman_store crio_store; do
		podman_config $readers_name \
		    "additionallayerstores = [\"$PWD/store:ref\"]"
	done
	podman_config crio ''
	podman_config crio_partial \
	    'pull_options = { enable_partial_images = "true" }'
	[ -n "$(lacks_crio)" ] || {
		crio_start crio
		crio_start crio_partial
	}
	[ -n "$(lacks_crio_store)" ] || crio_start crio_store
}
readers_stop() {
	for readers_mount in view store mnt; do
		umount -l $readers_mount 2>/dev/null
	done
	# shellcheck disable=SC2086
	kill $daemons ${registry:-} 2>/dev/null
}

# daemon SOCKET COMMAND...: starts a daemon, and waits for its socket
daemon() {
	daemon_socket=$1
	shift
	"$@" >>"$1.log" 2>&1 &
	daemons="$daemons $!"
	await daemon_up $! || :
	[ -S "$daemon_socket" ] || {
		not_ok "$1 starts"
		tail -n 3 "$1.log" | cut -c 1-300 | sed 's/^/# /'
	}
}

daemon_up() { [ -S "$daemon_socket" ] || gone "$1"; }

containerd_config() {
	cat <<END
version = 2
root = "$PWD/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[proxy_plugins]
END
	for config_name in stargz soci nydus coldpress; do
		[ ! -S /run/$config_name.sock ] || cat <<END
[proxy_plugins.$config_name]
  type = "snapshot"
  address = "/run/$config_name.sock"
END
	done
}

# without background fetching, which would pull the whole image
snapshotter_stargz() {
	cat >stargz.toml <<END
no_background_fetch = true
[[resolver.host."$host".mirrors]]
  host = "$host"
  insecure = true
END
	daemon /run/stargz.sock containerd-stargz-grpc --root "$PWD/stargz" \
	    --address /run/stargz.sock --config "$PWD/stargz.toml"
}
snapshotter_soci() {
	cat >soci.toml <<END
[background_fetch]
  disable = true
[[resolver.host."$host".mirrors]]
  host = "http://$host"
  insecure = true
END
	mkdir soci
	daemon /run/soci.sock soci-snapshotter-grpc --root "$PWD/soci" \
	    --address /run/soci.sock --config "$PWD/soci.toml"
}
snapshotter_nydus() {
	cat >nydus.toml <<END
version = 1
root = "$PWD/nydus"
address = "/run/nydus.sock"
[system]
enable = false
[daemon]
nydusd_config = "$PWD/nydusd.json"
nydusd_path = "$(command -v nydusd)"
nydusimage_path = "$(command -v nydus-image)"
[cgroup]
enable = false
[log]
log_to_stdout = true
[experimental]
enable_stargz = true
END
	echo '{"device":{"backend":{"type":"registry","config":{"scheme":"http"}},"cache":{"type":"blobcache"}},"mode":"direct"}' \
	    >nydusd.json
	daemon /run/nydus.sock containerd-nydus-grpc \
	    --config "$PWD/nydus.toml"
}
snapshotter_coldpress() {
	daemon /run/coldpress.sock layermount --foreground --prefetch none \
	    --containerd /run/coldpress.sock "$PWD/coldpress"
}

# lack PROGRAM...: prints the first that is not there
lack() {
	for lack_program; do
		have "$lack_program" || {
			echo "no $lack_program"
			return 0
		}
	done
}

# containerd with one of its snapshotters
ctr_open() {
	mkdir -p view
	ctr images mount --snapshotter "$1" "$host/a/image:$2" "$PWD/view" &&
	    tree=view
}
ctr_close() {
	ctr images unmount --rm --snapshotter "$1" "$PWD/view"
	ctr images rm --sync "$host/a/image:$2"
}
# patiently COMMAND...: repeats it while a program that watches files, anywhere on
# the machine, keeps a mount of containerd's busy
patiently() {
	patience=8
	until "$@" 2>patiently.err; do
		patience=$((patience - 1))
		if [ $patience = 0 ] ||
		    ! grep -q 'failed to unmount' patiently.err; then
			cat patiently.err >&2
			return 1
		fi
		sleep 2
	done
}
rpull() {
	patiently ctr-remote images rpull --plain-http --snapshotter "$1" \
	    ${3:+"$3"} "$host/a/image:$2" && ctr_open "$1" "$2"
}
lacks_overlayfs() { lack containerd ctr; }
open_overlayfs() {
	set -- "$1" --plain-http
	! ctr images pull --help | grep -q -e --local || set -- "$1" --local "$2"
	patiently ctr images pull "$2" ${3:+"$3"} --snapshotter overlayfs \
	    "$host/a/image:$1" && ctr_open overlayfs "$1"
}
close_overlayfs() { ctr_close overlayfs "$1"; }
lacks_stargz() { lack containerd ctr ctr-remote containerd-stargz-grpc; }
open_stargz() { rpull stargz "$1"; }
close_stargz() { ctr_close stargz "$1"; }
lacks_soci() {
	lack containerd ctr ctr-remote soci-snapshotter-grpc
	! containerd --version | grep -q ' v\{0,1\}1\.' ||
	    echo 'soci-snapshotter needs containerd 2'
}
open_soci() { rpull soci "$1" --use-containerd-labels; }
close_soci() { ctr_close soci "$1"; }
lacks_nydus() {
	lack containerd ctr ctr-remote containerd-nydus-grpc nydusd nydus-image
}
open_nydus() { rpull nydus "$1" --use-containerd-labels; }
close_nydus() { ctr_close nydus "$1"; }
lacks_coldpress() {
	lack containerd ctr ctr-remote
	layermount --help | grep -q -e --containerd ||
	    echo 'layermount was built without --containerd'
}
open_coldpress() { rpull coldpress "$1"; }
close_coldpress() { ctr_close coldpress "$1"; }

# Podman: plain, with partial pulls, and with our store
podman_config() {
	mkdir -p "$1"
	cat >"$1/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$PWD/$1/graph"
runroot = "$PWD/$1/run"
[storage.options]
$2
END
}
pods() {
	pods_in=$PWD/$reader_name
	CONTAINERS_STORAGE_CONF=$pods_in/storage.conf podman --runtime runc \
	    --cgroup-manager cgroupfs --events-backend file \
	    --tmpdir "$pods_in/tmp" "$@"
}
lacks_podman() { lack podman runc; }
open_podman() {
	pods --log-level debug pull -q --tls-verify=false \
	    "$host/a/image:$1" 2>pull.log || {
		tail -n 5 pull.log
		return 1
	}
	tree=$(pods image mount "$host/a/image:$1")
}
close_podman() {
	pods image unmount "$host/a/image:$1" && pods rmi "$host/a/image:$1"
}
lacks_podman_partial() { lacks_podman; }
open_podman_partial() { open_podman "$1"; }
parts_podman_partial() { grep -q 'Retrieved partial blob' pull.log; }
close_podman_partial() { close_podman "$1"; }
# store_start: mounts our store, if it is not there
store_start() {
	grep -q " $PWD/store fuse" /proc/mounts || {
		layermount --store --prefetch none --registry "$host" \
		    "$PWD/store" || return 1
		cell_fuse=$(fuse)
	}
}
lacks_podman_store() {
	lacks_podman
	layermount --help | grep -q -e --store ||
	    echo 'layermount has no --store'
}
open_podman_store() {
	store_start && open_podman "$1"
}
close_podman_store() { close_podman "$1"; }

# CRI-O, which is asked as by a kubelet, also with our store.  It mounts images for
# containers only, so its layers are put together here.
crio_config() {
	mkdir -p "$1/empty"
	echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$1/policy.json"
	cat >"$1/registries.conf" <<END
[[registry]]
location = "$host"
insecure = true
END
	cat >"$1/crio.conf" <<END
[crio]
version_file = "$PWD/$1/version"
version_file_persist = ""
clean_shutdown_file = "$PWD/$1/clean"
log_dir = "$PWD/$1/logs"
[crio.api]
listen = "/run/$1.sock"
stream_address = "127.0.0.1"
[crio.runtime]
default_runtime = "runc"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = "$(command -v env)"
hooks_dir = ["$PWD/$1/empty"]
container_exits_dir = "$PWD/$1/exits"
container_attach_socket_dir = "/run/$1"
namespaces_dir = "$PWD/$1/namespaces"
apparmor_profile = "unconfined"
[crio.runtime.runtimes.runc]
runtime_path = "$(command -v runc)"
monitor_path = "$(command -v conmon)"
[crio.image]
signature_policy = "$PWD/$1/policy.json"
signature_policy_dir = "$PWD/$1/empty"
[crio.network]
network_dir = "$PWD/$1/empty"
plugin_dirs = ["$PWD/$1/empty"]
[crio.nri]
enable_nri = false
END
}
# crio_start NAME: starts CRI-O with the storage of podman_config NAME
crio_start() {
	crio_config "$1"
	CONTAINERS_STORAGE_CONF=$PWD/$1/storage.conf \
	    daemon "/run/$1.sock" crio --config "$1/crio.conf" \
	    --config-dir "$1/empty" --registries-conf "$1/registries.conf"
}
# byte N, field N TEXT: print a part of a message of Protocol Buffers
byte() { printf %b "\\0$(printf %03o "$1")"; }
field() {
	byte $(($1 * 8 + 2))
	byte ${#2}
	printf %s "$2"
}
# crio_ask METHOD IMAGE: calls a method of the service for images
crio_ask() {
	field 1 "$(field 1 "$host/a/image:$2")" >message
	{
		printf '\000\000\000\000'
		byte "$(wc -c <message)"
		cat message
	} >framed
	curl -sS --http2-prior-knowledge --unix-socket "/run/$reader_name.sock" \
	    -H 'content-type: application/grpc' -H 'te: trailers' \
	    --data-binary @framed -D headers -o reply \
	    "http://s/runtime.v1.ImageService/$1" &&
	    grep -i '^grpc-' headers && grep -q '^grpc-status: 0' headers
}
lacks_crio() {
	lack crio conmon runc curl
	! have curl || curl -V | grep -q HTTP2 || echo 'curl without HTTP/2'
}
open_crio() {
	crio_ask PullImage "$1" || return 1
	crio_top=$(grep -o '"layer":"[^"]*' \
	    "$reader_name/graph/overlay-images/images.json" | cut -d '"' -f 4)
	# "lower" has the layers below as "l/NAME:l/NAME"
	(cd "$reader_name/graph/overlay" && mount -t overlay -o \
	    "lowerdir=$crio_top/diff:$(cat "$crio_top/lower")" none \
	    "$OLDPWD/view") && tree=view
}
close_crio() { umount view && crio_ask RemoveImage "$1"; }
lacks_crio_partial() { lacks_crio; }
open_crio_partial() { open_crio "$1"; }
parts_crio_partial() {
	grep -q '"toc-digest"' crio_partial/graph/overlay-layers/layers.json
}
close_crio_partial() { close_crio "$1"; }
lacks_crio_store() {
	lacks_crio
	lacks_podman_store
}
open_crio_store() {
	store_start && open_crio "$1"
}
close_crio_store() { close_crio "$1"; }

# skopeo copies the layers; umoci unpacks such copies
lacks_skopeo() { lack skopeo; }
open_skopeo() {
	skopeo --insecure-policy copy -q --all \
	    --src-tls-verify=false "docker://$host/a/image:$1" oci:copied:plain
}
close_skopeo() { rm -rf copied; }
lacks_umoci() { lack skopeo umoci; }
open_umoci() {
	rm -rf copied bundle
	skopeo --insecure-policy copy -q \
	    --src-tls-verify=false "docker://$host/a/image:$1" \
	    oci:copied:plain || return 2
	umoci unpack --image copied:plain bundle && tree=bundle/rootfs
}
close_umoci() { rm -rf copied bundle; }

# our own
lacks_layerpack() {
	layerpack -h | grep -q -e --pull || echo 'layerpack has no --pull'
}
open_layerpack() {
	layerpack --pull "docker://$host/a/image:$1" -o pulled && tree=pulled
}
close_layerpack() { rm -rf pulled; }
lacks_layermount() { :; }
open_layermount() {
	layermount --prefetch none "docker://$host/a/image:$1" mnt && tree=mnt
}
close_layermount() { umount mnt; }

# one layer with its ztoc; the reader's tree is that of the first layer
lacks_layermount_ztoc() { :; }
open_layermount_ztoc() {
	ztoc_layer=$(layers_of manifest.json | head -n 1)
	layermount --prefetch none --ztoc "$1/blobs/sha256/$(
	    cat "$1/blobs/sha256/"* | tr '{' '\n' | grep -a -B 1 \
	    "^\"com.amazon.soci.image-layer-digest\":\"sha256:$ztoc_layer" |
	    sed -n 's/.*"digest":"sha256:\([0-9a-f]*\).*/\1/p')" \
	    "http://$host/v2/a/image/blobs/sha256:$ztoc_layer" mnt && tree=mnt
}
close_layermount_ztoc() { umount mnt; }

# repositories
lacks_layermount_cas() {
	layermount --help | grep -q -e --key ||
	    echo 'layermount reads no repositories'
}
open_layermount_cas() {
	layermount -F cas --prefetch none "$site/$1" mnt && tree=mnt
}
close_layermount_cas() { umount mnt; }
lacks_cvmfs2() {
	lacks_layermount_cas
	[ -x "${COLDPRESS_CVMFS:-}/cvmfs2" ] || echo 'no CVMFS client'
}
open_cvmfs2() {
	mkdir -p cvmfs/cache cvmfs/sockets
	cat >cvmfs/config <<END
CVMFS_CACHE_BASE=$PWD/cvmfs/cache
CVMFS_RELOAD_SOCKETS=$PWD/cvmfs/sockets
CVMFS_SERVER_URL=$site/$1
CVMFS_HTTP_PROXY=DIRECT
CVMFS_ROOT_HASH=$(sed -n 's/^root_catalog //p' cas.said)
CVMFS_SHARED_CACHE=no
CVMFS_QUOTA_LIMIT=4000
CVMFS_USYSLOG=$PWD/cvmfs/log
CVMFS_CLAIM_OWNERSHIP=no
CVMFS_MAGIC_XATTRS_VISIBILITY=never
END
	env LD_LIBRARY_PATH="$COLDPRESS_CVMFS" \
	    CVMFS_LIBRARY_PATH="$COLDPRESS_CVMFS" "$COLDPRESS_CVMFS/cvmfs2" \
	    -o config="$PWD/cvmfs/config" "$1" "$PWD/mnt" && tree=mnt
}
close_cvmfs2() { umount mnt; }

#!/bin/sh
# containerd pulls, runs and removes images with layermount as its snapshotter.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/grpc.sh
. "$SRC/tests/grpc.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
layermount --help | grep -q -e --containerd ||
    skip_all 'layermount was built without --containerd'
for tool in layerpack docker-registry skopeo containerd ctr runc sha256sum; do
	have $tool || skip_all "no $tool"
done
# Everything is mounted in a namespace of this test's own
[ -n "${CONTAINERD_TEST_INSIDE:-}" ] || {
	unshare -m --propagation private true 2>/dev/null ||
	    skip_all 'no mount namespaces'
	CONTAINERD_TEST_INSIDE=1 exec unshare -m --propagation private \
	    sh "$0" "$@"
}

# An image of two layers, the second with whiteouts
program() {
	program_path=$(command -v "$1")
	for f in "$program_path" $(ldd "$program_path" | grep -o '/[^ ]*'); do
		mkdir -p "1$(dirname "$f")"
		cp -L "$f" "1$f"
	done
}
mkdir -p 1/data 1/dir 1/etc 1/tmp 2/data 2/dir run
for p in sh cat ls id sha256sum find sort sleep; do program $p; done
# with a merged /usr, this is where they are
[ -d 1/bin ] || ln -s usr/bin 1/bin
head -c 20000000 /dev/urandom >1/data/large
echo 'root:x:0:0::/:/bin/sh' >1/etc/passwd
for f in 1/data/gone 1/dir/old; do echo old >$f; done
ln 1/data/large 1/data/hard
ln -s large 1/data/soft
: >2/data/.wh.gone
: >2/dir/.wh..wh..opq
echo new >2/dir/new
echo hello >2/hello
chmod 4711 1/dir/old
chmod 700 2/dir
layer 1 gzip
layer 2 gzip
manifest plain
t 'eStargz' 0 layerpack -q -F estargz --image layout:plain estargz
t 'zstd:chunked' 0 layerpack -q -F zstd-chunked --image layout:plain zstd

# The tree of a container, as the runtime should show it
merged_tree() {
	mkdir merged
	cp -a 1/. merged
	rm -r merged/data/gone merged/dir
	mkdir -m 700 merged/dir
	echo new >merged/dir/new
	echo hello >merged/hello
}
# sums DIR: prints the digest, mode, owner and kind of everything in it
sums() {
	(cd "$1" && find . ! -path './proc*' ! -path './dev*' \
	    ! -path './sys*' ! -path './run*' ! -path './etc*' \
	    ! -path './lib*' ! -path './tmp*' -printf '%P %y %m %U %G %l\n' |
	    sort && find data dir hello -type f -exec sha256sum {} + | sort)
}
merged_tree
sums merged >want

registry='' containerd='' service=''
ctl() { ctr -a "$PWD/run/c.sock" -n "${ns:-one}" "$@"; }
cleanup() {
	for pid in $(ctl task ls -q 2>/dev/null); do
		ctl task kill -s KILL "$pid" >/dev/null 2>&1
	done
	for pid in $containerd $service $registry; do
		kill -INT "$pid" 2>/dev/null
	done
}
trap cleanup EXIT
registry_start
push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$1" \
	    "docker://$host/a/$2"
}
for i in estargz zstd; do
	t "$i is pushed" 0 push $i:plain $i:1
done
t 'and an image that is not lazy' 0 push layout:plain plain:1
# written AGENT: prints the number of blob bytes that the registry sent to it
written() {
	grep 'uri="/v2/[^"]*/blobs/' registry.out |
	    grep "useragent=\"\{0,1\}$1" |
	    sed -n 's/.*http.response.written=\([0-9]*\).*/\1/p' |
	    awk '{ sum += $1 } END { print sum + 0 }'
}

cat >containerd.toml <<END
version = 2
root = "$PWD/containerd"
state = "$PWD/run/state"
disabled_plugins = ["io.containerd.grpc.v1.cri",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "$PWD/run/c.sock"
[ttrpc]
  address = "$PWD/run/t.sock"
[proxy_plugins.coldpress]
  type = "snapshot"
  address = "$PWD/run/s.sock"
END

# service_start TIMEOUT: starts the snapshotter
service_start() {
	layermount --foreground --timeout "$1" --prefetch none \
	    --containerd "$PWD/run/s.sock" root >>service.log 2>&1 &
	service=$!
	await test -S run/s.sock
}
# service_stop SIGNAL: ends it; the status is its own
service_stop() {
	kill "-$1" "$service"
	service_status=0
	wait "$service" || service_status=$?
	rm -f run/s.sock
	return $service_status
}
ready() { ctl version >/dev/null 2>&1; }
containerd_start() {
	containerd --config containerd.toml >>containerd.log 2>&1 &
	containerd=$!
	await ready
}
containerd_stop() {
	kill "$containerd"
	wait "$containerd" || :
}
# mounted: prints the number of layers that are mounted lazily
mounted() { grep -c " $PWD/root/snapshots/[0-9]*/fs fuse.layermount " \
    /proc/mounts || :; }
# count_dirs: prints the number of snapshots' directories
count_dirs() { find root/snapshots -mindepth 1 -maxdepth 1 | wc -l; }
# pull IMAGE, lazily IMAGE
pull() { ctl images pull --plain-http --snapshotter coldpress "$host/a/$1"; }
lazily() { ctr-remote -a "$PWD/run/c.sock" -n "${ns:-one}" images rpull \
    --plain-http --snapshotter coldpress "$host/a/$1"; }
# run IMAGE COMMAND...: runs the command in a new container
run() {
	run_image=$host/a/$1
	shift
	ctl run --rm --snapshotter coldpress --runtime io.containerd.runc.v2 \
	    "$run_image" "run$(date +%s%N)" "$@"
}
# runs IMAGE: whether a container runs; containerd needs a moment to find a
# restarted service
runs() { [ "$(run "$1" /bin/cat /hello 2>/dev/null)" = hello ]; }
snaps() { ctl snapshots --snapshotter coldpress "$@"; }
# top: prints the committed snapshot that is nobody's parent
top() {
	snaps ls | awk '$NF == "Committed" {
		n[$1]++
		if (NF == 3)
			parent[$2]++
	}
	END { for (k in n) if (!(k in parent)) print k }'
}
# tree_of_top: prints sums of its tree.  A view belongs to nothing, so containerd
# may collect it as garbage before it is mounted.
tree_of_top() {
	mkdir -p view
	for tree_try in 1 2 3; do
		snaps view looked "$(top)" >/dev/null &&
		    snaps mounts view looked >mount.sh &&
		    sh mount.sh && sums view && break
		echo "$tree_try: collected" >&2
		snaps rm looked
	done
	umount view
	snaps rm looked
}

# find_store: sets $store_pid, and $store_parent to what would unmount it
find_store() {
	exe=$(readlink "/proc/$service/exe")
	space=$(readlink "/proc/$service/ns/mnt")
	for p in /proc/[0-9]*; do
		if [ "$(readlink "$p/exe")" = "$exe" ] &&
		    [ "$(readlink "$p/ns/mnt")" = "$space" ] &&
		    find "$p/fd" -lname /dev/fuse | grep -q .; then
			store_pid=${p#/proc/}
		fi
	done 2>/dev/null
	store_parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$store_pid/status")
}

service_start 20
containerd_start

t 'containerd has the snapshotter' 0 ctl plugins ls
shows 'which is ready' 'snapshotter.*coldpress.*ok'
t 'an image is pulled' 0 pull plain:1
is 'without mounts' "$(mounted)" 0
tree_of_top >got
same 'its tree is right' got want
t 'a container' 0 run plain:1 /bin/cat /hello
shows 'runs' '^hello$'
t 'and another writes' 0 run plain:1 /bin/sh -c \
    'echo changed >>/hello && cat /hello'
is 'to its own layer' "$(run plain:1 /bin/cat /hello)" hello
t 'a snapshot' 0 snaps ls
shows 'is listed' 'Committed'
chain=$(top)
t 'has a usage' 0 snaps usage "$chain"
t 'has a label' 0 snaps label "$chain" a.b/c=d
t 'is described' 0 snaps info "$chain"
shows 'with it' '"a.b/c": "d"'

# Garbage collection
t 'an image is removed' 0 ctl images rm --sync "$host/a/plain:1"
gone_dirs() { [ "$(count_dirs)" = 0 ]; }
t 'and its layers are' 0 await gone_dirs

# The labels of the CRI plugin, and a registry that does not answer
label() { field 4 "$(field 1 "containerd.io/snapshot$1" && field 2 "$2")"; }
# prepare KEY IMAGE DIGEST: asks for a layer; prints the gRPC status
prepare() {
	{
		field 2 "$1"
		label .ref "$3"
		label /cri.image-ref "$2"
		label /cri.layer-digest "$3"
	} >message
	grpc . run/s.sock containerd.services.snapshots.v1.Snapshots/Prepare \
	    300
}
if have curl && curl -V | grep -q HTTP2; then
	first=$(skopeo inspect --tls-verify=false "docker://$host/a/estargz:1" |
	    grep -o 'sha256:[0-9a-f]*' | sed -n 2p)
	is 'a layer is named by the labels of CRI: ALREADY_EXISTS' \
	    "$(prepare one "$host/a/estargz:1" "$first")" 6
	is 'it is mounted' "$(mounted)" 1
	readable() { cat root/snapshots/*/fs/data/gone 2>/dev/null | grep -q old; }
	find_store
	t 'what would unmount the store is killed' 0 kill -KILL "$store_parent"
	await gone "$store_parent"
	t 'and then the store' 0 kill -KILL "$store_pid"
	t 'another one serves the layer' 0 await readable
	find_store
	t 'what starts stores is killed' 0 pkill -KILL -P "$service"
	t 'and then the store, too' 0 kill -KILL "$store_pid"
	status=0
	wait "$service" || status=$?
	is 'so the service ends' $status 1
	service_start 20
	t 'and the next one serves the layer' 0 await readable
	service_stop INT
	service_start 3
	kill -STOP "$registry"
	began=$(date +%s)
	is 'a registry that is silent: an ordinary snapshot' \
	    "$(prepare two "$host/a/never:1" \
	    "sha256:$(printf %064d 1)")" 0
	t 'within --timeout' 0 test $(($(date +%s) - began)) -lt 10
	kill -CONT "$registry"
	service_stop INT
	service_start 20
	# containerd does not know these
	t 'an image' 0 await pull plain:1
	t 'is removed' 0 ctl images rm --sync "$host/a/plain:1"
	t 'and the snapshots that containerd does not know' 0 await gone_dirs
else
	skip 'no curl with HTTP/2'
fi

# Lazily
if have ctr-remote; then
	for i in estargz zstd; do
		before=$(written coldpress/) whole=$(written containerd/)
		t "$i is pulled lazily" 0 lazily $i:1
		is 'two layers are mounted' "$(mounted)" 2
		is 'containerd fetched no layer' \
		    "$(($(written containerd/) - whole < 10000))" 1
		t 'a container' 0 run $i:1 /bin/cat /hello
		shows 'runs' '^hello$'
		used=$(($(written coldpress/) - before))
		t "after $used bytes" 0 test $used -lt 12000000
		tree_of_top >got
		same 'its tree is right' got want
		t 'a container writes' 0 run $i:1 /bin/sh -c \
		    'echo changed >>/hello && cat /hello'
		is 'to its own layer' "$(run $i:1 /bin/cat /hello)" hello
		ns=two
		t 'another namespace pulls it' 0 lazily $i:1
		is 'the same layers are used' "$(mounted)" 2
		is 'there' "$(run $i:1 /bin/cat /hello)" hello
		ns=one
		t 'one removes it' 0 ctl images rm --sync "$host/a/$i:1"
		is 'the other has it' "$(ns=two run $i:1 /bin/cat /hello)" \
		    hello
		t 'and removes it' 0 ctr -a "$PWD/run/c.sock" -n two images \
		    rm --sync "$host/a/$i:1"
		t 'then the layers have gone' 0 await gone_dirs
		is 'and so have the mounts' "$(mounted)" 0
	done
	whole=$(written containerd/)
	t 'an image that is not lazy' 0 lazily plain:1
	t 'is pulled whole' 0 test $(($(written containerd/) - whole)) -gt \
	    20000000
	is 'without mounts' "$(mounted)" 0
	t 'and runs' 0 run plain:1 /bin/cat /hello
	t 'and is removed' 0 ctl images rm --sync "$host/a/plain:1"

	t 'with its layers' 0 await gone_dirs

	# Restarts under a running container
	t 'an image' 0 lazily estargz:1
	t 'a container' 0 ctl run -d --snapshotter coldpress \
	    "$host/a/estargz:1" lives /bin/sleep 1000
	inside() {
		inside_id=e$(date +%s%N)
		ctl task exec --exec-id "$inside_id" lives "$@"
	}
	is 'runs' "$(inside /bin/cat /hello)" hello
	for how in TERM KILL; do
		service_stop $how
		t "after SIG$how it goes on" 0 inside /bin/cat /hello
		is 'its layers are there' "$(mounted)" 2
		service_start 20
		is 'and used by the next service' "$(mounted)" 2
		t 'a new container starts' 0 await runs estargz:1
	done
	t 'the data of the first' 0 inside /bin/cat /data/hard
	same 'is right' .t.out 1/data/large
	containerd_stop
	containerd_start
	t 'containerd is restarted' 0 inside /bin/cat /dir/new
	is 'and starts others' "$(run estargz:1 /bin/cat /hello)" hello
	t 'the container ends' 0 ctl task kill -s KILL lives
	stopped() { ctl task ls | grep -q 'lives.*STOPPED'; }
	await stopped
	t 'and is removed' 0 ctl containers rm lives

	# Killed at any moment, the service starts again, and whatever has no row
	# has no directory either
	for i in 1 2 3 4 5 6 7 8; do
		lazily zstd:1 >/dev/null 2>&1 &
		puller=$!
		sleep 0.0$i
		service_stop KILL
		wait "$puller" || :
		service_start 20
	done
	pulled() { lazily zstd:1 >/dev/null 2>&1 && runs zstd:1; }
	t 'after it was killed 8 times, an image is pulled' 0 await pulled
	t 'and removed' 0 ctl images rm --sync "$host/a/zstd:1"
	two() { [ "$(count_dirs)" = 2 ] && [ "$(mounted)" = 2 ]; }
	t 'nothing is left' 0 await two

	# The store is killed: the layers are mounted anew
	find_store
	t 'the store is killed' 0 kill -KILL "$store_pid"
	again() { [ "$(mounted)" = 2 ] && runs estargz:1; }
	t 'its layers come back' 0 await again
	t 'SIGINT' 0 service_stop INT
	is 'unmounts them' "$(mounted)" 0
	t 'and the store' 1 grep -q " $PWD/root/layers " /proc/mounts
	# without the registry, from the cache
	kill "$registry"
	wait "$registry" || :
	service_start 20
	t 'without the registry a container starts' 0 await runs estargz:1
	is 'from its layers' "$(mounted)" 2
	t 'the image is removed' 0 ctl images rm --sync "$host/a/estargz:1"
	t 'with its layers' 0 await gone_dirs
else
	skip 'no ctr-remote: nothing is pulled lazily'
	kill "$registry"
	wait "$registry" || :
fi
containerd_stop
t 'SIGTERM' 0 service_stop TERM
t 'ends the store without layers, too' 1 grep -q " $PWD/root/layers " \
    /proc/mounts
# In the background
second() { layermount --log "$1" --containerd "$2" "$3"; }
t 'in the background' 0 second log run/b.sock back
t 'it listens' 0 test -S run/b.sock
t 'a second one, with the same directory' 1 second log run/d.sock back
shows 'is refused' 'in use by another process' .t.err
t 'and with the same socket' 1 second log run/b.sock other
shows 'is refused, too' 'another process serves this socket' .t.err
chmod 755 other
t 'a directory that others can enter' 1 second log run/d.sock other
shows 'is refused' 'with mode 0700' .t.err
for p in /proc/[0-9]*; do
	if [ "$(readlink "$p/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] &&
	    find "$p/fd" -lname "$PWD/back/lock" | grep -q .; then
		kill -INT "${p#/proc/}"
	fi
done 2>/dev/null
ended() { ! grep -q " $PWD/back/layers " /proc/mounts && [ ! -e run/b.sock ]; }
t 'SIGINT ends it' 0 await ended
containerd='' service=''
done_testing

#!/bin/sh
# The CRI plugin of containerd, as Kubernetes uses it, pulls, runs, updates and
# removes images with layermount as its snapshotter; crictl asks it to, and nerdctl
# does so without it.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
layermount --help | grep -q -e --containerd ||
    skip_all 'layermount was built without --containerd'
for tool in layerpack docker-registry skopeo containerd crictl runc; do
	have $tool || skip_all "no $tool"
done
# Everything is mounted in a namespace of this test's own
[ -n "${CRI_TEST_INSIDE:-}" ] || {
	unshare -m --propagation private true 2>/dev/null ||
	    skip_all 'no mount namespaces'
	CRI_TEST_INSIDE=1 exec unshare -m --propagation private sh "$0" "$@"
}

# An image, a later one with one more layer, and one for pods
for p in sh cat sleep sha256sum; do
	program_path=$(command -v $p)
	for f in "$program_path" $(ldd "$program_path" | grep -o '/[^ ]*'); do
		mkdir -p "1$(dirname "$f")"
		cp -L "$f" "1$f"
	done
done
# with a merged /usr, this is where they are
[ -d 1/bin ] || ln -s usr/bin 1/bin
mkdir -p pause 1/etc 1/data 2 run certs logs cni
cp -a 1/. pause
echo 'root:x:0:0::/:/bin/sh' >1/etc/passwd
head -c 20000000 /dev/urandom >1/data/large
echo one >1/which
echo two >2/which
layer 1 gzip
manifest old
layer 2 gzip
manifest new
layers='' diffs=''
oci_config='{"Entrypoint":["/bin/sleep","100000"]}'
layer pause gzip
manifest pause
for i in old new; do
	t "eStargz, $i" 0 layerpack -q -F estargz --image layout:$i $i
done

registry='' containerd='' service='' second=''
cri() { crictl --config crictl.yaml "$@"; }
cleanup() {
	cri rmp -f -a >/dev/null 2>&1
	for pid in $containerd $service $second $registry; do
		kill -INT "$pid" 2>/dev/null
	done
}
trap cleanup EXIT
registry_start
push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$1" \
	    "docker://$host/a/$2"
}
t 'the old one is pushed' 0 push old:old app:1
t 'the new one' 0 push new:new app:2
t 'what is not lazy' 0 push layout:old plain:1
t 'what pods are' 0 push layout:pause pause:1
# written AGENT: prints the number of blob bytes that the registry sent to it
written() {
	grep 'uri="/v2/a/[ap][^u/]*/blobs/' registry.out |
	    grep "useragent=\"\{0,1\}$1" |
	    sed -n 's/.*http.response.written=\([0-9]*\).*/\1/p' |
	    awk '{ sum += $1 } END { print sum + 0 }'
}

mkdir -p "certs/$host"
echo "server = \"http://$host\"" >"certs/$host/hosts.toml"
cat >containerd.toml <<END
version = 2
root = "$PWD/containerd"
state = "$PWD/run/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "$PWD/run/c.sock"
[ttrpc]
  address = "$PWD/run/t.sock"
[proxy_plugins.coldpress]
  type = "snapshot"
  address = "$PWD/run/s.sock"
# under this name, nerdctl says where layers come from
[proxy_plugins.stargz]
  type = "snapshot"
  address = "$PWD/run/n.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$host/a/pause:1"
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "coldpress"
  disable_snapshot_annotations = false
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "$PWD/certs"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "$PWD/cni"
  conf_dir = "$PWD/cni"
END
cat >crictl.yaml <<END
runtime-endpoint: unix://$PWD/run/c.sock
image-endpoint: unix://$PWD/run/c.sock
timeout: 30
END
cat >pod.json <<END
{"metadata":{"name":"p","namespace":"n","uid":"u","attempt":1},
"log_directory":"$PWD/logs",
"linux":{"security_context":{"namespace_options":{"network":2}}}}
END
# container IMAGE: describes one, for crictl
container() {
	printf '{"metadata":{"name":"c"},"image":{"image":"%s"},"command":["/bin/sh","-c","cat /which; sleep 1000"],"log_path":"c.log","linux":{}}' \
	    "$host/a/$1"
}
# mounted: prints the number of layers that are mounted lazily
mounted() { grep -c " $PWD/root/snapshots/[0-9]*/fs fuse.layermount " \
    /proc/mounts || :; }
service_start() {
	layermount --foreground --timeout 20 --prefetch none \
	    --containerd "$PWD/run/s.sock" root >>service.log 2>&1 &
	service=$!
	await test -S run/s.sock
}
ready() { cri info 2>/dev/null | grep -q '"type": "RuntimeReady"' &&
    cri images >/dev/null 2>&1; }
containerd_start() {
	containerd --config containerd.toml >>containerd.log 2>&1 &
	containerd=$!
	await ready
}

service_start
containerd_start
t 'the plugin is ready' 0 cri info
shows 'with our snapshotter' '"snapshotter": "coldpress"'
whole=$(written containerd/)
t 'an image is pulled' 0 cri pull "$host/a/app:1"
is 'lazily' "$(mounted)" 1
t 'and listed' 0 cri images
shows 'with its tag' "^$host/a/app  *1 "
pod=$(cri runp pod.json 2>>cri.err)
t 'a pod' 0 test -n "$pod"
container app:1 >c.json
one=$(cri create "$pod" c.json pod.json 2>>cri.err)
t 'a container' 0 cri start "$one"
t 'runs a command' 0 cri exec "$one" /bin/cat /which
shows 'of the image' '^one$'
t 'reads a file' 0 cri exec "$one" /bin/sha256sum /data/large
is 'that is right' "$(cut -c 1-64 .t.out)" \
    "$(sha256sum <1/data/large | cut -c 1-64)"
is 'containerd fetched no layer' \
    "$(($(written containerd/) - whole < 10000))" 1
logged() { cri logs "$one" 2>/dev/null | grep -q -x one; }
t 'it has a log' 0 await logged

# An update
t 'the later image' 0 cri pull "$host/a/app:2"
is 'has one more layer' "$(mounted)" 2
container app:2 >c2.json
sed -i 's/"name":"c"/"name":"d"/; s/c[.]log/d.log/' c2.json
two=$(cri create "$pod" c2.json pod.json 2>>cri.err)
t 'a container of it' 0 cri start "$two"
t 'runs' 0 cri exec "$two" /bin/cat /which
shows 'with the new file' '^two$'
t 'beside the old one' 0 cri exec "$one" /bin/cat /which
shows 'which has its own' '^one$'
t 'the old image is removed' 0 cri rmi "$host/a/app:1"
t 'its container goes on' 0 cri exec "$one" /bin/cat /which

# Restarts under running containers
kill -KILL "$service"
wait "$service" || :
rm -f run/s.sock
t 'without the snapshotter they go on' 0 cri exec "$two" /bin/cat /data/large
same 'and read' .t.out 1/data/large
service_start
kill "$containerd"
wait "$containerd" || :
containerd_start
t 'with both restarted, too' 0 cri exec "$two" /bin/cat /which
shows 'the same' '^two$'
t 'a container is stopped' 0 cri stop -t 0 "$one"
t 'and removed' 0 cri rm "$one"
t 'the other, too' 0 cri rm -f "$two"

# What is not lazy
t 'an image that is not lazy' 0 cri pull "$host/a/plain:1"
container plain:1 >c.json
one=$(cri create "$pod" c.json pod.json 2>>cri.err)
t 'has a container' 0 cri start "$one"
t 'which runs' 0 cri exec "$one" /bin/cat /which
shows 'as it should' '^one$'
t 'the pod is removed with it' 0 cri rmp -f "$pod"
t 'no such image' 1 cri pull "$host/a/app:3"

# Everything goes
for i in app:2 plain:1; do
	t "$i is removed" 0 cri rmi "$host/a/$i"
done
none() { [ "$(mounted)" = 0 ]; }
t 'nothing is mounted any more' 0 await none
t 'the image of pods' 0 cri rmi "$host/a/pause:1"
gone_dirs() { [ -z "$(ls root/snapshots)" ]; }
t 'no layer is left' 0 await gone_dirs

# nerdctl
ner() {
	nerdctl -a "$PWD/run/c.sock" -n one --data-root "$PWD/nerdctl" \
	    --cni-path "$PWD/cni" --cni-netconfpath "$PWD/cni" \
	    --hosts-dir "$PWD/certs" --snapshotter stargz "$@"
}
ner_run() { ner run --rm --net none --cgroup-manager cgroupfs "$@"; }
layers_of_nerdctl() { grep -c " $PWD/second/snapshots/[0-9]*/fs fuse" \
    /proc/mounts || :; }
if have nerdctl; then
	layermount --foreground --timeout 20 --prefetch none \
	    --containerd "$PWD/run/n.sock" second >>service.log 2>&1 &
	second=$!
	await test -S run/n.sock
	whole=$(written containerd/)
	listed() { ner images >/dev/null 2>&1; }
	t 'nerdctl has the snapshotter' 0 await listed
	t 'and pulls' 0 ner pull -q "$host/a/app:2"
	is 'lazily' "$(layers_of_nerdctl)" 2
	t 'a container' 0 ner_run "$host/a/app:2" /bin/cat /which
	shows 'runs' '^two$'
	t 'and another' 0 ner_run "$host/a/app:2" /bin/sha256sum /data/large
	is 'reads what is right' "$(cut -c 1-64 .t.out)" \
	    "$(sha256sum <1/data/large | cut -c 1-64)"
	is 'containerd fetched no layer' \
	    "$(($(written containerd/) + $(written nerdctl/) - whole < 10000))" 1
	t 'one that stays' 0 ner run -d --name stays --net none \
	    "$host/a/app:2" /bin/sleep 1000
	t 'is listed' 0 ner ps
	shows 'as running' 'Up .*stays'
	t 'runs commands' 0 ner exec stays /bin/cat /which
	t 'is removed' 0 ner rm -f stays
	t 'and so is the image' 0 ner rmi "$host/a/app:2"
	left() { [ -z "$(ls second/snapshots)" ]; }
	t 'with its layers' 0 await left
else
	skip 'no nerdctl'
fi
kill "$containerd"
wait "$containerd" || :
containerd=''
kill -TERM "$service"
ended=0
wait "$service" || ended=$?
service=''
is 'the service ends' "$ended" 0
[ -z "$second" ] || {
	kill -TERM "$second"
	wait "$second" || ended=$?
	is 'and the second' "$ended" 0
}
second=''
done_testing

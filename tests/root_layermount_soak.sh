#!/bin/sh
# Hours of containers on layermount as containerd's snapshotter, while registry,
# network, tokens, the cache's disk and processes fail: no wrong byte, and no
# memory, descriptor, mount, process or directory is left over.
# SPDX-License-Identifier: BSD-2-Clause
# COLDPRESS_SOAK_MINUTES (120) and COLDPRESS_SOAK_STARTS (200), spread evenly;
# COLDPRESS_SOAK_SEED repeats what was drawn; COLDPRESS_SOAK_FAULTS names the
# faults.
#
# There are two nodes, each with a containerd and a layermount of its own.  The
# processes of the one named "kills" are killed; those of "lives" meet all other
# faults and have to last, so that what they leak adds up.
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
for tool in layerpack docker-registry skopeo containerd ctr runc sha256sum \
    python3 openssl curl; do
	have $tool || skip_all "no $tool"
done
curl -V | grep -q HTTP2 || skip_all 'no curl with HTTP/2'
! sanitized layermount || skip_all "a sanitizer's memory is not the tool's"
# All mounts and processes are in namespaces of this test's own
[ -n "${SOAK_INSIDE:-}" ] || {
	set -- unshare -m --propagation private --pid --fork --kill-child \
	    --mount-proc
	"$@" true 2>/dev/null || skip_all 'no namespaces of mounts and processes'
	SOAK_INSIDE=1 exec "$@" sh "$0"
}
# here are the sockets of containerd's shims, and what runc knows
mount -t tmpfs tmpfs /run || exit

minutes=${COLDPRESS_SOAK_MINUTES:-120} starts=${COLDPRESS_SOAK_STARTS:-200}
seed=${COLDPRESS_SOAK_SEED:-$(date +%s)}
timeout_s=6			# of layermount
cache_limit=$((4 << 20)) cache_disk=6m
recover_s=60			# within which containers start after a fault
nodes='lives kills' images='es:1 es:2 zs:1 plain:1'
echo "# $starts starts in $minutes minutes, seed $seed"

# draw N: sets $drawn to a number below N
draw() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	drawn=$((seed / 65536 % $1))
}
# word N WORD...: prints the Nth, counted from 0
word() {
	shift $(($1 + 1))
	echo "$1"
}

# Images: two layers each, the second with whiteouts, and an update of the first
program() {
	program_path=$(command -v "$1")
	for f in "$program_path" $(ldd "$program_path" | grep -o '/[^ ]*'); do
		mkdir -p "programs$(dirname "$f")"
		cp -L "$f" "programs$f"
	done
}
mkdir programs
for p in sh find dd sleep sha256sum; do program $p; done
# with a merged /usr, this is where they are
[ -d programs/bin ] || ln -s usr/bin programs/bin
# family NAME MANY LARGE: makes NAME.1 and NAME.2, and the tree NAME of both
family() {
	cp -a programs "$1.1"
	mkdir -p "$1.1/data/many" "$1.1/dir" "$1.1/tmp" "$1.2/data" "$1.2/dir"
	seq 300000 >"$1.1/data/text"
	head -c "$3" /dev/urandom >"$1.1/data/large"
	for i in $(seq "$2"); do
		draw 150000
		head -c $((drawn + 1)) /dev/urandom >"$1.1/data/many/$i"
	done
	for f in data/gone dir/old; do echo old >"$1.1/$f"; done
	echo "$1" >"$1.1/hello"
	cp -a "$1.1" "$1"
	: >"$1.2/data/.wh.gone"
	: >"$1.2/dir/.wh..wh..opq"
	echo new >"$1.2/dir/new"
	head -c "$(($3 / 3))" /dev/urandom >"$1.2/data/second"
	rm "$1/data/gone" "$1/dir/old"
	cp -a "$1.2/data/second" "$1/data"
	cp -a "$1.2/dir/new" "$1/dir"
}
# sums DIR: prints the digest of each of its files
sums() {
	(cd "$1" && find data dir hello -type f -exec sha256sum {} + |
	    LC_ALL=C sort)
}
family es 60 7000000
family zs 60 6000000
family plain 20 2000000
for i in es zs plain; do
	layers='' diffs=''
	layer $i.1 gzip
	layer $i.2 gzip
	manifest $i-1
	mv $i $i:1
	[ $i = es ] || continue
	mkdir -p es.3/data
	head -c 1500000 /dev/urandom >es.3/data/third
	seq 7 250000 >es.3/data/text
	layer es.3 gzip
	manifest es-2
	cp -a es:1 es:2
	cp -a es.3/data es:2
done
for i in $images; do sums "$i" >"want.$i"; done
for i in es-1 es-2; do
	t "eStargz, $i" 0 layerpack -q -F estargz -c 64K --image layout:$i $i
done
t 'zstd:chunked' 0 layerpack -q -F zstd-chunked -c 64K --image layout:zs-1 \
    zs-1
registry='' mark=soak-$(date +%s)
cleanup() {
	trap - EXIT
	[ -z "$registry" ] || kill "$registry"
	for node in $nodes; do
		umount -l "$node/cache" "$node/root/layers" 2>/dev/null
	done
	cgroups -exec rmdir {} + 2>/dev/null
}
trap cleanup EXIT
registry_start
push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$1" \
	    "docker://$host/a/$2"
}
for i in es-1 es-2 zs-1; do
	t "$i is pushed" 0 push $i:$i ${i%-*}:${i#*-}
done
t 'what is not lazy, too' 0 push layout:plain-1 plain:1
kill "$registry"
wait "$registry" 2>/dev/null || :
registry=''

# The registry that wants tokens, and what is between
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem \
    -days 9 -subj /CN=tests 2>openssl.err ||
    skip_all 'openssl makes no certificate'
mkfifo ctl
python3 "$SRC/tests/registry_faults.py" key.pem cert.pem "$seed" <ctl \
    >faults.out 2>faults.err &
exec 3>ctl
await test -s faults.out
read -r proxy_port token_port <faults.out
host=localhost:$proxy_port
cat >registry.yml <<END
version: 0.1
log: { level: info, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: $PWD/registry } }
http: { addr: "127.0.0.1:0" }
auth:
  token: { realm: "http://localhost:$token_port/token", service: soak,
    issuer: tests, rootcertbundle: $PWD/cert.pem }
END
printf '{"auths":{"%s":{"auth":"dXNlcjpwYXNzd29yZA=="}}}' "$host" >auth.json
# control WORD...: tells the proxy; its answer is the last line of faults.out
control() {
	control_lines=$(wc -l <faults.out)
	echo "$*" >&3
	await control_answered
}
control_answered() { [ "$(wc -l <faults.out)" -gt "$control_lines" ]; }
registry_again() {
	rm -f registry.out
	docker-registry serve registry.yml >registry.out 2>&1 3>&- &
	echo $! >registry.pid
	await grep -q -s 'listening on' registry.out
	control upstream "$(sed -n \
	    's/.*listening on 127[0-9.]*:\([0-9]*\).*/\1/p' registry.out)"
}

# Nodes.  All functions are about $node.
# keep_containerd, keep_service: run it again whenever it ends, as an init
# system would
keep_containerd() {
	while [ ! -e stop ]; do
		containerd --config "$PWD/$node/containerd.toml" \
		    >>"$node/containerd.log" 2>&1 3>&- &
		echo $! >"$node/containerd.pid"
		wait $! 2>/dev/null || :
		sleep 0.2
	done
}
keep_service() {
	while [ ! -e stop ]; do
		layermount --timeout $timeout_s --authfile "$PWD/auth.json" \
		    --log "$PWD/$node/service.log" --idle 20 \
		    --cache "$PWD/$node/cache/layers" \
		    --cache-size $cache_limit \
		    --containerd "$PWD/$node/run/s.sock" "$PWD/$node/root" \
		    >>"$node/start.log" 2>&1 3>&- &&
		    service_pid >"$node/service.pid"
		while ! gone "$(cat "$node/service.pid" 2>/dev/null)"; do
			sleep 0.2
		done
		sleep 0.2
	done
}
# service_pid: prints the process that has locked the directory
service_pid() {
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm")" = layermount ] &&
		    find "$p/fd" -lname "$PWD/$node/root/lock" | grep -q . &&
		    echo "${p#/proc/}"
	done 2>/dev/null
	:
}
ctl() {
	timeout -k 5 60 ctr -a "$PWD/$node/run/c.sock" -n k8s.io "$@" </dev/null
}
snaps() { ctl snapshots --snapshotter coldpress "$@"; }
ready() { snaps ls >/dev/null 2>&1; }
node_start() {
	mkdir -p "$node/run" "$node/cache" "certs/$host"
	mount -t tmpfs -o size=$cache_disk,mode=700 tmpfs "$node/cache" || exit
	echo "server = \"http://$host\"" >"certs/$host/hosts.toml"
	cat >"$node/containerd.toml" <<END
version = 2
root = "$PWD/$node/containerd"
state = "$PWD/$node/run/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "$PWD/$node/run/c.sock"
[ttrpc]
  address = "$PWD/$node/run/t.sock"
[proxy_plugins.coldpress]
  type = "snapshot"
  address = "$PWD/$node/run/s.sock"
[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "coldpress"
  disable_snapshot_annotations = false
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "$PWD/certs"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "$PWD/certs"
  conf_dir = "$PWD/certs"
END
	keep_service &
	keep_containerd &
	await ready
}

# pull IMAGE: has the CRI plugin pull it, which says where layers come from
pull() {
	{
		field 1 "$(field 1 "$host/a/$1")"
		field 2 "$(field 1 user && field 2 password)"
	} >"$node/message"
	[ "$(grpc "$node" "$node/run/c.sock" \
	    runtime.v1.ImageService/PullImage 120)" = 0 ]
}
is_here() { ctl images ls -q 2>/dev/null | grep -q -x "$host/a/$1"; }
# images_rm [PATTERN]: removes images under all of their names
images_rm() {
	for f in $(ctl images ls 2>/dev/null | awk -v what="${1:-.}" '
	    NR > 1 && $0 ~ what { digest[$3] = 1 }
	    NR > 1 { of[$1] = $3 }
	    END { for (i in of) if (of[i] in digest) print i }'); do
		ctl images rm --sync "$f" >/dev/null 2>&1 || return 1
	done
}
# shims: prints the processes of containers
shims() {
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm")" = containerd-shim ] &&
		    tr '\0' ' ' <"$p/cmdline" |
		    grep -q -e " $PWD/$node/run/c.sock " &&
		    echo "${p#/proc/}"
	done 2>/dev/null
	:
}
no_shims() { [ -z "$(shims)" ]; }
cgroups() { find /sys/fs/cgroup -depth -type d -name "$mark-*" "$@"; }
# sweep: ends and removes all containers, and the shims and cgroups of those that
# a killed containerd no longer knows
sweep() {
	sweep_end=$(($(date +%s) + recover_s))
	until sweep_all=$(ctl containers ls -q 2>/dev/null) &&
	    [ -z "$sweep_all" ]; do
		for f in $sweep_all; do
			ctl task kill -s KILL "$f"
			ctl task rm -f "$f"
			ctl containers rm "$f"
		done >/dev/null 2>&1
		[ "$(date +%s)" -lt $sweep_end ] || {
			echo "# $node: containers stay: $sweep_all"
			return 1
		}
	done
	sweep_end=$(($(date +%s) + 5))
	until no_shims || [ "$(date +%s)" -ge $sweep_end ]; do sleep 0.2; done
	for f in $(shims); do
		echo "# $node: containerd has left a shim"
		kill -TERM "$f"
	done
	await no_shims || return 1
	cgroups -exec rmdir {} + 2>/dev/null || :
}
# roles: sets pid_service, pid_keeper, pid_store, pid_parent and pid_resolver
roles() {
	pid_service=$(cat "$node/service.pid")
	pid_keeper='' pid_store='' pid_parent='' pid_resolver='' resolvers=''
	for p in /proc/[0-9]*; do
		read -r p_pid p_name p_state p_parent p_rest <"$p/stat" ||
		    continue
		case $p_name in
		'(layermount)')
			tr '\0' ' ' <"$p/cmdline" |
			    grep -q " $PWD/$node/root " || continue
			if [ "$p_parent" = "$pid_service" ]; then
				pid_keeper=$p_pid
			elif find "$p/fd" -lname /dev/fuse | grep -q .; then
				pid_store=$p_pid
				# unless it was killed
				[ "$p_parent" = 1 ] || pid_parent=$p_parent
			fi
			;;
		'(resolver)') resolvers="$resolvers $p_parent:$p_pid" ;;
		esac
	done 2>/dev/null
	for f in $resolvers; do
		[ "${f%:*}" != "$pid_store" ] || pid_resolver=${f#*:}
	done
	: "$p_state$p_rest"
}

# Containers
# part FILE BLOCK COUNT: prints the digest of a part of it, if all was read
# shellcheck disable=SC2016 # the container's shell
part='part() {
	dd if=$1 of=${tmp-/tmp}/part bs=4096 skip=$2 count=$3 2>/dev/null &&
	    set -- "$@" $(sha256sum <${tmp-/tmp}/part) && echo "$4  $1:$2:$3"
}'
# script IMAGE N: draws what container N reads; writes its script, and what is
# right
script() {
	draw 3
	case $drawn in
	0)
		cp "want.$1" "want.$2"
		set -- "$2" 'find data/many -type f -exec sha256sum {} + || failed=1
sleep 1
find data dir hello ! -path "data/many/*" -type f -exec sha256sum {} + ||
	failed=1'
		;;
	1)
		draw 10
		grep -e "[$drawn$(((drawn + 4) % 10))]\$" -e large -e hello \
		    "want.$1" >"want.$2"
		set -- "$2" "sha256sum $(awk '!/large/ { printf "%s ", $2 }' \
		    "want.$2") || failed=1
sleep 1
sha256sum data/large || failed=1"
		;;
	2)
		script_text=$part
		for f in 1 2 3 4 5 6 7 8 9 10 11 12; do
			draw $(($(wc -l <"want.$1")))
			script_file=$(sed -n "$((drawn + 1))s/.*  //p" "want.$1")
			[ $((f % 3)) != 0 ] || script_file=data/large
			draw $(($(wc -c <"$1/$script_file") / 4096 + 1))
			script_file="$script_file $drawn"
			draw 60
			script_text="$script_text
part $script_file $((drawn + 1)) || failed=1
[ -n \"\${tmp-}\" ] || sleep 0.2"
		done
		(cd "$1" && tmp=.. sh -c "$script_text") >"want.$2"
		set -- "$2" "$script_text"
		;;
	esac
	# shellcheck disable=SC2016 # the container's shell
	printf 'echo begin\ncd / && {\n%s\n}\n[ -n "$failed" ] || echo end\n' \
	    "$2" >"script.$1"
}
# container IMAGE N: runs script.N; writes out.N and err.N.  The container itself
# writes into files: of what goes through ctr, a shim drops the end when the
# machine is busy.
container() {
	: >"live.out.$2"
	: >"live.err.$2"
	container_status=0
	ctl run --rm --snapshotter coldpress --runtime io.containerd.runc.v2 \
	    --mount "type=bind,src=$PWD,dst=/mnt,options=bind:rw" \
	    "$host/a/$1" "$mark-$2" /bin/sh -c \
	    "exec >/mnt/live.out.$2 2>/mnt/live.err.$2
$(cat "script.$2")" >"ctr.$2" 2>&1 || container_status=$?
	# which after a kill may go on to write
	cp "live.out.$2" "out.$2"
	cat "live.err.$2" "ctr.$2" >"err.$2"
	[ $container_status = 0 ] || echo "status $container_status" >>"err.$2"
	return $container_status
}
# judge N: sets $verdict to right, refused, EIO, cut or wrong
judge() {
	judge_end=$(tail -n 1 "out.$1")
	# what was cut off within a line
	[ -z "$(tail -c 1 "out.$1")" ] || sed -i '$d' "out.$1"
	sed -e '/^begin$/d' -e '/^end$/d' "out.$1" | LC_ALL=C sort >"got.$1"
	LC_ALL=C sort -o "want.$1" "want.$1"
	LC_ALL=C comm -23 "got.$1" "want.$1" >"wrong.$1"
	verdict='cut'
	if [ -s "wrong.$1" ]; then
		verdict=wrong
	elif [ "$judge_end" = end ]; then
		verdict=right
		cmp -s "got.$1" "want.$1" || verdict=wrong
	elif ! grep -q begin "out.$1"; then
		verdict=refused
	elif grep -q -i -e 'input/output error' -e 'bus error' \
	    -e 'endpoint is not connected' -e '^status 135$' "err.$1"; then
		verdict=EIO
	fi
	[ $verdict = right ] || [ $verdict = wrong ] || {
		echo "$(wc -l <"got.$1") of $(wc -l <"want.$1") lines" >>"err.$1"
		sed "s/^/$node: $1: $fault: $verdict: /" "err.$1" >>failures
	}
	[ $verdict != wrong ] || {
		not_ok "container $1 on $node read what is right"
		diff "got.$1" "want.$1" | head -n 5 | sed 's/^/# /'
	}
}
# forget: the kernel drops the data of large files, which is then read again
forget() {
	find "$node"/root/snapshots/*/fs/data -type f -size +16k \
	    -exec dd if={} iflag=nocache count=0 status=none \; 2>/dev/null
}
# starts_again IMAGE: whether a container runs, if need be after a pull
starts_again() {
	fault=after
	script "$1" again
	if container "$1" again; then
		judge again
		[ $verdict = right ]
	else
		judge again
		sweep
		[ $verdict = wrong ] || pull "$1"
		return 1
	fi
}

# Faults
faults=${COLDPRESS_SOAK_FAULTS:-none none registry bad tokens full containerd
    service keeper store parent resolver}
# pause N: waits for up to N tenths of a second
pause() {
	draw "$1"
	sleep $((drawn / 10)).$((drawn % 10))
}
# strike: what happens while containers start and read
strike() {
	pause 20
	case $fault in
	registry)
		draw 2
		kill "-$(word $drawn TERM KILL)" "$(cat registry.pid)"
		pause 40
		registry_again
		;;
	containerd) kill -KILL "$(cat "$node/containerd.pid")" ;;
	service | keeper | store | parent | resolver)
		roles
		eval "strike_pid=\$pid_$fault"
		[ -n "$strike_pid" ] && kill -KILL "$strike_pid" &&
		    echo "$fault" >>killed
		;;
	esac
}
fault_begin() {
	case $fault in
	bad) control bad 5 ;;
	tokens) control tokens 1 50 ;;
	full)
		head -c 100000000 /dev/zero >"$node/cache/full" 2>/dev/null
		;;
	esac
	draw 1000
	strike &
	striking=$!
}
fault_end() {
	wait $striking
	case $fault in
	bad) control bad 0 ;;
	tokens) control tokens 10 0 ;;
	full) rm "$node/cache/full" ;;
	esac
}
# deal: sets $fault, so that each comes once before any comes again
deck=''
deal() {
	[ -n "$deck" ] || deck=$faults
	# shellcheck disable=SC2086
	set -- $deck
	draw $#
	fault=$(word $drawn "$@")
	deck=''
	for f in "$@"; do
		[ $drawn = 0 ] || deck="$deck $f"
		drawn=$((drawn - 1))
	done
}

# A round: containers start, and something fails
done_starts=0
round() {
	deal
	draw 3
	node=$(word $drawn lives lives kills)
	case $fault in service | keeper | store | parent | resolver)
		node=kills ;;
	esac
	draw 5
	count_now=$(word $drawn 1 1 1 2 3)
	[ "$count_now" -le $((starts - done_starts)) ] ||
	    count_now=$((starts - done_starts))
	draw 4
	again=$drawn
	ids='' pulled=''
	for f in $(seq "$count_now"); do
		draw 4
		# shellcheck disable=SC2086
		image=$(word $drawn $images)
		done_starts=$((done_starts + 1))
		script "$image" $done_starts
		ids="$ids $done_starts:$image"
		is_here "$image" || pull "$image" || :
	done
	forget
	fault_begin
	# the last image goes, and comes back in the middle of it all
	[ $again != 0 ] || {
		pulled=', pulled'
		images_rm "/a/$image " && pull "$image" || pulled=', not pulled'
	}
	pids=''
	for f in $ids; do
		container "${f#*:}" "${f%%:*}" &
		pids="$pids $!"
	done
	for f in $pids; do wait "$f" || :; done
	fault_end
	round_cache=$(cache_bytes)
	[ "$round_cache" -le $cache_limit ] ||
	    not_ok "$done_starts: $node: the cache has $round_cache B"
	verdicts=''
	for f in $ids; do
		judge "${f%%:*}"
		verdicts="$verdicts $verdict"
		echo "$fault $verdict" >>verdicts
	done
	struck=$fault
	t "$done_starts: $node, $struck$pulled:$verdicts; nothing stays" 0 sweep
	since=$(date +%s)
	until starts_again "$image"; do
		[ $(($(date +%s) - since)) -lt $recover_s ] || break
		sleep 0.5
	done
	after=$(($(date +%s) - since))
	echo "$struck $after" >>after
	is "$done_starts: then $image starts, after $after s" $verdict right
	sweep
	rm -f out.* err.* ctr.* live.* got.* wrong.* script.*
	for f in $ids; do rm -f "want.${f%%:*}"; done
}

# Rest
layers_mounted() {
	grep -c " $PWD/$node/root/snapshots/[0-9]*/fs fuse.layermount " \
	    /proc/mounts || :
}
mounts() { grep -c " $PWD/$node/root.* fuse.layermount " /proc/mounts || :; }
overlays() { grep -c "^overlay .*$PWD/$node/" /proc/mounts || :; }
count_dirs() { find "$node/root/snapshots" -mindepth 1 -maxdepth 1 | wc -l; }
empty() { [ "$(count_dirs)" = 0 ] && [ "$(mounts)" = 1 ]; }
settled() { [ "$(count_dirs)" = 7 ] && [ "$(overlays)" = 0 ]; }
cache_bytes() { du -s -B 1 "$node/cache" | cut -f 1; }
# of_process PID: prints resident KiB, and descriptors that are no sockets, and
# sockets; nothing for one that was killed
of_process() {
	[ -n "$1" ] || {
		echo 0 0 0
		return
	}
	awk '/^VmRSS/ { printf "%s ", $2 }' "/proc/$1/status"
	find "/proc/$1/fd" -type l -printf '%l\n' | awk '
	/^socket:/ { sockets++; next }
	{ n++ }
	END { print n + 0, sockets + 0 }'
}
# processes: prints the number of those that belong to nodes
processes() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk '
	/\((layermount|resolver|helpers|containerd|containerd-shim|runc)/ { n++ }
	END { print n + 0 }'
}
drop_all() {
	images_rm
	# of pulls that were cut off, containerd keeps what they had for a day
	for f in $(ctl leases ls -q); do ctl leases rm --sync "$f"; done
	empty
} >/dev/null 2>&1
# rest NAME STARTS: everything goes, is pulled again, read, and measured
rest() {
	fault=rest
	for node in $nodes; do
		t "$1: $node: all images go, with their layers" 0 await drop_all
		rest_pulled=0
		for image in $images; do
			! pull "$image" || rest_pulled=$((rest_pulled + 1))
		done
		is "$1: $node: all are pulled" $rest_pulled 4
		for image in $images; do
			cp "want.$image" want.rest
			printf 'echo begin; %s && echo end' \
			    'find data dir hello -type f -exec sha256sum {} +' \
			    >script.rest
			container "$image" rest || :
			judge rest
			is "$1: $node: $image is right" $verdict right
			[ $verdict = right ] ||
			    tail -n 5 out.rest err.rest | sed 's/^/# /'
			sweep
		done
	done
	for node in $nodes; do
		await settled
		roles
		is "$1: $node: five layers are mounted" "$(layers_mounted)" 5
		is "$1: $node: once, besides the store" "$(mounts)" 6
		is "$1: $node: no overlay" "$(overlays)" 0
		is "$1: $node: seven directories" "$(count_dirs)" 7
		rest_cache=$(cache_bytes)
		t "$1: $node: the cache has $rest_cache B" 0 \
		    test "$rest_cache" -le $cache_limit
		echo "$2 $node $(of_process "$pid_service")" \
		    "$(of_process "$pid_keeper") $(of_process "$pid_store")" \
		    "$(mounts) $(overlays) $(processes)" \
		    "$(find "$node/root" -xdev | wc -l) $rest_cache" >>looks
		tail -n 1 looks | sed 's/^/# /'
	done
}

control tokens 10 0
registry_again
for node in $nodes; do node_start; done
for f in verdicts after looks failures killed; do : >$f; done
rest 'at first' 0
began=$(date +%s)
[ "$failed" = 0 ] || {
	done_testing
	exit
}
every=$((starts / 20)) rested=0
[ $every -ge 5 ] || every=5
while [ $done_starts -lt "$starts" ]; do
	due=$((began + done_starts * minutes * 60 / starts))
	now=$(date +%s)
	[ "$now" -ge $due ] || sleep $((due - now))
	round
	if [ $done_starts -ge $((rested + every)) ] ||
	    [ $done_starts = "$starts" ]; then
		rested=$((done_starts / every * every))
		[ $done_starts != "$starts" ] || rested=$starts
		rest "after $done_starts starts" "$rested"
	fi
done
took=$(($(date +%s) - began))

# Everything goes
for node in $nodes; do
	t "at last: $node: all images go, with their layers" 0 await drop_all
done
control bad 0
: >stop
for node in $nodes; do
	roles
	kill -TERM "$(cat "$node/containerd.pid")"
	await gone "$(cat "$node/containerd.pid")"
	kill -TERM "$pid_service"
	for f in $pid_service $pid_keeper $pid_store $pid_parent \
	    $pid_resolver; do
		await gone "$f"
	done
	is "at last: $node: nothing is mounted" "$(mounts)" 0
	is "at last: $node: no directory is left" \
	    "$(ls "$node/root/snapshots" "$node/root/layers")" \
	    "$(printf '%s\n\n%s' "$node/root/layers:" \
	    "$node/root/snapshots:")"
done
is 'at last: no process' "$(processes)" 0
is 'at last: no socket of a shim' "$(find /run -type s)" ''
is 'at last: no cgroup' "$(cgroups)" ''

# What it was good for
is 'no wrong byte' "$(grep -c wrong verdicts)" 0
is 'without a fault all starts succeed' \
    "$(grep '^none ' verdicts | grep -v -c right)" 0
is 'with a full disk, too' "$(grep '^full ' verdicts | grep -v -c right)" 0
read -r replies bad refused tokens expired <<END
$(tail -n 1 faults.out)
END
echo "# of $replies replies $bad were bad; $tokens tokens, of which $expired" \
    "had expired; $refused replies 401"
# was_drawn FAULT N: whether it was, N times or more
was_drawn() { [ "$(grep -c "^$1 " after)" -ge "$2" ]; }
! was_drawn bad 5 || t 'replies were bad' 0 test "$bad" -gt 0
! was_drawn tokens 5 || t 'tokens had expired' 0 test "$expired" -gt 0
for f in service keeper store parent resolver; do
	! was_drawn $f 1 || t "$f was killed" 0 grep -q $f killed
done

# summary: prints starts and failures by fault, and seconds until the next start
summary() {
	awk '
	FILENAME == "verdicts" { n[$1]++; of[$1, $2]++; next }
	$2 > most[$1] { most[$1] = $2 }
	END {
		print "fault starts right refused EIO cut wrong again_s"
		for (f in n)
			print f, n[f], of[f, "right"] + 0, of[f, "refused"] + 0,
			    of[f, "EIO"] + 0, of[f, "cut"] + 0,
			    of[f, "wrong"] + 0, most[f] + 0
	}' verdicts after
}
# columns of looks, from the third on
names='service_KiB service_fds service_sockets keeper_KiB keeper_fds
    keeper_sockets store_KiB store_fds store_sockets mounts overlays processes
    files cache_B'
# measures: prints what was measured at first, and the most of each quarter
measures() {
	awk -v starts="$starts" -v names="$names" '
	BEGIN { count = split(names, name); print "node what first q1 q2 q3 q4" }
	{
		q = $1 == 0 ? 0 : int(($1 * 4 + starts - 1) / starts)
		nodes[$2]
		for (i = 1; i <= count; i++)
			if ($(i + 2) > most[$2, i, q])
				most[$2, i, q] = $(i + 2)
	}
	END {
		for (node in nodes)
			for (i = 1; i <= count; i++) {
				line = node " " name[i]
				for (q = 0; q <= 4; q++)
					line = line " " most[node, i, q] + 0
				print line
			}
	}' looks
}
measures >measured
{
	echo "$done_starts starts in $((took / 60)) minutes"
	summary
	cat measured
} | sed 's/^/# /'
[ ! -s failures ] || {
	echo '# reasons, the most frequent first:'
	sed -e 's/soak-[0-9-]*//g' -e 's/^\([a-z]*\): [0-9a-z]*:/\1:/' \
	    -e 's/[0-9a-f]\{12,\}/H/g' failures | cut -c 1-150 | sort |
	    uniq -c | sort -rn | head -n 20 | sed 's/^/# /'
}
# The last quarter needs no more than the second, or the first rest if a process
# was gone in the second, and a little.  The memory of "kills" only says how old
# its processes are.
# grew PART MORE WHAT [NODE]: prints what needs more
grew() {
	awk -v part="$1" -v more="$2" -v what="$3" -v node="${4-.}" '
	NR > 1 && $1 ~ node && $2 ~ what {
		most = $5 > $3 ? $5 : $3
		if ($7 > most * (1 + part) + more)
			print $1, $2, most, $7
	}' measured
}
is 'memory does not grow' "$(grew 0.1 4096 KiB lives)" ''
is 'descriptors do not grow' "$(grew 0 0 fds)" ''
is 'sockets do not grow' "$(grew 0 2 sockets)" ''
is 'mounts, processes and files do not grow' \
    "$(grew 0 0 'mounts|overlays|processes|files')" ''
done_testing

# shellcheck shell=sh
# lazy-pull-net.sh - the link between a client and a server; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154
#
# A cell runs in the client's network namespace; $net_server is a process that
# holds the server's.  The ends of the link have the names client and server.
net_client=10.77.0.2 net_address=10.77.0.1

# net_make LINK: the server's namespace and a link to it, of LINK Mbit/s
net_make() {
	# sysfs shows the interfaces of the namespace in which it was mounted.
	mkdir -p "$study/cgroup"
	mount --rbind /sys/fs/cgroup "$study/cgroup"
	mount -t sysfs sysfs /sys
	mount --move "$study/cgroup" /sys/fs/cgroup
	rmdir "$study/cgroup"
	mkfifo "$cell_new.fifo"
	# shellcheck disable=SC2016
	unshare --net sh -c 'echo >"$0"; exec sleep infinity' \
	    "$cell_new.fifo" 8>&- &
	net_server=$!
	read -r _ <"$cell_new.fifo"
	net_in="nsenter -t $net_server -n"
	ip link set lo up
	ip link add client type veth peer name server netns $net_server
	ip addr add $net_client/24 dev client
	ip link set client up
	$net_in ip link set lo up
	$net_in ip addr add $net_address/24 dev server
	$net_in ip link set server up
	[ "$1" = open ] || {
		net_shape '' client "$1"
		net_shape "$net_in" server "$1"
	}
}

# net_shape PREFIX INTERFACE LINK: a burst is what passes in 4 ms, the queue
# holds what passes in 50; PREFIX are words before the command
net_shape() {
	net_burst=$(($3 * 500))
	[ $net_burst -ge 65536 ] || net_burst=65536
	$1 tc qdisc add dev "$2" root tbf rate "$3mbit" burst $net_burst \
	    latency 50ms
}

# net_received: the bytes that the client has received
net_received() { cat /sys/class/net/client/statistics/rx_bytes; }

# registry_start PREFIX ADDRESS: starts the registry
registry_start() {
	cat >"$study/registry.yml" <<EOF
version: 0.1
storage:
  filesystem:
    rootdirectory: $study/registry
http:
  addr: $2:5000
EOF
	: >"$study/registry.log"
	$1 docker-registry serve "$study/registry.yml" \
	    >>"$study/registry.log" 2>&1 8>&- &
	registry_pid=$!
	helper_wait $registry_pid grep -qs 'listening on' "$study/registry.log"
}

# delay_start MS: from here on, the registry is that far away
delay_start() {
	$net_in python3 "$here/lazy-pull-delay.py" "$net_address" 5001 5000 \
	    "$1" >"$cell_new.delay" 8>&- &
	cell_helpers="$cell_helpers $!"
	helper_wait $! grep -qs . "$cell_new.delay"
	cell_from=$net_address:5001
}

# nginx_start PREFIX DIR: starts nginx, with what standard input has as its
# servers; DIR is emptied
nginx_start() {
	rm -rf "$2"
	mkdir "$2"
	{
		printf 'daemon off;\nuser root;\npid %s/pid;\n' "$2"
		printf 'error_log %s/log;\nevents {}\nhttp {\n' "$2"
		printf 'access_log off;\n'
		printf '%s_temp_path '"$2"'/temp;\n' client_body proxy fastcgi \
		    uwsgi scgi
		cat
		echo '}'
	} >"$2/nginx.conf"
	$1 nginx -c "$2/nginx.conf" 2>>"$study/log" 8>&- &
	cell_helpers="$cell_helpers $!"
	helper_wait $! test -s "$2/pid"
}

# cache_start: from here on, clients fetch from an empty cache of their own
# network, which fetches pieces of 256 KiB
cache_start() {
	nginx_start '' "$study/cache" <<EOF
proxy_cache_path $study/cache/files keys_zone=pieces:8m;
proxy_http_version 1.1;
proxy_set_header Connection "";
server {
	listen $net_client:5002;
	location / {
		proxy_pass http://$cell_from;
	}
	location ~ /blobs/ {
		slice 256k;
		proxy_cache pieces;
		proxy_cache_key \$uri\$slice_range;
		proxy_cache_valid 200 206 1h;
		proxy_cache_lock on;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		proxy_set_header Range \$slice_range;
		proxy_pass http://$cell_from;
	}
}
EOF
	cell_from=$net_client:5002
}

# web_start: serves the repositories of $study/www
web_start() {
	nginx_start "$net_in" "$study/web" <<EOF
server {
	listen $net_address:8080;
	access_log $study/web/requests;
	root $study/www;
}
EOF
}

# helper_wait PID COMMAND...: until the command succeeds, for 30 s at most
helper_wait() {
	helper_pid=$1 helper_i=0
	shift
	until "$@"; do
		if ! kill -0 "$helper_pid" 2>/dev/null ||
		    [ $helper_i -ge 3000 ]; then
			die "$*: not within 30 s: $(tail -n 1 "$study/log")"
		fi
		helper_i=$((helper_i + 1))
		sleep 0.01
	done
}

# server_requests: how many requests the servers have answered
server_requests() {
	cat "$study/registry.log" "$study/web/requests" 2>/dev/null |
	    grep -c '"[A-Z]* /[^ ]* HTTP/[0-9.]*" [0-9]' || :
}

# namespace_cpu PID: processor seconds of all processes in its network namespace
namespace_cpu() {
	cpu_space=$(readlink "/proc/$1/ns/net")
	for cpu_dir in /proc/[0-9]*; do
		[ "$(readlink "$cpu_dir/ns/net" 2>/dev/null)" != "$cpu_space" ] ||
		    sed 's/.*) //' "$cpu_dir/stat" 2>/dev/null || :
	done | awk -v tick="$(getconf CLK_TCK)" '{ n += $12 + $13 }
	    END { printf "%.2f", n / tick }'
}

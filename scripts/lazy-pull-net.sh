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
	registry_i=0
	until grep -q 'listening on' "$study/registry.log"; do
		if ! kill -0 $registry_pid 2>/dev/null ||
		    [ $registry_i -ge 3000 ]; then
			die "the registry: $(tail -n 1 "$study/registry.log")"
		fi
		registry_i=$((registry_i + 1))
		sleep 0.01
	done
}

# server_requests: how many requests the servers have answered
server_requests() {
	grep -c '"[A-Z]* /[^ ]* HTTP/[0-9.]*" [0-9]' "$study/registry.log" || :
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

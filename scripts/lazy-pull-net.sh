# shellcheck shell=sh
# lazy-pull-net.sh - the link between a client and a server; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# Without --server, a cell runs in the client's network namespace, and the
# process $net_holder keeps the server's namespace open; the ends of the link
# between them are called client and server.  With --server, the server is
# another machine, and the link is the network.

# net_make LINK: sets net_address, net_client and net_interface: the server's
# and the client's address, and the client's end of the link
net_make() {
	if [ -n "$server" ]; then
		net_address=$server_address
		net_client=$(net_route src) net_interface=$(net_route dev)
		return 0
	fi
	net_address=10.77.0.1 net_client=10.77.0.2 net_interface=client
	net_sysfs
	mkfifo "$cell_new.fifo"
	# shellcheck disable=SC2016
	unshare --net sh -c 'echo >"$0"; exec sleep infinity' \
	    "$cell_new.fifo" 8>&- &
	net_holder=$!
	read -r _ <"$cell_new.fifo"
	net_in="nsenter -t $net_holder -n"
	ip link set lo up
	ip link add client type veth peer name server netns $net_holder
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

# net_sysfs: mounts sysfs again, because it shows the interfaces of the
# namespace in which it is mounted
net_sysfs() {
	mkdir -p "$study/cgroup"
	mount --rbind /sys/fs/cgroup "$study/cgroup"
	mount -t sysfs sysfs /sys
	mount --move "$study/cgroup" /sys/fs/cgroup
	rmdir "$study/cgroup"
}

# net_shape PREFIX INTERFACE LINK: limits the rate, with bursts of 4 ms of data
# and a queue of 50 ms; the command is prefixed with PREFIX
net_shape() {
	net_burst=$(($3 * 500))
	[ $net_burst -ge 65536 ] || net_burst=65536
	$1 tc qdisc add dev "$2" root tbf rate "$3mbit" burst $net_burst \
	    latency 50ms
}

# net_route WORD: prints the word after WORD in the route to the server
net_route() {
	ip -o route get "$server_address" |
	    sed -n "s/.* $1 \([^ ]*\).*/\1/p"
}

# there COMMAND...: runs the command on the server
there() {
	${COLDPRESS_SSH:-ssh -o BatchMode=yes} "$server" "$@"
}

# server_find: chooses a directory on the server, and determines the server's
# address
server_find() {
	for server_tool in docker-registry nginx; do
		there "command -v $server_tool" </dev/null >/dev/null ||
		    die "$server: cannot be reached, or has no $server_tool"
	done
	server_dir=$(there 'mktemp -d' </dev/null)
	# shellcheck disable=SC2016
	server_address=$(there 'echo $SSH_CONNECTION' </dev/null |
	    cut -d ' ' -f 3)
	case $server_address in
	*:* | '') die "$server: reached at '$server_address', not over IPv4" ;;
	esac
}

# server_fill: copies the files to be served to the server
server_fill() {
	tar -cf - -C "$here" lazy-pull-serve.sh lazy-pull-services.sh \
	    lazy-pull-delay.py -C "$study" registry www |
	    there "mkdir -p -m 700 $server_dir && tar -xf - -C $server_dir" ||
	    die "$server: the images could not be copied"
}
server_empty() { there "rm -rf $server_dir" </dev/null; }

# server_start SYSTEM MS: starts the services that the system needs; sets
# cell_from to the location of the registry or the files.  The server exits with
# $server_holder.
server_start() {
	server_port=5000 server_words="$net_address $2 registry"
	case $(system_get "$1" 2) in
	cas | cvmfs | files) server_port=8080 server_words="$net_address $2 web" ;;
	esac
	case $1 in
	*-squid) server_words="$server_words squid" ;;
	esac
	cell_from=$net_address:$((server_port + ($2 != 0)))
	: >"$cell_new.answer"
	server_lines=0
	mkfifo "$cell_new.ask"
	if [ -n "$server" ]; then
		there "sh $server_dir/lazy-pull-serve.sh $server_dir $server_words"
	else
		# shellcheck disable=SC2086
		setsid $net_in sh "$here/lazy-pull-serve.sh" "$study" \
		    $server_words
	fi <"$cell_new.ask" >"$cell_new.answer" 2>>"$study/log" 8>&- &
	server_pid=$!
	sleep infinity >"$cell_new.ask" 8>&- &
	server_holder=$!
	server_hear
}

# server_hear: sets $server_said to the next line from the server
server_hear() {
	server_lines=$((server_lines + 1))
	until [ "$(wc -l <"$cell_new.answer")" -ge $server_lines ]; do
		kill -0 "$server_pid" 2>/dev/null ||
		    die "the server: $(tail -n 1 "$study/log")"
		sleep 0.01
	done
	server_said=$(tail -n 1 "$cell_new.answer")
}

# server_used: sets $server_said to the number of requests to the server and its
# processor seconds
server_used() {
	echo >"$cell_new.ask"
	server_hear
}

# server_end: stops the server, and waits until it has exited
server_end() {
	kill "$server_holder"
	wait "$server_pid" || :
}

# cache_start: starts an empty cache in the clients' network, through which they
# then fetch: squid for whole objects; nginx, which fetches pieces of 256 KiB,
# for ranges of blobs
cache_start() {
	rm -rf "$study/cache"
	mkdir "$study/cache"
	case $LAZY_PULLER in
	cas | cvmfs)
		squid_start "$study/cache" "$net_client" 5002
		LAZY_PROXY=http://$net_client:5002
		return 0
		;;
	esac
	nginx_start "$study/cache" <<END
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
END
	cell_from=$net_client:5002
}

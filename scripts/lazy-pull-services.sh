# shellcheck shell=sh
# lazy-pull-services.sh - start the registry, nginx and squid; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# A service runs in the background, with a directory for its configuration and
# its log; $services contains the process ids.  If a service does not start, the
# shell exits.
services=''

# service_wait LOG COMMAND...: waits at most 30 s until the command succeeds;
# the service started last must be running
service_wait() {
	services="$services $!"
	service_log=$1 service_i=0
	shift
	until "$@"; do
		if ! kill -0 $! 2>/dev/null || [ $service_i -ge 3000 ]; then
			echo "$*: not within 30 s: $(tail -n 1 "$service_log")" >&2
			exit 1
		fi
		service_i=$((service_i + 1))
		sleep 0.01
	done
}

# registry_start DIR ADDRESS STORE: starts the registry, on port 5000
registry_start() {
	cat >"$1/registry.yml" <<END
version: 0.1
storage:
  filesystem:
    rootdirectory: $3
http:
  addr: $2:5000
END
	: >"$1/registry.log"
	docker-registry serve "$1/registry.yml" >>"$1/registry.log" 2>&1 &
	service_wait "$1/registry.log" grep -q 'listening on' "$1/registry.log"
}

# nginx_start DIR: starts nginx, with the servers configured on standard input
nginx_start() {
	{
		printf 'daemon off;\nuser root;\npid %s/nginx.pid;\n' "$1"
		printf 'error_log %s/nginx.log;\nevents {}\nhttp {\n' "$1"
		printf 'access_log off;\n'
		printf '%s_temp_path '"$1"'/temp;\n' client_body proxy fastcgi \
		    uwsgi scgi
		cat
		echo '}'
	} >"$1/nginx.conf"
	nginx -e "$1/nginx.log" -c "$1/nginx.conf" >/dev/null 2>&1 &
	service_wait "$1/nginx.log" test -s "$1/nginx.pid"
}

# squid_start DIR ADDRESS PORT [FILE]: starts squid, which keeps all objects in
# memory indefinitely; it runs as a user that may not be able to write to DIR.
# FILE has directives that precede the others.
squid_start() {
	cat - ${4+"$4"} >"$1/squid.conf" <<END
http_port $2:$3
END
	cat >>"$1/squid.conf" <<END
http_access allow all
cache_mem 1 GB
maximum_object_size_in_memory 64 MB
maximum_object_size 64 MB
refresh_pattern . 525600 100% 525600
collapsed_forwarding on
access_log none
cache_log /dev/null
cache_store_log none
netdb_filename none
pid_filename none
coredump_dir /
pinger_enable off
shutdown_lifetime 0 seconds
END
	: >"$1/squid.log"
	squid -N -d 1 -f "$1/squid.conf" >>"$1/squid.log" 2>&1 &
	service_wait "$1/squid.log" grep -q 'Accepting HTTP' "$1/squid.log"
}

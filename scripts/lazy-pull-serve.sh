#!/bin/sh
# lazy-pull-serve.sh - an image server
# SPDX-License-Identifier: BSD-2-Clause
#
# lazy-pull-serve.sh DIR ADDRESS MS SERVICE...: provides DIR/registry (registry,
# on port 5000), the files in DIR/www (web, on port 8080), and a proxy (squid,
# on port 3128).  With MS, the first two are also available on ports 5001 and
# 8081, with a delay of that many milliseconds.  Prints "ready"; then, for each
# line of input, the number of requests to the first two, and the processor
# seconds of its session.  At the end of the input, it ends all processes that
# it started, and exits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lazy-pull-services.sh"

# leave: stops the services first, because they write to the directory
leave() {
	trap '' EXIT HUP INT PIPE TERM
	# shellcheck disable=SC2086
	[ -z "$services" ] || kill $services 2>/dev/null || :
	wait
	rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' HUP INT PIPE TERM

# far PORT SERVER-PORT: makes the service available with a delay on this port
far() {
	[ "$ms" != 0 ] || return 0
	: >"$work/far.log"
	python3 "$here/lazy-pull-delay.py" "$address" "$1" "$2" "$ms" \
	    >"$work/far.log" 2>&1 &
	service_wait "$work/far.log" grep -q listening "$work/far.log"
}

web_start() {
	nginx_start "$work" <<END
server {
	listen $address:8080;
	access_log $work/requests;
	root $dir/www;
}
END
}

# session_cpu: prints the processor seconds of all processes in this session
session_cpu() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^[0-9]* (.*) //' |
	    awk -v tick="$(getconf CLK_TCK)" -v session="$session" '
	    $4 == session { n += $12 + $13 } END { printf "%.2f", n / tick }'
}

dir=$1 address=$2 ms=$3
shift 3
work=$dir/serving
rm -rf "$work"
mkdir "$work"
session=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 4)
for service; do
	case $service in
	registry)
		registry_start "$work" "$address" "$dir/registry"
		far 5001 5000
		;;
	web)
		web_start
		far 8081 8080
		;;
	squid) squid_start "$work" "$address" 3128 ;;
	esac
done
echo ready
while read -r _; do
	printf '%s %s\n' "$(cat "$work/registry.log" "$work/requests" \
	    2>/dev/null | grep -c '"[A-Z]* /[^ ]* HTTP/[0-9.]*" [0-9]')" \
	    "$(session_cpu)"
done

# shellcheck shell=sh
# serve.sh - servers for layers and images; sourced by tests that fetch them
# SPDX-License-Identifier: BSD-2-Clause
#
# The tests use the variables that are set here.
# shellcheck disable=SC2034

# serve_start: serves ./served over HTTP until the test ends; sets $site to its
# URL, and $proxy to that of a proxy
serve_start() {
	mkfifo ctl
	"$BIN/tests/serve" served <ctl >server.out &
	exec 3>ctl
	await test -s server.out
	read -r serve_site serve_proxy <server.out
	site=http://127.0.0.1:$serve_site proxy=http://127.0.0.1:$serve_proxy
}

serve_answered() { [ "$(wc -l <server.out)" -gt "$serve_lines" ]; }

# mode MODE EVERY: sets the behaviour of the server or its proxy from now on
mode() {
	serve_lines=$(wc -l <server.out)
	echo "$1 $2" >&3
	await serve_answered
}

# registry_start: starts a registry with the images in ./registry; sets
# $registry to its pid and $host to its address.  Its log is registry.out.
registry_start() {
	cat >registry.yml <<END
version: 0.1
log: { formatter: text }
storage: { filesystem: { rootdirectory: $PWD/registry } }
http: { addr: "127.0.0.1:0" }
END
	docker-registry serve registry.yml >registry.out 2>&1 &
	registry=$!
	await grep -q 'listening on' registry.out || return 1
	host=$(sed -n 's/.*listening on \(127[0-9.:]*\).*/\1/p' registry.out |
	    head -n 1)
}

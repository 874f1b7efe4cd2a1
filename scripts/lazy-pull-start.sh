#!/bin/sh
# lazy-pull-start.sh - pull an image, then create and run its containers
# SPDX-License-Identifier: BSD-2-Clause
#
# lazy-pull-start.sh COMMAND [CLIENT]: uses $LAZY_PULLER to start the image
# $LAZY_REFERENCE $LAZY_CLIENTS times concurrently, or only for CLIENT, in
# directories under $LAZY_PLACE.  In each directory, the file "stamps" records
# each phase, its end, and the number of bytes received until then. $LAZY_NODES
# lists a process for each client that runs in that process's mount namespace.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lazy-pull-root.sh"
. "$here/lazy-pull-pullers.sh"
. "$here/lazy-pull-runtimes.sh"

stamp() {
	printf '%s\t%s\t%s\n' "$1" "$(date +%s.%N)" "$(cat \
	    "/sys/class/net/$LAZY_INTERFACE/statistics/rx_bytes")" \
	    >>"$place/stamps"
}

# run: runs the command, and records the time of its first line of output
run() {
	{
		"run_$LAZY_PULLER" "$command"
		echo $? >"$place/status"
	} 2>"$place/errors" | {
		! read -r _ || stamp first
		cat >/dev/null
	}
	run_status=$(cat "$place/status")
	[ "$run_status" = 0 ] || cat "$place/errors" >&2
}

# start PLACE COMMAND
start() {
	place=$1 command=$2
	mkdir "$place" "$place/tmp"
	stamp begin
	"pull_$LAZY_PULLER"
	stamp pulled
	"create_$LAZY_PULLER"
	stamp created
	run
	stamp end
	"remove_$LAZY_PULLER"
	return "$run_status"
}

[ $# = 1 ] || {
	start "$LAZY_PLACE/$2" "$1"
	exit
}
pids='' client=0 status=0
while [ $client -lt "$LAZY_CLIENTS" ]; do
	client=$((client + 1))
	node=$(echo "${LAZY_NODES-}" | cut -d ' ' -f $((client + 1)))
	${node:+nsenter -t $node -m} sh "$0" "$1" $client &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || status=$?
done
exit $status

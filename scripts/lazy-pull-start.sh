#!/bin/sh
# lazy-pull-start.sh - starts containers: pulls their image, creates, runs them
# SPDX-License-Identifier: BSD-2-Clause
#
# lazy-pull-start.sh COMMAND: makes $LAZY_CLIENTS starts at once, by $LAZY_PULLER,
# of the image $LAZY_REFERENCE, in directories below $LAZY_PLACE, of which each
# gets a file stamps: what ended, when, and the bytes received until then.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lazy-pull-root.sh
. "$here/lazy-pull-root.sh"
# shellcheck source=scripts/lazy-pull-pullers.sh
. "$here/lazy-pull-pullers.sh"

stamp() {
	printf '%s\t%s\t%s\n' "$1" "$(date +%s.%N)" \
	    "$(cat /sys/class/net/client/statistics/rx_bytes)" >>"$place/stamps"
}

# run: the first line that the command prints is what a user waits for
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

pids='' client=0 status=0
while [ $client -lt "$LAZY_CLIENTS" ]; do
	client=$((client + 1))
	start "$LAZY_PLACE/$client" "$1" &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || status=$?
done
exit $status

#!/bin/sh
# winwait detects only the requested windows and lines, and leaves no processes
# behind
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/scripts/xserver.sh"

# value COLUMN [FILE]: prints a value from the row written by the last command
value() {
	grep -v '^#' "${2-.t.out}" | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ print $at[name] }'
}

t 'help' 0 winwait --help
t 'version' 0 winwait -V
has_x=no has_pids=no
! grep -q '^libxcb-res' .t.out || has_pids=yes
! grep -q '^libxcb' .t.out || has_x=yes
t 'no command' 125 winwait
shows 'prints the usage' '^usage: winwait' .t.err
t 'an invalid criterion' 125 winwait --criterion port -- true
shows 'is named' "criterion 'port' is not window or line" .t.err
t 'an invalid regular expression' 125 winwait --class '(' -- true
t 'an invalid time' 125 winwait -t never -- true
t 'rows of two formats' 125 winwait --criterion line --csv --json -- echo
shows 'are refused' '--csv and --json cannot be combined' .t.err

line() { winwait --criterion line "$@"; }
t 'a line' 0 line --csv --match '^ready$' -- \
    sh -c 'echo not ready; sleep 0.2; echo ready; sleep 300'
is 'is noticed' "$(value result)" seen
shows 'standard output is passed on' '^not ready$' .t.err
t 'if it exists' 0 awk -v ms="$(value seen_ms)" 'BEGIN { exit ms < 200 }'
t 'a line without a newline' 1 line --csv -- printf ready
is 'does not count' "$(value result),$(value exit)" exit,0
t 'an earlier exit' 1 line --csv -- sh -c 'exit 9'
is 'has its status' "$(value result),$(value exit),$(value seen_ms)" exit,9,
t 'a signal' 1 line --csv -- sh -c 'kill -TERM $$'
is 'is reported' "$(value exit),$(value signal)" ,15
t 'a time-out' 124 line --csv -t 0.2 -- sleep 300
is 'is a row' "$(value result),$(value seen_ms)" timeout,
t 'not found' 127 winwait --criterion line -- ./nowhere
t 'not executable' 126 winwait --criterion line -- /etc/passwd
t 'a line of a megabyte' 0 line --match '^end' -- \
    sh -c 'head -c 1000000 /dev/zero | tr "\0" x; echo; echo end; sleep 300'
t 'rows' 0 line -o rows.csv -- sh -c 'echo; sleep 300'
t 'rows of several invocations' 0 line -o rows.csv -- sh -c 'echo; sleep 300'
is 'share one file' "$(grep -c -v '^#' rows.csv)" 3
series() { grep -v '^#' rows.csv | sed '1d; s/,.*//' | uniq -c | wc -l; }
is 'and one origin' "$(grep -c '^# argv' rows.csv.provenance) $(series)" '1 1'
is 'which is that of the rows' "$(value series rows.csv | sort -u)" \
    "$(sed -n 's/^# series: //p' rows.csv.provenance)"
t 'rows of another command' 0 line -o rows.csv -- sh -c 'echo ; sleep 300'
is 'have their own' "$(grep -c '^# argv' rows.csv.provenance) $(series)" '2 2'
t 'as JSON' 0 line --json -- sh -c 'echo; sleep 300'
shows 'too' '"result":"seen"'
t 'help, whatever else there is' 0 winwait --csv --json --help
t 'not found, before a server is looked for' 127 env DISPLAY=:nowhere winwait \
    -- nowhere-at-all
t 'an image that is not on a device' 125 line --image /proc -- echo

# A launcher that hands over to a process of its own is not the end.
t 'a process left behind' 0 line --csv --match '^ready$' -- \
    sh -c '(sleep 0.3; echo ready; exec sleep 296.5) & exit 0'
is 'is waited for' "$(value result),$(value left)" seen,1
t 'until it ends' 1 line --csv -- sh -c 'sleep 0.3 & exit 0'
is 'like the command itself' "$(value result),$(value left),$(value exit)" \
    exit,0,0
t 'or until the time-out' 124 line --csv -t 0.3 -- \
    sh -c 'sleep 296.5 & exit 0'
is 'which is a row' "$(value result),$(value exit)" timeout,
t 'but not after a failure' 1 line --csv -- sh -c 'sleep 296.5 & exit 3'
is 'which is reported' "$(value result),$(value left),$(value exit)" exit,1,3
is 'no process is left' "$(pgrep -x -f 'sleep 296.5')" ''

# A process tree, including processes that have detached from their parents.
t 'all processes' 0 line --csv -- sh -c \
    'setsid sleep 298.5 & (sleep 298.5 & sleep 298.5 &) ; echo; sleep 298.5'
is 'are killed and reaped' "$(pgrep -x -f 'sleep 298.5')" ''
mkfifo go
winwait --criterion line -- sh -c 'echo started >go; exec sleep 297.5' 2>/dev/null &
read -r _ <go
kill -TERM $!
status=0
wait $! || status=$?
is 'a signal ends winwait' "$status" 143
is 'and what it has started' "$(pgrep -x -f 'sleep 297.5')" ''

client=$BIN/tests/window_client
if [ $has_x = no ] || [ ! -x "$client" ] || ! have Xvfb || ! have openbox; then
	skip 'no libxcb, Xvfb or openbox'
	done_testing
	exit
fi
t 'no X server' 125 env DISPLAY=:nowhere winwait -- true
shows 'is reported' 'no X server' .t.err
t 'no X server, but Wayland' 125 env DISPLAY= WAYLAND_DISPLAY=wayland-9 \
    winwait -- true
shows 'which is not enough' 'no X server at DISPLAY .*Wayland' .t.err

mkdir x
x_start x none || skip_all "no X server: $(tail -n 1 x/x.log)"
trap x_stop EXIT
trap 'exit 1' HUP INT TERM

# These tests are run with and without a window manager.
windows() {
	t "$1: a window" 0 winwait --csv -- "$client" -i -w 100
	is "$1: is seen" "$(value result),$(value class),$(value title)" \
	    'seen,test.test,a test'
	t "$1: created, mapped and seen in this order" 0 awk \
	    -v c="$(value created_ms)" -v m="$(value mapped_ms)" \
	    -v s="$(value seen_ms)" 'BEGIN { exit !(100 <= c && c <= m && m <= s) }'
	# shellcheck disable=SC2016
	t "$1: a window too short-lived for winwait" 0 winwait --csv -- sh -c \
	    'kill -STOP "$PPID"; "$1" -f "$2" & until [ -e "$2" ]; do sleep .01
	    done; kill -CONT "$PPID"; wait' sh "$client" "${1%% *}"
	t "$1: was also mapped" 0 awk -v c="$(value created_ms)" \
	    -v m="$(value mapped_ms)" -v s="$(value seen_ms)" \
	    'BEGIN { exit !(0 < c && c <= m && m <= s) }'
	# shellcheck disable=SC2016
	t "$1: none before" 0 winwait --csv --class '^mine[.]' -- sh -c \
	    '"$1" -c other & exec "$1" -c mine -w 100' sh "$client"
	is "$1: another class is ignored" "$(value class)" mine.mine
	t "$1: a window without a class" 1 winwait --csv -- "$client" -c ''
	is "$1: is an error" "$(value result),$(value seen_ms)" error,
	t "$1: a dialog" 1 winwait --csv -- "$client" -k dialog
	is "$1: counts" "$(value result),$(value title)" 'error,a test'
	t "$1: a title" 1 winwait -- "$client" -t 'An Error has occurred'
	t "$1: but not of the class" 0 winwait --class test -- "$client" \
	    -t 'Error 404'
	t "$1: a dialog of the class" 0 winwait --class test -- "$client" \
	    -k dialog
	t "$1: a dialog with the title" 0 winwait --title '^a test$' -- \
	    "$client" -k dialog,normal
	t "$1: any class, even none" 0 winwait --class '.*' -- "$client" -c ''
	t "$1: both must match" 1 winwait --class test --title other -- \
	    "$client" -k dialog
	t "$1: a title set later" 0 winwait --csv --title '^ready$' -- \
	    "$client" -l 300
	t "$1: is waited for" 0 awk -v s="$(value seen_ms)" \
	    'BEGIN { exit s < 300 }'
	for kind in kde,splash utility dock notification; do
		t "$1: $kind" 124 winwait -t 0.5 -- "$client" -k $kind
	done
	t "$1: a notification of the class" 0 winwait --class test -- \
	    "$client" -k notification
	t "$1: a splash of the class" 124 winwait --class test -t 0.5 -- \
	    "$client" -k splash
	t "$1: a splash that becomes the window" 0 winwait --csv -- \
	    "$client" -k kde,splash,normal -l 300
	t "$1: is then seen" 0 awk -v s="$(value seen_ms)" \
	    'BEGIN { exit s < 300 }'
	# shellcheck disable=SC2016
	t "$1: a launcher that exits" 0 winwait --csv -- sh -c \
	    '"$1" -w 300 & exit 0' sh "$client"
	is "$1: is not the end" "$(value result),$(value left)" seen,1
	t "$1: a splash" 124 winwait -t 1 -- "$client" -k splash
	t "$1: a window that never appears" 124 winwait -t 0.2 -- "$client" \
	    -w 300000
	t "$1: an exit" 1 winwait -- false
	"$client" -f old &
	windows_old=$!
	while [ ! -e old ]; do
		sleep 0.01
	done
	t "$1: a window of another program" 124 winwait -t 1 -- sleep 300
	kill $windows_old
	wait $windows_old 2>/dev/null
	rm -f old
	if [ $has_pids = yes ]; then
		"$client" -c other -w 300 &
		windows_old=$!
		t "$1: a new window of another program" 124 winwait -t 1.5 -- \
		    sleep 300
		shows "$1: is ignored" \
		    "class 'other.other' was ignored: process $windows_old" .t.err
		kill $windows_old
		wait $windows_old 2>/dev/null
	fi
	is "$1: no client is left" "$(pgrep -x -f "$client.*")" ''
}
# winwait_all: if the client maps its window immediately, the manager may have
# framed and mapped it before winwait can select its events
winwait_all() {
	winwait_left=20
	while [ $winwait_left -gt 0 ]; do
		winwait_left=$((winwait_left - 1))
		winwait --csv -t 20 -- "$client" >row || return
		[ -n "$(value mapped_ms row)" ] || return 9
	done
}
windows 'without a manager'

if have winwait-fault; then
	# a window is seen, or it is said why not
	wrong='' k=0
	while [ $k -lt 12 ]; do
		k=$((k + 1)) status=0
		COLDPRESS_FAULT=malloc:$k:ENOMEM winwait-fault -t 20 -- \
		    "$client" >out 2>err || status=$?
		case $status in
		0) [ -s out ] ;;
		125) [ -s err ] ;;
		*) false ;;
		esac || wrong="$wrong $k:$status"
	done
	is 'memory that is refused is reported' "$wrong" ''
else
	skip 'no winwait-fault'
fi

# With a manager that keeps no list, such as that of Weston's Xwayland, a window
# counts when it is mapped.
"$client" -m -f check &
manager=$!
await test -e check
t 'a manager without a list' 0 winwait --csv -t 5 -- "$client"
is 'a mapped window is seen' "$(value result),$(value class)" seen,test.test
t 'no window is missed' 0 winwait_all
kill $manager
wait $manager 2>/dev/null
rm check
"$client" -M -f check &
manager=$!
await test -e check
t 'a mapped window that a manager does not list' 124 winwait -t 1 -- "$client"
kill $manager
wait $manager 2>/dev/null

t 'openbox starts' 0 x_manage openbox
windows openbox

# The root still has the properties of a manager that was killed.
t 'openbox is killed' 0 kill -KILL "$x_manager"
wait "$x_manager" 2>/dev/null
t 'a dead manager' 0 winwait -t 5 -- "$client"
t 'openbox starts again' 0 x_manage openbox

t 'a time-out with Wayland' 124 env WAYLAND_DISPLAY=wayland-9 winwait -t 0.2 \
    -- sleep 300
shows 'has a hint' 'Wayland is not seen; GDK_BACKEND=x11' .t.err
t 'a program without a window, without Wayland' 124 env -u WAYLAND_DISPLAY \
    winwait -t 0.2 -- sleep 300
is 'has none' "$(cat .t.err)" ''

# The PID that the program itself names counts if the server does not know it:
# here, because the server is in another PID namespace.
spaces() { unshare --user --map-root-user --pid --fork --kill-child \
    --mount-proc "$@"; }
if spaces true 2>/dev/null; then
	t 'in a PID namespace: a window that names no process' 0 spaces \
	    winwait -- "$client"
	# shellcheck disable=SC2016
	t 'a process of the command' 0 spaces winwait -- \
	    sh -c 'exec "$1" -p $$' sh "$client"
	t 'a process that is unknown' 0 spaces winwait -- "$client" -p 99999
	# shellcheck disable=SC2016
	t 'another process' 124 spaces sh -c 'sleep 300 & winwait -t 1 -- "$1" \
	    -p $!' sh "$client"
	t 'a PID in a namespace of the command' 0 winwait -- unshare --user \
	    --map-root-user --pid --fork --kill-child "$client" -p 1
else
	skip 'no PID namespaces'
fi

t 'no mapping is missed' 0 winwait_all

# The client and winwait roughly agree on when the window was listed;
# scripts/bench-winwait measures how closely.
t 'a window' 0 winwait --csv --linger 1 -- "$client" -f times
# shellcheck disable=SC2016
t "at the client's time" 0 awk -v start="$(value start_s)" \
    -v ms="$(value seen_ms)" '{ d = start + ms / 1000 - $2 / 1e9
	exit d < -60 || d > 60 }' times

# shellcheck disable=SC2016
t 'the server goes away' 125 winwait -- sh -c 'kill "$1"; sleep 300' sh \
    "$x_server"
shows 'is reported, too' 'the X server closed the connection' .t.err
done_testing

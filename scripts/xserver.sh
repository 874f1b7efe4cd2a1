# shellcheck shell=sh
# xserver.sh - start a virtual X server and a window manager; sourced
# SPDX-License-Identifier: BSD-2-Clause

# x_start DIRECTORY [MANAGER]: starts an X server, whose files are in DIRECTORY,
# and a window manager: openbox, MANAGER, or none if MANAGER is "none"; sets
# DISPLAY.  Returns 1 if either cannot be started.  Both exit with the shell
# that started them, even if it is killed. $x_options contains additional
# options for the server.
x_start() {
	x_dir=$(cd "$1" && pwd)
	rm -f "$x_dir/x.fifo"
	mkfifo "$x_dir/x.fifo"
	# The server's socket is in /tmp/.X11-unix, and in the abstract
	# namespace, which does not need a directory.
	x_listen='-nolisten tcp'
	[ -w /tmp ] || x_listen="$x_listen -nolisten unix"
	# shellcheck disable=SC2086
	setpriv --pdeathsig TERM Xvfb ${x_options-} -displayfd 3 -noreset \
	    -screen 0 1280x1024x24 $x_listen 3>"$x_dir/x.fifo" \
	    >"$x_dir/x.log" 2>&1 &
	x_server=$!
	# If the server dies, read reaches the end of the file.
	x_display=
	read -r x_display <"$x_dir/x.fifo" || :
	[ -n "$x_display" ] || return 1
	DISPLAY=:$x_display
	export DISPLAY
	x_manager=
	[ "${2-openbox}" != none ] || return 0
	x_manage "${2-openbox}"
}

# x_manage MANAGER: starts the window manager; openbox reports when it is ready
x_manage() {
	# use a second FIFO, because the server may not have closed the first
	# one yet
	rm -f "$x_dir/wm.fifo"
	mkfifo "$x_dir/wm.fifo"
	setpriv --pdeathsig TERM "$1" --sm-disable \
	    --startup "sh -c 'echo ready >\"$x_dir/wm.fifo\"'" \
	    4>"$x_dir/wm.fifo" >>"$x_dir/x.log" 2>&1 &
	x_manager=$!
	read -r x_ready <"$x_dir/wm.fifo" && [ "$x_ready" = ready ]
}

# x_stop: kills the server and the window manager
x_stop() {
	for x_pid in ${x_manager-} ${x_server-}; do
		kill "$x_pid" 2>/dev/null || :
		wait "$x_pid" 2>/dev/null || :
	done
	x_manager='' x_server=''
}

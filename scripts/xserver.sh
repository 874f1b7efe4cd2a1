# shellcheck shell=sh
# xserver.sh - an X server without a screen, and a window manager; sourced
# SPDX-License-Identifier: BSD-2-Clause

# x_start DIRECTORY [MANAGER]: DISPLAY is a server of our own, whose files are
# in DIRECTORY; with openbox, or any that is given.  1 if there is none.  Both
# end with the shell that has started them, even if that is killed.
# $x_options are more of the server's.
x_start() {
	x_dir=$(cd "$1" && pwd)
	rm -f "$x_dir/x.fifo"
	mkfifo "$x_dir/x.fifo"
	# shellcheck disable=SC2086
	setpriv --pdeathsig TERM Xvfb ${x_options-} -displayfd 3 -noreset \
	    -screen 0 1280x1024x24 -nolisten tcp 3>"$x_dir/x.fifo" >"$x_dir/x.log" 2>&1 &
	x_server=$!
	# At its end the reader sees that of the file.
	x_display=
	read -r x_display <"$x_dir/x.fifo" || :
	[ -n "$x_display" ] || return 1
	DISPLAY=:$x_display
	export DISPLAY
	x_manager=
	[ "${2-openbox}" != none ] || return 0
	x_manage "${2-openbox}"
}

# x_manage MANAGER: openbox says when it is at work
x_manage() {
	# another, since the server may not have closed the first one yet
	rm -f "$x_dir/wm.fifo"
	mkfifo "$x_dir/wm.fifo"
	setpriv --pdeathsig TERM "$1" --sm-disable \
	    --startup "sh -c 'echo ready >\"$x_dir/wm.fifo\"'" \
	    4>"$x_dir/wm.fifo" >>"$x_dir/x.log" 2>&1 &
	x_manager=$!
	read -r x_ready <"$x_dir/wm.fifo" && [ "$x_ready" = ready ]
}

# x_stop: both of them
x_stop() {
	for x_pid in ${x_manager-} ${x_server-}; do
		kill "$x_pid" 2>/dev/null || :
		wait "$x_pid" 2>/dev/null || :
	done
	x_manager='' x_server=''
}

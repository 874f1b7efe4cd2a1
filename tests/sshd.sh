# shellcheck shell=sh
# sshd.sh - an sshd of our own, for 127.0.0.1; sourced by tests that need one
# SPDX-License-Identifier: BSD-2-Clause

# sshd_try: whether it answers
sshd_try() { $COLDPRESS_SSH 127.0.0.1 true 2>sshd.try; }

# sshd_run PATH: starts it on $sshd_port as a background job
sshd_run() {
	cat >sshd.config <<END
Port $sshd_port
ListenAddress 127.0.0.1
HostKey $PWD/sshd.host
AuthorizedKeysFile $PWD/sshd.user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv PATH=$1
END
	"$(command -v sshd)" -D -e -f "$PWD/sshd.config" 2>sshd.log &
	sshd_pid=$!
}

# sshd_start PATH: starts it, with this PATH for its commands, and sets
# COLDPRESS_SSH, the command that reaches it
sshd_start() {
	ssh-keygen -q -t ed25519 -N '' -f sshd.host
	ssh-keygen -q -t ed25519 -N '' -f sshd.user
	[ -d /run/sshd ] || { mkdir -p /run/sshd && sshd_made=/run/sshd; }
	# It exits immediately if the port is in use: try several.
	sshd_port=$((20000 + $$ % 20000))
	for _ in 1 2 3 4 5; do
		COLDPRESS_SSH="ssh -F none -p $sshd_port -i $PWD/sshd.user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=$PWD/sshd.known -o LogLevel=ERROR"
		sshd_run "$1"
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			sshd_try && break 2
			kill -0 $sshd_pid 2>/dev/null || break
			sleep 0.2
		done
		kill $sshd_pid 2>/dev/null
		wait $sshd_pid
		sshd_pid=
		sshd_port=$((sshd_port + 17))
	done
	export COLDPRESS_SSH
}

sshd_end() {
	[ -z "${sshd_pid-}" ] || kill "$sshd_pid" 2>/dev/null
	[ -z "${sshd_made-}" ] || rmdir "$sshd_made"
}

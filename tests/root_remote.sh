#!/bin/sh
# Compressing locally or remotely: the tarball study through our own sshd.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
PATH=$PATH:/usr/sbin:/sbin
have sshd || skip_all 'no sshd'
have lap || skip_all 'no lap'
have pzc || skip_all 'no pzc'
COLDPRESS_BIN=${BIN:?}
export COLDPRESS_BIN

ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f user
[ -d /run/sshd ] || { mkdir -p /run/sshd && made=/run/sshd; }
sshd=
undo() {
	[ -z "$sshd" ] || kill "$sshd" 2>/dev/null
	[ -z "${made:-}" ] || rmdir "$made"
}
trap undo EXIT
trap 'exit 1' HUP INT TERM

# start PORT: starts sshd as a background job
start() {
	cat >config <<EOF
Port $1
ListenAddress 127.0.0.1
HostKey $PWD/host
AuthorizedKeysFile $PWD/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv PATH=$BIN:/usr/bin:/bin
EOF
	"$(command -v sshd)" -D -e -f "$PWD/config" 2>sshd.log &
	sshd=$!
}
try() {
	ssh -F none -p "$1" -i user -o BatchMode=yes \
	    -o StrictHostKeyChecking=no -o UserKnownHostsFile="$PWD/known" \
	    -o LogLevel=ERROR 127.0.0.1 true
}

# sshd exits immediately if the port is in use: try several.
port=$((20000 + $$ % 20000))
for _ in 1 2 3 4 5; do
	start $port
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		try $port 2>try.log && break 2
		kill -0 $sshd 2>/dev/null || break
		sleep 0.2
	done
	kill $sshd 2>/dev/null
	wait $sshd
	sshd=
	port=$((port + 17))
done
t 'sshd answers' 0 try $port
COLDPRESS_SSH="ssh -F none -p $port -i $PWD/user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=$PWD/known -o LogLevel=ERROR"
export COLDPRESS_SSH

mkdir tree
seq 200000 >tree/a
t 'local or remote' 0 to table sh "$SRC/scripts/tarball" --quick --warm -n 1 \
    --remote 127.0.0.1 --rows 'R*' -o r.csv tree out
for id in R1 R2 R3 R4 R5 R6 R7 R8 R9; do
	t "row $id" 0 grep -E -q "^$id +tar .* [0-9]+\.[0-9]%\$" table
done
# The far end stored everything, whether compressed there or here.
size() {
	grep -v '^#' r.csv | awk -F , -v label="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label && $at["stage"] == "all" { print $at["stdout_B"] }'
}
t 'R1 stored everything' 0 test "$(size R1)" -gt 1000000
t 'R3 stored less' 0 test "$(size R3)" -lt 700000
is 'gzip, local and remote' "$(size R2)" "$(size R3)"
is 'pzc, local and remote' "$(size R6)" "$(size R7)"
done_testing

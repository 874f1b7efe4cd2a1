#!/bin/sh
# Tests --engine parallel over ssh: GNU parallel with two sshd, which are killed,
# as are parallel, its cells and the study itself.  No row may be lost or doubled.
# SPDX-License-Identifier: BSD-2-Clause
#
# COLDPRESS_KILLED_CELLS cells (24) are run, and COLDPRESS_KILLS (5) times
# something is killed.
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"
. "$SRC/tests/killed.sh"

for tool in lap parallel ssh ssh-keygen flock; do
	have $tool || skip_all "no $tool"
done
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip_all 'no sshd'
isolated
engine=parallel kills=${COLDPRESS_KILLS:-5}

mkdir -m 755 /run/sshd
ssh-keygen -q -t ed25519 -N '' -f host_key
ssh-keygen -q -t ed25519 -N '' -f key
# server PORT: starts one
server() {
	cat >"sshd.$1" <<EOF
Port $1
ListenAddress 127.0.0.1
HostKey $PWD/host_key
AuthorizedKeysFile $PWD/key.pub
PidFile $PWD/sshd.$1.pid
PermitRootLogin yes
StrictModes no
UsePAM no
EOF
	"$sshd" -f "$PWD/sshd.$1" >>"sshd.$1.log" 2>&1
}
cat >ssh_config <<EOF
Host n1
    Port 2201
Host n2
    Port 2202
Host *
    HostName 127.0.0.1
    User root
    IdentityFile $PWD/key
    UserKnownHostsFile $PWD/known_hosts
    StrictHostKeyChecking no
    ConnectTimeout 5
EOF
printf 'ssh -F %s n%s\n' "$PWD/ssh_config" 1 "$PWD/ssh_config" 2 >nodes
server 2201 || skip_all "sshd does not start: $(cat sshd.2201.log)"
server 2202
t 'a login' 0 ssh -F ssh_config n1 true
t 'another' 0 ssh -F ssh_config n2 true

# both see the same files, as nodes of a cluster do
PARALLEL="--sshloginfile $PWD/nodes --workdir $PWD"
PARALLEL="$PARALLEL --env PATH --env COLDPRESS_LIBEXEC --env COLDPRESS_BIN"
export PARALLEL

accident() {
	case $(($1 % 5)) in
	1) name=study victim=$(victim 'own/levels --warm') ;;
	2) name=cell victim=$(victim 'own/levels .*cell') ;;
	3) name=parallel victim=$(victim 'perl .*parallel') ;;
	4) name=session victim=$(victim 'sshd: root@') ;;
	0) name=sshd victim=$(pid_of sshd.2202.pid) ;;
	esac
}
recover() {
	[ "$name" != sshd ] || {
		sleep 5
		server 2202
	}
}
made_study
killed_study "${COLDPRESS_KILLED_CELLS:-24}"
is 'both had cells' "$(awk 'FNR > 1 { print $5 }' s.csv.d/joblog quiet.csv.d/joblog |
    sort -u | tr '\n' ' ')" 'n1 n2 '
done_testing

#!/bin/sh
# Tests --engine slurm with a real Slurm: slurmctld, three slurmd and munge, which
# are killed, as are jobs and the study itself.  No row may be lost or doubled.
# SPDX-License-Identifier: BSD-2-Clause
#
# COLDPRESS_SLURM_CELLS cells (24) are run, and COLDPRESS_SLURM_KILLS (6) times
# something is killed.
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in lap slurmctld slurmd munged sbatch scancel flock; do
	have $tool || skip_all "no $tool"
done
unshare --net --mount --pid --fork true 2>/dev/null || skip_all 'no namespaces'
# everything is in namespaces of its own, and ends with them
[ -n "${SLURM_TEST_INSIDE:-}" ] || {
	SLURM_TEST_INSIDE=yes
	export SLURM_TEST_INSIDE
	exec unshare --net --mount --pid --fork --mount-proc --kill-child sh "$0"
}
# names are resolved only where there is an address beside loopback's
ip link set lo up
ip link add slurm0 type veth peer name slurm1
ip addr add 10.99.0.1/24 dev slurm0
ip link set slurm0 up
ip link set slurm1 up
cells=${COLDPRESS_SLURM_CELLS:-24} kills=${COLDPRESS_SLURM_KILLS:-6}
host=$(hostname -s)
mount -t tmpfs none /run
printf '127.0.0.1 localhost %s\n' "$host" >hosts
mount --bind hosts /etc/hosts

mkdir -m 755 munge state
dd if=/dev/urandom of=munge/key bs=1k count=1 2>/dev/null
chmod 400 munge/key
cat >slurm.conf <<EOF
ClusterName=coldpress
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$PWD/munge/socket
SlurmUser=root
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdPidFile=$PWD/%n.pid
SlurmdLogFile=$PWD/%n.log
SlurmdSpoolDir=$PWD/spool.%n
StateSaveLocation=$PWD/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
MessageTimeout=5
InactiveLimit=0
KillWait=1
MinJobAge=2
UnkillableStepTimeout=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 State=UNKNOWN
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=17003 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL State=UP PriorityTier=9 PreemptMode=OFF
EOF
SLURM_CONF=$PWD/slurm.conf
export SLURM_CONF

controller() { slurmctld "$@" >>slurmctld.out 2>&1; }
node() {
	mkdir -p "spool.$1"
	slurmd -N "$1" >>"$1.out" 2>&1
}
nodes_are() { [ "$(sinfo -h -N -o '%N %t' | grep -c -E "$1")" -ge "$2" ]; }
answers() { sinfo -h >/dev/null 2>&1; }

munge_start() {
	rm -f munge/socket*
	munged --force --key-file="$PWD/munge/key" \
	    --socket="$PWD/munge/socket" --pid-file="$PWD/munge/pid" \
	    --log-file="$PWD/munge/log" --seed-file="$PWD/munge/seed" \
	    >munge.out 2>&1
}
munge_start || skip_all "munged does not start: $(cat munge.out)"
controller -c || skip_all "slurmctld does not start: $(cat slurmctld.out)"
for n in n1 n2 n3; do
	node $n || skip_all "slurmd does not start: $(cat $n.out)"
done
await answers
await nodes_are 'idle' 3
is 'three nodes' "$(sinfo -h -N -p all | grep -c idle)" 3

# The study of doc/study.md, with enough rows.
mkdir own tree
example own/levels
seq 2000 >tree/a
COLDPRESS_LIBEXEC=$SRC/scripts
export COLDPRESS_LIBEXEC
study() {
	sh own/levels --warm --engine slurm -n "$1" -o "$2" --levels '1 6 9' tree
}
# rows FILE: counts rows for whole runs, and different ones
rows() {
	awk -F , '/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	$at["stage"] == "all" {
		all++
		if (!seen[$at["label"], $at["run"]]++)
			different++
	}
	END { print all + 0, different + 0 }' "$1"
}

t 'a study' 0 study 2 quiet.csv
is 'every run has one row' "$(rows quiet.csv)" '6 6'
t 'says on which machine' 0 grep -q "$host" quiet.csv quiet.csv.provenance

# The same with accidents.
n=$(((cells + 2) / 3))
study_until_done() {
	until study "$n" s.csv >>study.log 2>&1; do
		sleep 1
	done
	: >study.done
}
study_until_done &
looping=$!
pid_of() { cat "$1" 2>/dev/null; }
# victim PATTERN: the first process whose command line matches, within 3 s
victim() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		pgrep -f "$1" | grep -v -x -e $$ -e "$looping" |
		    head -n 1 | grep . && return
		sleep 0.2
	done
}
# running: the first job that runs, within 3 s
running() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		squeue -h -t R -o %A 2>/dev/null | head -n 1 | grep . && return
		sleep 0.2
	done
}
killed=0 what=0
while [ "$killed" -lt "$kills" ] && [ ! -e study.done ]; do
	sleep 2
	what=$(((what + 1) % 7))
	case $what in
	1) victim=$(victim 'own/levels --warm') name=study ;;
	2) victim=$(victim 'slurmstepd') name=job ;;
	3) victim=$(pid_of "n$((killed % 3 + 1)).pid") name=slurmd ;;
	4) victim=$(pid_of slurmctld.pid) name=slurmctld ;;
	5)
		victim='' name=requeued
		scontrol requeue "$(running)" 2>>accidents && victim=none
		;;
	6)
		# a job of a partition that comes first takes the node
		victim=none name=preempted
		timeout 60 srun -p urgent -w "n$((killed % 3 + 1))" \
		    --exclusive sleep 1 >>accidents 2>&1 || :
		;;
	*) victim=$(pid_of munge/pid) name=munged ;;
	esac
	[ -n "$victim" ] || continue
	[ "$victim" = none ] || kill -9 "$victim" 2>/dev/null || continue
	killed=$((killed + 1))
	echo "$name" >>killed
	case $name in
	munged) munge_start ;;
	slurmctld)
		sleep 1
		controller
		await answers
		;;
	slurmd)
		# it may stay away for so long that its node is given up
		[ $((killed % 2)) = 0 ] || sleep 15
		node "n$(((killed - 1) % 3 + 1))"
		;;
	esac
done
await test -e study.done
echo "# killed: $(sort killed | uniq -c | tr -s ' \n' ' ')"
t 'the study ends' 0 test -e study.done
is 'no row is lost or doubled' "$(rows s.csv)" "$((3 * n)) $((3 * n))"
t 'nothing is left to do' 0 study "$n" s.csv
is 'nor done again' "$(rows s.csv)" "$((3 * n)) $((3 * n))"
[ "$failed" = 0 ] || {
	tail -n 20 study.log slurmctld.log | sed 's/^/# /'
}
done_testing

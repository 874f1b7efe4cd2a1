#!/bin/sh
# Tests --engine slurm with a real Slurm: slurmctld, three slurmd and munge, which
# are killed, as are jobs and the study itself.  No row may be lost or doubled.
# SPDX-License-Identifier: BSD-2-Clause
#
# COLDPRESS_KILLED_CELLS cells (24) are run, on COLDPRESS_NODES (1) nodes at a time,
# and COLDPRESS_KILLS (7) times something is killed.
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"
. "$SRC/tests/killed.sh"

for tool in lap pzc slurmctld slurmd munged sbatch scancel flock; do
	have $tool || skip_all "no $tool"
done
isolated
engine=slurm kills=${COLDPRESS_KILLS:-7}

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

munge_start() {
	rm -f munge/socket*
	munged --force --key-file="$PWD/munge/key" \
	    --socket="$PWD/munge/socket" --pid-file="$PWD/munge/pid" \
	    --log-file="$PWD/munge/log" --seed-file="$PWD/munge/seed" \
	    >munge.out 2>&1
}
controller() { slurmctld "$@" >>slurmctld.out 2>&1; }
node() {
	mkdir -p "spool.$1"
	slurmd -N "$1" >>"$1.out" 2>&1
}
answers() { sinfo -h >/dev/null 2>&1; }
idle() { [ "$(sinfo -h -N -p all | grep -c idle)" = 3 ]; }
running() { squeue -h -t R -o %A; }

munge_start || skip_all "munged does not start: $(cat munge.out)"
controller -c || skip_all "slurmctld does not start: $(cat slurmctld.out)"
for n in n1 n2 n3; do
	node $n || skip_all "slurmd does not start: $(cat $n.out)"
done
await answers
t 'three nodes' 0 await idle

accident() {
	accident_node=n$((killed % 3 + 1))
	case $(($1 % 7)) in
	1) name=study victim=$(victim 'own/levels --warm') ;;
	2) name=job victim=$(victim slurmstepd) ;;
	3) name=slurmd victim=$(pid_of "$accident_node.pid") ;;
	4) name=slurmctld victim=$(pid_of slurmctld.pid) ;;
	5)
		name=requeued
		scontrol requeue "$(soon running)" 2>>accidents &&
		    victim=none
		;;
	6)
		# a job of a partition that comes first takes the node
		name=preempted victim=none
		timeout 60 srun -p urgent -w "$accident_node" --exclusive \
		    sleep 1 >>accidents 2>&1 || :
		;;
	0) name=munged victim=$(pid_of munge/pid) ;;
	esac
}
recover() {
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
		node "$accident_node"
		;;
	esac
}
# Slurm drains a node whose job it could not account for; the administrator
# returns it to service.
while sleep 5; do
	scontrol update nodename=n1,n2,n3 state=resume >/dev/null 2>&1
done &
made_study
seq 300000 >huge
t 'a file in slices' 0 sh "$SRC/examples/pzc-nodes" --slurm -n 4 -j 3 huge huge.gz
pzc -i -o want.gz huge
same 'is one file' huge.gz want.gz
# two nodes work on different rounds at the same time, under their names
nodes=2
study 3 two.csv >two.log 2>&1 &
pid=$!
named() { squeue -h -t R -o %j | grep -q '^levels[.]00'; }
t 'squeue shows rounds' 0 await named
wait $pid
is 'on two nodes' "$(rows two.csv)" '9 9'
is 'a round is on one' "$(torn two.csv)" ''
nodes=${COLDPRESS_NODES:-1}
killed_study "${COLDPRESS_KILLED_CELLS:-24}"
done_testing

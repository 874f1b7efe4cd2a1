# shellcheck shell=sh
# killed.sh - the study of doc/study.md, while it and its engine are killed; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The test sets $engine and $kills, and defines accident NUMBER, which sets $name
# and $victim: a process to kill, "none" if something was done without, or nothing;
# and recover, which starts again what $name says was killed.

# everything is in namespaces of its own, and ends with them
isolated() {
	[ "$(id -u)" = 0 ] || skip_all 'not root'
	unshare --net --mount --pid --fork true 2>/dev/null ||
	    skip_all 'no namespaces'
	[ -n "${KILLED_INSIDE:-}" ] || {
		KILLED_INSIDE=yes
		export KILLED_INSIDE
		exec unshare --net --mount --pid --fork --mount-proc \
		    --kill-child sh "$0"
	}
	# names are resolved only where there is an address beside loopback's
	ip link set lo up
	ip link add killed0 type veth peer name killed1
	ip addr add 10.99.0.1/24 dev killed0
	ip link set killed0 up
	ip link set killed1 up
	mount -t tmpfs none /run
	host=$(hostname -s)
	printf '127.0.0.1 localhost %s\n' "$host" >hosts
	mount --bind hosts /etc/hosts
}

# made_study: creates it
made_study() {
	mkdir own tree
	example own/levels
	seq 2000 >tree/a
	COLDPRESS_LIBEXEC=$SRC/scripts
	export COLDPRESS_LIBEXEC
}
# study ROUNDS ROWS: runs it
study() {
	sh own/levels --warm --engine "$engine" --nodes "${nodes:-1}" -n "$1" \
	    -o "$2" --levels '1 6 9' tree
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

# torn FILE: prints the rounds that were not made on one node, which every row
# names
torn() {
	awk -F , '/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	{
		run = $at["run"]
		keys = $at["keys"]
		if (!sub(/.*node=/, "", keys))
			print run " says no node"
		sub(/;.*/, "", keys)
		if (run in of && of[run] != keys)
			print run " on " of[run] " and " keys
		of[run] = keys
	}' "$1"
}

pid_of() { cat "$1" 2>/dev/null; }
# soon COMMAND...: prints the first line of what it prints, within 3 s
soon() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		"$@" 2>/dev/null | head -n 1 | grep . && return
		sleep 0.2
	done
}
found() { pgrep -f "$1" | grep -v -x -e $$ -e "$looping"; }
# victim PATTERN: a process whose command line matches
victim() { soon found "$1"; }

study_until_done() {
	until study "$1" s.csv >>study.log 2>&1; do
		sleep 1
	done
	: >study.done
}
# killed_study CELLS: runs it, has accidents happen, and checks the rows
killed_study() {
	killed_n=$((($1 + 2) / 3))
	t 'a study' 0 study 2 quiet.csv
	is 'every run has one row' "$(rows quiet.csv)" '6 6'
	t 'says on which machine' 0 grep -q "$host" quiet.csv \
	    quiet.csv.provenance
	study_until_done "$killed_n" &
	looping=$!
	: >killed
	killed=0 what=0
	while [ "$killed" -lt "$kills" ] && [ ! -e study.done ]; do
		sleep 2
		what=$((what + 1))
		victim='' name=''
		accident "$what"
		[ -n "$victim" ] || continue
		[ "$victim" = none ] || kill -9 "$victim" 2>/dev/null ||
		    continue
		echo "$name" >>killed
		recover
		killed=$((killed + 1))
	done
	# the rest, as long as there is another row in five minutes
	rest=0 seen=0
	until [ -e study.done ] || [ "$rest" -ge 300 ]; do
		sleep 1
		rest=$((rest + 1))
		now=$(find s.csv.d/rows -name '[!.]*' 2>/dev/null | wc -l)
		[ "$now" = "$seen" ] || rest=0
		seen=$now
	done
	echo "# killed: $(sort killed | uniq -c | tr -s ' \n' ' ')"
	t 'the study ends' 0 test -e study.done
	is 'no row is lost or doubled' "$(rows s.csv)" \
	    "$((3 * killed_n)) $((3 * killed_n))"
	is 'each round was made on one node' "$(torn s.csv)" ''
	t 'nothing is left to do' 0 study "$killed_n" s.csv
	is 'nor done again' "$(rows s.csv)" \
	    "$((3 * killed_n)) $((3 * killed_n))"
	# shellcheck disable=SC2154
	[ "$failed" = 0 ] || tail -n 40 study.log | sed 's/^/# /'
}

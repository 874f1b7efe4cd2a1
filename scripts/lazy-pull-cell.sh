# shellcheck shell=sh
# lazy-pull-cell.sh - a cell: one start or several concurrent ones; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# Clients store everything in $study/clients, which is a separate mount.

# clients_make: creates an empty directory for the clients
clients_make() {
	clients_remove
	mkdir "$study/clients"
	mount --bind "$study/clients" "$study/clients"
	mount --make-private "$study/clients"
}

# clients_remove: removes that directory, but no files on other filesystems
clients_remove() {
	! mountpoint -q "$study/clients" || umount -R -l "$study/clients"
	rm -rf --one-file-system "$study/clients"
}

# client_keys: prints the values recorded by the clients, as keys and wall_s:
# the maximum of times, and the sum of all other values
client_keys() {
	cat "$study"/clients/*/stamps 2>/dev/null | awk -F '\t' '
	{
		at[NR] = $2
		what[NR] = $1
		if ($1 == "begin") {
			client++
			from[client] = $2
			rx[client, $1] = $3
		}
		time[client, $1] = $2
		rx[client, $1] = $3
	}
	function worst(a, b,  i, d, max) {
		for (i = 1; i <= client; i++) {
			d = time[i, b] - time[i, a]
			if (d > max)
				max = d
		}
		return max
	}
	END {
		for (i = 1; i <= client; i++)
			if (!((i, "end") in time))
				exit
		printf "wall_s=%.6f keys=pull_s=%.4f;create_s=%.4f;run_s=%.4f;first_s=%.4f",
		    worst("begin", "end"), worst("begin", "pulled"),
		    worst("pulled", "created"), worst("created", "end"),
		    worst("begin", "first")
		if (client == 1)
			printf ";pull_B=%.0f;run_B=%.0f",
			    rx[1, "pulled"] - rx[1, "begin"],
			    rx[1, "end"] - rx[1, "pulled"]
	}'
	cat "$study"/clients/*/stats 2>/dev/null | tr -s ',{}' '\n' | awk -F : '
	{ gsub(/[" ]/, "", $1) }
	$1 == "index_wire_B" { index_B += $2 }
	$1 == "requests" { requests += $2 }
	$1 == "maxrss_KiB" && $2 + 0 > rss { rss = $2 + 0 }
	END {
		if (index_B != "")
			printf ";index_B=%.0f", index_B
		if (NR)
			printf ";rss_KiB=%.0f", rss
	}'
}

# pattern_begin ID: records the amount of data received over the link until
# pattern_end
pattern_begin() {
	mkdir -p "$study/patterns"
	rm -f "$study/patterns/$1"
	while read -r pattern_at _ </proc/uptime &&
	    read -r pattern_rx <"/sys/class/net/$net_interface/statistics/rx_bytes"; do
		printf '%s\t%s\n' "$pattern_at" "$pattern_rx"
		sleep 0.05
	done >"$study/patterns/$1" 8>&- &
	pattern_pid=$!
}
pattern_end() {
	kill "$pattern_pid"
	wait "$pattern_pid" 2>/dev/null || :
}

# squid_fill COMMAND: loads the data needed by a start into squid, by running a
# start on the server's side of the link; this start is not measured
squid_fill() {
	clients_make
	LAZY_INTERFACE=lo LAZY_CLIENTS=1 $net_in \
	    sh "$here/lazy-pull-start.sh" "$1" >>"$study/log" 2>&1 ||
	    die "squid could not be filled: $(tail -n 1 "$study/log")"
	clients_remove
}

# cell ID IMAGE WORKLOAD SYSTEM LINK CLIENTS DELAY CACHE
cell() {
	cell_command=$(workload_command "$2" "$3")
	net_make "$5"
	server_start "$4" "$7"
	LAZY_PULLER=$(system_get "$4" 2) LAZY_PLACE=$study/clients
	LAZY_CLIENTS=$6 LAZY_INTERFACE=$net_interface LAZY_PROXY=
	LAZY_KEY=$study/$cvmfs_name.pub
	[ "$8" = no ] || cache_start
	LAZY_REFERENCE=$cell_from/$2:$4
	case $LAZY_PULLER in
	cas | cvmfs | files) LAZY_REFERENCE=http://$cell_from/$2.$4 ;;
	esac
	export LAZY_PULLER LAZY_PLACE LAZY_REFERENCE LAZY_CLIENTS \
	    LAZY_INTERFACE LAZY_PROXY LAZY_KEY
	case $4 in
	*-squid)
		LAZY_PROXY=http://$net_address:3128
		squid_fill "$cell_command"
		;;
	esac
	clients_make
	cell_files=$(find "$study/clients" -mindepth 1 | wc -l)
	daemons='' LAZY_NODES=''
	[ "$LAZY_PULLER" != containerd ] || nodes_start "$4" "$6"
	server_used
	cell_before=$server_said
	pattern_begin "$1"
	cell_lap "$cell_new.lap" -l "$1" -t "$timeout" --net "$net_interface" \
	    -- sh "$here/lazy-pull-start.sh" "$cell_command"
	pattern_end
	cell_daemons=$(daemon_keys "$6")
	server_used
	# shellcheck disable=SC2046
	cell_rows "$cell_new.lap" $(client_keys) \
	    "keys=files_before=$cell_files;requests=$((
	    ${server_said% *} - ${cell_before% *}));server_cpu_s=$(
	    since "${cell_before#* }" "${server_said#* }")$cell_daemons"
	clients_remove
	# shellcheck disable=SC2086
	[ -z "$services" ] || kill $services
	server_end
}

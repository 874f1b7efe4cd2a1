#!/bin/sh
# Tests simulate-registry with traces whose times can be computed by hand.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'no python3'
free='--request 0 --byte 0 --cache-request 0 --cache-byte 0 --rtt 0'
# simulate OPTION...: prints a column of the first line
simulate() {
	simulate_column=$1
	shift
	# shellcheck disable=SC2086
	python3 "$SRC/scripts/simulate-registry" --tsv $free "$@" | awk -F '\t' \
	    -v name="$simulate_column" 'NR == 1 {
		for (i = 1; i <= NF; i++)
			at[$i] = i
		next
	}
	{ print $at[name]; exit }'
}

# 1 s of thought, 10 MB in 0.1 s, 1 s of thought, 5 MB, 2 s of thought
printf '# a comment\n1\t1.1\ta\t10000000\n2.1\t2.15\tb\t5000000\nend\t4.15\n' >t
is 'alone, it takes what it took' "$(simulate last_s -n 1 t)" 4.15
is 'a slow link counts' "$(simulate last_s -n 1 --link 1e7 t)" 5.50
is 'so does the distance' "$(simulate last_s -n 1 --rtt 0.3 --link 1.5e9 t)" 4.61
is 'two requests' "$(simulate requests -n 1 t)" 2
is 'of 15 MB' "$(simulate MB -n 1 t)" 15.00
# 100 nodes: 1 GB in 8 s, and 0.5 GB in 4 s, one second after the first
# as some begin the second before others have ended the first
is 'a hundred wait for the link' \
    "$(simulate last_s -n 100 --uplink 1.25e8 t | cut -c 1-4)" 15.8
is 'with a cache, the registry is asked once' "$(simulate requests -n 100 -c 1 t)" 2
is 'with four, by each' "$(simulate requests -n 100 -c 4 t)" 8
is 'and the caches send' "$(simulate last_s -n 100 -c 4 --cache-link 1.25e8 \
    --uplink 1e12 t | cut -d . -f 1)" 7
is 'processors are shared' "$(simulate last_s -n 100 --uplink 1e12 \
    --request 0.4 --cores 4 t | cut -d . -f 1)" 23
is 'later nodes find them free' "$(simulate p99_s -n 100 --uplink 1.25e8 \
    --spread 100 t)" 4.15
# both begin at the same time, and end when they end
printf '0\t0.1\ta\t1000\n0\t0.2\tb\t1000\nend\t1\n' >p
is 'requests at the same time' "$(simulate last_s -n 1 p)" 1.00

for trace in "$SRC"/examples/registry/*.tsv; do
	end=$(awk -F '\t' '$1 == "end" { printf "%.2f", $2 }' "$trace")
	took=$(simulate last_s -n 1 --link 1e11 --uplink 1e11 "$trace")
	is "${trace##*/} is replayed" \
	    "$(echo "$took $end" | awk '{ print ($1 >= $2 && $1 < 1.02 * $2) }')" 1
done

echo x >bad
for bad in '-n 0 t' '-n x t' '--link 0 t' '--bogus t' ''; do
	# shellcheck disable=SC2086
	t "'$bad'" 2 python3 "$SRC/scripts/simulate-registry" $bad
done
t 'no such trace' 1 python3 "$SRC/scripts/simulate-registry" none
t 'not a trace' 1 python3 "$SRC/scripts/simulate-registry" bad
done_testing

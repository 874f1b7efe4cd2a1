# shellcheck shell=sh
# tarball-baselines.sh - measure the disk, the pipe and compressors alone; sourced
# SPDX-License-Identifier: BSD-2-Clause

# rate COMMAND FILE: prints the bytes per second that pv writes to FILE
rate() {
	printf '%s\n' "$1"
	rate_s=3
	[ "$quick" = no ] || rate_s=1
	# The last output of pv before it is killed contains the average rate.
	rate_text=$(timeout $rate_s pv -f -a -i 0.3 </dev/zero 2>&1 >"$2" |
	    tr '\r' '\n' | grep -o '\[[^]]*\]' | tail -n 1) || :
	printf '%s\n' "${rate_text:- not measured}"
}

baselines() {
	baselines_disk=$(df --output=source "$dir" | tail -n 1)
	if [ "$(id -u)" = 0 ] && [ -b "$baselines_disk" ] && have hdparm; then
		echo "hdparm -t $baselines_disk"
		baselines_text=$(hdparm -t "$baselines_disk" 2>&1 || :)
		printf '%s\n' "$baselines_text" | grep ' = ' ||
		    printf ' not measured: %s\n' \
		    "$(printf '%s\n' "$baselines_text" | grep . | tail -n 1)"
	else
		echo "hdparm -t: not measured ($baselines_disk: no disk, no root or no hdparm)"
	fi
	have pv || {
		echo 'pv: not measured (no pv)'
		return 0
	}
	rate 'pv -r </dev/zero >/dev/null' /dev/null
	for baselines_tool in gzip pzc; do
		have $baselines_tool || continue
		mkfifo "$tmp/pipe"
		$baselines_tool <"$tmp/pipe" >/dev/null 2>&1 &
		rate "pv -r </dev/zero | $baselines_tool >/dev/null" "$tmp/pipe"
		wait $! || :
		rm "$tmp/pipe"
	done
}

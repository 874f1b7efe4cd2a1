# explain.awk - what was measured for one proposal of coldpress advise
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f explain.awk n=NUMBER ROWS.csv

# size_text BYTES: with three digits and a unit
function size_text(b,  u, i, digits) {
	split("B kB MB GB TB PB", u, " ")
	for (i = 1; b >= 999.5 && i < 6; i++)
		b /= 1000
	digits = b >= 9.995 ? 1 : 2
	if (i == 1 || b >= 99.95)
		digits = 0
	return sprintf("%.*f %s", digits, b, u[i])
}

function duration(s) {
	if (s < 100)
		return sprintf(s < 10 ? "%.1f s" : "%.0f s", s)
	return s < 6000 ? sprintf("%.0f min", s / 60) : sprintf("%.1f h", s / 3600)
}

# link_text BYTES_PER_SECOND: in the units of --link
function link_text(b) {
	b *= 8
	if (b < 1e6)
		return sprintf("%.0f kbit/s", b / 1e3)
	return b < 1e9 ? sprintf("%.0f Mbit/s", b / 1e6) : sprintf("%.1f Gbit/s", b / 1e9)
}

function interval(i) {
	if (complete[i] == 1 && least[i] == most[i])
		return "exact"
	if (most[i] == "")
		return "-"
	return size_text(least[i]) " .. " size_text(most[i])
}

csv_row() && get("number") == n && get("candidate") != "" {
	i = ++count
	name[i] = get("candidate")
	bytes[i] = get("size_B") + 0
	least[i] = get("size_lo_B")
	most[i] = get("size_hi_B")
	cpu[i] = get("cpu_s") + 0
	back[i] = get("back_cpu_s") + 0
	units[i] = get("units")
	complete[i] = get("complete")
	readable[i] = get("readable")
	write_s[i] = get("write_s") + 0
	read_s[i] = get("read_s") + 0
	bound[i] = get("bound")
	if (get("pick") == 1) {
		pick = i
		# of a stream, everything is read
		part = part_now = get("touched") / 100
		if (get("target") == "tar" || (get("target") == "layers" &&
		    get("block_B") == ""))
			part = 1
		if (get("kind") == "tar" || get("kind") == "layer")
			part_now = 1
	}
	place = get("place")
	kind = get("kind")
	target = get("target")
	files = get("files")
	now = get("now_B") + 0
	plain = get("plain_B") + 0
	newest = get("newest")
	unit = get("unit_B")
	drawn = get("drawn")
	cores = get("cores")
	disk = get("read_Bps") + 0
	link = get("link_Bps")
	reads = get("reads")
	objective = get("objective")
}

END {
	if (!pick)
		exit
	printf "Proposal %s: %s, %d %sfile%s, %s; the last change was %s\n", n,
	    place, files, kind == "tree" ? "" : kind " ",
	    files == 1 ? "" : "s", size_text(now), newest
	printf "As %s: %s for the objective %s\n\n", target, name[pick],
	    objective
	printf "  %-12s %9s  %-21s %9s %9s %8s %8s\n", "candidate", "size",
	    "95 % interval", "CPU", "takes", "back CPU", "units"
	for (k = 1; k <= count; k++) {
		# by size
		best = 0
		for (i = 1; i <= count; i++)
			if (!done[i] && (!best || bytes[i] < bytes[best]))
				best = i
		done[best] = 1
		front = 1
		for (i = 1; i <= count; i++)
			if (i != best && bytes[i] <= bytes[best] &&
			    cpu[i] <= cpu[best])
				front = 0
		mark = front ? "*" : " "
		if (best == pick)
			mark = ">"
		printf "%s %-12s %9s  %-21s %9s %9s %8s %8s%s\n", mark,
		    name[best],
		    size_text(bytes[best]), interval(best),
		    duration(cpu[best]), duration(write_s[best]),
		    duration(back[best]), units[best],
		    readable[best] == 1 ? "" : "  not by all readers"
	}
	print "\n> proposed; * no other is both smaller and cheaper (the Pareto front)"
	printf "%d units of %s were drawn; reading them: %s/s\n", drawn,
	    size_text(unit), size_text(disk)
	printf "Writing takes %s on %d cores, and is limited by the %s.\n",
	    duration(write_s[pick]), cores, bound[pick]
	saved = now - bytes[pick]
	busy = cpu[pick] / cores
	print "Break-even:"
	if (busy > 0 && saved > 0)
		printf "  on a link below %s, compressing takes less time than it saves\n",
		    link_text(saved / busy)
	# a read from a disk like this one, or through the link
	speed = link != "" && link < disk ? link + 0 : disk
	if (speed > 0) {
		slower = part * bytes[pick] / speed
		if (part * back[pick] / cores > slower)
			slower = part * back[pick] / cores
		gain = part_now * now / speed - slower
		if (gain > 0)
			printf "  after %.1f reads at %s/s, the time is back\n",
			    write_s[pick] / gain, size_text(speed)
		else
			printf "  reads at %s/s take longer than now: by %s each\n",
			    size_text(speed), duration(-gain)
	}
}

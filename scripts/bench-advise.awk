# bench-advise.awk - compare the estimates for one tree with complete runs
# SPDX-License-Identifier: BSD-2-Clause
# awk -f csv.awk -f stats.awk -f bench-advise.awk name=TREE link=BYTES_PER_S
# TRUTH.csv ROWS.csv: prints a table, and a line "=" with counts: estimates,
# sizes within 3 %, CPU times within 15 %, intervals that contain the truth, of
# how many; choices within 5 % of the best, of how many; intervals of CPU times
# that contain the truth, of how many; and CPU times within 15 % when the factor
# that all of a tree have in common, which is the machine's, is left out.  With
# form=markdown, prints a row of a table instead.

function max(a, b) { return a > b ? a : b }

# cost OBJECTIVE SIZE CPU BACK: what the objective makes small; one core, and a
# link that is slower than the disk
function cost(objective, size, cpu, back) {
	if (objective == "size")
		return size
	if (objective == "cold-read")
		return max(back, size / link)
	return max(cpu, size / link) + max(back, size / link)
}

function error(estimate, truth) { return 100 * (estimate / truth - 1) }

function magnitude(x) { return x < 0 ? -x : x }

csv_row() && FILENAME ~ /truth[.]csv$/ {
	c = get("candidate")
	size[c] = get("size_B")
	cpu[c] = get("cpu_s")
	back[c] = get("back_cpu_s")
	if (get("apart") > apart)
		apart = get("apart")
	next
}

csv_row() && FILENAME !~ /truth[.]csv$/ {
	c = get("candidate")
	names[++n] = c
	plain = get("plain_B")
	e_size[c] = get("size_B")
	least[c] = get("size_lo_B")
	most[c] = get("size_hi_B")
	e_cpu[c] = get("cpu_s")
	e_back[c] = get("back_cpu_s")
	cpu_least[c] = get("cpu_lo_s")
	cpu_most[c] = get("cpu_hi_s")
	complete[c] = get("complete")
	units[c] = get("units")
	of_units = get("drawn")
}

# count: compares every estimate with the truth
function count(  i, c, ratios) {
	for (i = 1; i <= n; i++)
		ratios[i] = e_cpu[names[i]] / cpu[names[i]]
	common = median(ratios, n)
	for (i = 1; i <= n; i++) {
		c = names[i]
		off[c] = error(e_size[c], size[c])
		slow[c] = error(e_cpu[c], cpu[c])
		good[c] = magnitude(off[c]) <= 3
		fast[c] = magnitude(slow[c]) <= 15
		goods += good[c]
		fasts += fast[c]
		even[c] = magnitude(error(e_cpu[c] / common, cpu[c])) <= 15
		evens += even[c]
		all_units = max(all_units, units[c])
		if (cpu_most[c] != "") {
			timings++
			timed += cpu_least[c] <= cpu[c] && cpu[c] <= cpu_most[c]
		}
		if (most[c] != "") {
			inside[c] = least[c] <= size[c] && size[c] <= most[c]
			within += inside[c]
			tried++
		}
	}
	for (i = 1; i <= 3; i++)
		right += choose(objectives[i]) <= 5
}

# choose OBJECTIVE: sets best and chosen; returns by how many percent the latter
# is worse
function choose(o,  i, c) {
	best = chosen = ""
	for (i = 1; i <= n; i++) {
		c = names[i]
		if (best == "" || cost(o, size[c], cpu[c], back[c]) < \
		    cost(o, size[best], cpu[best], back[best]))
			best = c
		# as the tool: one unit alone says nothing
		if (most[c] == "")
			continue
		if (chosen == "" || cost(o, e_size[c], e_cpu[c], e_back[c]) < \
		    cost(o, e_size[chosen], e_cpu[chosen], e_back[chosen]))
			chosen = c
	}
	return chosen == "" ? 1e9 : error(cost(o, size[chosen], cpu[chosen],
	    back[chosen]), cost(o, size[best], cpu[best], back[best]))
}

function print_table(  i, c, loss) {
	printf "%s: %d units drawn; runs are up to %.0f %% apart\n", name, of_units, \
	    100 * apart
	printf "  %-9s %5s %11s %11s %7s  %-9s %8s %8s %7s\n", "candidate",
	    "units", "truth", "estimate", "error", "interval", "CPU", "estimate",
	    "error"
	for (i = 1; i <= n; i++) {
		c = names[i]
		printf "  %-9s %5d %11d %11d %6.2f%%  %-9s %8.2f %8.2f %6.1f%%\n", c,
		    units[c], size[c], e_size[c], off[c], most[c] == "" ? "none" : \
		    inside[c] ? "contains" : "misses", cpu[c], e_cpu[c], slow[c]
	}
	for (i = 1; i <= 3; i++) {
		loss = choose(objectives[i])
		printf "  %s: %s, best %s (%+.1f %%)\n", objectives[i], chosen,
		    best, loss
	}
	printf "  CPU times have a factor of %.2f in common\n", common
	printf "=\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", n, goods, fasts,
	    within, tried, right, 3, timed, timings, evens
}

# is_slow CANDIDATE: whether it is tried on fewer units, if time is short
function is_slow(c) { return c ~ /^(xz|zstd-(1[5-9]|2))/ }

function print_row(  i, c, few, of, sizes, times, alike) {
	few = all_units
	of[0] = of[1] = sizes[0] = sizes[1] = times[0] = times[1] = 0
	alike[0] = alike[1] = 0
	for (i = 1; i <= n; i++) {
		c = names[i]
		if (units[c] < few)
			few = units[c]
		of[is_slow(c)]++
		sizes[is_slow(c)] += good[c]
		times[is_slow(c)] += fast[c]
		alike[is_slow(c)] += even[c]
	}
	printf "| %s, %.0f MB | %d, %d of %d | %d of 3 | %d of %d, %d of %d | %d of %d, %d of %d | %d, %d | %d, %d (%.2f) |\n",
	    name, plain / 1e6, all_units, few, of_units, right, within, tried,
	    timed, timings, sizes[0], of[0], sizes[1], of[1], times[0], times[1],
	    alike[0], alike[1], common
}

END {
	split("size total-time cold-read", objectives, " ")
	count()
	if (form == "markdown")
		print_row()
	else
		print_table()
}

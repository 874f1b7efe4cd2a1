# mailfs.awk - compute statistics of the copies in the mail study
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f stats.awk -f mailfs.awk -F '\t' -v seed=N RUNS.tsv: reads
# the columns of mailfs-rows.awk and, with told=FILE in the environment, writes
# TSV with headers:
#   FILE.cell    one line per cell, labelled variant.name.writers: medians with
#                intervals (_lo, _hi) of copy_s, eff (the efficiency) and ends
#                (the time divided by the mean of both ends of the block);
#                medians of the other columns; means trimmed as in the study:
#                eff_mean (of quotients), eff_of_means, mean_s, mean_ratio,
#                dropped (values at each end); cv_pct of the efficiency; rank by
#                its median; the percentage of draws in which it comes first, of
#                all (first_pct) and of the study's ten (ten_pct; cpu_ten_pct by
#                per_both), given 6 rounds; of_ten; front; padding_pct (ZFS)
#   FILE.group   variant, writers: CV over all copies, as in the study, mean
#                of the cells' own, copies
#   FILE.spread  variant: CV of two writers minus that of one, lo, hi
#   FILE.order   variant: drift, the last end of the block divided by the first
#                (lo, hi); slope of the logarithm of time by position, its
#                error, rounds
# Means are trimmed by 10 %, as in R and in the study; with fewer than 10
# values, none is dropped.  Each of the 2000 draws is a bootstrap sample of
# whole rounds, which preserves the dependence between runs in a round.  front
# contains p if no other cell with the same number of writers is faster and has
# a higher printed ratio, and d if none is both durable sooner and smaller on
# disk.  ZFS's ratio counts metadata once and compressed, and is truncated to
# two digits; it does not count partly filled sectors.  padding_pct is the size
# of the files on disk compared with what the ratio says.  On disk, metadata is
# stored twice.  Its share of the ratio is estimated as half of the smallest
# amount of metadata on any of the ZFS filesystems, namely the one with the
# smallest sectors.

function random() {
	state = state * 48271 % 2147483647
	return state / 2147483647
}

# trimmed A N: computes mean(x, trim = 0.1) as R does; stores the number of
# values dropped at each end in drop
function trimmed(a, n,  i, sum) {
	drop = int(n / 10)
	sort(a, n)
	sum = 0
	for (i = drop + 1; i <= n - drop; i++)
		sum += a[i]
	return sum / (n - 2 * drop)
}

function deviation(a, n,  i, mean, sum) {
	if (n < 2)
		return 0
	mean = sum = 0
	for (i = 1; i <= n; i++)
		mean += a[i] / n
	for (i = 1; i <= n; i++)
		sum += (a[i] - mean) ^ 2
	return sqrt(sum / (n - 1))
}

# take CELL COLUMN: copies the values to a; returns their number
function take(cell, column,  i, n) {
	n = 0
	for (i = 1; i <= copies[cell]; i++)
		if (value[cell, i, column] != "")
			a[++n] = value[cell, i, column] + 0
	return n
}

function middle(cell, column,  n) {
	n = take(cell, column)
	return n ? median(a, n) : ""
}

# bounded N: returns the median of a and its interval, as three fields
function bounded(n,  m) {
	if (!n)
		return "\t\t"
	m = median(a, n)
	bounds(a, n)
	return m "\t" lo "\t" hi
}

function average(cell, column) { return trimmed(a, take(cell, column)) }

# of_ends CELL: returns the median, with its interval, of its times divided by
# the mean of those at the ends of the block
function of_ends(cell, variant,  i, n, r, end) {
	n = 0
	for (i = 1; i <= copies[cell]; i++) {
		r = value[cell, i, "round"]
		if (!((variant, "first", r) in ends) ||
		    !((variant, "last", r) in ends))
			continue
		end = (ends[variant, "first", r] + ends[variant, "last", r]) / 2
		a[++n] = value[cell, i, "copy_s"] / end
	}
	return bounded(n)
}

# of_study ALGORITHM: whether it is one of the ten, or a substitute for one
function of_study(algorithm) {
	return algorithm ~ /^(gzip|zlib)-[1-9]$/ || algorithm ~ /^(lzjb|lzo)$/
}

# draw_rounds VARIANT: draws rounds with replacement, and stores how often each
# was drawn
function draw_rounds(variant,  i) {
	for (i = 1; i <= rounds[variant]; i++)
		times[round_at[variant, i]] = 0
	for (i = 1; i <= rounds[variant]; i++)
		times[round_at[variant, 1 + int(random() * rounds[variant])]]++
}

# drawn CELL COLUMN: returns the median in the draw
function drawn(cell, column,  i, n, t, b) {
	n = 0
	for (i = 1; i <= copies[cell]; i++)
		for (t = times[value[cell, i, "round"]]; t > 0; t--)
			if (value[cell, i, column] != "")
				b[++n] = value[cell, i, column]
	return n ? median(b, n) : ""
}

# bootstrap GROUP VARIANT COLUMN: counts the draws in which a cell comes first
function bootstrap(group, variant, column,  d, c, e, cell, best, first, best10, first10) {
	for (d = 0; d < draws; d++) {
		draw_rounds(variant)
		best = best10 = -1
		for (c = 1; c <= members[group]; c++) {
			cell = member[group, c]
			e = drawn(cell, column)
			if (e == "")
				continue
			if (e > best) {
				best = e
				first = cell
			}
			if (e > best10 && of_study(algorithm_of[cell])) {
				best10 = e
				first10 = cell
			}
		}
		if (best >= 0)
			wins[first, column]++
		if (best10 >= 0)
			wins10[first10, column]++
	}
}

function ranks(group,  c, d, place, mine) {
	for (c = 1; c <= members[group]; c++) {
		mine = center[member[group, c]]
		place = 1
		for (d = 1; d <= members[group]; d++)
			place += center[member[group, d]] > mine
		standing[member[group, c]] = place
	}
}

# front CELL GROUP: returns the value of front
function front(cell, group,  d, other, p, s) {
	p = s = 1
	for (d = 1; d <= members[group]; d++) {
		other = member[group, d]
		if (other == cell)
			continue
		if (copy[other] <= copy[cell] && ratio[other] >= ratio[cell] &&
		    (copy[other] < copy[cell] || ratio[other] > ratio[cell]))
			p = 0
		if (durable[other] <= durable[cell] &&
		    all[other] <= all[cell] &&
		    (durable[other] < durable[cell] || all[other] < all[cell]))
			s = 0
	}
	return (p ? "p" : "") (s ? "d" : "")
}

# padding CELL: returns padding_pct
function padding(cell, variant,  c, other, x, meta, files, said) {
	if (variant !~ /^zfs/)
		return ""
	meta = ""
	for (c = 1; c <= cells; c++) {
		other = order[c]
		x = all[other] - middle(other, "files_B")
		if (variant_of[other] ~ /^zfs/ &&
		    writers_of[other] == writers_of[cell] &&
		    (meta == "" || x < meta))
			meta = x
	}
	meta /= 2
	files = middle(cell, "files_B")
	said = (middle(cell, "logical_B") + meta) / \
	    (ratio[cell] + (ratio[cell] > 1 ? 0.005 : 0)) - meta
	return said > 0 ? 100 * (files - said) / said : ""
}

# cv GROUP DRAWN: returns the CV, computed as in the study, over all copies of
# the study's ten algorithms or, if there are none, over all copies; if DRAWN is
# set, only over the copies in the draw
function cv(group, is_draw,  c, cell, i, t, n, ten) {
	for (c = 1; c <= members[group]; c++)
		ten += of_study(algorithm_of[member[group, c]])
	n = 0
	for (c = 1; c <= members[group]; c++) {
		cell = member[group, c]
		if (ten && !of_study(algorithm_of[cell]))
			continue
		for (i = 1; i <= copies[cell]; i++)
			for (t = is_draw ? times[value[cell, i, "round"]] : 1; t > 0; t--)
				a[++n] = value[cell, i, "efficiency"]
	}
	count = n
	if (n < 2)
		return ""
	i = deviation(a, n)
	return 100 * i / trimmed(a, n)
}

# share WINS VARIANT: returns WINS as a percentage of the draws, if there are
# enough rounds
function share(wins, variant) {
	return rounds[variant] < 6 ? "" : 100 * wins / draws
}

# share_of_ten CELL VARIANT COLUMN
function share_of_ten(cell, variant, column) {
	return of_study(algorithm_of[cell]) && take(cell, column) ? \
	    share(wins10[cell, column], variant) : ""
}

function print_cell(cell, group, variant,  line, n, time, d) {
	line = variant "." name_of[cell] "." writers_of[cell] OFS variant OFS \
	    algorithm_of[cell] OFS name_of[cell] OFS writers_of[cell] OFS \
	    copies[cell]
	line = line OFS bounded(take(cell, "copy_s")) OFS durable[cell]
	line = line OFS bounded(take(cell, "efficiency"))
	time = average(cell, "copy_s")
	line = line OFS average(cell, "efficiency")
	line = line OFS average(cell, "ratio") / time OFS drop OFS time
	line = line OFS average(cell, "ratio")
	n = take(cell, "efficiency")
	d = deviation(a, n)
	line = line OFS 100 * d / trimmed(a, n) OFS standing[cell]
	line = line OFS share(wins[cell, "efficiency"], variant) OFS \
	    share_of_ten(cell, variant, "efficiency") OFS \
	    share_of_ten(cell, variant, "per_both") OFS \
	    of_study(algorithm_of[cell])
	for (n = 1; n <= medians; n++)
		line = line OFS middle(cell, median_of[n])
	print line OFS of_ends(cell, variant) OFS front(cell, group) OFS \
	    padding(cell, variant) >cell_file
}

function print_heads(  i, line) {
	line = "label\tvariant\talgorithm\tname\twriters\tn\tcopy_s\tcopy_lo\tcopy_hi" \
	    "\tdurable_s\teff\teff_lo\teff_hi\teff_mean\teff_of_means" \
	    "\tdropped\tmean_s\tmean_ratio\tcv_pct\trank\tfirst_pct" \
	    "\tten_pct\tcpu_ten_pct\tof_ten"
	for (i = 1; i <= medians; i++)
		line = line OFS median_of[i]
	print line "\tends\tends_lo\tends_hi\tfront\tpadding_pct" >cell_file
	print "variant\twriters\tcv_all\tcv_cells\tcopies" >group_file
	print "variant\tspread\tlo\thi" >spread_file
	print "variant\tdrift\tlo\thi\tslope\terror\trounds" >order_file
}

function print_group(group, variant,  c, n, sum, spread) {
	spread = cv(group, 0)
	n = sum = 0
	for (c = 1; c <= members[group]; c++)
		if (copies[member[group, c]] > 1) {
			d = take(member[group, c], "efficiency")
			e = deviation(a, d)
			sum += 100 * e / trimmed(a, d)
			n++
		}
	print variant, writers_in[group], spread, n ? sum / n : "", \
	    count >group_file
}

# print_spread: prints the difference between two writers and one, if both were
# measured
function print_spread(variant,  d, one, two, n, b) {
	one = variant SUBSEP "w1"
	two = variant SUBSEP "w2"
	if (!members[one] || !members[two] || rounds[variant] < 2)
		return
	for (d = 0; d < draws / 4; d++) {
		draw_rounds(variant)
		b[++n] = cv(two, 1) - cv(one, 1)
	}
	sort(b, n)
	print variant, cv(two, 0) - cv(one, 0), b[int(0.025 * n) + 1], \
	    b[n - int(0.025 * n)] >spread_file
}

# print_order: prints the drift, and the least-squares slope of the deviations
# from each cell's median
function print_order(variant,  i, n, r, c, x, y, sx, sy, sxx, sxy, syy, slope, error) {
	n = 0
	for (i = 1; i <= rounds[variant]; i++) {
		r = round_at[variant, i]
		if ((variant, "first", r) in ends && (variant, "last", r) in ends)
			a[++n] = ends[variant, "last", r] / ends[variant, "first", r]
	}
	r = bounded(n)
	n = sx = sy = sxx = sxy = syy = 0
	for (c = 1; c <= cells; c++) {
		if (variant_of[order[c]] != variant || copies[order[c]] < 2)
			continue
		for (i = 1; i <= copies[order[c]]; i++) {
			x = value[order[c], i, "pos"]
			y = log(value[order[c], i, "copy_s"] / copy[order[c]])
			n++
			sx += x; sy += y; sxx += x * x; sxy += x * y; syy += y * y
		}
	}
	slope = error = ""
	if (n > 5 && n * sxx - sx * sx > 0) {
		slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
		error = (syy - sy * sy / n - slope * (sxy - sx * sy / n)) / (n - 2)
		error = error > 0 ? sqrt(error / (sxx - sx * sx / n)) : 0
	}
	print variant, r, slope, error, rounds[variant] >order_file
}

BEGIN {
	OFS = "\t"
	CONVFMT = OFMT = "%.12g"
	cell_file = ENVIRON["told"] ".cell"
	group_file = ENVIRON["told"] ".group"
	spread_file = ENVIRON["told"] ".spread"
	order_file = ENVIRON["told"] ".order"
	medians = split("ratio logical_B files_B all_B apparent_B files_n " \
	    "cpu_s daemon_s per_both", median_of, " ")
	print_heads()
	draws = 2000
	state = (seed * 7919 + 12345) % 2147483647
	if (state < 1)
		state = 1
}
!csv_row() { next }
{
	variant = get("variant")
	round = get("round")
	if (!((variant, round) in seen)) {
		seen[variant, round] = 1
		round_at[variant, ++rounds[variant]] = round
		if (rounds[variant] == 1)
			variant_at[++variants] = variant
	}
	writers = get("writers")
	if (writers == "first" || writers == "last") {
		ends[variant, writers, round] = get("copy_s")
		next
	}
	cell = variant SUBSEP get("algorithm") SUBSEP writers
	if (!(cell in copies)) {
		order[++cells] = cell
		group = variant SUBSEP writers
		if (!(group in members)) {
			group_at[++groups] = group
			variant_in[group] = variant
			writers_in[group] = writers
		}
		member[group, ++members[group]] = cell
		variant_of[cell] = variant
		algorithm_of[cell] = get("algorithm")
		name_of[cell] = get("name")
		writers_of[cell] = writers
	}
	n = ++copies[cell]
	for (name in at)
		value[cell, n, name] = get(name)
}
END {
	for (c = 1; c <= cells; c++) {
		cell = order[c]
		copy[cell] = middle(cell, "copy_s")
		durable[cell] = middle(cell, "durable_s")
		ratio[cell] = middle(cell, "ratio")
		center[cell] = middle(cell, "efficiency")
		all[cell] = middle(cell, "all_B")
	}
	for (g = 1; g <= groups; g++) {
		group = group_at[g]
		ranks(group)
		bootstrap(group, variant_in[group], "efficiency")
		bootstrap(group, variant_in[group], "per_both")
		for (c = 1; c <= members[group]; c++)
			print_cell(member[group, c], group, variant_in[group])
		print_group(group, variant_in[group])
	}
	for (v = 1; v <= variants; v++) {
		print_spread(variant_at[v])
		print_order(variant_at[v])
	}
}

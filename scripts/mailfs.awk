# mailfs.awk - what the mail study makes of its copies
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f stats.awk -f mailfs.awk -v seed=N RUNS.tsv, with the columns of
# mailfs-rows.awk: TSV, a line each of
#   cell    variant algorithm writers n, copy: median lo hi, durable: median,
#           efficiency: median lo hi, mean of quotients, quotient of means,
#           trimmed (values dropped at each end), mean seconds, mean ratio, CV
#           of the efficiency in per cent, rank by median, per cent of draws
#           in which it comes first, and first of the study's ten; ratio as
#           printed, bytes: records, files, all, source; files, CPU, daemon,
#           of the block's ends: median lo hi, front; ratio over CPU and daemon,
#           and the draws in which that comes first, of the ten
#   group   variant writers: CV over all copies as the study has it, mean of
#           the cells' own, copies, cells
#   spread  variant: CV of two writers less that of one, lo, hi
#   order   variant: drift, last end of the block over the first: median lo
#           hi; slope of the logarithm of time by place, and its error
# Means are the study's: trimmed by 10 % as R does it, which below 10 values
# drops none.  Draws (2000) are of whole rounds, so that what a round had in
# common stays in common.  front has p where no other cell of the writers is
# both faster and of higher printed ratio, d where none is sooner durable and
# smaller on disk.

function random() {
	state = state * 48271 % 2147483647
	return state / 2147483647
}

# trimmed A N: R's mean(x, trim = 0.1); the values dropped at each end to drop
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

# take CELL COLUMN: into a, how many
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

# bounded N: median and interval of a, as three fields
function bounded(n,  m, k) {
	if (!n)
		return "\t\t"
	m = median(a, n)
	k = rank(n)
	return m "\t" (k < 1 ? "\t" : a[k] "\t" a[n + 1 - k])
}

function average(cell, column) { return trimmed(a, take(cell, column)) }

# of_ends CELL: times over the mean of those of the block's ends
function of_ends(cell, variant,  i, n, r, end) {
	n = 0
	for (i = 1; i <= copies[cell]; i++) {
		r = value[cell, i, 4]
		if (!((variant, "first", r) in ends) ||
		    !((variant, "last", r) in ends))
			continue
		end = (ends[variant, "first", r] + ends[variant, "last", r]) / 2
		a[++n] = value[cell, i, 6] / end
	}
	return bounded(n)
}

# of_study ALGORITHM: one of the ten, or what stands for it
function of_study(algorithm) {
	return algorithm ~ /^(gzip|zlib)-[1-9]$/ || algorithm ~ /^(lzjb|lzo)$/
}

# draw_rounds VARIANT: how often each of its rounds is in the draw
function draw_rounds(variant,  i) {
	for (i = 1; i <= rounds[variant]; i++)
		times[round_at[variant, i]] = 0
	for (i = 1; i <= rounds[variant]; i++)
		times[round_at[variant, 1 + int(random() * rounds[variant])]]++
}

# drawn CELL COLUMN: its median in the draw
function drawn(cell, column,  i, n, t, b) {
	n = 0
	for (i = 1; i <= copies[cell]; i++)
		for (t = times[value[cell, i, 4]]; t > 0; t--)
			if (value[cell, i, column] != "")
				b[++n] = value[cell, i, column]
	return n ? median(b, n) : ""
}

# bootstrap GROUP VARIANT COLUMN: the draws in which a cell comes first by it
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

# front CELL GROUP: see above
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

# cv GROUP DRAWN: of all its copies of the study's ten, or if it has none of
# all, as the study has it; of those in the draw if DRAWN
function cv(group, is_draw,  c, cell, i, t, n, ten) {
	for (c = 1; c <= members[group]; c++)
		ten += of_study(algorithm_of[member[group, c]])
	n = 0
	for (c = 1; c <= members[group]; c++) {
		cell = member[group, c]
		if (ten && !of_study(algorithm_of[cell]))
			continue
		for (i = 1; i <= copies[cell]; i++)
			for (t = is_draw ? times[value[cell, i, 4]] : 1; t > 0; t--)
				a[++n] = value[cell, i, 9]
	}
	count = n
	if (n < 2)
		return ""
	i = deviation(a, n)
	return 100 * i / trimmed(a, n)
}

# share_of_ten CELL COLUMN: per cent of the draws
function share_of_ten(cell, column) {
	return of_study(algorithm_of[cell]) && take(cell, column) ? \
	    100 * wins10[cell, column] / draws : ""
}

function print_cell(cell, group, variant,  line, n, rows, time, d) {
	line = "cell" OFS variant OFS algorithm_of[cell] OFS \
	    writers_of[cell] OFS copies[cell]
	line = line OFS bounded(take(cell, 6)) OFS durable[cell]
	line = line OFS bounded(take(cell, 9))
	time = average(cell, 6)
	line = line OFS average(cell, 9) OFS average(cell, 8) / time OFS drop
	line = line OFS time OFS average(cell, 8)
	n = take(cell, 9)
	d = deviation(a, n)
	line = line OFS 100 * d / trimmed(a, n)
	line = line OFS standing[cell] OFS 100 * wins[cell, 9] / draws OFS \
	    share_of_ten(cell, 9)
	line = line OFS ratio[cell] OFS middle(cell, 10) OFS middle(cell, 11) \
	    OFS all[cell] OFS middle(cell, 13) OFS middle(cell, 14) OFS \
	    middle(cell, 15) OFS middle(cell, 16)
	print line OFS of_ends(cell, variant) OFS front(cell, group) OFS \
	    middle(cell, 18) OFS share_of_ten(cell, 18)
}

function print_group(group, variant,  c, n, sum, spread) {
	spread = cv(group, 0)
	n = sum = 0
	for (c = 1; c <= members[group]; c++)
		if (copies[member[group, c]] > 1) {
			d = take(member[group, c], 9)
			e = deviation(a, d)
			sum += 100 * e / trimmed(a, d)
			n++
		}
	print "group", variant, writers_in[group], cv(group, 0),
	    n ? sum / n : "", count, members[group]
}

# print_spread: of both and of one, where both were measured
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
	print "spread", variant, cv(two, 0) - cv(one, 0),
	    b[int(0.025 * n) + 1], b[n - int(0.025 * n)]
}

# print_order: drift, and the slope by least squares, of what differs from the
# median of its cell
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
			x = value[order[c], i, 5]
			y = log(value[order[c], i, 6] / copy[order[c]])
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
	print "order", variant, r, slope, error
}

BEGIN {
	FS = OFS = "\t"
	CONVFMT = OFMT = "%.12g"
	draws = 2000
	state = (seed * 7919 + 12345) % 2147483647
	if (state < 1)
		state = 1
}
{
	if (!(($1, $4) in seen)) {
		seen[$1, $4] = 1
		round_at[$1, ++rounds[$1]] = $4
		if (rounds[$1] == 1)
			variant_at[++variants] = $1
	}
	if ($3 == "first" || $3 == "last") {
		ends[$1, $3, $4] = $6
		next
	}
	cell = $1 SUBSEP $2 SUBSEP $3
	if (!(cell in copies)) {
		order[++cells] = cell
		group = $1 SUBSEP $3
		if (!(group in members)) {
			group_at[++groups] = group
			variant_in[group] = $1
			writers_in[group] = $3
		}
		member[group, ++members[group]] = cell
		variant_of[cell] = $1
		algorithm_of[cell] = $2
		writers_of[cell] = $3
	}
	n = ++copies[cell]
	for (i = 4; i <= 18; i++)
		value[cell, n, i] = $i
}
END {
	for (c = 1; c <= cells; c++) {
		cell = order[c]
		copy[cell] = middle(cell, 6)
		durable[cell] = middle(cell, 7)
		ratio[cell] = middle(cell, 8)
		center[cell] = middle(cell, 9)
		all[cell] = middle(cell, 12)
	}
	for (g = 1; g <= groups; g++) {
		group = group_at[g]
		ranks(group)
		bootstrap(group, variant_in[group], 9)
		bootstrap(group, variant_in[group], 18)
		for (c = 1; c <= members[group]; c++)
			print_cell(member[group, c], group, variant_in[group])
		print_group(group, variant_in[group])
	}
	for (v = 1; v <= variants; v++) {
		print_spread(variant_at[v])
		print_order(variant_at[v])
	}
}

# mailfs-study.awk - examine the study's published table
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f stats.awk -f mailfs-study.awk PUBLISHED: algorithm, writers,
# efficiency, seconds, ratio, with a header.

# ordered WRITERS QUOTIENT: returns the algorithms by efficiency, best first
function ordered(writers, quotient,  i, j, n, name, e, x, s) {
	for (i = 1; i <= algorithms; i++) {
		name[++n] = algorithm[i]
		e[n] = quotient ? \
		    ratio[algorithm[i], writers] / time[algorithm[i], writers] : \
		    eff[algorithm[i], writers]
		for (j = n; j > 1 && e[j] > e[j - 1]; j--) {
			x = e[j]; e[j] = e[j - 1]; e[j - 1] = x
			x = name[j]; name[j] = name[j - 1]; name[j - 1] = x
		}
	}
	for (i = 1; i <= n; i++)
		s = s (i > 1 ? " " : "") name[i]
	return s
}

# between WRITERS: returns the CV of the ten printed efficiencies
function between(writers,  i, mean, sum) {
	for (i = 1; i <= algorithms; i++)
		mean += eff[algorithm[i], writers] / algorithms
	for (i = 1; i <= algorithms; i++)
		sum += (eff[algorithm[i], writers] - mean) ^ 2
	return 100 * sqrt(sum / (algorithms - 1)) / mean
}

# within WRITERS TOTAL: returns the CV of a cell's five runs, derived from those
# of all fifty runs and of the ten means, if the trimmed mean of all is close to
# the untrimmed mean
function within(writers, total,  b) {
	b = between(writers)
	return sqrt((49 * total ^ 2 - 45 * b ^ 2) / 40)
}

BEGIN { FS = "\t" }
NR == 1 { next }
{
	if ($2 == 1)
		algorithm[++algorithms] = $1
	eff[$1, $2] = $3
	time[$1, $2] = $4
	ratio[$1, $2] = $5
	seconds += $4
	mean_time[$2] += $4 / 10
	mean_eff[$2] += $3 / 10
	q = $3 / ($5 / $4)
	if (least == "" || q < least) {
		least = q
		least_of = $1 "," $2
	}
	if (q > most) {
		most = q
		most_of = $1 "," $2
	}
}
END {
	printf "The study's own figures, from its table:\n"
	printf "  time: the printed seconds are means of 5 runs: their sum times 5 is %.2f h (the study says 13 hours)\n",
	    seconds * 5 / 3600
	printf "  trim: a mean trimmed by 10 %% drops floor(0.1 x 5) = %d of 5 values\n",
	    int(0.1 * 5)
	printf "  efficiency: its mean of quotients is %.3f (%s) to %.3f (%s) of the printed ratio over the printed time\n",
	    least, least_of, most, most_of
	for (w = 1; w <= 2; w++) {
		printf "  order with %d writer%s, mean of quotients:  %s\n", w,
		    (w > 1 ? "s" : ""), ordered(w, 0)
		printf "                        quotient of means:  %s%s\n",
		    (w > 1 ? " " : ""), ordered(w, 1)
	}
	r = mean_eff[2] / mean_eff[1]
	t = mean_time[2] / mean_time[1]
	printf "  two writers: %.3f of the efficiency of one, %.2f times the time, for twice the files written:\n",
	    r, t
	printf "    a file takes %.2f times as long; doubling explains %.0f %% of the loss (in logarithms)\n",
	    t / 2, 100 * log(2) / log(1 / r)
	one = 21.56343
	two = 29.74183
	printf "  variance: %.2f and %.2f %% of the mean over all runs: %.2f points more, or %.1f %%\n",
	    one, two, two - one, 100 * (two / one - 1)
	printf "    the ten means alone vary by %.2f and %.2f %%, so the runs in a cell vary by about %.0f and %.0f %%\n",
	    between(1), between(2), within(1, one), within(2, two)
}

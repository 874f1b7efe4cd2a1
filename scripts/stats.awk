# stats.awk - compute medians and exact intervals; load it before the program
# that uses it
# SPDX-License-Identifier: BSD-2-Clause

# sorts a[1..n] by value; fast enough, because n is only the number of runs
function sort(a, n,  i, j, x) {
	for (i = 2; i <= n; i++) {
		x = a[i]
		for (j = i - 1; j > 0 && a[j] > x; j--)
			a[j + 1] = a[j]
		a[j + 1] = x
	}
}

function median(a, n) {
	sort(a, n)
	return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

# The k-th and the (n+1-k)-th of n values enclose the median with a probability
# of at least 95 %, for the largest k such that a binomial (n, 1/2) variate is
# below k with a probability of at most 2.5 %.
function rank(n,  p, sum, k) {
	p = 1 / 2 ^ n
	sum = 0
	for (k = 0; k < n; k++) {
		sum += p
		if (sum > 0.025)
			break
		p = p * (n - k) / (k + 1)
	}
	return k
}

# bounds A N: sets lo and hi to the interval of the median of a[1..n], sorted;
# empty if n is below 6
function bounds(a, n,  k) {
	lo = hi = ""
	k = rank(n)
	if (k < 1)
		return
	sort(a, n)
	lo = a[k]
	hi = a[n + 1 - k]
}

# tail N K: returns the probability of K or fewer heads in N tosses
function tail(n, k,  p, sum, i) {
	p = 1 / 2 ^ n
	sum = 0
	for (i = 0; i <= k && i <= n; i++) {
		sum += p
		p = p * (n - i) / (i + 1)
	}
	return sum
}

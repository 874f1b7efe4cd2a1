# shuffle.awk - give each line a random number, by which sort(1) shuffles them
# SPDX-License-Identifier: BSD-2-Clause
# awk -v seed=N -f shuffle.awk: Lehmer's algorithm, the same on every machine
BEGIN {
	x = (seed * 7919 + 12345) % 2147483647
	if (x < 1)
		x = 1
}
{
	for (i = 0; i < 3; i++)
		x = x * 48271 % 2147483647
	printf "%010d\t%s\n", x, $0
}

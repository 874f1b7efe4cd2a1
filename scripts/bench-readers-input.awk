# bench-readers-input.awk - print about n bytes, alternating text and noise
# SPDX-License-Identifier: BSD-2-Clause
BEGIN {
	srand(1)
	for (done = 0; done < n; ) {
		if (int(done / 100000) % 10 == 9) {
			line = ""
			while (length(line) < 1000)
				line = line sprintf("%c",
				    32 + int(95 * rand()))
		} else
			line = sprintf("%d %d the quick brown fox %d",
			    ++i, i * i % 977, int(1000 * rand()))
		print line
		done += length(line) + 1
	}
}

# report-launch.awk - files and bytes that a launch opens, as touchlog lists them
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -f report-launch.awk LIST.tsv: TSV of a label, the seconds, if
# touchlog has told them, or else the number of files opened until then, and the
# MB requested from them.

$1 ~ /^[0-9]+$/ && NF >= 4 {
	if (!($1 in seen)) {
		seen[$1] = 1
		files++
		if (NF >= 5) {
			timed = 1
			time[files] = $5
		}
	}
	bytes[files] += $4
}

END {
	if (!files)
		exit
	print "label\t" (timed ? "s" : "files") "\tMB"
	print "bytes\t0\t0"
	step = files > 200 ? files / 200 : 1
	for (i = 1; i <= files; i++) {
		sum += bytes[i]
		if (i < next_at && i < files)
			continue
		next_at += step
		printf timed ? "bytes\t%.3f\t%.3f\n" : "bytes\t%d\t%.3f\n", \
		    timed ? time[i] : i, sum / 1e6
	}
	if (!timed)
		exit
	# the share of the files, as MB of all
	print "files, as a share\t0\t0"
	next_at = 0
	for (i = 1; i <= files; i++) {
		if (i < next_at && i < files)
			continue
		next_at += step
		printf "files, as a share\t%.3f\t%.3f\n", time[i], \
		    sum / 1e6 * i / files
	}
}

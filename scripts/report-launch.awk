# report-launch.awk - files and bytes that a launch opens, as touchlog lists them
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -f report-launch.awk LIST.tsv: TSV of a label, the number of files
# opened until then, in the order of opening, and the MB requested from them.

$1 ~ /^[0-9]+$/ && NF >= 4 {
	if (!($1 in seen)) {
		seen[$1] = 1
		files++
	}
	bytes[files] += $4
}

END {
	if (!files)
		exit
	print "label\tfiles\tMB"
	print "launch\t0\t0"
	step = files > 200 ? files / 200 : 1
	for (i = 1; i <= files; i++) {
		sum += bytes[i]
		if (i < next_at && i < files)
			continue
		next_at += step
		printf "launch\t%d\t%.3f\n", i, sum / 1e6
	}
}

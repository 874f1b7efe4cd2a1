# time-left.awk - print ", M:SS left" for the cells of a study from line N on
# SPDX-License-Identifier: BSD-2-Clause
# awk -F '\t' -v from=N -f time-left.awk TOOK LEFT
FNR == 1 { file++ }
/^#/ { next }
file == 1 {
	sum[$1] += $3 - $2
	n[$1]++
	all += $3 - $2
	count++
	next
}
FNR >= from {
	sub(/^[0-9]*[.]/, "")
	left += $1 in n ? sum[$1] / n[$1] : count ? all / count : 0
}
END {
	if (count && left < 3600)
		printf ", %d:%02d left", left / 60, left % 60
	else if (count)
		printf ", %d:%02d:%02d left", left / 3600,
		    left / 60 % 60, left % 60
}

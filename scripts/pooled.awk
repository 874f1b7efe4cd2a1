# pooled.awk - join the pairs of each round to one
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -F '\t' -f pooled.awk a=A b=B factor=X: see pooled in findings.sh
{
	round = $1 "," $2
	log_of[$4, $3, round] = log($5)
	names[$3]
	rounds[round]
}
function row(label, x) {
	sub(/,/, "," label ",", round)
	printf "%s,all,unknown,%.9g,0,\n", round, x
	sub("," label ",", ",", round)
}
END {
	print "series,label,run,stage,cache,wall_s,exit,signal"
	for (round in rounds) {
		n = sum_a = sum_b = 0
		for (name in names) {
			if (!((a, name, round) in log_of) ||
			    !((b, name, round) in log_of))
				continue
			n++
			sum_a += log_of[a, name, round]
			sum_b += log_of[b, name, round]
		}
		if (!n)
			continue
		row(a, exp(sum_a / n) * factor)
		row(b, exp(sum_b / n))
	}
}

# holm.awk - print how many of a report's verdicts may be due to chance
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -F '\t' -f holm.awk VERDICTS: name and p-value, sorted by p-value.  Each
# verdict is tested at 5 %; Holm's method limits the family-wise error rate to
# 5 %.
{
	name[NR] = $1
	chance[NR] = $2
	decided += $2 < 0.05
}
END {
	printf "%d finding%s tested, each with its own 95 %% interval; %d decided. Up to %.1f of these verdicts are expected to be wrong by chance. ",
	    NR, (NR > 1 ? "s were" : " was"), decided, NR * 0.05
	for (i = 1; i <= NR && chance[i] * (NR - i + 1) < 0.05; i++)
		stand = stand " " name[i]
	if (stand != "")
		printf "Holding their family-wise error to 5 %% (Holm) leaves these decided:%s.\n",
		    stand
	else {
		for (n = 6; NR * 2 / 2 ^ n >= 0.05; n++)
			;
		printf "Holding their family-wise error to 5 %% (Holm) leaves none decided; that needs at least %d rounds.\n",
		    n
	}
}

# image-export-words.awk - put what the image study found into words
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -F '\t' -f csv.awk -f stats.awk -f image-export-words.awk what=WHAT FILE:
#   knee  FILE has level, seconds, size and n by level: prints the knee of size
#         against log time, the point farthest from the line between the
#         first level and the last (0 if there is none); the last level; least n
#   step  FILE has level and size of levels 9 to 19: prints the level with the
#         largest step from the one before it
#   utilisation  FILE is a summary of utilisation, in place of the time: whether
#         zstd 1 with 8 threads leaves some of $cpus processors idle; the share
#         used by other processes is in others in the environment

function knee(  i, x, y, best, level) {
	for (i = 2; i < rows; i++) {
		x = log_s[rows] == log_s[1] ? 0 : \
		    (log_s[i] - log_s[1]) / (log_s[rows] - log_s[1])
		y = size[1] == size[rows] ? 0 : \
		    (size[1] - size[i]) / (size[1] - size[rows])
		if (y - x > best) {
			best = y - x
			level = levels[i]
		}
	}
	print level + 0 "\t" levels[rows] "\t" least
}

function step(  i, most, level) {
	for (i = 2; i <= rows; i++)
		if (size[i - 1] - size[i] > most) {
			most = size[i - 1] - size[i]
			level = levels[i]
		}
	print level + 0
}

function utilisation(  most, lo, hi, others, verdict) {
	others = ENVIRON["others"]
	most = 8 < cpus ? 8 : cpus
	lo = get("wall_lo")
	hi = get("wall_hi")
	printf "    utilisation of zstd1.p8 < %.2f: study 6.0 of 8, here %.2f of %d",
	    0.9 * most, get("wall_s"), most
	if (lo != "")
		printf " [%.2f, %.2f]", lo, hi
	verdict = "not decided"
	if (lo == "")
		verdict = verdict ": fewer than 6 runs"
	else if (lo >= 0.9 * most)
		verdict = "does not hold here"
	else if (hi < 0.9 * most && others > 0.1)
		verdict = sprintf("not decided: other processes used %.0f %% of the processors", 100 * others)
	else if (hi < 0.9 * most)
		verdict = "holds here"
	print ": " verdict
}

what == "utilisation" {
	if (csv_row() && get("label") == "zstd1.p8" && get("wall_s") != "") {
		found = 1
		utilisation()
	}
	next
}
{
	levels[++rows] = $1
	size[rows] = what == "knee" ? $3 : $2
	if (what == "knee") {
		log_s[rows] = log($2)
		least = rows == 1 || $4 < least ? $4 : least
	}
}
END {
	if (what == "knee" && rows >= 4 && levels[1] == 1)
		knee()
	else if (what == "step" && rows == 11)
		step()
	else if (what == "utilisation" && !found)
		print "    zstd1.p8: not measured"
}

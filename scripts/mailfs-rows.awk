# mailfs-rows.awk - the mail study's rows, one line a copy
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v invalid=FILE -f mailfs-rows.awk ROWS.csv: TSV of variant, algorithm,
# writers (w1, w2, s2; first and last are the ends of a block), round, place
# in the block, seconds of the copy, seconds until it was durable, ratio as
# printed, efficiency (ratio over seconds of the copy), bytes of the records,
# of the files on disk, of everything on disk, of the source, number of files,
# seconds of processor of the copy and of the daemon, and where there is one
# of both, and the ratio over that.  A copy that failed, or was not what it was
# a copy of, goes to FILE instead, with the reason.

function get(name) { return name in at ? $(at[name]) : "" }

# key NAME: from the column keys
function key(name,  i) {
	for (i = 1; i <= pairs; i++)
		if (index(pair[i], name "=") == 1)
			return substr(pair[i], length(name) + 2)
	return ""
}

function reject(why) { print label, round, why >invalid }

# emit: the copy before, whose commit took so many seconds
function emit(commit, failed,  n, part, variant, i) {
	if (label == "")
		return
	if (why == "" && failed)
		why = "it could not be made durable"
	if (why != "") {
		reject(why)
		label = ""
		return
	}
	n = split(label, part, /[.]/)
	variant = part[1]
	for (i = 2; i < n - 1; i++)
		variant = variant "." part[i]
	print variant, part[n - 1], part[n], round, pos, copy, copy + commit,
	    ratio, ratio / copy, logical, files, all, apparent, files_n, cpu,
	    daemon, daemon == "" ? "" : cpu + daemon, \
	    daemon == "" ? "" : ratio / (cpu + daemon)
	label = ""
}

BEGIN {
	FS = ","
	OFS = "\t"
	CONVFMT = OFMT = "%.12g"
	printf "" >invalid
}
/^#/ { next }
!headed {
	for (i = 1; i <= NF; i++)
		at[$i] = i
	head = $0
	headed = 1
	next
}
$0 == head { next }
{
	bad = get("exit") + 0 || get("signal") + 0
	if (get("label") == label ".commit" && get("run") == round) {
		emit(get("wall_s"), bad)
		next
	}
	emit(0, 1)
	label = get("label")
	round = get("run")
	pos = get("pos")
	copy = get("wall_s")
	cpu = get("user_s") + get("sys_s")
	pairs = split(get("keys"), pair, ";")
	ratio = key("compressratio")
	logical = key("logical_B")
	files = key("files_B")
	all = key("all_B")
	apparent = key("apparent_B")
	files_n = key("files_n")
	daemon = key("daemon_s")
	why = ""
	if (bad)
		why = "the copy failed"
	else if (key("valid") != "yes")
		why = key("why")
	else if (ratio == "" || !(copy > 0))
		why = "without a ratio or a time"
}
END { emit(0, 1) }

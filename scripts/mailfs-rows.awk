# mailfs-rows.awk - convert the rows of the mail study to one line per copy
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f mailfs-rows.awk ROWS.csv: TSV with a header: variant,
# algorithm, name (that of the algorithm in the study which it stands for),
# writers (w1, w2, s2; first and last are the ends of a block), round, pos
# (position in the block); copy_s, the seconds of the copy; durable_s, the
# seconds until it was durable; ratio, as printed; efficiency, the ratio divided
# by copy_s; bytes of the records (logical_B), of the files on disk (files_B),
# of all data on disk (all_B), of the source (apparent_B); files_n; cpu_s of the
# copy, daemon_s, both_s and per_both, the ratio divided by both_s, if there is
# a daemon.  Copies that failed or are incorrect are written, with the reason,
# to the file given by invalid in the environment.

function reject(why) { print label, round, why >invalid }

# emit COMMIT BAD: prints the previous copy, whose commit took COMMIT seconds
function emit(commit, is_bad,  n, part, variant, name, i) {
	if (label == "")
		return
	if (why == "" && is_bad)
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
	name = part[n - 1]
	sub(/^zlib/, "gzip", name)
	sub(/^lzo$/, "lzjb", name)
	print variant, part[n - 1], name, part[n], round, pos, copy, copy + commit,
	    ratio, ratio / copy, logical, files, all, apparent, files_n, cpu,
	    daemon, daemon == "" ? "" : cpu + daemon, \
	    daemon == "" ? "" : ratio / (cpu + daemon)
	label = ""
}

BEGIN {
	OFS = "\t"
	invalid = ENVIRON["invalid"]
	CONVFMT = OFMT = "%.12g"
	printf "" >invalid
	print "variant\talgorithm\tname\twriters\tround\tpos\tcopy_s\tdurable_s\tratio", \
	    "efficiency\tlogical_B\tfiles_B\tall_B\tapparent_B\tfiles_n\tcpu_s", \
	    "daemon_s\tboth_s\tper_both"
}
!csv_row() { next }
{
	bad = failed()
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

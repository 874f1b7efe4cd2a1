# bench-readers.awk - print the table of scripts/bench-readers, and the failures
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v versions=FILE -v formats='gzip ...' -f bench-readers.awk ROWS.csv
BEGIN {
	FS = ","
	count = split(formats, format, " ")
	while ((getline line <versions) > 0)
		if (sub(/^# reader: /, "", line)) {
			name = line
			sub(/: .*/, "", name)
			sub(/^[^:]*: /, "", line)
			version[name] = line
		}
}
FNR == 1 { next }
{
	if (!($1 in seen)) {
		seen[$1] = 1
		reader[++readers] = $1
	}
	side = $4 ~ /^peer/ ? "theirs" : "ours"
	tried[$1, $2, side]++
	# a verdict may contain commas; "good, status 1" does not count as good
	good[$1, $2, side] += $6 == "good" && NF == 6
	if ($6 != "good" || NF > 6) {
		text = $6
		for (i = 7; i <= NF; i++)
			text = text "," $i
		way = $4
		if (sub(/^peer/, "", way))
			way = (way == "" ? "named" : "pipe") \
			    ", by the format's own tool"
		failure[++failures] = sprintf("| %s | %s | %s bytes, %s | %s |",
		    $1, $2, $3, way, text)
	}
}
function cell(r, f,    ours, theirs) {
	if (!((r, f, "ours") in tried))
		return ""
	ours = (0 + good[r, f, "ours"]) " of " tried[r, f, "ours"]
	theirs = (0 + good[r, f, "theirs"]) " of " tried[r, f, "theirs"]
	if ((good[r, f, "ours"] == tried[r, f, "ours"]) == \
	    (good[r, f, "theirs"] == tried[r, f, "theirs"]) || \
	    !((r, f, "theirs") in tried))
		return ours
	return ours " (" theirs ")"
}
END {
	printf "| reader |"
	for (k = 1; k <= count; k++)
		printf " %s |", format[k]
	printf "\n|---|"
	for (k = 1; k <= count; k++)
		printf "---|"
	printf "\n"
	for (i = 1; i <= readers; i++) {
		printf "| %s", reader[i]
		if (index(version[reader[i]], reader[i] " ") == 1)
			printf "%s |", substr(version[reader[i]],
			    length(reader[i]) + 1)
		else
			printf " (%s) |", version[reader[i]]
		for (k = 1; k <= count; k++)
			printf " %s |", cell(reader[i], format[k])
		printf "\n"
	}
	if (failures == 0) {
		print "\nNothing failed."
		exit
	}
	print "\n| reader | format | input | result |"
	print "|---|---|---|---|"
	for (i = 1; i <= failures; i++)
		print failure[i]
}

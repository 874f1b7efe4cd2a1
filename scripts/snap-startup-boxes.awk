# snap-startup-boxes.awk - write the undisturbed runs of an application to files
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f snap-startup-boxes.awk app=APP words='SUFFIX...' prefix=FILE
# ROWS.csv: writes the rows APP.IMAGE.SUFFIX to FILE.1, FILE.2 and so on, one
# file per suffix, as blocks of lines: position, ms, image, suffix; and the
# positions of the blocks to FILE.1.at and so on.  Prints the number and the
# name of each image.
FNR == 1 {
	suffixes = split(words, suffix, " ")
	count = split("try none lz4 lzo gzip zstd15 xz", image, " ")
	for (i = 1; i <= count; i++)
		place[image[i]] = i
}
csv_row() && !failed() && index(get("label"), app ".") == 1 {
	rest = substr(get("label"), length(app) + 2)
	for (s = 1; s <= suffixes; s++) {
		name = substr(rest, 1, length(rest) - length(suffix[s]) - 1)
		if (rest != name "." suffix[s])
			continue
		if (!(name in place)) {
			image[++count] = name
			place[name] = count
		}
		ms[name, s, ++n[name, s]] = 1000 * get("wall_s")
		used[name]
	}
}
END {
	for (i = 1; i <= count; i++) {
		if (!(image[i] in used))
			continue
		print ++pos, image[i]
		for (s = 1; s <= suffixes; s++)
			block(image[i], s)
	}
}
# runs are drawn side by side, so that each is visible
function block(name, s,  k, file, middle) {
	if (!n[name, s])
		return
	file = prefix "." s
	middle = pos + (s - (suffixes + 1) / 2) * 0.8 / suffixes
	print middle >(file ".at")
	for (k = 1; k <= n[name, s]; k++)
		printf "%.3f\t%.1f\t%s\t%s\n", middle + \
		    (k % 5 - 2) * 0.02, ms[name, s, k], name,
		    suffix[s] >file
	printf "\n\n" >file
}

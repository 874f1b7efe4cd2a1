# image-export-proven.awk - leave out the starts that were not proven cold
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f image-export-proven.awk content=BYTES ROWS.csv: prints the
# other rows, with the size of the content for images that lack it, and writes
# the number of those left out to the file given by warm in the environment.
!csv_row() { print; next }
get("label") ~ /\.start$/ && get("cache") != "cold" && !failed() {
	n++
	next
}
{
	if (key("image_B") != "" && key("plain_B") == "")
		$at["keys"] = get("keys") ";plain_B=" content
	print csv_line()
}
END { print n + 0 >ENVIRON["warm"] }

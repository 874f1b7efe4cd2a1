# snap-startup-proven.awk - leave out the rows of launches that were disturbed
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f snap-startup-proven.awk ROWS.csv ROWS.csv: prints the other
# rows, and writes what was left out, and why, to the file given by disturbed in
# the environment.  A cold launch was disturbed if any of its image was in
# memory before it, or if it made more than 1.2 times the smallest number of
# requests of any launch with its label: in that case, data was dropped from the
# cache in the meantime and read twice.
FNR == 1 { file++ }
!csv_row() {
	if (file == 2)
		print
	next
}
{
	label = get("label")
	n = key("loop_n")
}
file == 1 {
	if (n != "" && !failed() && (!(label in least) || n + 0 < least[label]))
		least[label] = n + 0
	next
}
{ why = "" }
label !~ /[.]second$/ && key("before_B") + 0 > 0 {
	why = "in memory before: " key("before_B") " bytes"
}
why == "" && n != "" && label in least && least[label] > 100 &&
    n + 0 > 1.2 * least[label] {
	why = n " requests, the minimum is " least[label]
}
why != "" {
	print label ", run " get("run") ": " why >ENVIRON["disturbed"]
	next
}
{ print csv_line() }

# sweep.awk - summarize the rows of a sweep, one line per setting
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f stats.awk -f sweep.awk order=FILE ROWS.csv: TSV with a header:
# setting; images, of which it failed on any run; sums over images of the median
# cpu_s, wall_s and size_B; the medians over images of the ratio to the first
# setting, with 95 % intervals (cpu, cpu_lo, cpu_hi, wall...), and the ratio of
# the sums of sizes.  An image counts in a ratio if both have succeeded on it.

function add(setting, image, name, v) {
	if (v != "")
		value[setting, image, name, ++count[setting, image, name]] = v
}

# of SETTING IMAGE NAME: the median over runs, empty if there is none
function of(setting, image, name,  i, n, a) {
	n = count[setting, image, name]
	for (i = 1; i <= n; i++)
		a[i] = value[setting, image, name, i] + 0
	return n ? median(a, n) : ""
}

# fields NAME: a median ratio and its interval, as three fields
function fields(setting, name,  i, n, a, x, y) {
	for (i = 1; i <= images; i++) {
		x = of(setting, image_of[i], name)
		y = of(settings[1], image_of[i], name)
		if (x != "" && y + 0)
			a[++n] = x / y
	}
	if (!n)
		return OFS OFS
	x = median(a, n)
	bounds(a, n)
	return x OFS lo OFS hi
}

function sum(setting, name,  i, s, x) {
	for (i = 1; i <= images; i++) {
		x = of(setting, image_of[i], name)
		if (x != "")
			s += x
	}
	return s
}

# size_ratio SETTING: of the images of which both have a size
function size_ratio(setting,  i, x, y, a, b) {
	for (i = 1; i <= images; i++) {
		x = of(setting, image_of[i], "size")
		y = of(settings[1], image_of[i], "size")
		if (x != "" && y != "") {
			a += x
			b += y
		}
	}
	return b ? a / b : ""
}

BEGIN { OFS = "\t" }
csv_row() && get("stage") == "all" {
	image = key("image")
	if (!(image in known)) {
		known[image] = 1
		image_of[++images] = image
	}
	setting = get("label")
	if (!tried[setting, image]++)
		tries[setting]++
	if (failed()) {
		if (!bad[setting, image]++)
			failures[setting]++
		next
	}
	add(setting, image, "wall", get("wall_s"))
	add(setting, image, "cpu", get("user_s") + get("sys_s"))
	add(setting, image, "size", key("size_B"))
}
END {
	while ((getline line <order) > 0)
		settings[++n] = line
	print "setting", "images", "failed", "cpu_s", "wall_s", "size_B",
	    "cpu", "cpu_lo", "cpu_hi", "wall", "wall_lo", "wall_hi", "size"
	for (s = 1; s <= n; s++)
		print settings[s], tries[settings[s]] + 0,
		    failures[settings[s]] + 0, sum(settings[s], "cpu"),
		    sum(settings[s], "wall"), sum(settings[s], "size"),
		    fields(settings[s], "cpu"), fields(settings[s], "wall"),
		    size_ratio(settings[s])
}

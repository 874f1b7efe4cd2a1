# bundle.awk - print rows with numbers in place of names of files
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f csv.awk -f bundle.awk known=FILE ROWS: names are the values of columns
# called place, path, file, name or image, those of keys of these names, and
# whatever contains a slash.  A name gets the same number wherever it occurs; FILE
# has the names so far, one a line.

function number(name,  i) {
	if (!(name in numbers)) {
		numbers[name] = ++n
		print name >>known
		close(known)
	}
	return "n" numbers[name]
}

function is_named(what) {
	return what ~ /^(place|path|file|name|image|dir|input|target)$/
}

# keys VALUE: the same with numbers for names
function keys(value,  i, m, part, k, v, s) {
	m = split(value, part, ";")
	for (i = 1; i <= m; i++) {
		k = v = part[i]
		if (sub(/=.*/, "", k) && sub(/^[^=]*=/, "", v) && v != "" && \
		    (is_named(k) || v ~ /\//))
			part[i] = k "=" number(v)
		s = s (i > 1 ? ";" : "") part[i]
	}
	return s
}

FNR == 1 {
	while ((getline line <known) > 0)
		numbers[line] = ++n
	close(known)
}
!csv_row() {
	print
	next
}
{
	for (c in at) {
		v = get(c)
		if (v == "")
			continue
		if (c == "keys")
			$at[c] = keys(v)
		else if (is_named(c) || v ~ /\//)
			$at[c] = number(v)
	}
	print csv_line()
}

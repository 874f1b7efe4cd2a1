# tree.awk - create a small tree like a server's: logs, SQL, code and compressed
# data
# SPDX-License-Identifier: BSD-2-Clause
#
# dir=DIR awk -v kib=KIB -f tree.awk: about KIB kibibytes in files under
# DIR/{log,sql,src,data}, which must exist.  The contents are the same on every
# machine: random numbers are generated with Lehmer's algorithm in doubles, not
# with awk's rand().

function draw(n) {
	state = state * 48271 % 2147483647
	return int(state / 2147483647 * n)
}

function word(  i, n, s) {
	n = 2 + draw(3)
	s = ""
	for (i = 0; i < n; i++)
		s = s syllable[draw(48)]
	return s
}

# skewed: returns small numbers more often, like the frequencies of words in
# text
function skewed(n) {
	return int(n * (draw(1000) / 1000) ^ 3)
}

function log_line() {
	clock += draw(90)
	return sprintf("2012-03-%02d %02d:%02d:%02d 10.%d.%d.%d \"GET /%s/%s?id=%d\" %d %d",
	    1 + clock / 86400 % 28, clock / 3600 % 24, clock / 60 % 60,
	    clock % 60, skewed(8), skewed(64), draw(256),
	    vocabulary[skewed(600)], vocabulary[skewed(600)],
	    draw(1000000), draw(20) ? 200 : 404, draw(40000))
}

function sql_line() {
	return sprintf("INSERT INTO %s VALUES (%d,'%s %s','%s@%s.example',%d.%02d);",
	    vocabulary[skewed(20)], ++key, vocabulary[skewed(600)],
	    vocabulary[skewed(600)], vocabulary[skewed(600)],
	    vocabulary[skewed(90)], draw(900), draw(100))
}

function src_line() {
	if (draw(12) == 0)
		return "}\n\nstatic int\n" vocabulary[skewed(600)] "_" \
		    vocabulary[skewed(600)] "(struct " \
		    vocabulary[skewed(60)] " *p)\n{"
	return sprintf("\tif (p->%s %s %d)\n\t\treturn %s(p, %s);",
	    vocabulary[skewed(200)], draw(2) ? "==" : "<", draw(64),
	    vocabulary[skewed(300)], vocabulary[skewed(200)])
}

function data_line(  i, s) {
	s = ""
	for (i = 0; i < 76; i++)
		s = s substr(base64, 1 + draw(64), 1)
	return s
}

function line(kind) {
	if (kind == "log")
		return log_line()
	if (kind == "sql")
		return sql_line()
	if (kind == "src")
		return src_line()
	return data_line()
}

# fill KIND NUMBER SIZE: writes one file of about SIZE bytes
function fill(kind, number, size,  path, s, n) {
	path = sprintf("%s/%s/%04d", dir, kind, number)
	for (n = 0; n < size; n += length(s) + 1) {
		s = line(kind)
		print s >path
	}
	close(path)
	return n
}

BEGIN {
	dir = ENVIRON["dir"]
	state = 20120301
	base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for (i = 0; i < 48; i++)
		syllable[i] = substr("bcdfglmnprst", 1 + i % 12, 1) \
		    substr("aeio", 1 + int(i / 12), 1)
	for (i = 0; i < 600; i++)
		vocabulary[i] = word()
	split("src log src sql src data src log", kinds, " ")
	# Most files are small; most bytes are in a few large files.
	for (i = 0; total < kib * 1024; i++) {
		kind = kinds[1 + i % 8]
		size = 200 + 6000 * (draw(1000) / 1000) ^ 2
		if (i % 16 == 15) {
			kind = kinds[1 + int(i / 16) % 8]
			size = kib * 1024 / 24
		}
		total += fill(kind, i, size)
	}
}

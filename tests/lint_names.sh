#!/bin/sh
# No name is defined twice, external names begin with their module's name, and a
# static name means one thing: it stands in few files.  Every test has its place
# in a CMake file.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
have nm || skip_all 'no nm'

# Names that may stand in many files: main() and usage() are the same in every
# tool.
many=3

# symbols: prints each external symbol that a source file defines, the file, and
# its folder, separated by spaces.  A build folder may hold objects of files that
# are gone.
symbols() {
	(cd "$SRC/src" && find . -name '*.c' | sed 's,^\./,,') >sources
	(cd "${BIN:?}/CMakeFiles" && find . -path '*.dir/src/*' -name '*.c.o' \
	    ! -path '*-fault.dir/*' -exec nm -A -P --defined-only -g {} +) |
	    awk '
	NR == FNR { known[$1] = 1; next }
	$3 ~ /^[TDBRC]$/ {
		file = $1
		sub(/^.*\.dir\/src\//, "", file)
		sub(/\.o:$/, "", file)
		folder = file
		if (!sub("/[^/]*$", "", folder))
			folder = "."
		if (file in known)
			print $2, file, folder
	}' sources - | LC_ALL=C sort -u
}

# twice: prints names that two files define
twice() {
	awk '$1 != "main" { n[$1]++; files[$1] = files[$1] " " $2 }
	    END { for (s in n) if (n[s] > 1) print s ":" files[s] }' defined
}

# foreign: prints names that begin neither with a word of their file's path, nor
# with one of the words below, which stand for a module of their folder or for
# the table that a row belongs to
foreign() {
	awk '
	BEGIN {
		own["base"] = "strcopy base64"
		own["engine/bzip2"] = "bz2"
		own["engine/digest"] = "mac"
		own["engine/lzma"] = "lzma2 finder"
		own["engine/other"] = "lz4 lzjb zle"
		own["engine/packer"] = "packers"
		own["format"] = "carry codec codecs"
		own["format/gzip"] = "check zip zlib inflate codec"
		own["format/bzip2"] = own["format/lz4"] = "codec"
		own["format/xz"] = "lzma codec"
		own["format/zstd"] = "codec"
		own["fs/squashfs"] = "sqfs"
		own["image/source"] = "imgsrc"
		own["image/squashfs/read"] = "sq walk"
		own["image/squashfs/tables"] = "sqt"
		own["image/squashfs/write"] = "sqw"
		own["lazy/cvmfs"] = own["lazy/ztoc"] = "format"
		own["lazy/toc"] = "format layer"
		own["mail"] = "encode prng sizes together traits words"
		own["pipeline"] = "buf"
		own["tools/lapcmp"] = "cmp CMP"
		own["tools/layermount"] = "readahead unmount watch"
	}
	$1 == "main" { next }
	{
		path = $2
		sub(/\.c$/, "", path)
		gsub(/[\/_]/, " ", path)
		words = split(path " " own[$3], word, " ")
		name = $1
		sub(/_.*/, "", name)
		for (i = 1; i <= words; i++)
			if (word[i] == name || word[i] == name "s")
				next
		print $1 " (" $2 ")"
	}' defined
}

# crowded: prints static functions whose name stands in more than $many files
# shellcheck disable=SC2016
crowded() {
	(cd "$SRC" && find src -name '*.c' -exec awk '
	/^static / && !/[;={]/ { begun = FNR }
	begun == FNR - 1 && /^[a-z_0-9]+\(/ {
		name = $0
		sub(/\(.*/, "", name)
		print name, FILENAME
	}' {} +) | LC_ALL=C sort -u | cut -d ' ' -f 1 | uniq -c |
	    awk -v many=$many '$1 > many && $2 != "main" && $2 != "usage" {
		print $2 " (" $1 ")" }'
}

# forgotten: prints the shell tests that no CMake file runs
forgotten() {
	(cd "$SRC/tests" && for file in cli_*.sh root_*.sh long_*.sh san_*.sh \
	    lint_*.sh; do
		name=${file%.sh}
		kind=${name%%_*} name=${name#*_}
		grep -qw -e "shell_test($kind $name" \
		    -e "callers_test(${name%_callers}" \
		    -e "run.sh $file" ./*.cmake \
		    CMakeLists.txt || echo "$file"
	done)
}

symbols >defined
t 'there are symbols' 0 test "$(wc -l <defined)" -gt 300
is 'names defined twice' "$(twice)" ''
is 'names without their module' "$(foreign)" ''
is 'static names in many files' "$(crowded)" ''
is 'tests that nothing runs' "$(forgotten)" ''
done_testing

#!/bin/sh
# Tests trees whose paths are longer than system calls accept: they are built
# from a directory, excluded, extracted and compared, and the work is about
# proportional to the depth.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'

cat >dig.py <<'END'
# dig.py DIR DEPTH: nested directories, with files in some
import os
import sys
os.mkdir(sys.argv[1])
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    os.mkdir("d%03d" % (i % 1000))
    os.chdir("d%03d" % (i % 1000))
    if i % 100 == 99:
        with open("file%d" % i, "w") as f:
            f.write("content %d\n" % i)
        os.symlink("file%d" % i, "link%d" % i)
        os.link("file%d" % i, "name%d" % i)
        try:
            os.setxattr("file%d" % i, "user.depth", b"%d" % i)
        except OSError:
            pass
        os.utime("file%d" % i, (1, 1600000000 + i))
        os.chmod("file%d" % i, 0o640)
END
python3 dig.py tree 1300
(cd tree && tar --sort=name --xattrs --format=posix \
    --pax-option=delete=atime,delete=ctime -cf ../tree.tar .) 2>/dev/null

t 'from a directory' 0 sqpack -q -F lz4 -o image tree
t 'from an archive' 0 sqpack -q -F lz4 -o tarred tree.tar
t 'the same' 0 sqpack --diff tarred image
sqpack -l image >names
is 'all names are there' "$(wc -l <names)" $((1300 + 3 * 13))
t 'extracted' 0 sqpack -q -x out image
t 'and made again' 0 sqpack -q -F lz4 -o again out
t 'the same' 0 sqpack --diff image again
t 'coldwalk reads it' 0 coldwalk -q --summary image

# names to leave out lie deep, too
t 'without some' 0 sqpack -f -q -F lz4 --exclude 'link12*' -o less tree
is 'they are missing' "$(sqpack -l less | grep -c link12)" 0
is 'others are not' "$(sqpack -l less | grep -c link11)" 1
ln -s "$(command -v sqpack)" mksquashfs
t 'as mksquashfs' 0 ./mksquashfs tree less -quiet -no-progress -noappend \
    -wildcards -e '... file12*'
is 'they are missing' "$(sqpack -l less | grep -c file12)" 0
is 'others are not' "$(sqpack -l less | grep -c file11)" 1
t 'several sources' 0 ./mksquashfs tree dig.py less -quiet -no-progress \
    -noappend
is 'all names are there' "$(sqpack -l less | wc -l)" \
    $((1300 + 3 * 13 + 2))
t 'appended' 0 ./mksquashfs tree less -quiet -no-progress
is 'all names are there' "$(sqpack -l less | wc -l)" \
    $((2 * (1300 + 3 * 13) + 2))
t 'with a deep one that was renamed' 0 sh -c "sqpack -l less |
    awk -v p=\$(grep 'file1299\$' names) '\$0 == p' | grep -q ."

# directories opened along the way, which the kernel walks component by
# component
if have strace; then
	python3 dig.py half 650
	sqpack -q -F lz4 -o shallow half
	for image in shallow image; do
		strace -f -qq -o trace \
		    -e trace=openat2,openat,landlock_add_rule \
		    sqpack -q -x "x$image" $image
		# the slashes in all paths that were opened
		grep -o '"d[0-9/d]*"' trace | tr -cd / | wc -c >"$image.walked"
	done
	t 'twice the depth is at most three times the way' 0 test \
	    "$(cat image.walked)" -le $((3 * $(cat shallow.walked)))
	# and those built, whose files are looked at and opened
	for tree in half tree; do
		strace -f -qq -s 9999 -o trace \
		    -e trace=openat2,openat,newfstatat \
		    sqpack -f -q -F lz4 -o built $tree
		grep -o '"d[0-9/d]*[/"]' trace | tr -cd / | wc -c >$tree.walked
	done
	t 'to be built, too' 0 test \
	    "$(cat tree.walked)" -le $((3 * $(cat half.walked)))
	# from a file upward, the kernel looks for the rule of the sandbox
	if grep -q landlock_add_rule trace; then
		is 'a rule every 64 levels, and for the root' \
		    "$(grep -c 'landlock_add_rule.* = 0' trace)" \
		    $((1 + 1300 / 64))
	else
		skip 'the kernel has no Landlock'
	fi
else
	skip 'strace is not installed'
fi
rm -rf tree out half ximage xshallow
done_testing

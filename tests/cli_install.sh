#!/bin/sh
# What is installed is whole, and works where it lies.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

install_all() { DESTDIR=$PWD/root cmake --install "${BIN:?}" --prefix /usr; }

t 'install' 0 install_all
for page in "$SRC"/man/*.[1-8]; do
	[ -e "$page" ] || continue
	name=$(basename "$page")
	[ -x "$BIN/${name%.*}" ] || continue
	t "$name" 0 test -s "root/usr/share/man/man${name##*.}/$name"
	t "${name%.*}" 0 test -x "root/usr/bin/${name%.*}"
	t "${name%.*} -V" 0 "root/usr/bin/${name%.*}" -V
done
for script in tarball pipe-buffer image-export mailfs; do
	t "$script" 0 test -x "root/usr/libexec/coldpress/$script"
done
t 'lib.sh' 0 test -r root/usr/libexec/coldpress/lib.sh
for script in tarball image-export mailfs; do
	t "an installed $script runs" 0 \
	    sh "root/usr/libexec/coldpress/$script" -h
done
if [ -x "$BIN/pzc" ]; then
	seq 1000 >a
	t 'pzc' 0 to a.gz root/usr/bin/pzc -c a
	t 'unpzc' 0 to b root/usr/bin/unpzc -c a.gz
	same 'unpzc gives it back' a b
	t 'pzcat' 0 to c root/usr/bin/pzcat a.gz
	same 'pzcat gives it back' a c
fi
done_testing

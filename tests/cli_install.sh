#!/bin/sh
# The installation is complete and works.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

install_all() { DESTDIR=$PWD/root cmake --install "${BIN:?}" --prefix /usr; }

t 'install' 0 install_all
for page in "$SRC"/man/*.[1-8]; do
	[ -e "$page" ] || continue
	name=$(basename "$page")
	[ -x "$BIN/${name%.*}" ] || continue
	t "$name" 0 test -s "root/usr/share/man/man${name##*.}/$name"
	program=root/usr/bin/${name%.*}
	# the verbs of coldpress are beside its scripts
	case $name in
	coldpress-*) program=root/usr/libexec/coldpress/${name%.*} ;;
	esac
	t "${name%.*}" 0 test -x "$program"
	t "${name%.*} -V" 0 "$program" -V
	is "${name%.*} -V names the GPL if, and only if, LZO is linked" \
	    "$(grep -c 'lzo .*: .*GPL, version 3 or later$' .t.out)" \
	    "$(ldd "$program" 2>/dev/null | grep -c liblzo2)"
done
# Every script of the tree prints its usage, and refuses what it does not know
# before it does anything; so does every installed one.
libexec=$PWD/root/usr/libexec/coldpress
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' \
    "$SRC/CMakeLists.txt")
for tool in cmake ctest apt-get sudo; do
	fake $tool <<-EOF
		echo $tool >>"$PWD/called"
	EOF
done
for file in "$SRC"/scripts/*; do
	name=${file##*/}
	case $name in
	*.*) continue ;;
	esac
	[ -f "$file" ] || continue
	case $name in
	demo | check | mutate | analyze | coverage | cross | cvmfs-client | fuzz | \
	openzfs | package | simulate-lapcmp | simulate-registry | figures | campaign) ;;
	*)
		t "$name is installed" 0 test -x "$libexec/$name"
		t "$name: installed --help" 0 script "$libexec" "$name" --help
		shows 'prints the usage' "^usage: $name "
		t "$name: installed --version" 0 script "$libexec" "$name" \
		    --version
		is 'prints the version' "$(cat .t.out)" \
		    "$name (coldpress) $version"
		t "$name: installed --bogus" 2 script "$libexec" "$name" --bogus
		;;
	esac
	for option in -h --help; do
		t "$name $option" 0 env COLDPRESS_BIN="$PWD/fake:$BIN" \
		    "$file" $option
		shows 'prints the usage' "^usage: $name "
		is 'and no error' "$(cat .t.err)" ''
	done
	for option in -V --version; do
		t "$name $option" 0 env COLDPRESS_BIN="$PWD/fake:$BIN" \
		    "$file" $option
		shows 'prints the version' " (coldpress) $version\$"
	done
	t "$name --bogus" 2 env COLDPRESS_BIN="$PWD/fake:$BIN" \
	    "$file" --bogus
	is 'prints no usage to standard output' "$(cat .t.out)" ''
	is 'but an error' "$(grep -c . .t.err | sed 's/^[1-9].*/yes/')" yes
done
is 'these install, build and test nothing' "$(cat called 2>/dev/null)" ''
t 'and make no folder' 1 test -e results
t 'lib.sh' 0 test -r root/usr/libexec/coldpress/lib.sh
for page in LICENSE NEWS README.md SECURITY.md doc/mailfs.md \
    doc/image-export.md; do
	same "$page" "$SRC/$page" "root/usr/share/doc/coldpress/$page"
done
# What needs no root also runs to its last line, from the tree and from the
# folder in which it was installed; tests/root_scripts.sh runs the others.
mkdir input
seq 90000 >input/numbers
tar -cf input.tar input
fake peer <<'EOF'
cp "$3" "$4"
EOF
for from in "$SRC/scripts" "$libexec"; do
	rm -rf study*
	! have lap || ! have pzc || {
		ends "$from" tarball '^Rows: /.*/study.csv$' --quick --warm \
		    -n 1 --rows 'A1 A10 B1' -o study.csv input study.tar
		ends "$from" bench-pzc '^\| gzip-6 \| numbers \| ' -n 1 \
		    --jobs gzip-6 -o study.pzc input/numbers
		ends "$from" bench-readers '^Nothing failed\.$' -s 3000 \
		    --formats gzip --readers gzip -o study.readers
	}
	! have lap || ! have sqpack || ! have mksquashfs || {
		ends "$from" image-export '^Rows: /.*/study.export.csv$' \
		    --quick -n 1 --rows none.p2 -o study.export.csv
		ends "$from" bench-sqpack '^\| zstd-1-mixed \| mksquashfs ' \
		    -n 1 --jobs zstd-1-mixed --out . -o study.sqpack input
	}
	! have lap || ! have layerpack || ends "$from" bench-layers \
	    '^\| input.tar \| estargz \| ' -n 1 --jobs estargz \
	    --peer fake/peer --out . -o study.layers input.tar
	[ ! -x "$libexec/window_client" ] || ! have Xvfb || ! have openbox ||
	    ends "$from" bench-winwait \
	    '^(xdotool search --sync|wmctrl every|winwait, listed) .* 0$' \
	    -n 1 -p 1
done
# A study in a user's own folder, typed as doc/study.md shows it, works with the
# installed scripts and tools; root tries it as somebody else.
mkdir -p home/input
example home/levels
seq 9999 >home/input/numbers
chmod 711 .
own() { env -u COLDPRESS_BIN PATH="${PATH#"$BIN:"}" TMPDIR="$PWD" "$@"; }
if [ "$(id -u)" = 0 ]; then
	chown -R 65534:65534 home
	own() {
		setpriv --reuid 65534 --regid 65534 --clear-groups \
		    env -u COLDPRESS_BIN PATH="${PATH#"$BIN:"}" \
		    TMPDIR="$PWD" "$@"
	}
fi
if ! have lap || { [ "$(id -u)" = 0 ] && ! have setpriv; }; then
	skip 'no lap or no setpriv'
else
	cd home || exit 1
	t "a user's study" 0 own COLDPRESS_LIBEXEC="$libexec" sh levels \
	    -n 2 --levels '1 9' input
	shows 'has a table' '^gzip9  *2 '
	t 'and rows' 0 test -s results/levels.csv
	t 'the folder may stand in the script' 0 sed -i \
	    "s|/usr/local/libexec/coldpress|$libexec|" levels
	# shellcheck disable=SC2016
	t 'which may be run from elsewhere' 0 own sh -c \
	    'cd / && exec sh "$0/levels" report -o "$0/results/levels.csv"' \
	    "$PWD"
	shows 'with a table' '^gzip9  *2 '
	cd ..
fi
# options TOOL WORD: prints bash's completions for it
options() {
	bash -c '. "$1"; COMP_WORDS=("$2" "$3") COMP_CWORD=1
	    _coldpress "$2" "$3" "$2"; echo "${COMPREPLY[@]}"' bash \
	    "root/usr/share/bash-completion/completions/$1" "$1" "$2"
}
if have bash; then
	[ ! -x "$BIN/pzc" ] || is 'an option is completed' \
	    "$(options pzc --verif)" --verify
	for tool in "$BIN"/pzseek "$BIN"/lap "$BIN"/lapcmp "$BIN"/coldwalk \
	    "$BIN"/sqpack "$BIN"/touchlog "$BIN"/fsratio "$BIN"/mailgen \
	    "$BIN"/layerpack "$BIN"/layermount; do
		[ -x "$tool" ] || continue
		tool=${tool##*/}
		is "also for $tool" "$(options "$tool" --hel)" --help
		t 'its own options' 0 test "$(options "$tool" -- | wc -w)" -gt 4
		t 'a file is left to bash' 1 test -n "$(options "$tool" hel)"
	done
fi
# A clone that has not been built reports how to build it; help works without a
# build.
mkdir clone
cp -R "$SRC/scripts" "$SRC/CMakeLists.txt" clone
unbuilt() {
	unbuilt_script=clone/scripts/$1
	shift
	env -u COLDPRESS_BIN PATH=/usr/bin:/bin sh "$unbuilt_script" "$@"
}
if ! (PATH=/usr/bin:/bin && have lap); then
	mkdir tree
	echo x >tree/x
	t 'a study that was not built' 1 unbuilt tarball -o r.csv tree out
	shows 'names the command' 'lap is not built: scripts/demo' .t.err
fi
t 'demo --help' 0 unbuilt demo --help
t 'check --help' 0 unbuilt check --help
is 'these build nothing' "$(find clone -name 'build*')" ''
# No files remain when a reader closes its pipe.
mkdir gone
# shellcheck disable=SC2016
t 'a reader that goes away' 0 sh -c 'TMPDIR=$PWD/gone sh "$SRC/scripts/tarball" \
    --quick --warm -n 1 --rows "A1 B1" -o h.csv 2>/dev/null | head -n 1'
is 'nothing is left in TMPDIR' "$(ls -A gone)" ''
if [ -x "$BIN/pzc" ]; then
	seq 1000 >a
	t 'pzc' 0 to a.gz root/usr/bin/pzc -c a
	t 'unpzc' 0 to b root/usr/bin/unpzc -c a.gz
	same 'unpzc restores it' a b
	t 'pzcat' 0 to c root/usr/bin/pzcat a.gz
	same 'pzcat restores it' a c
fi
echo mine >root/usr/libexec/coldpress/mine
t 'uninstall' 0 env DESTDIR="$PWD/root" cmake --build "$BIN" \
    --target uninstall
is 'everything that was installed is gone, and nothing else' \
    "$(find root -type f -o -type l -o -name coldpress)" \
    "$(printf '%s\n' root/usr/libexec/coldpress \
    root/usr/libexec/coldpress/mine)"
done_testing

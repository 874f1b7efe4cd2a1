#!/bin/sh
# Tests scripts/demo in a clone with a stand-in for cmake: its conclusion, and
# that it installs and builds nothing if its options are wrong.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
have pzc || skip_all 'no pzc'

mkdir clone
cp -R "$SRC/scripts" "$SRC/CMakeLists.txt" clone
fake cmake <<EOF
echo cmake >>"$PWD/called"
EOF
fake apt-get <<EOF
echo apt-get >>"$PWD/called"
EOF
fake sudo <<EOF
echo sudo >>"$PWD/called"
EOF
# every package is missing
fake dpkg-query <<EOF
exit 1
EOF
demo() { COLDPRESS_BIN=$PWD/fake:$BIN sh clone/scripts/demo "$@" </dev/null; }

for option in -h --help; do
	t "$option" 0 demo $option
	shows "$option: usage" '^usage: demo '
	is "$option: no errors" "$(cat .t.err)" ''
done
for options in --bogus -n '-s x' '--budget 0' '-s' 'one' \
    'nowhere out' 'a b c'; do
	# shellcheck disable=SC2086
	demo $options >out 2>err
	is "demo $options is refused" "$(($? == 1 || $? == 2))" 1
	t "demo $options: a reason" 0 grep -q '^demo: .*' err
done
t 'an unknown option' 2 demo --bogus
is 'nothing was installed or built' "$(cat called 2>/dev/null)" ''

# concludes RATIO-PATTERN: checks the demo's last five lines in out
concludes() {
	tail -n 5 out >last
	t 'the conclusion' 0 grep -q '^In short, ' last
	for pair in 'pzc -p4 beside pigz -p4' 'pzc -p1 beside gzip' \
	    'pzc -F bzip2 beside pbzip2 -p4'; do
		t "$pair" 0 grep -E -q -e "^  $pair: $1\$" last
	done
	is 'the last line' "$(tail -n 1 last)" \
	    'On your own data: scripts/tarball DIR OUT'
	is 'no message of the shell' "$(grep -v -E '^(demo|tarball): ' err)" ''
}
ratio='[0-9]+\.[0-9]{2} times as long'
missing=
for peer in gzip pigz pbzip2; do
	have $peer || missing=$peer
done
if [ -n "$missing" ]; then
	skip "no $missing"
else
	t 'the demo' 0 to out told demo --no-install -s 1 --budget 3000
	concludes "$ratio \([0-9]+\.[0-9]{2} to [0-9]+\.[0-9]{2}\)\."
	is 'built, but not installed' "$(sort -u called)" cmake
	t 'missing packages are named' 0 grep -q \
	    '^demo: not installed: .* pigz ' err
	t 'its tree is gone' 1 test -e clone/build/demo/tree
fi

t 'a budget' 0 to out told demo --no-install -s 1 --budget 1
concludes '(.* no interval\)|not measured, see above)\.'
t 'is spent' 0 grep -q 'tarball: the budget of 1 s is spent: .* are left' err
t 'and the report says so' 0 grep -q '^Unfinished: ' out

mkdir bin
for file in /usr/bin/* /bin/*; do
	case $file in
	*/pbzip2) ;;
	*) ln -sf "$file" bin/ ;;
	esac
done
t 'without pbzip2' 0 to out told env PATH="$PWD/bin" \
    COLDPRESS_BIN="$PWD/fake:$BIN" sh clone/scripts/demo --no-install -s 1 \
    --budget 1
t 'it is not compared' 0 grep -q \
    'beside pbzip2 -p4: not compared; pbzip2 is not installed\.' out

# answers ANSWER OPTION...: runs the demo on a terminal, up to the build
answers() {
	answers_word=$1
	shift
	: >called
	printf '%s\n' "$answers_word" | command script -qec "env \
	    COLDPRESS_BIN='$PWD/fake:$BIN' sh clone/scripts/demo $*" /dev/null \
	    >out || :
}
fake cmake <<EOF
echo cmake >>"$PWD/called"
exit 1
EOF
if [ "$(id -u)" != 0 ]; then
	skip 'the question: not root'
elif ! [ -x /usr/bin/script ]; then
	skip 'the question: no script(1)'
else
	answers n
	shows 'on a terminal it asks' 'Install them with apt-get' out
	is 'no installs nothing' "$(sort -u called)" cmake
	answers y
	is 'yes installs' "$(sort -u called | tr '\n' ' ')" 'apt-get cmake '
	answers n --yes
	is '--yes does not ask' "$(grep -c 'Install them' out) $(sort -u called |
	    tr '\n' ' ')" '0 apt-get cmake '
	answers y --no-install
	is 'nor does --no-install' "$(grep -c 'Install them' out) $(sort -u \
	    called)" '0 cmake'
fi
done_testing

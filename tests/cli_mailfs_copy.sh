#!/bin/sh
# Tests the mail study's copies on fake filesystems: complete, failing and
# interrupted ones.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"
. "$SRC/tests/mailfs.sh"

# These commands only pretend to create a filesystem: it is mounted if the file
# "mounted" exists.
here=$PWD
faked() { PATH="$here/fake:$PATH" study --fs btrfs "$@"; }
real_stat=$(command -v stat) real_cpio=$(command -v cpio)
fake id <<'EOF'
echo 0
EOF
fake unshare <<'EOF'
exit 1
EOF
for name in mkfs.btrfs losetup btrfs; do
	fake $name <<'EOF'
exit 0
EOF
done
fake compsize <<'EOF'
echo 'TOTAL 50% 1000 2000 2000'
EOF
fake mount <<EOF
case \$* in *remount*) exit 0 ;; esac
echo mount >>$here/log
: >$here/mounted
EOF
fake mountpoint <<EOF
[ -e $here/mounted ]
EOF
fake umount <<EOF
echo umount >>$here/log
for last; do :; done
rm -rf "\$last" $here/mounted
mkdir "\$last"
EOF
fake stat <<EOF
for last; do :; done
case \$1\$3 in
-f%T) [ ! -e $here/mounted ] || { cat $here/kind.txt; exit 0; } ;;
-c*)
	case \$2\$last in %d*/mnt) [ ! -e $here/mounted ] || { echo 0; exit 0; } ;; esac
	;;
esac
exec $real_stat "\$@"
EOF
# left: prints files that should not exist
left() { find "$here" -path '*.csv.d/fs*' -o -name mounted; }
mkdir -p mail/a
for n in 1 2 3 4 5; do
	seq $((n * 100)) >mail/a/$n
done
echo btrfs >kind.txt
id=$(command -v id)
[ "$("$id" -u)" = 0 ] || t 'not root' 77 told study --fs btrfs -o u.csv mail
t 'a study' 0 faked -n 2 --mode both,split -o r.csv mail
# runs FILE: prints the number of valid copies per cell
runs() {
	grep -v '^#' "$1" | awk -F , '$0 ~ /valid=yes/ { n[$2 $3]++ }
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	/valid=yes/ { c[$at["label"]]++ }
	END { for (l in c) print l "x" c[l] }' | sort | tr '\n' ' '
}
is 'every cell' "$(runs r.csv)" \
    'btrfs.off.firstx2 btrfs.off.lastx2 btrfs.off.s2x2 btrfs.off.w1x2 btrfs.off.w2x2 '
is 'nothing is left' "$(left)" ''
is 'as many mounts as unmounts' "$(grep -c '^mount' log)" "$(grep -c ^umount log)"
cp r.csv before.csv
t 'again: nothing is run' 0 faked -n 2 --mode both,split -o r.csv mail
t 'the same rows' 0 sh -c 'grep -v "^#" before.csv >x; grep -v "^#" r.csv | cmp - x'
t 'one more round' 0 faked -n 3 -o r.csv prepare
t 'is run' 0 faked -o r.csv run
is 'alone' "$(grep -c valid=yes r.csv)" 15
rm r.csv.d/rows/003.btrfs.off.w2.csv
t 'an unfinished study' 0 to part faked -o r.csv report
t 'has a report' 0 grep -q \
    '^Unfinished: 1 of 15 runs have not been made yet.$' part
is 'from what exists' "$(grep -c valid=yes r.csv.d/part.csv)" 14
is 'the rows stay' "$(grep -c valid=yes r.csv)" 15
t 'it continues' 0 faked -o r.csv run
t 'and no leftovers remain' 1 test -e r.csv.d/part.csv
t 'another directory' 1 told faked -o r.csv fake
t 'another directory for run' 1 told faked -o r.csv run /nonexist
for other in '--mode both' '--writers 1' '--load true' '-S 9' --quick; do
	# shellcheck disable=SC2086
	t "another $other" 1 told faked -o r.csv $other
	t 'is refused' 0 grep -q 'was started with a different' err
done
seq 3 >mail/a/6
t 'other mail' 1 told faked -o r.csv run
t 'with a message' 0 grep -q 'has changed: choose' err
rm mail/a/6
(
	# The lock is held, as if by another run.
	exec 9>r.csv.d/lock
	flock 9
	told faked -o r.csv run
)
t 'two runs at the same time' 0 grep -q 'another run is using' err

echo ext2/ext3 >kind.txt
t 'not a mount point' 77 told faked -n 1 -o t.csv mail
is 'nothing was copied' "$(find t.csv.d -path '*/rows/*')" ''
is 'and nothing is left' "$(left)" ''
echo btrfs >kind.txt

# a cpio that loses a file, changes one, truncates one, or fails
cpio_then() {
	fake cpio <<EOF
$real_cpio "\$@" || exit
for to; do :; done
cd "\$to" || exit
$1
EOF
}
lossy() {
	cpio_then "[ ! -e a ] || { $1; }"
	t "a copy that $2" 0 told faked --writers 1 -n 1 -o "$3.csv" mail
	is 'is kept' "$(grep -c "valid=no;why=$4" "$3.csv")" 3
	is 'and not averaged' "$(wc -l <"$3.csv.d/runs")" 1
}
lossy 'rm -f a/3' 'loses a file' l1 4_of_5_files
lossy 'echo >>a/3' 'grows' l2 5461_of_5460_bytes
lossy 'tr 0-9 1-90 <a/3 >b; cat b >a/3; rm b' 'changes' l3 contents_differ
cpio_then 'exit 1'
t 'a failing copy' 0 to table faked --writers 1 -n 1 -o l4.csv mail
t 'is kept' 0 grep -q '^btrfs.off.w1: 1 left out: the copy failed$' table
rm fake/cpio
cpio_then 'sleep 1'
t 'a load that ends' 0 told faked --writers 1 -n 1 --load false -o e.csv mail
is 'is not one' "$(grep -c 'valid=no;why=the_load_ended' e.csv)" 3
rm fake/cpio
t 'a load' 0 told faked --writers 1 -n 1 --load "exec sleep 1000$$" \
    -o f.csv mail
is 'is in the rows' "$(grep -c 'load=live;.*valid=yes' f.csv)" 3
is 'and is killed' "$(pgrep -f "sleep 1000$$")" ''

# Odd names; an incorrect copy is detected.
odd='blanks [x] & more'
cp -r mail "$odd"
t 'odd names' 0 faked --writers 1 -n 1 -o "$odd.csv" "$odd"
is 'are copied' "$(grep -c valid=yes "$odd.csv")" 3
cp -r "$odd" "$odd 2"
cpio_then "[ ! -e a ] || { tr 0-9 1-90 <a/3 >b; cat b >a/3; rm b; }"
t 'and compared' 0 faked --writers 1 -n 1 -o 'o [2].csv' "$odd 2"
is 'so that a change is seen' \
    "$(grep -c 'valid=no;why=contents_differ' 'o [2].csv')" 3
rm fake/cpio

fake df <<'EOF'
printf 'Avail\n1000000\n'
EOF
t 'too little space' 1 told faked -o n.csv mail
t 'is reported' 0 grep -q 'takes up to .* bytes, but only 1000000 are free' err
rm fake/df
mkdir 'mail/new
line'
t 'a name that cpio cannot store' 1 told faked -o n.csv mail
rmdir mail/new*
t 'no mail' 1 told faked -o n.csv kind.txt
t 'rows inside the mail' 1 told faked -o mail/r.csv mail
rm -rf mail/r.csv.d

# Stops a study in the middle of a copy.
fake cpio <<EOF
echo \$\$ >$here/copying
exec sleep 1000
EOF
for number in 1 2 15; do
	signal=$(kill -l $number)
	rm -f copying
	# A background job would ignore INT.
	PATH="$here/fake:$PATH" env --default-signal=INT sh \
	    "$SRC/scripts/mailfs" --fs btrfs -n 1 -o "$signal.csv" mail \
	    >/dev/null 2>&1 &
	ended=$!
	await [ -s copying ]
	kill -s "$signal" $ended
	status=0
	wait $ended || status=$?
	is "$signal" "$status" $((128 + number))
	is 'nothing is left' "$(left)" ''
	kill "$(cat copying)" 2>/dev/null
	is 'and nobody copies' $? 1
done
rm fake/cpio
# Files and mounts that remain after a crash are found and removed.
mkdir -p r.csv.d/fs/mnt
: >mounted
: >r.csv.d/fs/img
t 'after a crash' 0 faked -n 3 -o r.csv
is 'leftovers are removed' "$(left)" ''
t 'a quick run, with generated text' 0 told faked --quick -o q.csv
t 'it is small' 0 test "$(find q.csv.d/mail -type f | wc -l)" -gt 200
done_testing

#!/bin/sh
# pzseek makes side indexes of gzip files, and reads ranges by them; no stale,
# damaged or hostile one gives wrong bytes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/pzseek.sh
. "$SRC/tests/pzseek.sh"

cat plain plain >plain2
pzc -9 -c plain >o.gz
pzc -i -c plain >i.gz
cat i.gz i.gz >twoi.gz
pzc -F zstd -c plain >f.zstd
# A side index
gzip -c plain >f.gz
t 'an index is created' 0 pzseek --make-index --spacing 64K f.gz
t 'it has the default name' 0 test -s f.gz.pzi
check 'gzip by index' f.gz plain
is 'it is used' "$(pzseek -l --json f.gz | grep -c '"index":"used"')" 1
t 'it is not overwritten' 1 pzseek --make-index f.gz
t 'unless -f is given' 0 pzseek --make-index -f f.gz
check 'gzip by wide index' f.gz plain
check 'gzip without index' f.gz plain --no-index
for o in -1 -6 -9; do
	gzip "$o" -c plain >s.gz
	pzseek -f --make-index --spacing 64K --index s.idx s.gz
	check "gzip $o by index" s.gz plain --index s.idx
done
rm -f f.gz.pzi
cat f.gz s.gz >m.gz
t 'of two members' 0 pzseek --make-index --spacing 100K m.gz
check 'gzip of two members by index' m.gz plain2
for i in 1 2 3 4 5 6 7 8 9; do
	range plain $((i * 700000 - 700000)) 700000 | gzip -c
done >small.gz
range plain 0 6300000 >small
cat f.gz >>small.gz
cat plain >>small
t 'of small members' 0 pzseek --make-index --spacing 1M small.gz
check 'gzip of small members by index' small.gz small
printf 'rubbish' >>small.gz
t 'garbage at the end' 0 pzseek -f --make-index --spacing 1M small.gz
check 'gzip and garbage by index' small.gz small
t 'pzc -R with an index' 0 sh -c 'pzc -R -c plain >r.gz &&
    pzseek --make-index --spacing 256K r.gz'
check 'pzc -R by index' r.gz plain

# The same index with any number of threads, and none of what gzip -t refuses
gzip -1c plain >1.gz
pzc -11 -c plain >11.gz
set -- 1.gz 11.gz o.gz m.gz small.gz twoi.gz
if have pigz; then
	pigz -ic plain >pigz.gz
	set -- "$@" pigz.gz
fi
for f in "$@"; do
	for p in 1 2 8; do
		pzseek -p $p --make-index --spacing 64K --index "p$p" -f "$f"
	done
	same "$f: -p2" p2 p1
	same "$f: -p8" p8 p1
	bytes=$(wc -c <"$f")
	bad=
	for i in 1 2 3 4 5 6 7 8; do
		head -c $((bytes * i / 9)) "$f" >spoiled
		gzip -tq spoiled 2>/dev/null
		want=$?
		pzseek -p 2 --make-index --index p2 -f spoiled 2>/dev/null
		got=$?
		[ $((want == 1)) = $got ] || bad="$bad cut:$i"
		cp "$f" spoiled
		printf '\252\125' | dd of=spoiled bs=1 conv=notrunc \
		    seek=$((bytes * i / 9)) 2>/dev/null
		gzip -tq spoiled 2>/dev/null
		want=$?
		pzseek -p 2 --make-index --index p2 -f spoiled 2>/dev/null
		got=$?
		[ $((want == 1)) = $got ] || bad="$bad spoiled:$i"
	done
	is "$f: gzip -t agrees" "$bad" ''
done

# Stale, damaged and hostile indexes
pzseek --make-index --spacing 64K f.gz
cp f.gz.pzi good
touch -d '2001-01-01' f.gz
t 'a stale index is refused' 1 pzseek --index f.gz.pzi f.gz 1:1
is 'with a message' "$(grep -c 'for another version' .t.err)" 1
t 'without --index it is skipped' 0 to .got pzseek f.gz 1000000:1000
range plain 1000000 1000 >.want
same 'with the right bytes' .got .want
pzseek -f --make-index --spacing 64K f.gz
cp f.gz.pzi good
bytes=$(wc -c <good)
for n in 0 1 71 72 100 $((bytes / 2)) $((bytes - 1)); do
	head -c "$n" good >short
	t "an index cut to $n bytes" 1 pzseek --index short f.gz 1000000:10
done
at=0
while [ "$at" -lt "$bytes" ]; do
	cp good bad
	printf '\252\125\252\125' | dd of=bad bs=1 seek="$at" conv=notrunc \
	    2>/dev/null
	pzseek --index bad f.gz 1000000:2000000 >.got 2>/dev/null
	status=$?
	range plain 1000000 2000000 >.want
	# either an error, or data that is not affected by the damage
	if [ "$status" = 0 ] && ! cmp -s .got .want; then
		not_ok "an index damaged at $at"
	elif [ "$status" -gt 1 ]; then
		not_ok "an index damaged at $at: status $status"
	fi
	at=$((at + 4 + bytes / 60))
done
ok 'no damage to an index gives wrong bytes'
t 'only gzip can have an index' 1 pzseek --make-index f.zstd
head -c 100000 f.gz >cut.gz
t 'no index of a truncated file' 1 pzseek --make-index cut.gz
t 'and no index is left' 1 test -e cut.gz.pzi
done_testing

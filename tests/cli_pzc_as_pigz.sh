# shellcheck shell=sh
# Runs pzc under the name pigz, and compares each command line with pigz 2.6.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/peer.sh"

[ "$(pigz --version 2>/dev/null)" = 'pigz 2.6' ] ||
    skip_all 'needs pigz 2.6 to compare with'
peers pigz unpigz
ln -s "$(command -v pigz)" theirs/real

mkdir fixture
cd fixture || exit
seq 1000 >a
seq 2000 >b
pigz -kn a b
pigz -c a >named.gz
pigz -C hello -c a >comment.gz
pigz -zc a >n.zz
pigz -Kc a >n.zip
cat a.gz b.gz >ab.gz
(cat a.gz; echo junk) >j.gz
(cat a.gz; printf '\0\0\0') >zeros.gz
(pigz -c a; echo plain; seq 5) >mixed.gz
head -c 1000 a.gz >cut.gz
: >empty
: >empty.gz
echo plain >plain
cp a old
for s in z gz-not tgz; do cp a.gz "s.$s"; done
for s in -gz -z _z; do cp a.gz "t$s"; done
cp a.gz F.GZ
cp a p.Z
cp a p.tgz
cp a.gz w.foo
ln -s a l
ln -s a.gz l.gz
cp a.gz h.gz
ln h.gz h2.gz
cp a links
ln links links2
cp a setuid
chmod 4755 setuid
mkdir d
echo x >d/x
echo y | pigz >d/y.gz
find . -type f -exec touch -d '2021-02-03 04:05:06 UTC' {} +
touch -d '2001-02-03 04:05:06 UTC' a.gz d/x old
cd .. || exit

while read -r line; do
	[ -z "$line" ] || beside "$line"
done <<'LINES'
pigz old
pigz -k old
pigz -c a
pigz <b
pigz -d <ab.gz
pigz -dc ab.gz
pigz -1 old; unpigz old.gz
pigz -9k old
pigz -11 -k old
pigz -0 old
pigz -12 a
pigz --fast -c a
pigz --best -c a
pigz a.gz
pigz -f a.gz
pigz a.gz old
pigz -k a
pigz -kf a
pigz p.Z
pigz p.tgz
pigz -d a
pigz -d nothing
pigz nothing
pigz -dc nothing b.gz
pigz -dk a.gz
pigz -df a.gz
unpigz a
unpigz s
unpigz -c s
unpigz t
unpigz -c t
unpigz n
unpigz s.tgz
unpigz t-gz
unpigz t_z
unpigz F.GZ
unpigz w.foo
unpigz n.zz
unpigz -c n.zip
pigz -S .foo old
pigz -S '' old
pigz l
pigz -c l
pigz -t l.gz
pigz -tf l.gz
pigz -l l.gz
pigz h.gz
pigz links
pigz -d h.gz
pigz -c setuid
pigz d
pigz -t d
pigz -r d
pigz -rk d
pigz -tr d
pigz -dr d
pigz -r old
pigz /dev/null
pigz -t a
pigz -t a.gz
pigz -t a.gz ab.gz nothing
pigz -t zeros.gz
pigz -tv zeros.gz
pigz -t j.gz
pigz -tv j.gz
pigz -tq j.gz
pigz -d j.gz
pigz -dc j.gz
pigz -t cut.gz
pigz -t empty
pigz -d empty.gz
pigz empty
pigz -cdf mixed.gz
pigz -cdf plain
pigz -df <plain
pigz -tf <plain
pigz -cdf empty
pigz -cdf j.gz
pigz -cdf zeros.gz
printf '' | pigz -cdf
printf x | pigz -cdf
printf xy | pigz -cdf
(cat a.gz; printf x) | pigz -cdf
(cat a.gz; printf xyz) | pigz -cdf
pigz -dq nothing
pigz -q nothing a
pigz -l a.gz
pigz -l a.gz b.gz
pigz -lv a.gz
pigz -lv a.gz b.gz
pigz -l named.gz
pigz -lv named.gz
pigz -lq a.gz
pigz -l n.zz
pigz -lt a.gz
pigz -ltv a.gz
pigz -lt n.zz
pigz -ltv n.zz
pigz -lv n.zz
pigz -l <a.gz
pigz -lv <b.gz
cat b.gz | pigz -lv
pigz -l s.tgz F.GZ t_z
pigz -l a
pigz -l nothing a.gz
pigz -l empty.gz
pigz -lr d
pigz -h
pigz -V | cut -c 1-8
pigz -L >/dev/null
pigz -x
pigz --nonsense
pigz -Z a
pigz -a a
pigz -b
pigz -b 5x a
pigz -p 0 a
pigz -p x a
pigz -p2 -c a
pigz -p 2 -b 64 -c a
pigz --processes 2 --blocksize 128 -c a
pigz -F -O -I 5 -J 3 -c a
pigz --first --oneblock --iterations 5 --maxsplits 3 -c a
pigz -H -c a
pigz -U -c a
pigz --huffman -c a
pigz --rle -c a
pigz -R -c a
pigz --rsyncable -c a
pigz -i -c a
pigz -Y -k old
pigz -C hello -c a
pigz -A name -K <a >/dev/null
pigz -T -c a
pigz -m old
pigz -T 4 -c
pigz -n old; pigz -lv old.gz | cut -c 1-31
pigz -N old; pigz -dN old.gz
pigz -M old; pigz -dM old.gz
pigz -dN named.gz
pigz -dkN named.gz
pigz -dM named.gz
pigz -dNT named.gz
pigz -k -z old; pigz -t old.zz
pigz -k -K old; pigz -l old.zip >/dev/null
GZIP=-d pigz <a.gz
PIGZ=-d pigz <a.gz
PIGZ='-p 2 -9' pigz -c a
GZIP=x pigz -c a
PIGZ=x pigz -c a
PZC=-d pigz -c a
pigz -c a >/dev/full
pigz -dc a.gz >/dev/full
pigz -c a b >/dev/full
pigz -c a nothing
pigz -k old nothing b
pigz -- -k
pigz -k -- old
pigz old -k
pigz -kv old
pigz -dv ab.gz
pigz -tv a.gz
LINES

while read -r line; do
	[ -z "$line" ] || beside_said "$line"
done <<'LINES'
pigz -kv old
pigz -v old b
pigz -cv a
pigz -dv ab.gz
pigz -dcv b.gz
pigz -tv a.gz
pigz -v <a
pigz -tv j.gz
pigz -t a
pigz -t empty.gz
pigz -d a
pigz a.gz
pigz -k a
pigz -t nothing
pigz nothing
pigz d
pigz l
pigz /dev/null
pigz -c a >/dev/full
LINES

done_testing

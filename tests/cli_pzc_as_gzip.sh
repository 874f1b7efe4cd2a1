# shellcheck shell=sh
# Runs pzc under the name gzip, and compares each command line with gzip 1.12.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/peer.sh"

case $(gzip --version 2>/dev/null | head -n 1) in
'gzip 1.12') ;;
*) skip_all 'needs gzip 1.12 to compare with' ;;
esac
peers gzip
ln -s "$(command -v gzip)" theirs/real

mkdir fixture
cd fixture || exit
seq 1000 >a
seq 2000 >b
gzip -kn a b
gzip -c a >named.gz
cat a.gz b.gz >ab.gz
(cat a.gz; echo junk) >j.gz
(cat a.gz; printf '\1') >one.gz
(cat a.gz; printf '\0\0\0') >zeros.gz
(echo x | gzip; echo plain; seq 5) >mixed.gz
head -c 1000 a.gz >cut.gz
(head -c 300 a.gz; head -c 100 /dev/zero; tail -c +401 a.gz) >bad.gz
: >empty
: >empty.gz
echo '80 plain' >plain
echo 'x = 1' >x
for s in z Z gz-not taz tgz; do cp a.gz "s.$s"; done
for s in -gz -z _z; do cp a.gz "t$s"; done
cp a.gz only.z
cp a.gz F.GZ
cp a.gz G.TGZ
cp a p.Z
cp a p.tgz
cp a old
cp a.gz w.foo
touch -d @0 zero
ln -s a l
ln -s a.gz l.gz
cp a.gz h.gz
ln h.gz h2.gz
cp a sticky
chmod 1644 sticky
cp a setuid
chmod 4755 setuid
mkdir d d/sub
echo x >d/x
echo y | gzip >d/y.gz
ln -s x d/lx
echo z >d/sub/z
touch -d '2001-02-03 04:05:06 UTC' a.gz d/x old
touch -d '2011-02-03 04:05:06 UTC' b.gz ab.gz F.GZ zero j.gz
find . -type f ! -name a.gz ! -name old ! -name zero ! -name b.gz \
    -exec touch -d '2021-02-03 04:05:06 UTC' {} +
touch -d @0 zero
cd .. || exit

while read -r line; do
	[ -z "$line" ] || beside "$line"
done <<'LINES'
gzip a
gzip -k a
gzip -c a
gzip
gzip -c
gzip - <b
gzip -d
gzip -dc <ab.gz
gzip -1 old; gzip -d old.gz
gzip -9k old
gzip -19 old
gzip -0 a
gzip --fast old b.gz
gzip --best -c a
gzip a.gz
gzip -f a.gz
gzip a.gz old
gzip -k old b
gzip -d a
gzip -d nothing
gzip -df a.gz
gzip -dk b.gz
gzip -dkf b.gz
gzip -dc a b
gzip -dc a.gz b.gz
gzip -dc a.gz nothing b.gz
gzip -d ab.gz
gzip -t a.gz
gzip -t a
gzip -t only
gzip -d only
gzip -dc only
gzip -l only
gzip -d s
gzip -dc s
gzip -d t
gzip -dc t
gzip -d s.z
gzip -d s.Z
gzip -d s.taz
gzip -d s.tgz
gzip -d s.gz-not
gzip -d t-gz
gzip -d t-z
gzip -d t_z
gzip -d F.GZ
gzip -d G.TGZ
gzip -d F
gzip F.GZ
gzip p.Z
gzip p.tgz
gzip -f p.Z
gzip -dS.foo w.foo
gzip -d w.foo
gzip -dS .foo w
gzip -S .foo old
gzip -S.FOO old w.foo
gzip -Sz old; gzip -dSz old
gzip -S '' a
gzip -dS '' a.gz
gzip --suffix=.abcdefghijklmnopqrstuvwxyzabcdefg a
gzip l
gzip -k l
gzip -c l
gzip -f l
gzip -d l.gz
gzip -t l.gz
gzip -df l.gz
gzip -d h.gz
gzip -dk h.gz
gzip -df h.gz
gzip h.gz
gzip sticky
gzip -f sticky
gzip setuid
gzip -f setuid
gzip d
gzip -c d
gzip -t d
gzip -l d
gzip -r d
gzip -rk d
gzip -rc d/sub
gzip -tr d
gzip -lr d
gzip -dr d
gzip -r old
gzip -tr a
gzip -tr a.gz
gzip -t zeros.gz
gzip -tv zeros.gz
gzip -dc zeros.gz
gzip -t j.gz
gzip -tq j.gz
gzip -d j.gz
gzip -dc j.gz
gzip -t one.gz
gzip -d one.gz
gzip -dc cut.gz
gzip -t cut.gz
gzip -t bad.gz
gzip -d bad.gz
gzip -t empty
gzip -t empty.gz
gzip -d empty.gz
gzip empty
gzip -cdf mixed.gz
gzip -cdf plain
gzip -cdf x
gzip -cdf empty
gzip -cdf a.gz plain mixed.gz x a
gzip -cdf zeros.gz
gzip -cdf one.gz
gzip -cdf j.gz
gzip -cdfq <mixed.gz
gzip -df <plain
printf x | gzip -cdf
printf '\037' | gzip -cdf
(cat a.gz; printf '\037') | gzip -cdf
(cat a.gz; printf '\037x') | gzip -cdf
(cat a.gz; printf '\037x') | gzip -cd
gzip -l a.gz
gzip -l a.gz b.gz
gzip -lq a.gz b.gz
gzip -lv a.gz
gzip -lv a.gz b.gz
gzip -lvq a.gz b.gz
gzip -lN named.gz d/y.gz
gzip -lNv named.gz
gzip -l <b.gz
gzip -lv <b.gz
gzip -l s.tgz F.GZ t_z
gzip -lt a.gz
gzip -l a
gzip -l nothing
gzip -l cut.gz
gzip -l empty.gz
gzip -l nothing a.gz b.gz
gzip -l ./a.gz
gzip -c /dev/null | gzip -l
gzip -V | head -n 1
gzip -h >/dev/full
gzip -V >/dev/full
gzip -h | head -n 1
gzip -x
gzip --nonsense
gzip --n a
gzip --s a
gzip --s=.x
gzip -Z a
gzip --lzw a
gzip -b
gzip -b 12 -c a
gzip -b 5x a
gzip --bits=9 -c a
gzip -a -c a
gzip --ascii old
gzip --asc -d a.gz -c
gzip --fo -c a
gzip --st a
gzip --std a
gzip --no old
gzip --no-n old
gzip --dec b.gz -c
gzip --unc b.gz -c
gzip --rec d
gzip --rs -c a
gzip --synchronous -k old
gzip --sy -k old
gzip --te a.gz
gzip --verb -k old
gzip --qui j.gz -t
gzip -rv a.gz
gzip -cv a
gzip -kv old
gzip -v old
gzip -dv ab.gz
gzip -dcv b.gz
gzip -tv a.gz b.gz
gzip -tv a
gzip -tv <a.gz
gzip -v <a
gzip -dv <b.gz
gzip -n old; gzip -lv old.gz | cut -c 1-27
gzip -N old; gzip -dN old.gz
gzip -N -c old | gzip -lNv | cut -c 1-27
gzip -Nc b | tail -c +11 | head -c 2
gzip -dN named.gz
gzip -dkN named.gz
gzip -dM named.gz
gzip -dN w.foo
gzip zero
gzip -n zero
gzip -q zero
gzip -c zero
gzip -m zero
GZIP=-1 gzip -c a
GZIP=-d gzip
GZIP=-- gzip
GZIP=x gzip
GZIP=--rsyncable gzip -c a
GZIP=-9v gzip -k old
GZIP=-q gzip -t j.gz
GZIP='-n -9' gzip old
GZIP= gzip -c a
GZIP='--stdout' gzip a
PIGZ=-d gzip -c a
PZC=-d gzip -c a
gzip -c a >/dev/full
gzip -dc a.gz >/dev/full
gzip -l a.gz >/dev/full
gzip -c a b >/dev/full
gzip -c a nothing
gzip nothing
gzip -k old nothing b
gzip -- -k
gzip -k -- old
gzip old -k
gzip /dev/null
gzip -f /dev/null
gzip -t /dev/null
gzip -c /dev/null
gzip d/
gzip d/x/
gzip no/such
gzip -d no/such
gzip -c a.gz | gzip -d | gzip -t
chmod 600 old; gzip old
chmod 444 old; gzip old; gzip -d old.gz
yes n | gzip -d a.gz
gzip ---presume-input-tty -d b.gz <x
(echo y | cat) | gzip ---presume-input-tty -dk b.gz
LINES

while read -r line; do
	[ -z "$line" ] || beside_said "$line"
done <<'LINES'
gzip -kv old
gzip -v old
gzip -v old b.gz
gzip -cv a
gzip -dv ab.gz
gzip -dkv ab.gz
gzip -dcv b.gz
gzip -tv a.gz b.gz
gzip -tv <a.gz
gzip -v <a
gzip -dv <b.gz
gzip -tv j.gz
gzip -tv zeros.gz
gzip -t one.gz
gzip -t a
gzip -tv a
gzip -t cut.gz
gzip -tv cut.gz
gzip -t empty.gz
gzip -d a
gzip a.gz
gzip -t nothing
gzip -l nothing
gzip nothing
gzip d
gzip l
gzip h.gz
gzip -r d
gzip -a -c a
gzip zero
gzip -S '' a
gzip /dev/null
gzip -d w.foo
LINES

done_testing

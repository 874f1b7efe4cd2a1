# shellcheck shell=sh
# Runs pzc under the names xz, zstd, lz4 and bzip2, and compares each command line
# with these programs where they are the versions of Debian 12.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/peer.sh"

unset XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL ZSTD_NBTHREADS BZIP2 BZIP
# is_version NAME OPTION TEXT: whether it is installed, and says this
is_version() { "$1" "$2" 2>&1 </dev/null | grep -q -F -e "$3"; }
names=''
! is_version xz -V 'XZ Utils) 5.4.1' || names="$names xz"
! is_version zstd -V 'v1.5.4' || names="$names zstd zstdcat"
! is_version lz4 -V 'v1.9.4' || names="$names lz4 lz4cat unlz4"
! is_version bzip2 -V 'Version 1.0.8' || names="$names bzip2 bunzip2 bzcat"
[ -n "$names" ] || skip_all 'no programs to compare with'
# shellcheck disable=SC2086 # a list
peers $names
# decompresses whatever either has made
ln -s "$(command -v pzc)" theirs/real

mkdir -p fixture/D fixture/made
cd fixture || exit
seq 1 2000 >f
echo hello >g
cp g D/x
: >e
echo f >list
printf 'f\0' >list0
head -c 20 /dev/zero >zeros
gzip -cn f >a.gz
has() { case " $names " in *" $1 "*) ;; *) return 1 ;; esac; }
if has xz; then
	xz -kc f >made/f.xz
	xz -kc -C none f >made/none.xz
	(xz -kc -C sha256 f; head -c 100 /dev/zero) >made/padded.xz
	cat made/f.xz made/padded.xz >made/two.xz
	xz -kc -T2 --block-size=1000 f >made/blocks.xz
	xz -kc --x86 --lzma2 f >made/x86.xz
	xz -kc --delta=dist=4 --lzma2=preset=9e f >made/delta.xz
	xz -kc --format=lzma f >made/f.lzma
	head -c -4 made/f.xz >made/cut.xz
	(cat made/f.xz; head -c 2 /dev/zero) >made/odd.xz
	(head -c 4 /dev/zero; cat made/f.xz) >made/late.xz
fi
if has zstd; then
	zstd -qc f >made/f.zst
	zstd -qc g >made/g.zst
	zstd -qc --no-check f >made/none.zst
	zstd -qc <f >made/sizeless.zst
	cat made/f.zst made/g.zst >made/two.zst
	(printf 'P*M\030\004\0\0\0abcd'; cat made/f.zst) >made/skip.zst
fi
if has lz4; then
	lz4 -qc f >made/f.lz4
	lz4 -qc --content-size f >made/size.lz4
	lz4 -qc --content-size -BX -B4 f >made/checks.lz4
	lz4 -qc -BD f >made/linked.lz4
	lz4 -qlc f >made/legacy.lz4
fi
! has bzip2 || bzip2 -c f >made/f.bz2
find . -type f -exec touch -d '2021-02-03 04:05:06 UTC' {} +
cd .. || exit

while read -r line; do
	! has "${line%% *}" || beside "$line"
done <<'LINES'
xz --robot -V | sed 's/^XZ.*//'
xz --encoder=own -c f
xz --block-list=100,0 -c f
xz --block-list=0,100 -c f
xz --block-list=1x -c f
xz --block-list=100,,300 -c f
xz --block-list=, -c f
xz -6 -9 -c f
xz --lzma2=dict=64KiB -9 -c f
xz --files=nothing
xz --files=e --files=e
xz -k --files=list
xz -k --files0=list0
xz -k --files <list
xz -k -T 0x f
xz -T -1 f
xz --flush-timeout=x -c f
xz --arm64 --lzma2 -c f
xz -l f
xz -lF lzma f
xz -l e
xz -l g
xz -l D
xz -l zeros
xz -l made/f.xz
xz -lv made/f.xz
xz -lvv made/f.xz
xz --robot -l made/f.xz
xz --robot -lvv made/f.xz
xz -lvv made/none.xz
xz -lvv made/padded.xz
xz -lvv made/two.xz made/f.xz
xz --robot -lvv made/two.xz made/f.xz
xz -lvv made/blocks.xz
xz --robot -lvv made/blocks.xz
xz -lvv made/x86.xz
xz -lvv made/delta.xz
xz -l made/f.lzma
xz -l made/cut.xz
xz -l made/odd.xz
xz -l made/late.xz
xz -l made/f.xz D
xz -l made/f.xz f made/none.xz
xz -lv made/f.xz made/none.xz
xz -lvv made/f.xz made/none.xz
xz --robot -lv made/f.xz made/none.xz
xz -dvc made/f.xz 2>&1 | tail -n 1
zstd -qV
zstdcat -V
zstd --adapt -c f
zstd --adapt=min=2,max=5 -c f
zstd --adapt=min=5,max=2 -c f
zstd --adapt=low=5 -c f
zstd --adapt=min=x -c f
zstd --adapt=min=-5,max=30 -c f
zstd --format=gzip -c f
zstd --format=lzma -c f
zstd --format=nothing -c f
zstd --fast=0 -c f
zstd --fast=200000 -c f
zstd --no-check -c f
zstd --output-dir-flat '' f
zstd --output-dir-mirror '' f
zstd -B100KiB -c f
zstd -B1x -c f
zstd --memory=10MiB -c f
zstd -c f -o h
zstd -o h -c f
zstd --stdout -o h f
zstd -o h -o i f
zstd -o h f g
zstd -f -o h f g
zstd -q -o h f g
zstd -qf -o h f g
zstd -c -o h f g
zstd -T-1 -c f
zstd --ultra -22 -c f
zstd --zstd=wlog=10 -c f
zstd --zstd=strategy=9,wlog=12 -c f
zstd --zstd=nothing=1 -c f
zstd --stream-size=100 -c <f
zstd --size-hint=100 -c <f
zstd --exclude-compressed f f
zstd -r D
zstd --filelist=list
zstd --filelist=nothing
zstd -D nothing -c f
zstd --rm f g
zstd -l made/f.zst
zstd -lq made/f.zst
zstd -lv made/f.zst
zstd -l made/f.zst made/g.zst
zstd -lv made/f.zst made/g.zst
zstd -l made/f.zst made/none.zst
zstd -l made/none.zst made/none.zst
zstd -l made/sizeless.zst
zstd -l made/sizeless.zst made/f.zst
zstd -l made/two.zst
zstd -l made/skip.zst
zstd -lv made/skip.zst
zstd -l nothing
zstd -l D
zstd -t f made/f.zst
zstd -t made/f.zst made/g.zst
zstd -d -f made/f.zst made/g.zst
lz4 -B4 -c f
lz4 -B3 -c f
lz4 -B8 -c f
lz4 -B1000 -c f
lz4 -B10 -c f
lz4 -BD -c f
lz4 -BI -c f
lz4 -BX -c f
lz4 -B4DX -c f
lz4 -Bx -c f
lz4 -B9999999 -c f
lz4 --fast=0 -c f
lz4 --fast=9 -c f
lz4 --fast=x -c f
lz4 -0 -c f
lz4 -13 -c f
lz4 --best -c f
lz4 --favor-decSpeed -12 -c f
lz4 --no-frame-crc -c f
lz4 --no-crc -c f
lz4 --content-size -c f
lz4 -l -c f
lz4 -D g -c f
lz4 -D nothing -c f
lz4 -m f g
lz4 -m --rm f g
lz4 -r D
lz4 -z f h
lz4 -k -f f h
lz4 -9 --fast=3 f h
lz4 -S .x f
lz4 -C
lz4 -T f
lz4 nothing
lz4 -d g
lz4 --list made/f.lz4
lz4 --list -m made/f.lz4 made/size.lz4
lz4 --list made/size.lz4
lz4 --list made/checks.lz4
lz4 --list made/linked.lz4
lz4 --list made/legacy.lz4
lz4 -t made/f.lz4
lz4 -d made/f.lz4
lz4 -d made/f.lz4 h
lz4 -dm made/f.lz4
lz4 -dfm --rm made/f.lz4
lz4cat made/f.lz4
unlz4 made/f.lz4 h
bzip2 -V
bzip2 --version
bzip2 -L
bzip2 -q nothing
bzip2 -qt f
bzip2 -tv f
bzip2 -tvv made/f.bz2
bzip2 -vk f g e
bzip2 -dvk made/f.bz2
bzip2 -ks f
bzip2 --small -k f
bzip2 -1 -9 -k f
bzip2 --fast --best -k f
bzip2 --exponential f
bzip2 --repetitive-fast f
bzip2 --nothing f
bzip2 -x f
bzip2 -- f
bzip2 -c f g
bzip2 -k f && bzip2 f
bzip2 -f f && bzip2 -f f.bz2
bzip2 D
bunzip2 f
bzcat f
bzip2 -dc f
bzip2 -dcf f
LINES
done_testing

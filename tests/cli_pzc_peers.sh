# shellcheck shell=sh
# Tests pzc under the names of xz, zstd, bzip2 and lz4: each command line leaves
# the status and the files that are written here, and where the program itself
# is installed, it leaves the same, and the same output.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016 # command lines are text for another shell
. "${SRC:?}/tests/lib.sh"

root=$PWD pzc=$(command -v pzc)
mkdir bin
for n in xz unxz xzcat lzma unlzma lzcat zstd zstdmt unzstd zstdcat lz4 unlz4 \
    lz4cat bzip2 bunzip2 bzcat lbzip2 pbzip2; do
	ln -s "$pzc" "bin/$n"
done
unset XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL ZSTD_NBTHREADS BZIP2 BZIP
peers=$PATH
seq 1 2000 >f.0
echo hello >g.0

# plain: a checksum of standard input, decompressed if it is compressed
plain() {
	cat >"$root/data"
	PATH=$peers "$pzc" -dcf "$root/data" 2>"$root/plain.err" | cksum |
	    tr ' ' -
}

# ran WHO COMMAND: runs it in a new folder with f, g, an empty e, and a folder D
# with x; afterwards $status and $left, and all of it in result.WHO
ran() {
	rm -rf dir
	mkdir dir dir/D
	cp f.0 dir/f
	cp g.0 dir/g
	cp g.0 dir/D/x
	: >dir/e
	(
		cd dir || exit
		[ "$1" = peer ] || PATH=$root/bin:$PATH
		rc=0
		sh -c "$2" >../out 2>../err </dev/null || rc=$?
		echo $rc >../status
	)
	status=$(cat status)
	left=$(cd dir && find . -mindepth 1 ! -name D | sed 's|^\./||' |
	    LC_ALL=C sort | tr '\n' ' ')
	{
		echo "status $status: $left"
		plain <out
		for r in $left; do
			if [ -f "dir/$r" ] && [ ! -L "dir/$r" ]; then
				echo "$r $(plain <"dir/$r")"
			fi
		done
	} >"result.$1"
}

# as STATUS LEFT COMMAND
as() {
	ran pzc "$3"
	is "$3" "$status: $left" "$1: $2 "
	PATH=$peers command -v "${3%% *}" >which.out 2>&1 || return 0
	ran peer "$3"
	if cmp -s result.pzc result.peer; then
		ok "$3: as the peer"
	else
		not_ok "$3: as the peer"
		diff result.pzc result.peer | sed 's/^/# /'
	fi
}

# said TEXT COMMAND: standard error contains the text
said() {
	ran pzc "$2"
	t "$2 says" 0 grep -qF -e "$1" err
}

# xz
as 0 'D/x e f.xz g' 'xz f'
as 0 'D/x e f f.xz g' 'xz -k f'
as 0 'D/x e f g' 'xz f && unxz f.xz'
as 0 'D/x e f f.xz g' 'xz -k f && xzcat f.xz'
as 1 'D/x e f f.xz g' 'xz -k f && xz -k f'
as 2 'D/x e f f.xz g' 'xz -k f && xz -f f.xz'
as 2 'D/x e f g' 'xz D'
as 0 'D/x e f g' 'xz -qQ D'
as 1 'D/x e f g' 'xz nothing'
as 1 'D/x e f g' 'xz -d g'
as 1 'D/x e f g' 'xz -t g'
as 1 'D/x e f g' 'xz -tf <g'
as 1 'D/x e f g' 'xz -t e'
as 0 'D/x e f g' 'xz -dcf g'
as 2 'D/x e g h' 'xz f && mv f.xz h && xz -d h'
as 0 'D/x e f.lzma g' 'lzma f'
as 1 'D/x e f.xz g' 'xz f && unlzma -c f.xz'
as 0 'D/x e f.lzma g' 'xz --format=lzma f && lzcat f.lzma'
as 0 'D/x e f g' 'xz -S .foo f && xz -d -S .foo f.foo'
as 1 'D/x e f g' 'xz --format=raw f'
as 0 'D/x e f g' \
    'xz --format=raw --lzma1 -c f | xz --format=raw --lzma1 -dc'
as 0 'D/x e f.xz g' 'xz --x86 --delta=dist=4 --lzma2=preset=1,dict=64KiB f'
as 1 'D/x e f g' 'xz --x86 f'
as 1 'D/x e f g' 'xz --lzma2=lc=9 f'
as 1 'D/x e f g' 'xz -C foo f'
as 1 'D/x e f g' 'xz -M 1MiB f'
as 1 'D/x e f.xz g' 'xz -9 f && xz -M 1MiB -dc f.xz'
as 0 'D/x e f.xz g.xz' "printf 'f\\ng\\n' | xz --files"
as 0 'D/x L e f.xz g' "printf 'f\\0' >L; xz --files0=L"
as 0 'D/x e f f.xz g' 'XZ_OPT=-k xz f'
as 1 'D/x e f g' 'XZ_OPT=--bad xz f'
as 0 'D/x e f f.xz g' \
    'xz -k -T1 f; cat f.xz f.xz | xz --single-stream -dc | cmp - f'
as 0 'D/x e f f.xz g' 'xz -kT1 -C sha256 f && xz --robot -lvv f.xz'
as 0 'D/x e f f.xz g' 'xz -kT1 --block-list=1000,,2000,0 f && xz -lvv f.xz'
as 0 'D/x e f f.xz g g.xz' 'xz -kT1 f g && xz -lv f.xz g.xz; xz -l *.xz'
as 1 'D/x e f g' 'xz -l f'
as 1 'D/x e f g' 'xz -l <f'
said 'f: File format not recognized' 'xz -dc f'
said "xz: f.xz: File already has \`.xz' suffix, skipping" 'xz f; xz f.xz'
said 'MiB to not exceed the memory usage limit of 100 MiB' 'xz -9M 100MiB f'
ran pzc "xz -M 100MiB -9 --no-adjust -T1 f"
is 'xz --no-adjust' "$status" 1
is 'xz -V' "$(bin/xz --robot -V | head -n 1 | cut -d = -f 1)" XZ_VERSION
ran pzc 'for i in 1 2 3 4 5 6; do cat f; done >F; xz -k --block-size=8KiB F &&
    xz --robot -l F.xz'
is 'xz --block-size' "$(awk '/^file/ { print $3 }' out)" 7

# zstd
as 0 'D/x e f f.zst g' 'zstd f'
as 0 'D/x e f.zst g' 'zstd --rm f'
as 0 'D/x e f g' 'zstd --rm f && zstd -d --rm f.zst'
as 0 'D/x e f f.zst g' 'zstd f && zstdcat f.zst'
as 0 'D/x e f g' 'zstdcat f'
as 1 'D/x e f g' 'zstd -dc f'
as 1 'D/x e f g' 'zstd -tf <f'
as 0 'D/x e f g' 'zstd --pass-through -dc f'
as 0 'D/x e f g h' 'zstd --pass-through -d f -o h; zstd -d --pass-through f -o h 2>&1 -f'
as 1 'D/x e f g' 'zstd --no-pass-through -dcf f'
as 1 'D/x e f f.zst g' 'zstd f && zstd -q f'
as 0 'D/x e f f.zst g' 'zstd f && echo y | zstd f'
as 1 'D/x e f f.zst g' 'zstd f && echo n | zstd f'
as 0 'D/x e f g h' 'zstd f -o h && zstd -dc h'
as 0 'D/x e f g h' 'zstd f g -o h -f && zstd -dc h'
as 1 'D/x e f g' 'zstd f g -o h'
as 0 'D/x D/x.zst e f g' 'zstd -r D'
as 0 'D/x O O/f.zst O/x.zst e f g' \
    'mkdir O; zstd --output-dir-flat=O f D/x; rm -f D/*.zst'
as 0 'D/x O O/x.zst e f g' \
    'zstd -r --output-dir-mirror=O D; mv O/D/* O; rmdir O/D'
as 0 'D/x L e f f.zst g g.zst' "printf 'f\\ng\\n' >L; zstd --filelist=L"
as 0 'D/x e f f.zst g' 'zstd --fast=10 f && zstd -dc f.zst'
as 0 'D/x e f f.zst g' 'zstd -99 f'
as 1 'D/x e f g' 'zstd --fast=0 f'
as 0 'D/x e f f.zst g' 'zstd --zstd=wlog=18,strat=3 f && zstd -t f.zst'
as 1 'D/x e f g' 'zstd --zstd=bad=1 f'
as 0 'D/x e f f.zst g' 'zstd --long=25 f && zstd -dc --long=25 f.zst'
as 11 'D/x e f g' 'zstd --long=40 f'
as 0 'D/x e f g g.zst' 'zstd -D f g && zstd -D f -dc g.zst'
as 31 'D/x e f g' 'zstd -D nothing g'
as 0 'D/x e f g g.zst' 'zstd --patch-from=f g && zstd -d --patch-from=f -c g.zst'
as 14 'D/x e f g' 'zstd --train g -o dict'
as 0 'D/x e f g' 'for i in $(seq 60); do seq $i 90 >s$i; done
    zstd -q --train s* -o dict --maxdict=2K --dictID=7
    zstd -qD dict s9 && zstd -dcD dict s9.zst; rm s* dict'
for o in --train-cover=k=46,d=8,split=80 --train-cover=steps=4,shrink=5 \
    --train-fastcover=k=46,d=8,f=15,accel=2 --train-fastcover=split=80,steps=1 \
    --train-legacy '--train-legacy -s5' --train-legacy=selectivity=8 \
    '--train -M100KB'; do
	as 0 'D/x dict e f g x' 'zstd -q '"$o"' -B1K "$SRC"/src/tools/pzc/*.c \
	    -o dict --maxdict=4K --dictID=9 2>/dev/null
	    zstd -qD dict f -o x; zstd -lv x | grep DictID; : >x; [ -s dict ]
	    rc=$?; : >dict; exit $rc'
done
for o in --train-cover=f=3 --train-fastcover=bad=1 \
    --train-legacy=k=3 --train-fastcover=k=56,d=8,accel=15 --dictID \
    '-M10K -B4K'; do
	as 1 'D/x e f g' 'zstd -q --train -B1K '"$o"' "$SRC"/src/tools/pzc/*.c \
	    -o dict; rc=$?; rm -f dict; [ $rc -gt 0 ]; exit $((1 - $?))'
done
ran pzc 'zstd --train-fastcover=k=,d=8 f -o dict'
is 'zstd --train-fastcover=k=,d=8' "$status" 1
as 1 'D/x e f g' 'zstd -D f f'
as 1 'D/x e f f.zst g' 'zstd f; zstd --patch-from=f -f f'
as 42 'D/x e f g' 'zstd --patch-from=f -c <g'
as 0 'D/x e f g' 'zstd --patch-from=f --stream-size=6 -c <g'
as 1 'D/x D/y e f g' 'cp g D/y; zstd --patch-from=f -r D'
as 0 'D/x e f g' 'zstd --no-check f && printf x >>f.zst; rm f.zst
    zstd -c f >z; n=$(wc -c <z); printf "\252\125\252\125" |
    dd of=z bs=1 conv=notrunc seek=$((n - 4)) 2>/dev/null
    zstd -dc z >/dev/null 2>&1 && exit 9
    zstd -dc --no-check z; rc=$?; rm z; exit $rc'
as 0 'D/x e f g h.zstd' 'zstd f -o h.zstd; zstd -d h.zstd; rm h'
as 0 'D/x e f g h.zst' 'zstd -q --size-hint=1M <f >h.zst'
as 0 'D/x e f f.zst g' 'zstd -q --target-compressed-block-size=1K f'
as 1 'D/x e f g' 'zstd --size-hint=x f'
as 0 'D/x e f f.zst g' 'zstd --show-default-cparams -q f 2>&1 | grep -v bytes'
as 0 'D/x e f f.zst g' 'zstd -vv f 2>&1 | grep -o -e --zstd=wlog=..'
as 0 'D/x e f f.zst g' 'zstd --progress -q f 2>&1 | tr "\r" "\n" | grep -c Read:'
as 0 'D/x e f f.zst g' 'zstd --fake-stderr-is-console f 2>&1 | grep -c Read:'
as 0 'D/x e f f.zst g' \
    'zstd --fake-stderr-is-console --no-progress f 2>&1 | grep -c Read:; :'
as 1 'D/x e f g' 'zstd --fake-stdout-is-console <f'
as 1 'D/x e f g' 'zstd -d --fake-stdin-is-console <f'
ran pzc 'zstd -lv f'
mkdir tree
ln -s "$pzc" tree/zstd
ln -s zstd tree/zcat
is 'zcat, a link to zstd, copies' "$(tree/zcat g.0)" hello
as 0 'D/x e f f.gz g' 'zstd --format=gzip f && zstd -dc f.gz'
as 0 'D/x e f f.zst g' 'zstd --no-check f && zstd -l f.zst | tail -c 12'
as 0 'D/x e f g h' 'zstd --stream-size=8893 <f >h'
as 11 'D/x e f g h' 'zstd --stream-size=10 <f >h; rc=$?; : >h; exit $rc'
as 1 'D/x e f f.zst g h' 'zstd f && cat f.zst g >h && zstd -dc h'
as 0 'D/x e f f.zst g' 'ZSTD_CLEVEL=a ZSTD_NBTHREADS=2 zstd f'
as 0 'D/x L M e f f.zst g g.zst' \
    'echo f >L; echo g >M; zstd --filelist=L --filelist=M'
as 0 'D/x e f g' 'zstd -df <g'
as 0 'D/x e f f.zst g' 'zstd f && zstd -q --progress -df f.zst 2>&1 | grep -o 8893'
as 1 'D/x e f g' 'zstd --zstd=wlog=21, f'
as 1 'D/x e f g' 'zstd --bad f'
said 'f.zst already exists; not overwritten' 'zstd f; zstd -q f'
said "can't stat nothing : No such file or directory" 'zstd nothing'
said 'use lap' 'zstd -b3 f'

# bzip2
as 0 'D/x e f.bz2 g' 'bzip2 f'
as 0 'D/x e f g' 'bzip2 f && bunzip2 f.bz2'
as 0 'D/x e f f.bz2 g' 'bzip2 -k f && bzcat f.bz2'
as 1 'D/x e f f.bz2 g' 'bzip2 -k f && bzip2 -k f'
as 1 'D/x e f f.bz2 g' 'bzip2 -k f && bzip2 -f f.bz2'
as 2 'D/x e f g' 'bzip2 -t g'
as 2 'D/x e f g' 'bzip2 -tf <g'
as 2 'D/x e f g' 'bzip2 -t e'
as 0 'D/x e f g' 'bzip2 -dcf g'
as 0 'D/x e g h.out' 'bzip2 f && mv f.bz2 h && bzip2 -d h'
as 0 'D/x e g h.tar' 'bzip2 f && mv f.bz2 h.tbz2 && bzip2 -d h.tbz2'
as 1 'D/x e f g' 'bzip2 nothing'
as 0 'D/x e f f.bz2 g' 'BZIP2=-k bzip2 f'
as 2 'D/x e f f.bz2 g' 'bzip2 -k f; head -c 99 f.bz2 | bzip2 -d; rc=$?; exit $rc'
as 0 'D/x e f f.bz2 g' 'bzip2 -k f; cat f.bz2 g | bzip2 -d'
as 0 'D/x e f f.bz2 g' 'lbzip2 -n2 -k f && lbzip2 -dc f.bz2'
as 0 'D/x e f f.bz2 g' 'pbzip2 -p2 -k f && pbzip2 -dc f.bz2'
if PATH=$peers command -v bzip2 >which.out 2>&1; then
	seq 1 200000 >b
	bzip2 -k b
	cat b.bz2 b.bz2 >two.bz2
	for o in -tv -tvv -tvvv -dcvv; do
		bzip2 $o b.bz2 two.bz2 2>want >want.out
		bin/bzip2 $o b.bz2 two.bz2 2>got >got.out
		same "bzip2 $o" got want
	done
	bin/bzip2 -cvv b 2>got | bzip2 -tvvv 2>want
	is 'bzip2 -cvv: the CRCs' \
	    "$(sed -n 's/.*block.*: crc = \(0x[0-9a-f]*\).*/\1/p' got)" \
	    "$(sed -n 's/.*{\(0x[0-9a-f]*\),.*/\1/p' want)"
fi
said 'Input file D is a directory.' 'bzip2 D'
said 'g is not a bzip2 file' 'bzip2 -dc g'

# lz4
as 0 'D/x e f f.lz4 g' 'lz4 f f.lz4'
as 0 'D/x e f g h' 'lz4 f h && lz4 -d h -c'
as 0 'D/x e f f.lz4 g g.lz4' 'lz4 -m f g'
as 0 'D/x e f.lz4 g' 'lz4 --rm f f.lz4'
as 0 'D/x e f f.lz4 g k' 'lz4 f f.lz4 && lz4 f.lz4 k'
as 0 'D/x e f g' 'lz4cat f'
as 44 'D/x e f g' 'lz4 -t f'
as 44 'D/x e f g' 'lz4 -tf <f'
as 0 'D/x e f g' 'lz4 -t e'
as 1 'D/x e f f.lz4 g' 'lz4 f f.lz4; lz4 -q f f.lz4'
as 1 'D/x e f g' 'lz4 nothing h'
as 1 'D/x e f g' 'lz4 f g h'
as 0 'D/x e f g h' 'lz4 -9 -B4 -BX f h && lz4 -t h'
as 0 'D/x e f g h' 'lz4 --fast=9 f h && lz4 -dc h'
as 0 'D/x e f g h' 'lz4 -l f h && lz4 -dc h'
as 0 'D/x e f g' 'lz4 --no-frame-crc <f | lz4 -d'
as 1 'D/x e f g' 'lz4 --bad f h'
ran pzc 'lz4 --content-size f h.lz4 && lz4 --list h.lz4'
is 'lz4 --content-size' "$(awk 'NR == 2 { print $5 }' out)" 8.68K

as 0 'D/x e f g' 'lz4 -D f <g | lz4 -dD f'
as 0 'D/x e f g' 'lz4 -9 -D f <f | lz4 -dD f'
as 0 'D/x e f g' 'lz4 -D e <g | lz4 -d'
as 0 'D/x e f g h' 'lz4 -l -D f g h && lz4 -dc h'
as 27 'D/x e f g' 'lz4 -D nothing g h'
as 66 'D/x e f g h' 'lz4 -D f f h && lz4 -dc h >/dev/null'
ran pzc 'lz4 -D f f h.lz4; wc -c <h.lz4'
is 'lz4 -D: the dictionary is used' "$([ "$(cat out)" -lt 200 ] && echo yes)" yes
if PATH=$peers command -v lz4 >which.out 2>&1; then
	cp f.0 f
	lz4 -q --content-size -B4 f a.lz4
	cat a.lz4 a.lz4 >b.lz4
	printf '\120\052\115\030\003\000\000\000abc' >>b.lz4
	lz4 -q -l -c f >>b.lz4
	printf '\120\052\115\030\003\000\000\000abc' >c.lz4
	for n in a b c; do
		# but for the program's name
		lz4 -v --list $n.lz4 2>&1 | sed 1d >want
		bin/lz4 -v --list $n.lz4 2>&1 | sed 1d >got
		same "lz4 -v --list $n" got want
		lz4 --list $n.lz4 >want
		bin/lz4 --list $n.lz4 >got
		same "lz4 --list $n" got want
	done
	as 0 'D/x e f g' 'lz4 -dc "$OLDPWD/c.lz4"'
fi

# A frame with the ID of its dictionary; lz4 reads this one without it.
printf '\004\042\115\030\141\100\001\000\000\000\320\006\000\000\200' >id.lz4
printf 'hello\n\000\000\000\000' >>id.lz4
is 'lz4 -dD, an ID' "$(bin/lz4 -dcD f.0 id.lz4)" hello
t 'lz4 -d, an ID' 66 bin/lz4 -dc id.lz4
is 'lz4 -d, an ID: why' "$(grep -c 'dictionary with ID 1' .t.err)" 1

# Zeros become holes.
truncate -s 8M zeros
printf x >>zeros
for p in zstd xz lz4; do
	bin/$p -qc zeros >zeros.packed
	for o in '' --sparse --no-sparse; do
		case $p$o in xz--sparse) continue ;; esac
		rm -f out1
		# shellcheck disable=SC2086
		case $p in
		xz)
			cp zeros.packed out1.xz
			t "xz -d $o" 0 bin/xz -qd $o out1.xz
			;;
		lz4) t "lz4 -d $o" 0 bin/lz4 -qd $o zeros.packed out1 ;;
		*) t "zstd -d $o" 0 bin/zstd -qd $o zeros.packed -o out1 ;;
		esac
		same "$p -d $o: the bytes" out1 zeros
		case $o in --no-sparse) want=no ;; *) want=yes ;; esac
		is "$p -d $o: has holes" "$([ "$(du -k out1 |
		    cut -f 1)" -lt 1000 ] && echo yes || echo no)" $want
	done
done
bin/zstd -qc zeros >zeros.packed
t 'zstd -dc --sparse' 0 to out1 bin/zstd -qdc --sparse zeros.packed
same 'zstd -dc --sparse: the bytes' out1 zeros
head -c 8M zeros | bin/zstd -qc >zeros.packed
t 'zstd -dc --sparse, a hole at the end' 0 to out1 \
    bin/zstd -qdc --sparse zeros.packed
is 'its length' "$(wc -c <out1)" 8388608
printf y >out1
# shellcheck disable=SC2094 # the end of the file
bin/zstd -qdc --sparse zeros.packed >>out1
is 'after other data' "$(head -c 1 out1)$(wc -c <out1)" y8388609

# Programs that pzc does not stand in for
for n in zip unzip lzop pixz compress; do
	ln -s "$pzc" "bin/$n"
	cp f.0 w
	t "$n is refused" 1 "bin/$n" w
	same "$n: the file is left" w f.0
done

done_testing

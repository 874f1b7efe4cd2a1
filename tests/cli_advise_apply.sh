#!/bin/sh
# coldpress apply keeps what it promises: it goes on where it was stopped, does
# nothing without room, and keeps an original until its successor is verified.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have pzc || skip_all 'no pzc'
have coldpress-advise || skip_all 'coldpress-advise is not built'
mkdir bin
COLDPRESS_BIN=$PWD/bin:$BIN XDG_STATE_HOME=$PWD/state
export COLDPRESS_BIN XDG_STATE_HOME
apply() { "$SRC/scripts/coldpress" apply -o rows.csv "$@"; }

# rows NUMBER PLACE KIND TARGET FORMAT LEVEL BLOCK MOST: a proposal
rows() {
	echo 'number,place,kind,target,format,level,block_B,size_hi_B,now_B,candidate,pick' \
	    >rows.csv
	echo "$1,$2,$3,$4,$5,$6,$7,$8,9,x,1" >>rows.csv
}
# instead NAME: a program that replaces one of the same name; its text follows
instead() {
	{
		echo '#!/bin/sh'
		cat
	} >"bin/$1"
	chmod +x "bin/$1"
}
sums() { find "$1" -type f -exec sha256sum {} + | sort; }

mkdir logs poor
for i in 1 2 3 4; do
	seq "$((i * 900))" | sed 's/^/12:00:01 /' >"logs/$i.log"
	seq "$((i * 700))" | gzip -1 >"poor/$i.gz"
done
find logs poor -type f -exec touch -d '3 days ago' {} +

# room
sums logs >before
rows 1 "$PWD/logs" log files zstd 3 '' 9
instead df <<'X'
printf 'Avail\n17\n'
X
t 'without room' 1 apply 1
shows 'says so' 'only 17 are free' .t.err
sums logs >after
same 'and does nothing' before after
rows 1 "$PWD/logs" tree tar zstd 3 '' 900
t 'nor a tar stream' 1 apply 1
is 'is begun' "$(ls logs.tar* 2>/dev/null)" ''
rm bin/df

# a compressor that destroys: the originals stay
instead pzc <<X
case "\$*" in
*-dc*) exec "$BIN/pzc" "\$@" ;;
esac
"$BIN/pzc" "\$@" | tr '\000' '\001'
X
sums poor >before
rows 1 "$PWD/poor" gzip files zstd 19 '' 9
t 'a result that differs' 1 apply 1
sums poor >after
same 'replaces nothing' before after
is 'and leaves nothing' "$(find poor -name '.cold*')" ''
rows 1 "$PWD/logs" tree tar zstd 3 '' 9
t 'a tar stream that differs' 1 apply 1
is 'is removed' "$(ls logs.tar* 2>/dev/null)" ''
rm bin/pzc

# stopped after the second file, and begun again
instead pzc <<X
echo >>"$PWD/calls"	# two of a pipeline may run at once
[ "\$(wc -l <"$PWD/calls")" -lt 9 ] || kill -9 "\$(cat "$PWD/pid")"
exec "$BIN/pzc" "\$@"
X
rows 1 "$PWD/poor" gzip files zstd 19 '' 9
status=0
# shellcheck disable=SC2016
sh -c 'echo $$ >pid; exec "$0" apply -o rows.csv 1' \
    "$SRC/scripts/coldpress" >.t.out 2>.t.err || status=$?
rm bin/pzc
is 'stopped' "$((status != 0))" 1
done=$(find poor -name '*.zst' | wc -l)
is 'in the middle' "$((done > 0 && done < 4))" 1
for i in 1 2 3 4; do
	[ ! -e "poor/$i.gz" ] || [ ! -e "poor/$i.zst" ] || echo "$i twice"
	"$BIN/pzc" -dc "poor/$i".* | cmp -s - - || :
done >both
t 'goes on' 0 apply 1
is 'to the end' "$(find poor -name '*.zst' | wc -l)" 4
is 'and nothing else is left' "$(find poor -type f ! -name '*.zst' \
    ! -name '.cold*')" ''
for i in 1 2 3 4; do
	"$BIN/pzc" -dc "poor/$i.zst" | cmp -s - /dev/fd/3 3<<E || echo "$i"
$(seq $((i * 700)))
E
done >differ
is 'with the same contents' "$(cat differ)" ''
t 'and once more' 0 apply 1
shows 'has nothing to do' 'nothing is left' .t.err

# images
if have sqpack && have coldwalk; then
	sqpack -q -F gzip -L 1 -o one.squashfs "$SRC/include"
	touch -d '3 days ago' one.squashfs
	cp -p one.squashfs old
	rows 1 "$PWD/one.squashfs" image image zstd 19 131072 9
	instead sqpack <<X
case "\$*" in
*--diff*) echo 'a: contents'; exit 1 ;;
esac
exec "$BIN/sqpack" "\$@"
X
	t 'an image that differs' 1 apply 1
	shows 'says so' 'the old one is kept' .t.err
	same 'replaces nothing' old one.squashfs
	rm bin/sqpack
	t 'an image' 0 apply 1
	is 'becomes smaller' "$(($(stat -c %s one.squashfs) < \
	    $(stat -c %s old)))" 1
	coldwalk -q --cold none old | sort >before
	coldwalk -q --cold none one.squashfs | sort >after
	same 'and has the same in it' before after
	t 'once more' 0 apply 1
	shows 'it would not' 'would not be smaller' .t.err
	touch one.squashfs
	t 'one that was changed just now' 0 apply 1
	shows 'is hot' 'nothing is left' .t.err
	sed '1s/$/,hot_min/; 2,$s/$/,0/' rows.csv >cold.csv
	t 'if advise took it nevertheless' 0 "$SRC/scripts/coldpress" apply \
	    -o cold.csv 1
	shows 'so does apply' 'would not be smaller' .t.err
	is 'and no temporary file' "$(find . -maxdepth 1 -name '.coldpress*')" ''
	cp old signed.snap
	# shellcheck disable=SC2016
	t 'a snap' 0 sh -c 'sed s/one.squashfs/signed.snap/ rows.csv >snap.csv &&
	    "$SRC/scripts/coldpress" apply -o snap.csv 1'
	same 'is left alone' old signed.snap
fi

# settings are shown
rows 1 "$PWD/logs" mail mail zstd 9 '' 9
t 'a mail store' 1 apply 1
shows 'is a setting of Dovecot' 'zlib_save_level = 9'
rows 1 "$PWD/logs" tree zfs zstd 9 1048576 9
t 'a dataset' 1 apply 1
shows 'is one of ZFS' 'zfs set compression=zstd-9 recordsize=1024K'
rows 1 "$PWD/logs" layer layers zstd 19 '' 9
t 'a layer' 1 apply 1
shows 'is one of skopeo' 'dest-compress-level 19'
rows 1 "$PWD/logs" layer layers gzip 9 4194304 9
sed -i '2s/,x,/,estargz,/' rows.csv
t 'a layer in pieces' 1 apply 1
shows 'is layerpack'\''s' '^layerpack --image -F estargz -L 9 '

if have layerpack; then
	sed -i 's/,layer,/,tree,/' rows.csv
	t 'a tree as such a layer' 0 apply 1
	t 'which is whole' 0 layerpack --verify logs.tar.gz
	t 'in that format' 0 sh -c 'layerpack -F estargz -t logs.tar.gz |
	    grep -q logs/3.log'
	rm logs.tar.gz
	# one that changes a file is found
	instead layerpack <<X
case "\$*" in
*--verify*) exit 0 ;;
esac
mkdir short && tar -C short -x && echo x >>short/logs/3.log
tar -C short -c logs | "$BIN/layerpack" "\$@"
X
	t 'a layer with another file' 1 apply 1
	is 'does not stay' "$(ls logs.tar* 2>/dev/null)" ''
	rm -r bin/layerpack short
fi
done_testing

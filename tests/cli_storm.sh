#!/bin/sh
# Signals at random times: every tool that writes ends cleanly, with its output
# whole or absent and its input kept; after SIGKILL, only temporary names remain.
# SPDX-License-Identifier: BSD-2-Clause
# COLDPRESS_STORM is the number of runs of each kind for each tool (20).
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

runs=${COLDPRESS_STORM:-20}
mkdir d
cd d || exit

# storm NAME OPTION... COMMAND...
storm() {
	n_name=$1
	shift
	suffers "$n_name: SIGKILL" -n "$runs" -s KILL -a 1,2,125,130 "$@"
	suffers "$n_name: many signals" -n "$runs" -S 7 -a 1,2,125,126,127 \
	    -s INT,TERM,HUP,WINCH,PIPE "$@"
}

seq 60000 >f
storm 'pzc' -i f -o f.gz pzc -6 -p 2 -b 64 f
storm 'pzc -k -F zstd' -o f.zst pzc -k -F zstd -p 2 f
pzc -kq f
mv f ../f
storm 'pzc -d' -i f.gz -o f pzc -dp2 f.gz
if have pzseek; then
	gzip -c ../f >f.gz
	storm 'pzseek --make-index' -o f.gz.pzi \
	    pzseek -q --make-index --spacing 64K f.gz
	storm 'pzseek -o' -o out pzseek -q -o out f.gz 1000:200000
fi
rm -f f.gz
mkdir -p tree/sub
cp ../f tree/f
seq 3000 >tree/sub/small
ln tree/f tree/name
touch -d 2020-01-01 tree/f tree/sub/small tree/sub tree
if have coldwalk; then
	# complete lines of the files that were read
	storm 'coldwalk -o' -o sums coldwalk -q --cold none -p 2 -o sums tree
fi
if have sqpack; then
	storm 'sqpack' -o image sqpack -q -p 2 -b 16K -F gzip -L 6 -o image tree
	sqpack -q -b 16K -F gzip -o image tree
	storm 'sqpack -f' -o image sqpack -q -f -p 2 -b 64K -F lz4 -o image tree
	# a tree is made in place
	storm 'sqpack -x' -O x sqpack -q -x x -p 2 image
	rm image
fi
if have layerpack; then
	(cd tree && tar --sort=name -cf ../a.tar .)
	rm -r tree
	for o in '-F estargz' '-F zstd-chunked'; do
		# shellcheck disable=SC2086
		storm "layerpack $o" -o layer \
		    layerpack -q -p 2 -c 16K $o -o layer a.tar
	done
	gzip -n a.tar
	storm 'layerpack -F ztoc' -o ztoc \
	    layerpack -q -F ztoc -c 64K -o ztoc a.tar.gz
	rm a.tar.gz
fi
if have mailgen; then
	storm 'mailgen' -p m mailgen -q -n 200 -p 2 m
	storm 'mailgen --mbox' -p m mailgen -q -n 200 -p 2 --mbox m
fi
if have lap; then
	cat >../check <<'X'
[ -e r.csv ] || exit 0
lap -q -n 1 -o r.csv -l next -- true || exit
awk -F, '/^#/ { next } !n { n = NF } NF != n { exit bad = 1 }
    END { exit bad }' r.csv
X
	storm 'lap' -o r.csv -o r.csv.provenance -c 'sh ../check' \
	    lap -q -n 5 -o r.csv -l x -- seq 1000 '|' cat
fi
done_testing

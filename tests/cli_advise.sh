#!/bin/sh
# coldpress advise finds what would pay, explain says why, and apply does it
# without losing anything.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have coldpress-advise || skip_all 'coldpress-advise is not built'
have python3 || skip_all 'no python3'
COLDPRESS_BIN=$BIN XDG_STATE_HOME=$PWD/state
export COLDPRESS_BIN XDG_STATE_HOME
coldpress() { "$SRC/scripts/coldpress" "$@"; }
# the CPU time, since others use this machine
sampled() { coldpress advise --cpu --budget 4 --least 10K "$@"; }

# value COLUMN CANDIDATE [FILE]: prints a value of the first matching row
value() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[3], newline="")):
    if row["candidate"] == sys.argv[2]:
        print(row[sys.argv[1]])
        break' "$1" "$2" "${3:-rows.csv}"
}

# csvpick [FILE]: prints the candidate that is proposed
csvpick() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1], newline="")):
    if row["pick"] == "1":
        print(row["candidate"])' "${1:-use.csv}"
}

# near A B PERCENT: whether A is within some percent of B
near() {
	awk "BEGIN { d = $1 / $2 - 1; exit !(d < $3 / 100 && -d < $3 / 100) }"
}

mkdir logs mixed media
for i in 1 2 3; do
	awk -v s=$i 'BEGIN {
		srand(s)
		for (i = 0; i < 3000; i++)
			printf "Nov 25 %02d:%02d:%02d h%d app[%d]: took %d ms\n",
			    i / 3600, i / 60 % 60, i % 60, s, rand() * 9999,
			    rand() * 900
	}' >"logs/app $i.log"
done
seq 40000 >mixed/numbers
gzip -k1 mixed/numbers
tar -czf mixed/two.tgz logs
rm mixed/numbers
cp 'logs/app 1.log' 'mixed/with
newline.log'
head -c 200000 /dev/urandom >media/noise
printf '\211PNG\r\n' | dd of=media/noise conv=notrunc 2>.t.err
find logs mixed media -type f -exec touch -d '3 days ago' {} +
find logs mixed media -type f -exec sha256sum {} + | sort >before

t 'advice' 3 sampled -o rows.csv logs
shows 'the kind, found by content' '3 plain logs'
shows 'nothing is changed' 'nothing was changed'
is 'at most 15 lines' "$(($(wc -l <.t.out) <= 15))" 1
t 'no line is longer than a terminal' 1 grep -q '^.\{91\}' .t.out
t 'a path is enough' 3 coldpress logs --cpu --budget 2 --least 10K
is 'one kind of files, all candidates' "$(wc -l <rows.csv)" 12
t 'CPU times have intervals' 0 python3 -c 'import csv
for row in csv.DictReader(open("rows.csv", newline="")):
    if row["cpu_hi_s"]:
        assert float(row["cpu_lo_s"]) <= float(row["cpu_s"]) <= float(row["cpu_hi_s"])
        assert float(row["cpu_s"]) > 0'
for how in gzip-6 zstd-3 bzip2-9 xz-6; do
	size=0
	for file in logs/*; do
		n=$(pzc -F "${how%-*}" -"${how#*-}" -c "$file" | wc -c)
		size=$((size + n))
	done
	t "$how: the size is the tool's" 0 near "$(value size_B $how)" $size 0.5
done
t 'json' 3 to json sampled --json logs
t 'is lines of JSON' 0 python3 -c 'import json, sys
rows = [json.loads(line) for line in open("json")]
assert sum(row["pick"] for row in rows) == 1, rows
assert all(row["size_B"] > 0 for row in rows)'
find logs mixed media -type f -exec sha256sum {} + | sort >after
same 'nothing was changed' before after

# what is not worth it
t 'nothing would pay' 0 sampled media
shows 'says so' 'nothing would pay'
shows 'and why' 'already compressed'
t 'hot files are left alone' 0 sampled --hot 9999999 logs
shows 'says so' ': hot'
t 'small ones too' 0 sampled --least 9M logs
shows 'says so' 'too small'
: >empty
t 'an empty file' 0 sampled empty
mkdir nothing
t 'an empty directory' 0 sampled nothing
t 'no such path' 1 sampled absent
shows 'names it' 'absent: No such file' .t.err
t 'quiet' 3 sampled -q logs
is 'prints nothing' "$(cat .t.out .t.err)" ''

# readers
t 'python reads no zstd' 3 sampled --reader python -o python.csv logs
t 'so none is proposed' 0 grep -q ',xz-6,' python.csv
is 'and it is marked' "$(value readable zstd-19 python.csv)" 0
t 'two readers' 3 sampled --reader python,gzip -o both.csv logs
python3 - <<'E' >picked
import csv
print([row["format"] for row in csv.DictReader(open("both.csv", newline=""))
       if row["pick"] == "1"])
E
is 'leave gzip' "$(cat picked)" "['gzip']"
t 'an unknown one' 1 sampled --reader cobol logs
shows 'is an error' "about the reader 'cobol'" .t.err
t 'an old kernel' 3 sampled --for image --reader kernel-4.9 -o old.csv logs
is 'has no zstd in squashfs' "$(value readable zstd-19 old.csv)" 0
is 'but xz' "$(value readable xz old.csv)" 1
t 'a newer kernel' 3 sampled --for image --reader kernel-5.4 -o new.csv logs
is 'has' "$(value readable zstd-19 new.csv)" 1

# objectives
t 'a fast link' 3 sampled --objective total-time --link 100Gbit --reads 0 \
    -o fast.csv logs
t 'a slow link' 3 sampled --objective total-time --link 10kbit -o slow.csv logs
python3 - <<'E' >picked
import csv
def pick(name):
    return [float(row["size_B"]) for row in
            csv.DictReader(open(name, newline="")) if row["pick"] == "1"][0]
print(pick("slow.csv") < pick("fast.csv"))
E
is 'makes a smaller result better' "$(cat picked)" True
t 'a wrong link' 1 sampled --link fast logs
shows 'is explained' '100Mbit' .t.err

# trees
mkdir tree
cp -R "$SRC/include" "$SRC/man" tree
find tree -type f -exec touch -d '3 days ago' {} +
t 'a tree of source' 3 sampled -o tree.csv tree
shows 'becomes an image' 'apply$'
pick=$(python3 - <<'E'
import csv
for row in csv.DictReader(open("tree.csv", newline="")):
    if row["pick"] == "1":
        print(row["format"], row["level"] or 0, row["block_B"], row["size_B"])
E
)
# shellcheck disable=SC2086
set -- $pick
if have sqpack; then
	[ "$2" != 0 ] || set -- "$1" '' "$3" "$4"
	sqpack -q -F "$1" ${2:+-L "$2"} -b "$3" -o tree.sqfs tree
	t 'whose size is sqpack'\''s' 0 near "$4" "$(stat -c %s tree.sqfs)" 4
fi
t 'the verb may be left out, also before options' 3 coldpress --cpu \
    --budget 2 --least 10K -q -o bare.csv logs
t 'an option that advise does not have' 1 coldpress --nothing logs
shows 'is named' 'nothing' .t.err
t 'one alone' 2 coldpress --hot
t 'as a tar stream' 3 sampled --for tar -o tar.csv tree
tar -cf tree.tar tree
t 'whose size is pzc'\''s' 0 near "$(value size_B xz-6 tar.csv)" \
    "$(pzc -F xz -6 -c tree.tar | wc -c)" 4

# what else it may become
formats() {
	python3 -c 'import csv
print(*sorted({row["format"] for row in csv.DictReader(open("use.csv", newline=""))}))'
}
for use in 'zfs gzip lz4 zstd' 'layers gzip zstd' 'mail bzip2 gzip lz4 zstd' \
    'btrfs zlib zstd'; do
	rm -f use.csv
	t "for ${use%% *}" 3 coldpress advise --cpu --budget 2 --least 10K \
	    --for "${use%% *}" -o use.csv logs
	is 'it has candidates of its own' "$(formats)" "${use#* }"
done
if have layerpack; then
	mkdir parts
	i=0
	while [ $i -lt 60 ]; do
		i=$((i + 1))
		awk -v s=$i 'BEGIN { srand(s); for (i = 0; i < 40 * s; i++)
			print int(rand() * 4000) }' >parts/$i
	done
	find parts -exec touch -d '3 days ago' {} +
	rm -f use.csv
	tar -cf parts.tar parts
	t 'layers in pieces' 3 coldpress advise --cpu --budget 4 --least 10K \
	    --for layers --objective cold-read --link 100Mbit --touched 2 \
	    -o use.csv parts
	for format in estargz zstd-chunked; do
		layerpack -q -F $format -o parts.$format parts.tar >.t.out
		t "$format: the size is layerpack's" 0 near \
		    "$(value size_B $format use.csv)" \
		    "$(stat -c %s parts.$format)" 4
	done
	pick=$(csvpick)
	t 'one of which little is read' 0 \
	    sh -c "case $pick in estargz | zstd-chunked) ;; *) false ;; esac"
	coldpress advise --cpu --budget 4 --least 10K --for layers \
	    --objective cold-read --link 100Mbit -o whole.csv parts >.t.out || :
	pick=$(csvpick whole.csv)
	t 'if all of it is, another one wins' 1 \
	    sh -c "case $pick in estargz | zstd-chunked) ;; *) false ;; esac"
fi
rm -f use.csv
t 'for snap' 3 sampled --for snap -o use.csv tree
shows 'which apply makes' 'apply$'
case $(formats) in
xz | 'lzo xz') formats=right ;;
*) formats=$(formats) ;;
esac
is 'only what snapd takes' "$formats" right
if have sqpack; then
	sqpack -q -F xz -b 128K --no-fragments -o tree.snap tree
	t 'as large as the snap is' 0 near "$(value size_B xz use.csv)" \
	    "$(stat -c %s tree.snap)" 4
	# in an image
	sqpack -q -F gzip -o gzip.squashfs tree
	touch -d '3 days ago' gzip.squashfs tree.snap
	rm tree.snap
	t 'an image' 3 sampled -o image.csv gzip.squashfs
	shows 'is recognized' '1 squashfs image '
	shows 'and can be replaced' 'apply$'
	is 'by one with the same blocks' "$(value block_B gzip-9 image.csv)" \
	    131072
	sqpack -q -F zstd -L 9 -o zstd.squashfs gzip.squashfs
	t 'whose size is known' 0 near "$(value size_B zstd-9 image.csv)" \
	    "$(stat -c %s zstd.squashfs)" 4
	head -c 20000 gzip.squashfs >cut.squashfs
	touch -d '3 days ago' cut.squashfs
	t 'half of an image' 0 sampled cut.squashfs
	shows 'is not read' '^not read'
fi

# explain
sampled logs >.t.out || :
t 'explain' 0 coldpress explain 1
shows 'the front' '^> '
shows 'the break-even' 'Break-even'
shows 'the commands' 'coldpress advise --list=log'
t 'another number' 1 coldpress explain 9
shows 'is an error' 'has no proposal 9' .t.err
t 'no number' 2 coldpress explain
t 'not a number' 1 coldpress explain one

# apply
t 'only shown' 0 coldpress apply -n 1
find logs -type f -exec sha256sum {} + | sort >after
grep ' logs/' before >logs.before
same 'nothing was done' logs.before after
t 'apply' 0 coldpress apply 1
is 'all are compressed' "$(find logs -name '*.log' | wc -l)" 0
for file in logs/*; do
	printf '%s  %s\n' "$(pzc -dc "$file" | sha256sum | cut -d ' ' -f 1)" \
	    "${file%.*}"
done | sort >after
same 'and none is lost' logs.before after
t 'again' 0 coldpress apply 1
shows 'has nothing to do' 'nothing is left to do' .t.err
t 'poor formats' 3 sampled mixed
n=$(sed -n 's/^ *\([0-9]*\)  .* gzip or bzip2 files.*/\1/p' .t.out)
size=$(pzc -dc mixed/numbers.gz | sha256sum)
t 'are replaced' 0 coldpress apply "$n"
is 'numbers' "$(pzc -dc mixed/numbers.?z* | sha256sum)" "$size"
is 'a tarball keeps its kind' "$(ls mixed/two.*)" \
    "$(ls mixed/two.tar.* 2>/dev/null)"
is 'no temporary file' "$(find mixed -name '.cold*')" ''
n=$(sampled mixed | sed -n 's/^ *\([0-9]*\)  .* plain logs.*/\1/p')
if [ -n "$n" ]; then
	t 'a name with a newline' 0 coldpress apply "$n"
	is 'is compressed' "$(find mixed -name 'with*.log.*' | grep -c mixed)" 1
fi
sampled --for tar tree >.t.out || :
t 'a tar stream' 0 coldpress apply 1
is 'the tree stays' "$(ls tree)" "$(printf 'include\nman')"
t 'and can be read back' 0 sh -c 'pzc -dc tree.tar.?z* | tar -d'
t 'twice' 1 coldpress apply 1
shows 'is refused' 'exists: nothing was done' .t.err
if have sqpack && have coldwalk; then
	sampled --for image tree >.t.out || :
	t 'an image' 0 coldpress apply 1
	shows 'is compared' 'equal to' .t.err
	echo more >>tree/man/pzc.1
	rm tree.squashfs
fi
rm -r tree
t 'a tree that is gone' 1 coldpress apply 1
shows 'is an error' 'no longer exists' .t.err

# what is in packed files, whether their format says how much that is or not
mkdir held
for f in gzip bzip2; do
	seq 30000 | pzc -F $f >held/$f
done
touch -d '3 days ago' held/*
t 'packed files' 3 sampled -o held.csv held
is 'are known by what is in them' "$(value plain_B xz-6 held.csv)" \
    $((2 * 168894))

# since
mkdir grows
seq 20000 | sed 's/^/12:00:01 /' >grows/one.log
touch -d '3 days ago' grows/*
sampled grows >.t.out || :
seq 40000 | sed 's/^/12:00:01 /' >grows/two.log
touch -d '2 days ago' grows/*
t 'since last time' 3 sampled --since LAST grows
shows 'it has grown' '^since .*: +[0-9.]* kB'
t 'since a file that is not rows' 1 sampled --since before grows
done_testing

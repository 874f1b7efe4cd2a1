#!/bin/sh
# Every tool that reads files, on a filesystem whose reads are short, slow or
# fail: the right output, or an error and no output.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
have "${BIN:?}/tests/flaky_fs" || skip_all 'flaky_fs is not built'
flaky=
mkdir src mnt
end() {
	[ -z "$flaky" ] || umount mnt 2>/dev/null || fusermount3 -u mnt || :
	[ -z "$flaky" ] || wait "$flaky" || :
	flaky=
}
trap end EXIT
is_mounted() { grep -q " $PWD/mnt fuse" /proc/mounts; }
# begin MODE: mounts src at mnt
begin() {
	"$BIN/tests/flaky_fs" "$1" src mnt 2>flaky.err &
	flaky=$!
	await is_mounted || skip_all "$(cat flaky.err)"
}

mkdir -p src/tree/sub
seq 60000 >src/tree/text
head -c 300000 /dev/urandom >src/tree/sub/noise
seq 10 >src/tree/small
ln src/tree/text src/tree/name
ln -s text src/tree/link
for i in 1 2 3 4 5; do echo $i >src/tree/sub/$i; done
touch -d 2020-01-01 src/tree/* src/tree/sub/* src/tree/sub src/tree
for f in gzip zstd lz4 bzip2 xz; do
	pzc -F $f -c src/tree/text >src/text.$f
done
gzip -c src/tree/text >src/one.gz
(cd src/tree && tar --sort=name -cf ../a.tar .)
gzip -nc src/a.tar >src/a.tar.gz
! have sqpack || sqpack -q -b 16K -F gzip -o src/image src/tree
! have layerpack || layerpack -q -F estargz -c 16K -o src/layer src/a.tar \
    >/dev/null
! have lap || lap -q -n 40 -L n="$(seq -s, 30)" -o src/rows -l x \
    -- true >/dev/null 2>&1

# run each command on each of these, from src or mnt; out may be made
cat >commands <<'X'
pzc -c -p2 -b 64 @/tree/text
pzc -F zstd -c -p2 @/tree/sub/noise
pzc -F xz -0 -c -p2 @/tree/text
pzc -dc -p1 @/one.gz
pzc -dc -p2 @/text.gzip
pzc -dc -p2 @/text.zstd
pzc -dc -p2 @/text.lz4
pzc -dc -p2 @/text.bzip2
pzc -dc -p2 @/text.xz
pzseek -q @/text.gzip 200000:100
pzseek -q @/text.zstd 200000:100
pzseek -q @/one.gz 200000:100
pzseek -q --make-index --spacing 64K --index out @/one.gz
coldwalk -q --prefix x @/tree
coldwalk -q -p 2 @/image
sqpack -q -p2 -b 16K -F gzip -o out @/tree
sqpack -q -p2 -b 16K -F gzip -o out @/a.tar
sqpack -q -p2 -b 16K -F gzip -o out @/a.tar.gz
sqpack -q -F lz4 -o out @/image
sqpack -q --cat text @/image
layerpack -q -c 16K -F estargz -o out @/a.tar
layerpack -q -c 16K -T . -F ztoc -o out @/a.tar.gz
layerpack -q -T . --verify @/layer
layerpack -t @/layer
X
# lapcmp prints the name of its input only in errors
! have lapcmp || echo 'lapcmp --csv @/rows' >>commands

# once FOLDER COMMAND: runs it, in a shell of its own; the output is in got
once() {
	rm -rf out got
	once_status=0
	sh -c "$(echo "$2" | sed "s,@,$1,g")" >got 2>err || once_status=$?
	[ ! -e out ] || cat out >>got
}
# tool COMMAND: whether it is built
tool() { have "${1%% *}"; }

for mode in good short slow; do
	begin $mode
	while read -r command; do
		tool "$command" || continue
		once src "$command"
		[ $once_status = 0 ] || not_ok "without: $command: $(cat err)"
		mv got want
		once mnt "$command"
		is "$mode: $command: status" "$once_status $(cat err)" '0 '
		same "$mode: $command" got want
	done <commands
	end
done
begin eio
while read -r command; do
	tool "$command" || continue
	once src "$command"
	mv got want
	once mnt "$command"
	case $once_status in
	0)	# it did not need what cannot be read
		same "eio: $command" got want ;;
	1)	t "eio: $command: a message" 0 test -s err
		is "eio: $command: nothing is made" "$(ls out 2>/dev/null)" '' ;;
	*)	is "eio: $command: status" $once_status 1 ;;
	esac
done <commands
is 'no temporary file is left' "$(find . -name '.coldpress-*')" ''
is 'a file that cannot be read' "$(pzc -c mnt/tree/text 2>&1 >/dev/null |
    grep -c 'Input/output error')" 1
if have sqpack; then
	t 'it can be left out' 1 sqpack -q -k -o out mnt/tree
	t 'the others are there' 0 sh -c 'sqpack --cat small out |
	    cmp - src/tree/small'
fi
if have coldpress-advise; then
	status=0
	coldpress-advise --cpu --budget 3 --least 1K --hot 0 --for image \
	    mnt/tree >got 2>err || status=$?
	is 'advice on what can be read' "$((status == 0 || status == 3))" 1
	t 'names what cannot' 0 grep -q '^not read: .*Input/output error' got
fi
end
begin names
for command in 'coldwalk -q mnt/tree' 'sqpack -q -o out mnt/tree' \
    'fsratio -q mnt/tree' 'pzc -rk mnt/tree'; do
	tool "$command" || continue
	rm -f out
	# shellcheck disable=SC2086
	t "names: $command" 1 $command
	shows 'an error' 'Input/output error' .t.err
	is 'nothing is made' "$(ls out 2>/dev/null)" ''
done
end
done_testing

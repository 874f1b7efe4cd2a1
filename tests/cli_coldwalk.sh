# shellcheck shell=sh
# coldwalk: the lines of sha256sum, whatever the tree and the names.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have coldwalk || skip_all 'no coldwalk'

mkdir -p tree/sub/deep tree/empty
seq 100000 >tree/numbers
seq 10 >tree/sub/small
: >tree/sub/nothing
cp tree/numbers "tree/sub/deep/back\\slash"
cp tree/sub/small "$(printf 'tree/new\nline')"
ln tree/numbers tree/sub/hard
ln -s numbers tree/link
mkfifo tree/fifo
truncate -s 3M tree/holes
printf end >>tree/holes

check_lines() { (cd "$1" && sha256sum -c --quiet "$2"); }
whole() {
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z |
	    xargs -0 sha256sum | sed 's|^\(\\*[0-9a-f]*  \)\./|\1|')
}

whole tree >want
t 'a tree' 0 to got coldwalk tree
same 'the lines of sha256sum, in order' got want
t 'sha256sum checks them' 0 check_lines tree ../got
for p in 1 3 16; do
	coldwalk -p $p --cold none tree >got
	same "-p $p" got want
done
t 'a manifest' 0 coldwalk -o manifest tree
same 'is the same' manifest want
t 'is not replaced' 1 coldwalk -o manifest tree
t 'but with -f' 0 coldwalk -f -o manifest tree
coldwalk tree/numbers >got
sha256sum tree/numbers >want.one
same 'a single file' got want.one
coldwalk tree/sub tree/empty >got
is 'several: prefixed' "$(cut -c 68- got | head -n 1)" \
    'tree/sub/deep/back\\slash'
coldwalk --prefix tree/ tree >got
t 'with --prefix, checked from here' 0 check_lines . got

# md5, lists, rows
t 'md5' 0 to got coldwalk --hash md5 tree
t 'md5sum checks them' 0 sh -c '(cd tree && md5sum -c --quiet ../got)'
printf '%s\n' sub/small ./sub//nothing >list
is 'a list' "$(coldwalk --files-from list tree | cut -c 67- | tr '\n' ' ')" \
    'sub/nothing sub/small '
echo gone >>list
t 'a name that is not there' 1 coldwalk --files-from list tree
echo ../want >list
t 'a name outside' 1 coldwalk --files-from list tree
is 'JSON rows' "$(coldwalk --json tree | wc -l | tr -d ' ')" 9
is 'a hard link is a duplicate' "$(coldwalk --json tree |
    grep -c '"path":"sub/hard".*"duplicate_of":"numbers"')" 1
is 'nothing but a summary' "$(coldwalk --hash none tree |
    grep -c '^files: *7, 1 of')" 1
mkdir shm 2>/dev/null
if [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/coldwalk.XXXXXX)
	seq 1000 >"$shm/a"
	is 'memory is never cold' "$(coldwalk --hash none "$shm" |
	    sed -n 's/^cold: *\(no\).*/\1/p')" no
	rm -r "$shm"
else
	skip 'no /dev/shm'
fi

# Errors
t 'nothing there' 1 coldwalk gone
t 'no path' 1 coldwalk
t 'a bad digest' 1 coldwalk --hash sha3 tree
t 'a full disk' 1 to /dev/full coldwalk tree

# Images
if have mksquashfs; then
	mksquashfs tree image.sqfs -quiet -no-progress >/dev/null
	t 'an image' 0 to got coldwalk image.sqfs
	same 'gives the lines of its tree' got want
	printf '%4096s' '' >shifted
	cat image.sqfs >>shifted
	t 'an image at an offset' 0 to got coldwalk --offset 4096 shifted
	same 'gives them, too' got want
	t 'no image at this offset' 1 coldwalk --offset 512 shifted
	{ head -c 200 image.sqfs; head -c 400 /dev/zero
	    tail -c +601 image.sqfs; } >damaged
	t 'a damaged image' 1 coldwalk damaged
else
	skip 'no mksquashfs'
fi
done_testing

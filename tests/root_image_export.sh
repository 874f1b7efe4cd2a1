#!/bin/sh
# Tests the image study's mounts: cold starts, reading back, and removal of all
# mounts and files.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have lap || skip_all 'no lap'
PATH=$PATH:/usr/sbin:/sbin
have mksquashfs || skip_all 'no mksquashfs'
have coldwalk || skip_all 'no coldwalk'
mkdir -p try/a mounted
mksquashfs try try.sqsh -no-progress >/dev/null 2>&1
mount -t squashfs -o loop,ro try.sqsh mounted 2>/dev/null ||
    skip_all 'nothing can be mounted here'
umount mounted

study() { sh "$SRC/scripts/image-export" --quick --reader cat "$@"; }
# values FILE LABELS COLUMN: prints the values in all rows whose labels end in
# LABELS
values() {
	grep -v '^#' "$1" | awk -F , -v label="$2" -v column="$3" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] ~ label "$" { print $at[column] }'
}
left() {
	mount | grep -c "$PWD" || :
	losetup -a | grep -c "$PWD" || :
}

before=$(left)
t 'the study runs' 0 to table study -n 2 -o r.csv --rows 'none.p2 zstd1.p2'
is 'every start' "$(values r.csv start exit | tr '\n' ' ')" '0 0 0 0 '
is 'was cold' "$(values r.csv start cache | tr '\n' ' ')" \
    'cold cold cold cold '
facts() { values r.csv start keys | tr ';' '\n' | sed -n "s/^$1=//p"; }
is 'by the pages of the image' "$(facts image_pct | sort -u)" 0.0
is 'and of the mount' "$(facts mount_pct | sort -u)" 0.0
t 'and read the device' 0 test "$(facts loop_B | sort -n | head -n 1)" -gt 50000
is 'reading back is by cat' "$(values r.csv read exit | tr '\n' ' ')" '0 0 0 0 '
t 'of every image' 0 test "$(values r.csv zstd1.p2.read rchar_B | head -n 1)" \
    -gt 3000000
t 'the table of starts' 0 grep -E -q '^zstd1.p2 +2 +[0-9]' table
is 'no mount, no loop device is left' "$(left)" "$before"

# If a page remains in memory, the study detects this, and does not report the
# start as cold.
mkdir fake
cat >fake/coldwalk <<EOF
#!/bin/sh
n=\$#
while [ \$n -gt 0 ]; do
	[ "\$1" = fadvise ] && set -- "\$@" none || set -- "\$@" "\$1"
	shift
	n=\$((n - 1))
done
exec $(command -v coldwalk) "\$@"
EOF
chmod +x fake/coldwalk
ln -s "$BIN/lap" "$BIN/lapcmp" fake
t 'an image that remains cached' 0 to table env COLDPRESS_BIN="$PWD/fake" \
    sh "$SRC/scripts/image-export" --quick --reader cat -n 1 -o w.csv \
    --rows none.p2
is 'is not called cold' "$(values w.csv start cache)" unknown
t 'is left out' 0 grep -q '; 1 not proven cold and left out\|Cold starts: not' table

rm fake/coldwalk

# Tests a kernel that does not support the compressor.
cat >fake/mount <<EOF
#!/bin/sh
case \$* in
*-image-export.sqsh*) echo 'mount: wrong fs type' >&2; exit 32 ;;
esac
exec $(command -v mount) "\$@"
EOF
chmod +x fake/mount
t 'an image that cannot be mounted' 0 to table env PATH="$PWD/fake:$PATH" \
    sh "$SRC/scripts/image-export" --quick --reader cat -n 1 -o m.csv \
    --rows none.p2
is 'no reader reads it' "$(values m.csv read exit)" 32
is 'and nothing is started' "$(values m.csv start exit)" 32
t 'is reported' 0 grep -q '^none.p2.start: 1 of 1 runs failed' table

# A failing program results in a failed row.
t 'a start that fails' 0 to table study -n 1 -o s.csv --rows none.p2 \
    --program 'exit 3'
is 'is kept' "$(values s.csv start exit)" 3

# Starts the program from squashfuse, as enroot start does.
if have squashfuse && [ -e /dev/fuse ]; then
	t 'a start by squashfuse' 0 to table study -n 1 -o f.csv \
	    --rows 'zstd1.p2 zstd1.sqpack.p2' --start squashfuse
	is 'of both programs' "$(values f.csv start exit | tr '\n' ' ')" \
	    '0 0 '
	is 'was cold' "$(values f.csv start cache | sort -u)" cold
	t 'is reported' 0 grep -q '^Cold start by squashfuse: ' table
else
	skip 'no squashfuse'
fi

# Kills the study while the image is mounted.
setsid sh "$SRC/scripts/image-export" --quick --reader cat -n 1 \
    --rows none.p2 --program 'echo $$ >../pid; exec sleep 1000' -o k.csv \
    >/dev/null 2>&1 &
killed=$!
t 'it was started' 0 await [ -s k.csv.d/pid ]
kill -s KILL -- -$killed
kill -s KILL "$(cat k.csv.d/pid)" 2>/dev/null
wait $killed 2>/dev/null
# Processes started by lap are killed by the next lap.
lap -q -n 1 -o - -l x -- true >/dev/null 2>&1
all_gone() { [ "$(left)" = "$before" ]; }
t 'also after KILL' 0 await all_gone
done_testing

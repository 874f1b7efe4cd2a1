#!/bin/sh
# run.sh returns a test's status and leaves no files, no matter how it ends.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

env --default-signal true 2>/dev/null || skip_all 'no env --default-signal'
mkdir -p src/tests tmp bin
cp "$SRC/tests/run.sh" src/tests/
BIN=$PWD/bin SRC=$PWD/src TMPDIR=$PWD/tmp
export BIN SRC TMPDIR
run() { sh "$SRC/tests/run.sh" "$@"; }

cat >src/tests/ends.sh <<'EOF'
mkdir -p sub
: >sub/file
mktemp
chmod 0 sub
exit 3
EOF
t 'a script' 3 run ends.sh
shows 'whose temporary files are its own' "^$TMPDIR/[^/]*/tmp/" .t.out
is 'leaves nothing' "$(ls tmp)" ''
t 'a program' 1 run false
is 'leaves nothing' "$(ls tmp)" ''

# chmod -R is the first command that cleans up: it waits for a second signal.
cat >bin/chmod <<EOF
#!/bin/sh
if [ "\$1" = -R ]; then
	: >"$PWD/cleaning"
	sleep 1
fi
exec $(command -v chmod) "\$@"
EOF
chmod +x bin/chmod
cat >src/tests/waits.sh <<EOF
: >"$PWD/waiting"
exec sleep 1000
EOF
for number in 1 2 15; do
	signal=$(kill -l $number)
	rm -f waiting cleaning
	setsid env --default-signal sh "$SRC/tests/run.sh" waits.sh &
	pid=$!
	await [ -e waiting ]
	kill -s "$signal" -- -$pid
	await [ -e cleaning ]
	kill -s "$signal" -- -$pid
	status=0
	wait $pid || status=$?
	is "$signal twice" $status $((128 + number))
	is 'leaves nothing' "$(ls tmp)" ''
done
done_testing

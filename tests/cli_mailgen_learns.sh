#!/bin/sh
# mailgen learns profiles from mail of other kinds, and generates such mail.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mailgen || skip_all 'no mailgen'

# near NAME VALUE WANT PERCENT
near() {
	is "$1 ($2)" "$(awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN {
	    d = a - b; print ((d < 0 ? -d : d) * 100 <= b * p) }')" 1
}

# A few large messages: their attachments must be recognized. measured FILE:
# prints the compression ratio of the mail that was read
measured() { sed -n '2s/.*ratio \([0-9.]*\) measured.*/\1/p' "$1"; }
mailgen -q -n 1500 --mean 3000 --attachments 0.004 rare >out
to profile mailgen --profile rare
mailgen -q -n 1500 -s 4 --from-profile profile again >out
to again.profile mailgen --profile again
near 'compresses alike' "$(measured again.profile)" "$(measured profile)" 3
rm -r rare again
mkdir mine
mailgen -n 500 --mbox --mean 3000 --median 1000 mine/box >out
to profile mailgen --profile mine
is 'a profile of mboxes: the messages in them' \
    "$(sed -n '1s/.*: \([0-9]*\) messages.*/\1/p' profile)" 500

# A list with short headers whose members quote a lot.
cat >short <<EOF
attachments 0
to 0
mime-version 0
list-id 0
received 0
received-more 0
dkim-signature 0
arc-seal 0
user-agent 0
foreign 0
replies 40000
quoted 40000
EOF
mailgen -q -n 1500 --mean 2500 --from-profile short terse >out
to profile mailgen --profile terse
is 'short headers are learnt' "$(grep -c -E '^(to|mime-version|list-id|'\
'received|received-more|dkim-signature|arc-seal|user-agent|foreign) 0$' \
    profile)" 9
mailgen -q -n 1500 -s 2 --from-profile profile again >out
is 'and generated' "$(grep -a -r -l -i '^Received:' again | wc -l)" 0
# quotes DIRECTORY: prints the share of quoted lines, in 1/1000
quotes() {
	find "$1" -type f -exec cat {} + | awk '/^>/ { n++ }
	    END { printf "%d\n", n * 1000 / NR }'
}
near 'the share of quotes' "$(quotes again)" "$(quotes terse)" 10
rm -r terse again

done_testing

#!/bin/sh
# mailgen learns a profile from mail, and generates mail like it.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mailgen || skip_all 'no mailgen'

# stat NAME FILE: prints a figure from --stats
stat_of() { sed "s/.*\"$1\":\"*\\([0-9a-f.]*\\).*/\\1/" "$2"; }

# near NAME VALUE WANT PERCENT
near() {
	is "$1 ($2)" "$(awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN {
	    d = a - b; print ((d < 0 ? -d : d) * 100 <= b * p) }')" 1
}

to out mailgen -n 2000 --stats=stats.big big
names='attachments|noise|replies|quoted|foreign|repeat|phrase|novel|to'
names="$names|in-reply-to|references|mime-version|user-agent|list-id|received"
names="$names|received-more|dkim-signature|arc-seal|topic|again|message-id"
names="$names|more-fields|signatures|constant"
t 'a profile' 0 sh -c 'mailgen --profile big >profile'
is 'has only numbers' "$(grep -v '^#' profile |
    grep -v -c -E "^($names|size [0-9]+) [0-9]+\$")" 0
near 'its share with attachments' "$(sed -n 's/^attachments //p' profile)" \
    16384 2
# With equal properties, seeds 1 and 2 compress alike, and others differ from
# them by up to 5 %.
to out mailgen -n 2000 -s 2 --like profile --stats=stats.like like
near 'its mean' "$(stat_of mean_B stats.like)" "$(stat_of mean_B stats.big)" 5
near 'its median' "$(stat_of median_B stats.like)" \
    "$(stat_of median_B stats.big)" 5
# together DIRECTORY COMMAND: prints the ratio of all files, in name order
together() {
	find "$1" -type f | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cat >all
	sh -c "$2" <all | wc -c | awk -v n="$(wc -c <all)" '{ print n / $1 }'
}
for c in 'zstd -qc -3' 'zstd -qc -12 --long' 'xz -c -1'; do
	if have "${c%% *}"; then
		near "all together, $c" "$(together like "$c")" \
		    "$(together big "$c")" 5
	else
		skip "no ${c%% *}"
	fi
done
rm -r big like all
done_testing

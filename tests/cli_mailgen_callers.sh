#!/bin/sh
# Whichever of mailgen's calls fails: the result is an error or the whole
# corpus, and each file that exists is complete.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have mailgen-fault || skip_all 'mailgen-fault is not built'

mkdir d
cd d || exit
for o in --files --maildir --mbox '--attachments 1'; do
	# shellcheck disable=SC2086
	suffers "mailgen $o" -p m mailgen-fault -q -n 40 -p 2 $o m
done
suffers 'figures' -p m \
    mailgen-fault -q -n 20 -p 1 --stats=/dev/null m
mailgen -q -n 5 m >/dev/null
# a profile takes seconds
[ -z "${COLDPRESS_FAULT_ALL-}" ] || suffers 'a profile' mailgen-fault --profile m
mailgen --profile m >profile
rm -r m
suffers 'from a profile' -p m mailgen-fault -q -n 10 -p 1 \
    --from-profile profile m
done_testing

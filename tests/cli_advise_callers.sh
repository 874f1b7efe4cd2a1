#!/bin/sh
# Whichever of coldpress-advise's calls fails: the result is an error, or all
# rows, or the table says what could not be read.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have coldpress-advise-fault || skip_all 'coldpress-advise-fault is not built'

mkdir -p d/tree/sub
cd d || exit
seq 3000 | sed 's/^/12:00:01 /' >tree/one.log
seq 2000 | sed 's/^/12:00:02 /' >tree/sub/two.log
seq 4000 | gzip >tree/numbers.gz
find tree -type f -exec touch -d '3 days ago' {} +

# advise OPTION...: everything but the times is in `all`
cat >../advise <<'X'
rm -f rows.csv rows.csv.provenance
status=0
coldpress-advise-fault --cpu --budget 9 --least 1 --cores 1 -o rows.csv "$@" \
    d/tree >table || status=$?
[ ! -e rows.csv ] || cut -d , -f 3-10,12-15 rows.csv | grep -v '^#' >all
[ $status != 3 ] || status=0
exit $status
X
for use in btrfs tar image; do
	(cd .. && sh advise --for $use && mv all want)
	# shellcheck disable=SC2016
	suffers "advise --for $use" -n 40 -x library \
	    -c '[ "$ORDEAL_STATUS" != 0 ] || cmp -s ../all ../want ||
	    grep -q "^not read" ../table' \
	    sh -c 'cd .. && sh advise "$@"' sh --for $use
done
done_testing

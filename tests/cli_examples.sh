#!/bin/sh
# The studies in examples/ work, small.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/study.sh
. "$SRC/tests/study.sh"

have lapcmp || skip_all 'lapcmp is not built'
convert -version 2>/dev/null | grep -q ImageMagick ||
    skip_all 'ImageMagick is not installed'

t 'lens' 0 to report sh "$SRC/examples/lens" -q -n 6 --pixels 96
is 'a line for each aperture' "$(grep -c '^[pz][a-z]* .* 6 ' report)" 9
shows 'sharper' 'wide open' report
is 'findings, decided' "$(grep -c 'here [0-9.]* \[.*hold' report)" 3
t 'its rows' 0 grep -q 'lens=zoom;aperture=5.6,6,' results/lens.csv
t 'a lapcmp of them' 0 to ratio lapcmp -k '' results/lens.csv.d/pairs.csv
t 'less' 0 to report sh "$SRC/examples/lens" -q -o one.csv -n 1 --pixels 96 \
    --rows 'prime.8'
done_testing

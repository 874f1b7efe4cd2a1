#!/bin/sh
# Tests pzc -l with files whose content is larger than 4 GiB.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

size=$((5 << 30))
zeros() { head -c "$size" /dev/zero; }

# listed NAME FILE EXACT: checks that -l shows the size
listed() {
	is "$1" "$(pzc -l --json "$2" |
	    sed 's/.*"uncompressed_B":\([^,]*\),"exact":\([^,]*\).*/\1 \2/')" \
	    "$size $3"
}

zeros | pzc -1 >zeros.gz
listed 'gzip' zeros.gz true
is 'gzip tested' "$(pzc -lt --json zeros.gz |
    sed 's/.*"uncompressed_B":\([^,]*\).*/\1/')" "$size"
zeros | pzc -1 -R >zeros.gz
listed 'gzip, rsyncable' zeros.gz true
zeros | pzc -1 -i >zeros.gz
listed 'gzip by members' zeros.gz true
zeros | pzc -1 -F zip >zeros.zip
listed 'zip' zeros.zip true
zeros | pzc -1 -F zstd >zeros.zst
listed 'zstd' zeros.zst true
zeros | pzc -0 -F xz >zeros.xz
listed 'xz' zeros.xz true
if have pigz; then
	zeros | pigz -1 -p2 >zeros.gz
	is 'of another, modulo 2^32' "$(pzc -lq zeros.gz |
	    awk '{ print $4 }')" "$((1 << 30))+"
fi
done_testing

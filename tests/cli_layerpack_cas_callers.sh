#!/bin/sh
# Whichever of layerpack's calls fails: a repository is complete or does not exist,
# and is read rightly or with an error.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'

tree_to_pack
(cd tree && tar --format=posix --sort=name -cf ../a.tar .)

if have openssl && openssl genrsa -out key.pem 2048 2>/dev/null &&
    layerpack -q -F cas --name a.test --key key.pem -o ../repository a.tar \
    2>/dev/null; then
	# a key takes its time: the long test has all
	suffers 'a repository' -n 150 -o out -c 'layerpack -q --verify out' \
	    layerpack-fault -q -F cas --name a.test --key key.pem -o out a.tar
	mv ../repository repository
	suffers 'an update' -n 60 -o out -c 'layerpack -q --verify out' \
	    layerpack-fault -q -F cas --name a.test --key key.pem \
	    --update repository -o out a.tar
	suffers 'reading it' layerpack-fault -t repository
	suffers 'verifying it' layerpack-fault -q --verify repository
	suffers 'extracting it' -p x layerpack-fault -q -x x repository
else
	skip 'no openssl, or no repositories'
fi
done_testing

#!/bin/sh
# The documents quote what the record says; scripts/figures puts it there.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

figures() { sh "$SRC/scripts/figures" "$@"; }

# page LINE...: writes a page with these lines
page() { printf '%s\n' "$@" >page.md; }
end='<!-- end of figures -->'

t 'the documents agree with the record' 0 figures --check
t 'some quote it' 0 grep -q '^<!-- figures: ' "$SRC"/doc/*.md

page above '<!-- figures: echo one; echo two -->' old "$end" below
t 'an old figure' 1 figures --check page.md
shows 'is shown' '^-old$'
is 'and left' "$(sed -n 3p page.md)" old
t 'is replaced' 0 figures page.md
is 'by what the command prints' "$(tr '\n' ' ' <page.md)" \
    "above <!-- figures: echo one; echo two --> one two $end below "
t 'then it agrees' 0 figures --check page.md
page '<!-- figures: test -e CMakeLists.txt && echo sources -->' "$end"
t 'a command' 0 figures page.md
is 'is run in the sources' "$(sed -n 2p page.md)" sources

page '<!-- figures: echo one; false -->' old "$end"
t 'a command that fails' 1 figures page.md
shows 'is named' 'page.md:1: echo one; false failed$' .t.err
is 'and nothing changed' "$(sed -n 2p page.md)" old
page above '<!-- figures: echo one -->' old
t 'no end' 1 figures page.md
shows 'says where' 'page.md:2: figures without an end$' .t.err
page "$end"
t 'no beginning' 1 figures page.md
page '<!-- figures: echo a -->' '<!-- figures: echo b -->' "$end"
t 'two beginnings' 1 figures page.md
t 'no file' 1 figures nowhere.md
done_testing

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

row='<!-- rows: echo "b  1.234  1.101..1.352" -->'
page 'It takes 1.23 (1.10 to' '1.35) times as long.'
t 'an interval of no row' 1 figures --check page.md
shows 'is shown' '^page.md:1: 1.23 (1.10..1.35) stands in no row of the record$'
page "$row" '' 'It takes 1.23 (1.10 to' '1.35) times as long.'
t 'one of a row, rounded' 0 figures --check page.md
page "$row" '' 'It takes 1.23 (1.10..1.36, n = 6) times as long.'
t 'one with another end' 1 figures --check page.md
page "$row" '' 'It takes 1.2341 (1.1010..1.3520) times as long.'
t 'one with more decimals than the row' 1 figures --check page.md
page '<!-- figures: echo "| 1.234 (1.101..1.352) |" -->' '| 1.234 (1.101..1.352) |' "$end" \
    '' '| a | 1.23 (1.10..1.35) |'
t 'one that is also among the figures' 0 figures --check page.md
page '# a' 'These rows were not kept.' '' '1.23 (1.10 to 1.35)'
t 'one whose rows were not kept' 0 figures --check page.md
page '# a' 'These rows were not kept.' '# b' '1.23 (1.10 to 1.35)'
t 'one of the next section' 1 figures --check page.md
page '| a | b |' '|---|---|' '| 1.5 | text |' '| version | 1.5, 1.6 |'
t 'a table that gives no figures' 0 figures --check page.md
page '| a | b |' '|---|---|' '| c | 7 |' '| c | -1.5 % |' '| c | 1.5 |'
t 'one that gives some' 1 figures --check page.md
is 'is shown once' "$(cat .t.out)" \
    'page.md:4: this table has figures, but names no source of them'
page 'The rows were not kept:' '' '| c | 1.5 |'
t 'one whose rows were not kept' 0 figures --check page.md
page "$row" '' '| c | 1.23 (1.10 to 1.35) |'
t 'one of intervals' 0 figures --check page.md
page '<!-- copied from: README.md results/record/README.md -->' '| c | 0.51 to 0.59 |' \
    '' '| c | 0.51 |'
t 'one that is copied, and another one' 1 figures --check page.md
is 'the other one is shown' "$(cat .t.out)" \
    'page.md:4: this table has figures, but names no source of them'
page '<!-- copied from: README.md -->' '| c | 0.51 | 0.12345 |'
t 'one that is not copied exactly' 1 figures --check page.md
is 'its number is shown' "$(cat .t.out)" \
    'page.md:2: 0.12345 does not stand in the documents named above'
page '<!-- copied from: README.md nowhere.md -->'
t 'one copied from nowhere' 1 figures --check page.md
page '<!-- rows: false -->'
t 'a command for rows that fails' 1 figures --check page.md
shows 'is named there, too' "'false' failed$" .t.err
done_testing

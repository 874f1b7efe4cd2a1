#!/bin/sh
# The studies in examples/ work, small.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/study.sh
. "$SRC/tests/study.sh"

# nodes OPTION...: pzc-nodes
nodes() { sh "$SRC/examples/pzc-nodes" "$@"; }
if have parallel; then
	seq 400000 >"a huge file's"
	# a pzc that cannot make the second slice
	mkdir fails
	cat >fails/pzc <<-END
		#!/bin/sh
		case "\$*" in
		*2/2*) exit 1 ;;
		esac
		exec $(command -v pzc) "\$@"
	END
	chmod +x fails/pzc
	t 'slices' 0 nodes -n 5 -j 2 "a huge file's" 'out 1' -F xz -0 -b 256
	pzc -F xz -0 -b 256 -i -o want "a huge file's"
	same 'are one file' 'out 1' want
	t 'with a table' 0 nodes "a huge file's" out -F zstd --seekable -b 256
	pzc -F zstd --seekable -b 256 -f -o want "a huge file's"
	same 'of a seekable file' out want
	t 'no slice is left' 1 test -e out.parts
	t 'an output that exists' 1 nodes "a huge file's" out
	t 'an option that fails' 1 nodes -n 2 "a huge file's" o3 --bogus
	t 'no output' 1 test -e o3
	t 'other options' 1 nodes -n 2 "a huge file's" o3
	rm -r o3.parts
	pzc -i -f -o want "a huge file's"
	t 'a slice that fails' 1 env PATH="$PWD/fails:$PATH" \
	    sh "$SRC/examples/pzc-nodes" -n 2 "a huge file's" o3
	is 'is the second' "$(cd o3.parts && echo *.done)" 1.done
	t 'it goes on' 0 nodes -n 2 "a huge file's" o3
	same 'to the same file' o3 want
	t 'no file' 2 nodes -n 2
	t 'a bad number' 2 nodes -n x a b
else
	skip 'no GNU parallel'
fi

if ! have lapcmp; then
	skip 'lens: lapcmp is not built'
elif ! convert -version 2>/dev/null | grep -q ImageMagick; then
	skip 'lens: ImageMagick is not installed'
else
	t 'lens' 0 to report sh "$SRC/examples/lens" -q -n 6 --pixels 96
	is 'a line for each aperture' "$(grep -c '^[pz][a-z]* .* 6 ' report)" 9
	shows 'sharper' 'wide open' report
	is 'findings, decided' "$(grep -c 'here [0-9.]* \[.*hold' report)" 3
	t 'its rows' 0 grep -q 'lens=zoom;aperture=5.6,6,' results/lens.csv
	t 'a lapcmp of them' 0 to ratio lapcmp -k '' results/lens.csv.d/pairs.csv
	t 'less' 0 to report sh "$SRC/examples/lens" -q -o one.csv -n 1 --pixels 96 \
	    --rows 'prime.8'
fi
done_testing

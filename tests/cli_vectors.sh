# shellcheck shell=sh
# For valid and invalid test files, pzc must agree with the reference tools: it
# decodes files that they accept to the same bytes, and rejects all others.
# COLDPRESS_VECTORS names the folder, which has one subfolder per format.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

vectors=${COLDPRESS_VECTORS:-$SRC/../shared/vectors}
[ -d "$vectors" ] || skip_all "there are no vectors in '$vectors'"
have python3 || skip_all 'python3 is not installed'

cat >judge.py <<'P'
import os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
folder, *judge = sys.argv[1:]

# These are the files for which pzc differs from the reference tool, with the
# reasons.
exceptions = {
    # The reference cannot handle the name: zlib data under a .gz name.
    "gz/GH-1600.gz": "accept",
    # It ends inside a skippable frame.  lz4 seeks past the end of a file, and
    # rejects the same bytes from a pipe, as pzc always does.
    "lz4/test_read_filter_lz4_raw_skip.lz4": "refuse",
}

def run(argv, path):
    try:
        with open(path, "rb") as f:
            r = subprocess.run(argv, stdin=f, capture_output=True, timeout=300)
        return r.returncode, r.stdout, r.stderr
    except subprocess.TimeoutExpired:
        return "hangs", b"", b""

def one(path):
    name = os.path.join(os.path.basename(folder), os.path.relpath(path, folder))
    rc, want, _ = run(judge, path)
    # 2 is a warning, but bzip2 uses it for corrupt data
    good = rc == 0 or rc == 2 and judge[0] != "bzip2"
    rule = exceptions.get(name)
    out = []
    for p in "1", "4":
        rc, got, err = run(["pzc", "-dc", "-p" + p], path)
        if rc not in (0, 1, 2):
            out.append(f"{name} -p{p}: {rc}")
        elif rule != "refuse" and (good or rule == "accept"):
            if rc == 1:
                out.append(f"{name} -p{p}: refused: {err!r}")
            elif good and got != want:
                out.append(f"{name} -p{p}: {len(got)} bytes, not {len(want)}")
        elif rc != 1:
            out.append(f"{name} -p{p}: accepted")
        elif not err:
            out.append(f"{name} -p{p}: no sentence")
    return good, out

paths = sorted(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs)
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(one, paths))
wrong = [w for _, out in results for w in out]
print("#", len(paths), "files,", sum(g for g, _ in results), "good")
for w in wrong[:40]:
    print("#", w)
sys.exit(bool(wrong))
P

judged=0
judge() {
	[ -d "$vectors/$1" ] || return 0
	if ! have "$2"; then
		skip "$1: there is no $2"
		return 0
	fi
	judged=1
	j_name=$1
	shift
	t "$j_name" 0 python3 judge.py "$vectors/$j_name" "$@"
	head -n 1 .t.out
}
judge gz gzip -dc
judge zst zstd -qdc
judge xz xz -dc --format=xz
# some of these are lzip files by their first bytes
judge lzma xz -dc
judge bz2 bzip2 -dc
judge Z gzip -dc
judge lz4 lz4 -qdc
[ $judged = 1 ] || skip_all 'there are no vectors, or no reference tools'

done_testing

# shellcheck shell=sh
# Each system call of each kind fails in turn, in the build with the
# fault-injecting system interface.  This never causes a crash, status 0 with
# wrong output, or a partial file.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have pzc-fault || skip_all 'pzc-fault is not built'
have python3 || skip_all 'python3 is not installed'

cat >fault.py <<'P'
import os, subprocess, sys
packed, name, options = sys.argv[1] == "-d", sys.argv[2], sys.argv[3:]
whole = open("keep", "rb").read()
want = open("want", "rb").read()
source, target = ("f" + name, "f") if packed else ("f", "f" + name)
operand = source
if "-r" in options:
    operand = "tree"
    os.makedirs("tree/sub", exist_ok=True)
    source, target = "tree/sub/" + source, "tree/sub/" + target
folder = os.path.dirname(source) or "."
kinds = {
    "malloc": ["ENOMEM"], "openat": ["EMFILE", "EACCES"],
    "read": ["EIO", "EINTR", "short"],
    "write": ["EIO", "ENOSPC", "EINTR", "short"],
    "fsync": ["EIO"], "close": ["EIO"], "linkat": ["EIO", "ENOENT"],
    "renameat": ["EIO"], "unlinkat": ["EIO"], "thread": ["EAGAIN"],
}
harmless = {"EINTR", "short"}
grave = {"read", "write", "fsync", "linkat", "renameat"}
wrong, runs = [], 0

def put(path, data):
    with open(path, "wb") as f:
        f.write(data)

def get(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None

def made_calls():
    return {k: int(v) for k, v in (line.split() for line in open("n"))}

def temporary():
    return [os.path.join(folder, n) for n in os.listdir(folder)
        if n.startswith(".c")]

def fired(plan):
    # the number of bytes written per call depends on timing
    kind, k, _ = plan.split(":")
    return made_calls()[kind] >= int(k.rstrip("+"))

def plain(data):
    if packed:
        return data
    r = subprocess.run(["pzc", "-dc"], input=data, capture_output=True)
    return r.stdout if r.returncode == 0 else b"broken"

def run(plan, before=""):
    global runs
    put(source, whole)
    for old in [target] + temporary():
        if os.path.lexists(old):
            os.unlink(old)
    if "-f" in options:
        put(target, b"old")
    env = dict(os.environ, COLDPRESS_FAULT=before + plan, COLDPRESS_FAULT_COUNT="n")
    runs += 1
    try:
        r = subprocess.run(["pzc-fault"] + options + [operand], env=env,
            capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        wrong.append((before + plan, "hangs"))
        return
    made, left = get(target), get(source)
    if made == b"old":
        made = None
    def bad(what):
        wrong.append((before + plan, r.returncode, what, r.stderr[:150]))
    if r.returncode not in (0, 1, 2):
        bad("crash")
    elif left not in (None, whole):
        bad("the input has changed")
    elif made is None and left is None:
        bad("nothing is left")
    elif made is not None and plain(made) != want:
        bad("partial output")
    elif r.returncode == 0 and made is None:
        bad("status 0 without output")
    elif r.returncode == 0 and plan.split(":")[0] in grave and \
        plan.split(":")[2] in ("EIO", "ENOSPC") and fired(plan) and \
        not before:
        bad("an error is not reported")
    elif r.returncode != 0 and not r.stderr:
        bad("no sentence")
    elif r.returncode != 0 and plan.split(":")[2] in harmless:
        bad("an error is reported without a cause")
    elif temporary() and \
        "unlinkat" not in plan:
        bad("a temporary file is left")

run("now:999999999:PIPE")
counts = made_calls()
for kind, errors in kinds.items():
    for k in range(1, min(counts[kind], 40) + 1):
        for e in errors:
            run(f"{kind}:{k}:{e}")
    for e in errors:
        if counts[kind] and e != "EINTR":
            run(f"{kind}:1+:{e}")
# If no unnamed file can be created, a temporary file is used.
unnamed = "openat:3:EOPNOTSUPP,"
run("now:999999999:PIPE", unnamed)
for kind in "write", "fsync", "close", "linkat", "renameat", "unlinkat":
    for k in range(1, 8):
        run(f"{kind}:{k}:EIO", unnamed)
for w in wrong[:10]:
    print("#", *w)
print("#", runs, "runs")
sys.exit(bool(wrong))
P

seq 1 30000 >want
try() {
	t_opts=$*
	t "every call fails: $t_opts" 0 python3 fault.py "$@"
}
cp want keep
try -c .gz -p1
try -c .gz -p3 -b 32
try -c .gz -f -p2 -b 64
try -c .gz -p2 -i -b 64
try -c .zst -p2 -Fzstd -b 64
try -c .lz4 -p2 -Flz4 -b 64
try -c .xz -p2 -Fxz -1
try -c .xz -p2 -Fxz -3
try -c .bz2 -p2 -Fbzip2 -1
try -c .lzma -p1 -Flzma -1
try -c .zip -p2 -K -b 64
try -c .gz -r -p2 -b 64
for f in 'gzip .gz' 'zstd .zst' 'lz4 .lz4' 'xz .xz' 'bzip2 .bz2' \
    'lzma .lzma' 'zlib .zz' 'zip .zip'; do
	pzc -b 64 -F "${f% *}" <want >keep 2>/dev/null ||
	    pzc -F "${f% *}" <want >keep
	try -d "${f#* }" -dp1
	try -d "${f#* }" -dp3
done
pzc <want >keep
try -d .gz -dfp2
try -d .gz -dp2 -r

done_testing

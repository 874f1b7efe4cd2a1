#!/bin/sh
# What mailgen takes for a profile: each line at its limits, and beyond them.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mailgen || skip_all 'no mailgen'

mailgen -n 3 few >/dev/null
mailgen --profile few >all 2>/dev/null
grep -v '^#' all >profile
sizes=$(grep -c '^size ' profile)
numbers=$(($(wc -l <profile) - sizes))
t 'there are numbers and sizes' 0 test "$numbers" -gt 20 -a "$sizes" -gt 20

# hash_of FILE: prints the hash of mail that is like the profile, or
# why there is none
hash_of() {
	rm -rf made
	mailgen -n 2 --from-profile "$1" made 2>&1 | sed 's/ .*made$//'
}
# takes NAME FILE, refuses NAME FILE LINE
takes() {
	rm -rf made
	t "$1" 0 mailgen -n 2 --from-profile "$2" made
}
refuses() {
	rm -rf made
	t "$1" 1 mailgen -n 2 --from-profile "$2" made
	is "$1: in line $3" "$(cat .t.err)" "mailgen: $2: line $3 is invalid"
}
# with LINE TEXT: the profile with another line
with() { awk -v n="$1" -v s="$2" '{ print NR == n ? s : $0 }' profile >changed; }

takes 'as it was written' profile
takes 'with comments and empty lines' all
: >empty
takes 'nothing' empty
is 'is what there is without a profile' "$(hash_of empty)" \
    "$(rm -rf made; mailgen -n 2 made | sed 's/ .*//')"
grep -v '^size ' profile >numbers
takes 'only numbers' numbers
grep '^size ' profile >sizes
takes 'only sizes' sizes
is 'are those of the whole' "$(cat sizes numbers >other; hash_of other)" \
    "$(hash_of profile)"
is 'standard input is the same' "$(hash_of - <profile)" "$(hash_of profile)"
is 'and is read only as -' "$(hash_of profile <empty)" "$(hash_of profile)"
printf 'repeat 9' >short
takes 'no newline at the end' short

n=0
while read -r name value; do
	n=$((n + 1))
	case $name in
	size) break ;;
	message-id) most=80 ;;
	more-fields) most=32768 ;;
	*) most=65536 ;;
	esac
	for v in 0 $most; do
		with $n "$name $v"
		takes "$name $v" changed
	done
	for v in $((most + 1)) -1 '' x "$value x"; do
		with $n "$name $v"
		refuses "$name $v" changed $n
	done
	with $n "$name$value"
	refuses "$name, and no space" changed $n
	with $n "${name}s $value"
	refuses "${name}s" changed $n
done <profile

# Sizes: the nodes are in order, and the bytes do not decrease.
n=$numbers before=400
while read -r _ node bytes; do
	n=$((n + 1))
	with $n "size $node $before"
	takes "node $node as large as the one before" changed
	with $n "size $node $((before - 1))"
	refuses "node $node smaller" changed $n
	before=$bytes
	# some are enough
	[ $((n - numbers)) -lt 6 ] || break
done <sizes
first=$((numbers + 1)) last=$((numbers + sizes))
node=$(sed -n "${last}s/^size \\([0-9]*\\) .*/\\1/p" profile)
with $last "size $node 67108864"
takes 'the largest size' changed
with $last "size $node 67108865"
refuses 'a larger one' changed $last
with $first 'size 1 400'
refuses 'another node' changed $first
with $first 'size -1 400'
refuses 'a negative node' changed $first
with $first 'size 0'
refuses 'no bytes' changed $first
with $first 'size 0 '
refuses 'empty bytes' changed $first
{ cat profile; sed -n "${last}p" profile; } >changed
refuses 'one size more' changed $((last + 1))
{ cat profile; echo 'size 65537 67108864'; } >changed
refuses 'another size more' changed $((last + 1))
sed "${last}d" profile >changed
rm -rf made
t 'one size less' 1 mailgen -n 2 --from-profile changed made

# Whenever memory becomes short, nothing is printed that could pass for a profile.
if have mailgen-fault; then
	wrong='' refused=0
	for k in 1+ 3+ 10+ 30+ 1 3 10 20 30 40 60 100 200; do
		status=0
		COLDPRESS_FAULT=malloc:$k:ENOMEM mailgen-fault -q -p 1 \
		    --profile few >out 2>err || status=$?
		case $status in
		0) grep -v '^#' out | cmp -s - profile ;;
		1) refused=$((refused + 1)); [ -s err ] && [ ! -s out ] ;;
		*) false ;;
		esac || wrong="$wrong $k:$status"
	done
	is 'without memory there is no profile' "$wrong" ''
	t 'memory was short' 0 test $refused -gt 5
else
	skip 'no mailgen-fault'
fi

# The largest file.
head -c 65535 /dev/zero | tr '\0' '#' >large
takes 'a comment of 65,535 bytes' large
printf '#' >>large
rm -rf made
t 'one of 65,536' 1 mailgen -n 2 --from-profile large made
shows 'is too large' 'large: File too large' .t.err
done_testing

#!/bin/sh
# check-bare.sh - run the README's commands on a machine with nothing installed
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: check-bare.sh [-j jobs] [SUITE]
#
# Creates a minimal Debian SUITE (bookworm) with only this machine's apt sources
# and a clone of this commit, and runs the commands as a user without sudo, as a
# user with sudo, and as root.  HOME and the locale are unset, TMPDIR is not
# /tmp, and the machine appears to have just booted.  The base system is kept
# for a week in ${COLDPRESS_CACHE:-~/.cache/coldpress}.  Exits with status 77 if
# such a system cannot be created here.
set -eu
. "$(dirname "$0")/lib.sh"
. "$here/setup.sh"
# shellcheck source=scripts/bare.sh
. "$here/bare.sh"

jobs=$(cpus)
while getopts j: option; do
	case $option in
	j) jobs=$OPTARG ;;
	*) die "usage: ${0##*/} [-j jobs] [SUITE]" ;;
	esac
done
shift $((OPTIND - 1))
suite=${1:-bookworm}

# Ten tests that depend on the user who runs them.
some_tests='^(unit\.(progress|output|sandbox|cold|walk_dir)|'\
'cli\.(install|lap|pzc_files|pzc_names|coldwalk))$'

# Steps

# with_clone NAME: creates a system in $tmp/NAME, with a clone of this commit
with_clone() {
	root "$1"
	printf '[safe]\n\tdirectory = *\n' >"$tmp/.gitconfig"
	HOME=$tmp git clone -q "file://$top" "$root/srv/coldpress"
	HOME=$tmp git -C "$root/srv/coldpress" checkout -q --detach "$commit"
}

# told SCRIPT: checks that the script reports what is missing, does nothing
# else, and exits with status 1
told() {
	told_status=0
	inside stranger "$1" >"$tmp/out" 2>&1 || told_status=$?
	cat "$tmp/out"
	for word in apt-get cmake gcc zlib1g-dev pigz; do
		grep -q "missing, .* $word " "$tmp/out" || {
			say "$1 does not report that $word is missing"
			return 1
		}
	done
	[ $told_status = 1 ] && [ -z "$(find "$root/srv/coldpress" \
	    -maxdepth 1 -name 'build*')" ]
}
no_rights() { told scripts/demo && told scripts/check; }

with_sudo() {
	inside root apt-get -qq update &&
	    inside root apt-get -qq -y --no-install-recommends install sudo &&
	    echo 'stranger ALL=(ALL) NOPASSWD: ALL' \
		>"$root/etc/sudoers.d/stranger" || return
	inside stranger scripts/check -j "$jobs" -R "$some_tests" \
	    >"$tmp/out" 2>&1 || {
		cat "$tmp/out"
		return 1
	}
	sed -n '/^Test project/,$p' "$tmp/out"
	grep -q 'tests passed, 0 tests failed out of 10$' "$tmp/out"
}


# whole_suite: the quick tests.  TMPDIR is in memory if there is enough: the tests
# write and delete many files, which takes most of the time on ext4.
whole_suite() {
	[ "$(memory_mib)" -lt 14000 ] || in_memory=8g
	# shellcheck disable=SC2016
	inside root sh -c '"$@"
		status=$?
		find /srv/tmp -mindepth 1 >/srv/left
		exit $status' sh scripts/check -j "$jobs"
}
memory_mib() { awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo; }

# as_it_was: checks that mawk and dash are still the defaults, and that the
# tests left no files behind
as_it_was() {
	readlink "$root/bin/sh" "$root/etc/alternatives/awk" >"$tmp/out"
	find "$root/srv/tmp" -mindepth 1 | cat - "$root/srv/left" >>"$tmp/out"
	printf 'dash\n/usr/bin/mawk\n' | diff - "$tmp/out"
}

bare_needs
TMPDIR=${TMPDIR:-/var/tmp}
make_tmp
chmod 755 "$tmp"
mkdir "$tmp/archives"

step "a minimal $suite" base
young
[ -n "$clock" ] || say 'no time namespace: using the clock of this machine'
with_clone user
useradd -R "$root" -m -s /bin/sh stranger
chown -R --reference="$root/home/stranger" "$root/srv/coldpress"
step 'a user without privileges is told what to install' no_rights
step 'a user with sudo: installed, built, ten tests' with_sudo
rm -rf "$root"
with_clone system
step 'scripts/demo as root' inside root scripts/demo
step 'scripts/check as root' whole_suite
step 'nothing was left behind or replaced' as_it_was

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

step_n=0
# step TEXT COMMAND...: runs the command; if it fails, reports the step and
# exits
step() {
	step_text=$1
	shift
	step_n=$((step_n + 1))
	say "step $step_n: $step_text"
	step_began=$(date +%s)
	"$@" || die "step $step_n failed with status $?: $step_text"
	say "step $step_n took $(($(date +%s) - step_began)) s"
}

inside_pid=
# Remaining processes in the system are killed when its first process exits.
tidy() {
	[ -z "$inside_pid" ] || {
		kill -s KILL "$inside_pid"
		wait "$inside_pid" 2>/dev/null
	}
	tidy_tries=0
	until rm -rf --one-file-system "$tmp" 2>/dev/null ||
	    [ $tidy_tries = 100 ]; do
		sleep 0.1
		tidy_tries=$((tidy_tries + 1))
	done
}

# Sources

# sources: prints this machine's apt sources, for $suite
sources() {
	host=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016
	apt-get indextargets --format \
	    '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
	    'Created-By: Packages' 2>/dev/null | sort -u |
	    awk -v host="$host" -v suite="$suite" '
	$1 == "Debian" && index($3, host) == 1 {
		rest = substr($3, length(host) + 1)
		if (rest == "" || rest == "-updates" || rest == "-security")
			print "deb", $2, suite rest, $4
	}' >"$tmp/sources"
	[ -s "$tmp/sources" ] || cannot "apt has no sources for $suite here"
	# Copy the proxy settings, and those that control whether an archive's
	# dates are checked.
	apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' |
	    grep -v -i auto-detect >"$tmp/apt.conf" || :
}

# The base

# base_make TAR: makes a minimal system, as a tar file
base_make() {
	packages_install mmdebstrap
	have mmdebstrap || have debootstrap ||
	    cannot 'neither mmdebstrap nor debootstrap is installed'
	sources
	if have mmdebstrap; then
		mmdebstrap --quiet --variant=minbase \
		    --aptopt="$tmp/apt.conf" "$suite" "$1" "$tmp/sources" \
		    2>"$tmp/err" || base_failed mmdebstrap
		return
	fi
	mirror=$(awk -v suite="$suite" '$3 == suite { print $2; exit }' \
	    "$tmp/sources")
	debootstrap --variant=minbase "$suite" "$tmp/base" "$mirror" \
	    >"$tmp/err" 2>&1 || base_failed debootstrap
	cp "$tmp/sources" "$tmp/base/etc/apt/sources.list"
	cp "$tmp/apt.conf" "$tmp/base/etc/apt/apt.conf.d/99local"
	chroot "$tmp/base" apt-get clean
	tar -C "$tmp/base" -cf "$1" .
	rm -rf "$tmp/base"
}
base_failed() {
	sed 's/^/    /' "$tmp/err" >&2
	cannot "$1 could not create $suite: $(tail -n 1 "$tmp/err")"
}

# base: sets $base to the cached base, or to a new one
base() {
	cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
	cache=${COLDPRESS_CACHE:-${cache:+$cache/coldpress}}
	base=${cache:-$tmp}/bare-$suite.tar
	[ -z "$(find "$base" -mtime -7 2>/dev/null)" ] || return 0
	base_make "$tmp/new.tar" &&
	    mkdir -p "${base%/*}" &&
	    mv "$tmp/new.tar" "$base.$$" &&
	    mv "$base.$$" "$base"
}

# root NAME: creates in $tmp/NAME a newly installed system with a clone
root() {
	root=$tmp/$1
	mkdir "$root"
	tar -C "$root" --numeric-owner --exclude='./dev/*' -xpf "$base"
	cat /etc/resolv.conf >"$root/etc/resolv.conf"
	echo "127.0.0.1 localhost $(uname -n)" >"$root/etc/hosts"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	mkdir -m 1777 "$root/srv/tmp"
	printf '[safe]\n\tdirectory = *\n' >"$tmp/.gitconfig"
	HOME=$tmp git clone -q "file://$top" "$root/srv/coldpress"
	HOME=$tmp git -C "$root/srv/coldpress" checkout -q --detach "$commit"
}

# Inside

# young: sets $clock to the unshare options that simulate a machine booted one
# second ago
young() {
	young_s=$(sed 's/\..*//' /proc/uptime)
	clock="--time --monotonic -$((young_s - 1)) --boottime -$((young_s - 1))"
	# shellcheck disable=SC2086
	unshare --fork $clock true 2>/dev/null || clock=
}

# shellcheck disable=SC2016
enter='set -e
	root=$1 archives=$2 user=$3
	shift 3
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t proc proc "$root/proc"
	# the caches belong to the host
	drop=$root/proc/sys/vm/drop_caches
	mount --bind "$drop" "$drop"
	mount -o remount,bind,ro "$drop"
	mount --bind "$archives" "$root/var/cache/apt/archives"
	# sudo removes TMPDIR from the environment
	[ "$user" != root ] || mount -t tmpfs -o ro tmpfs "$root/tmp"
	path=/usr/local/bin:/usr/bin:/bin
	[ "$user" != root ] || path=/usr/local/sbin:/usr/sbin:/sbin:$path
	# no exec, because the first process must reap orphans
	chroot --userspec="$user" "$root" env -i -C /srv/coldpress \
	    PATH="$path" TMPDIR=/srv/tmp \
	    ${http_proxy:+http_proxy="$http_proxy"} \
	    ${https_proxy:+https_proxy="$https_proxy"} "$@" || exit $?'

# inside USER COMMAND...: runs the command in $root, with its own mounts,
# processes and clock, which disappear when it exits
inside() {
	young
	# shellcheck disable=SC2086
	unshare $clock --mount --pid --fork --kill-child sh -c "$enter" sh \
	    "$root" "$tmp/archives" "$@" </dev/null &
	inside_pid=$!
	inside_status=0
	wait $inside_pid || inside_status=$?
	inside_pid=
	return $inside_status
}

# Steps

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


# as_it_was: checks that mawk and dash are still the defaults, and that the
# tests left no files behind
as_it_was() {
	readlink "$root/bin/sh" "$root/etc/alternatives/awk" >"$tmp/out"
	find "$root/srv/tmp" -mindepth 1 >>"$tmp/out"
	printf 'dash\n/usr/bin/mawk\n' | diff - "$tmp/out"
}

[ "$(id -u)" = 0 ] || cannot 'only root can make a bare system'
have unshare || cannot 'unshare (util-linux) is not installed'
unshare --mount --pid --fork true 2>/dev/null ||
    cannot 'this machine does not allow namespaces'
have git || cannot 'git is not installed'
commit=$(git -C "$top" rev-parse HEAD 2>/dev/null) ||
    cannot "$top is not a git repository"
[ -z "$(git -C "$top" status --porcelain)" ] ||
    say 'uncommitted changes are not tested'
TMPDIR=${TMPDIR:-/var/tmp}
make_tmp
chmod 755 "$tmp"
mkdir "$tmp/archives"

step "a minimal $suite" base
young
[ -n "$clock" ] || say 'no time namespace: using the clock of this machine'
root user
useradd -R "$root" -m -s /bin/sh stranger
chown -R --reference="$root/home/stranger" "$root/srv/coldpress"
step 'a user without privileges is told what to install' no_rights
step 'a user with sudo: installed, built, ten tests' with_sudo
rm -rf "$root"
root system
step 'scripts/demo as root' inside root scripts/demo
step 'scripts/check as root' inside root scripts/check -j "$jobs"
step 'nothing was left behind or replaced' as_it_was

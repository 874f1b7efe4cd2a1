# shellcheck shell=sh
# bare.sh - minimal Debian systems, and commands in them; source it after lib.sh
# and setup.sh
# shellcheck disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# The script sets $suite and calls make_tmp.  If it sets $released, the system has
# what the suite was released with, without updates.  The base is kept for a week
# in ${COLDPRESS_CACHE:-~/.cache/coldpress}.

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
# bare_tidy: cleans up.  Remaining processes in the system are killed when its
# first process exits.
bare_tidy() {
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
tidy() { bare_tidy; }

# Sources

released=
# sources: prints this machine's apt sources, for $suite
sources() {
	host=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016
	apt-get indextargets --format \
	    '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
	    'Created-By: Packages' 2>/dev/null | sort -u |
	    awk -v host="$host" -v suite="$suite" -v released="$released" '
	$1 == "Debian" && index($3, host) == 1 {
		rest = substr($3, length(host) + 1)
		if (rest == "" || (released == "" &&
		    (rest == "-updates" || rest == "-security")))
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
	base=${cache:-$tmp}/bare-$suite${released:+-released}.tar
	[ -z "$(find "$base" -mtime -7 2>/dev/null)" ] || return 0
	base_make "$tmp/new.tar" &&
	    mkdir -p "${base%/*}" &&
	    mv "$tmp/new.tar" "$base.$$" &&
	    mv "$base.$$" "$base"
}

# root NAME: creates a newly installed system in $root, $tmp/NAME
root() {
	root=$tmp/$1
	mkdir "$root"
	tar -C "$root" --numeric-owner --exclude='./dev/*' -xpf "$base"
	cat /etc/resolv.conf >"$root/etc/resolv.conf"
	echo "127.0.0.1 localhost $(uname -n)" >"$root/etc/hosts"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	mkdir -m 1777 "$root/srv/tmp"
	mkdir "$root/srv/coldpress"
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
	root=$1 archives=$2 in_memory=$3 user=$4
	shift 4
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t proc proc "$root/proc"
	# the caches belong to the host
	drop=$root/proc/sys/vm/drop_caches
	mount --bind "$drop" "$drop"
	mount -o remount,bind,ro "$drop"
	mount --bind "$archives" "$root/var/cache/apt/archives"
	[ -z "$in_memory" ] ||
		mount -t tmpfs -o "mode=1777,size=$in_memory" tmpfs "$root/srv/tmp"
	# sudo removes TMPDIR from the environment
	[ "$user" != root ] || mount -t tmpfs -o ro tmpfs "$root/tmp"
	path=/usr/local/bin:/usr/bin:/bin
	[ "$user" != root ] || path=/usr/local/sbin:/usr/sbin:/sbin:$path
	# no exec, because the first process must reap orphans
	chroot --userspec="$user" "$root" env -i -C /srv/coldpress \
	    PATH="$path" TMPDIR=/srv/tmp \
	    ${http_proxy:+http_proxy="$http_proxy"} \
	    ${https_proxy:+https_proxy="$https_proxy"} "$@" || exit $?'

in_memory=
# inside USER COMMAND...: runs the command in $root, with its own mounts,
# processes and clock, which disappear when it exits.  If $in_memory is set,
# /srv/tmp is a filesystem of that size in memory.
inside() {
	young
	# shellcheck disable=SC2086
	unshare $clock --mount --pid --fork --kill-child sh -c "$enter" sh \
	    "$root" "$tmp/archives" "$in_memory" "$@" </dev/null &
	inside_pid=$!
	inside_status=0
	wait $inside_pid || inside_status=$?
	inside_pid=
	return $inside_status
}

# bare_needs: exits with status 77 if such systems cannot be made here
bare_needs() {
	[ "$(id -u)" = 0 ] || cannot 'only root can make a bare system'
	have unshare || cannot 'unshare (util-linux) is not installed'
	unshare --mount --pid --fork true 2>/dev/null ||
	    cannot 'this machine does not allow namespaces'
	have git || cannot 'git is not installed'
	commit=$(git -C "$top" rev-parse HEAD 2>/dev/null) ||
	    cannot "$top is not a git repository"
	[ -z "$(git -C "$top" status --porcelain)" ] ||
	    say 'uncommitted changes are not used'
}

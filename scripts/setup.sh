# shellcheck shell=sh
# setup.sh - Debian packages, by purpose; source it after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

build_packages='cmake make gcc libc6-dev pkg-config zlib1g-dev
    libdeflate-dev libisal-dev libzstd-dev liblz4-dev liblzma-dev libxxhash-dev
    libssl-dev liblzo2-dev libsquashfs-dev libselinux1-dev libyajl-dev libxcb1-dev
    libxcb-res0-dev libcurl4-openssl-dev libfuse3-dev libnghttp2-dev libsqlite3-dev'
# The programs that the tarball study measures, and those that it requires.
peer_packages='tar gzip bzip2 pigz pbzip2 pv hdparm util-linux
    util-linux-extra'
# The reference tools, and tools that lint, trace and check.
test_packages='git xz-utils zstd lz4 lbzip2 ncompress libcmocka-dev
    libbz2-dev clang libclang-rt-dev shellcheck mandoc valgrind strace attr
    acl procps python3 python3-pandas datamash jq openssl openssh-server
    openssh-client mbuffer parallel
    e2fsprogs mount bsdextrautils perl-base squashfs-tools squashfs-tools-ng
    squashfuse gnuplot-nox skopeo umoci cpio fuse3 sqlite3
    xvfb openbox wmctrl xdotool zsh fish imagemagick'
# The tools that the root tests use to create filesystems, and a kernel to boot.
root_packages='zfs-fuse btrfs-progs btrfs-compsize erofs-utils
    user-mode-linux mmdebstrap libgl1-mesa-dri nginx-light docker-registry
    squid tinyproxy-bin podman runc containerd iproute2 curl slurm-wlm munge
    cryptsetup-bin dmsetup kmod'

# packages_missing NAME...: prints the packages that are not installed
packages_missing() {
	for package in "$@"; do
		case $(dpkg-query -W -f '${db:Status-Status}' "$package" \
		    2>/dev/null || :) in
		installed) ;;
		*) printf '%s ' "$package" ;;
		esac
	done
}

# packages_rights: sets $as_root to the words that run a command as root, if
# possible
packages_rights() {
	if [ "$(id -u)" = 0 ]; then
		as_root='command env'
	elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
		as_root='sudo env'
	else
		return 1
	fi
}

# packages_install NAME...: installs the packages as root or with sudo;
# otherwise lists them and exits
packages_install() {
	have dpkg-query || {
		say 'not a Debian system: nothing is installed automatically'
		return 0
	}
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	packages_rights ||
	    die "missing, to be installed by root: apt-get install $missing"
	say "installing $missing"
	# shellcheck disable=SC2086
	{
		$as_root apt-get -qq update >&2 &&
		    $as_root DEBIAN_FRONTEND=noninteractive \
		    apt-get -qq -y \
		    --no-install-recommends -o DPkg::Lock::Timeout=300 \
		    install $missing >&2
	} || die "apt-get could not install $missing"
}

# build DIRECTORY CMAKE-OPTION...: configures and builds without output
build() {
	build_dir=$1
	shift
	cmake -S "$top" -B "$build_dir" "$@" >&2
	cmake --build "$build_dir" -j "$(cpus)" >&2
}

#!/bin/sh
# Bash, zsh and fish complete options and their values, as each tool lists them.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

install_all() { DESTDIR=$PWD/root cmake --install "${BIN:?}" --prefix /usr; }
t 'install' 0 install_all
share=$PWD/root/usr/share
PATH=$PWD/root/usr/bin:$PATH
HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home/.config XDG_DATA_HOME=$PWD/home/data
export PATH HOME XDG_CONFIG_HOME XDG_DATA_HOME
mkdir -p home/.config/coldpress work
printf '#!/bin/sh\n' >home/.config/coldpress/nightly
chmod +x home/.config/coldpress/nightly
touch work/grain work/image

# Each prints what its shell completes "TOOL WORD..." to, sorted; the last word,
# which is being typed, may be ''.  All run in a folder of two files.

# bash_split WORD...: as if "=" were a word of its own, as it is by default
bash_split() {
	bash -c '. "$0/bash-completion/completions/$1"
	    tool=$1 COMP_WORDS=()
	    for word; do
		if [[ $word == --*=* ]]; then
			COMP_WORDS+=("${word%%=*}" =)
			[[ -z ${word#*=} ]] || COMP_WORDS+=("${word#*=}")
		else
			COMP_WORDS+=("$word")
		fi
	    done
	    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	    _coldpress "$tool" "${COMP_WORDS[COMP_CWORD]}" ""
	    ((${#COMPREPLY[@]})) ||
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[-1]}")
	    printf "%s\n" "${COMPREPLY[@]}"' "$share" "$@" | sort -u
}

bash_whole() {
	bash -c '. "$0/bash-completion/completions/$1"
	    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	    _coldpress "$1" "${!#}" ""
	    ((${#COMPREPLY[@]})) ||
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[-1]}")
	    printf "%s\n" "${COMPREPLY[@]}"' "$share" "$@" | sort -u
}

# A key at the prompt of an interactive shell runs zsh's completion, which
# writes what it adds to a file.
cat >home/.zshrc <<'EOT'
PROMPT=
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit
compinit -u -C -d $ZDOTDIR/dump
compadd() {
	local -a found
	if [[ ${(M)@[1,(i)(-|--)]:#-[a-zA-Z]#[OAD]} == '' ]]; then
		builtin compadd -O found "$@"
		print -rl -- $IPREFIX$^found >>found
	fi
	builtin compadd "$@"
}
complete() {
	_main_complete
	compstate[insert]= compstate[list]=
	: >ended
}
zle-line-init() { : >ready }
setopt extended_glob
zle -N zle-line-init
zle -C complete complete-word complete
bindkey '^I' complete
EOT
cat >driver <<'EOT'
zmodload zsh/zpty
zpty shell zsh -d -i
wait_for() {
	repeat 1000; do
		[[ ! -e $1 ]] || return 0
		sleep 0.02
	done
	print -u 2 "no file $1"
	exit 1
}
wait_for ready
zpty -w -n shell "$*"$'\t'
wait_for ended
zpty -d shell
EOT
in_zsh() {
	rm -f found ended ready
	ZDOTDIR=$HOME COMPLETIONS=$share/zsh/site-functions \
	    zsh -f ../driver "$@" || return
	[ ! -e found ] || sed '/^$/d' found | sort -u
	rm -f found ended ready
}

in_fish() {
	# shellcheck disable=SC2016
	fish -N -c 'set fish_complete_path $argv[1]
	    complete -C "$argv[2..-1]"' "$share/fish/vendor_completions.d" \
	    "$@" | cut -f 1 | sort -u
}

# gives NAMES WORD...: checks what the shell completes the words to; what is
# before "=" is not compared
gives() {
	gives_want=$1
	shift
	is "$shell: $*" "$($shell "$@" | sed 's/^--[^=]*=//' | tr '\n' ' ' |
	    sed 's/ $//')" "$gives_want"
}

# has NAME WORD...: checks one of them
has() {
	has_want=$1
	shift
	is "$shell: $*" "$($shell "$@" | grep -c -x -e "$has_want")" 1
}

cd work || exit 1
formats='bzip2 gzip lz4 lzma xz zip zlib zstd'
for shell in bash_split bash_whole in_zsh in_fish; do
	program=${shell#in_} program=${program%_*}
	have "$program" || {
		skip "no $program"
		continue
	}
	gives '--force --format' pzc --fo
	has --verify pzc --
	gives "$formats" pzc --format=
	gives 'gzip' pzc --format=g
	gives "$formats" pzc --format ''
	gives 'zip zlib zstd' pzc -F z
	gives 'crc32 crc64' pzc --check c
	gives 'grain' pzc gr
	gives 'grain' pzc --stats=gr
	gives 'grain' pzc --stats gr
	gives 'grain' pzc --output gr
	has --output unpzc --ou
	if have sqpack; then
		gives 'lz4 lz4hc' sqpack -F lz4
		gives 'mksquashfs' sqpack --like m
		gives 'fragments' sqpack --raw f
		gives 'image' sqpack -o im
		has 'x86,arm' sqpack --bcj x86,ar
		has '\(--bcj=\)\?x86,arm' sqpack --bcj=x86,ar
	fi
	! have coldwalk || gives 'md5 none sha256' coldwalk --hash=
	if have fsratio; then
		gives 'btrfs sqpack squashfs zfs zfs-2.1 zfs-2.3 zfs-fuse' fsratio --fs ''
		gives 'dup single' fsratio --metadata=
		has lz4,zstd-19 fsratio -a lz4,zstd-1
	fi
	! have layerpack || gives 'zstd-chunked ztoc' layerpack -F z
	! have layermount || gives 'zstd-chunked ztoc' layermount -F z
	! have touchlog || gives 'list' touchlog --format l
	gives 'snap-startup' coldpress sn
	gives 'doctor' coldpress doc
	gives 'nightly' coldpress ni
	gives '--help' coldpress --h
	gives 'grain' coldpress report gr
done
cd ..
# Each tool's lines have four fields, and all that are installed are completed.
for tool in root/usr/bin/*; do
	name=${tool##*/}
	t "$name --help=options" 0 "$tool" --help=options
	is 'lines of four fields' "$(awk -F '\t' 'NF != 4 ||
	    $2 !~ /^(none|optional|values?)$/ || $3 == ""' .t.out)" ''
	for file in bash-completion/completions/"$name" \
	    zsh/site-functions/_"$name" fish/vendor_completions.d/"$name".fish
	do
		t "$name is completed" 0 test -s "$share/$file"
	done
	t 'also from the tree' 0 grep -q -w -e "$name" \
	    "$SRC/scripts/completion.bash"
done
done_testing

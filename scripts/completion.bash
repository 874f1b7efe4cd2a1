# shellcheck shell=bash
# completion.bash - completes the options listed by a tool's --help, for bash
# SPDX-License-Identifier: BSD-2-Clause
_coldpress()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	[[ $word == -* ]] || return 0
	mapfile -t COMPREPLY < <(compgen -W "$(echo --help --version
	    "$1" --help 2>/dev/null | grep -o -E -e '--[a-z][a-z0-9-]+')" \
	    -- "$word" | sort -u)
}
complete -o default -F _coldpress pzc unpzc pzcat pzseek lap lapcmp coldwalk \
    sqpack touchlog winwait fsratio mailgen layerpack \
    layermount

# shellcheck shell=bash
# completion.bash - completes the options of each tool, for bash
# SPDX-License-Identifier: BSD-2-Clause
_coldpress()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	[[ $word == -* ]] || return 0
	mapfile -t COMPREPLY < <(compgen \
	    -W "$("$1" --help=options 2>/dev/null)" -- "$word")
}
complete -o default -F _coldpress pzc unpzc pzcat pzseek lap lapcmp coldwalk \
    sqpack touchlog winwait fsratio mailgen layerpack \
    layermount

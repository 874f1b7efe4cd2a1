# shellcheck shell=bash
# completion.bash - completes each tool's options and their values, for bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The tool lists both (TOOL --help=options); what remains is left to bash, which
# completes the names of files.
_coldpress()
{
	local word=${COMP_WORDS[COMP_CWORD]} before='' joined='' line name
	local option=${COMP_WORDS[COMP_CWORD - 1]} fields words=()

	COMPREPLY=()
	for line in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $line != -- ]] || return 0
	done
	# COMP_WORDBREAKS says whether "=" is a word of its own
	if [[ $word == --*=* ]]; then
		option=${word%%=*} before=${word%%=*}= word=${word#*=} joined=1
	elif [[ $word == = ]]; then
		word='' joined=1
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]} joined=1
	fi
	while IFS=$'\t' read -r -a fields; do
		if [[ ${fields[0]} != "$option" || ${fields[1]} == none ||
		    -z $joined && ${fields[1]} == optional ]]; then
			[[ ${fields[0]} != -* && $COMP_CWORD -gt 1 ]] ||
			    words+=("${fields[0]}")
			continue
		fi
		if [[ ${fields[2]} == - ]]; then
			[[ -z $before ]] || mapfile -t COMPREPLY \
			    < <(compgen -P "$before" -f -- "$word")
			return 0
		fi
		read -r -a words <<<"${fields[2]}"
		if [[ ${fields[1]} == values && $word == *,* ]]; then
			before+=${word%,*}, word=${word##*,}
		fi
		joined=
		break
	done < <("$1" --help=options 2>/dev/null)
	[[ -z $joined ]] || return 0
	for name in "${words[@]}"; do
		[[ $name != "$word"* || $name == -* && $word != -* ]] ||
		    COMPREPLY+=("$before$name")
	done
}
complete -o default -F _coldpress pzc unpzc pzcat pzseek lap lapcmp coldwalk \
    sqpack touchlog winwait fsratio mailgen layerpack layermount coldpress

#compdef @name@
# completion.zsh - completes a tool's options and their values, for zsh
# SPDX-License-Identifier: BSD-2-Clause
#
# The tool lists both (TOOL --help=options).  It is installed once for each
# tool, whose name stands in the first line.
local line option=${words[CURRENT - 1]} joined=
local -a fields names options tasks

if (( ${words[(i)--]} < CURRENT )); then
	_files
	return
fi
if [[ $PREFIX == --*=* ]]; then
	option=${PREFIX%%=*} joined=1
	compset -P 1 '*='
fi
for line in ${(f)"$($words[1] --help=options 2>/dev/null)"}; do
	fields=("${(@ps:\t:)line}")
	if [[ $fields[1] == $option && $fields[2] != none &&
	    ( -n $joined || $fields[2] != optional ) ]]; then
		names=(${=fields[3]})
		case $fields[2],$fields[3] in
		*,-) _files ;;
		values,*)
			compset -P '*,'
			compadd -q -S , -a names
			;;
		*) compadd -a names ;;
		esac
		return
	elif [[ $fields[1] == -* ]]; then
		options+=("${fields[1]//:/\\:}:$fields[4]")
	else
		tasks+=("${fields[1]//:/\\:}:$fields[4]")
	fi
done
if [[ -z $joined && $PREFIX == -* ]]; then
	_describe -o option options
elif (( CURRENT == 2 && $#tasks )); then
	_describe task tasks || _files
else
	_files
fi

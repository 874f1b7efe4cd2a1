# completion.fish - completes a tool's options and their values, for fish
# SPDX-License-Identifier: BSD-2-Clause
#
# The tool lists both (TOOL --help=options).  It is installed once for each
# tool, under its name, and read when that is first completed.

# Prints what a list that is being typed may become: more names, and commas.
function __coldpress_several
    set -l typed (commandline -ct | string replace -r '^--[^=]*=' '' |
        string match -r '.*,')
    printf '%s\n' "$typed"$argv
end

set -l tool (basename (status filename) .fish)
for line in ($tool --help=options 2>/dev/null)
    set -l fields (string split \t -- $line)
    set -l names (string trim -- $fields[3])
    set -l how
    switch $fields[1]
        case '--*'
            set how -l (string sub -s 3 -- $fields[1])
        case '-*'
            set how -s (string sub -s 2 -- $fields[1])
        case '*'
            set how -n __fish_use_subcommand -a $fields[1]
    end
    switch "$fields[2] $names"
        case 'none *' 'optional *'
        case '* -'
            set -a how -r
        case 'values *'
            set -a how -x -a "(__coldpress_several $names)"
        case '*'
            set -a how -x -a "$names"
    end
    complete -c $tool $how -d "$fields[4]"
end

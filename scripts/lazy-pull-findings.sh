# shellcheck shell=sh
# lazy-pull-findings.sh - test the study's findings; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The study measured the programs stargz, soci and cvmfs.  If one of them was
# not run, the ratio of our client for the same format is shown instead, and the
# finding is not tested.

# ours SYSTEM LABEL: prints our system for the same format; for CVMFS, this is
# the one with squid if there is a row LABEL
ours() {
	case $1 in
	stargz) echo estargz ;;
	soci) echo ztoc ;;
	soci-10M) echo ztoc-10M ;;
	cvmfs)
		[ -z "$(column n "$2")" ] || {
			echo cas-squid
			return 0
		}
		echo cas
		;;
	*) echo "$1" ;;
	esac
}

# row IMAGE.WORKLOAD SYSTEM LINK[.MORE][:WHAT]: prints the label of the system's
# row if it was measured, otherwise the label of our client's row
row() {
	row_label=$1.$2.$3
	if [ -n "$(column n "${row_label%:*}")" ]; then
		echo "$row_label"
	else
		row_label=$1.cas-squid.$3
		echo "$1.$(ours "$2" "${row_label%:*}").$3"
	fi
}

# tested TEXT IMAGE.WORKLOAD SYSTEM[=SYSTEM] LINK LIMIT [WHAT]: tests a finding
# that compares the first system with the second (by default, overlayfs)
tested() {
	tested_of=${3%%=*} tested_to=overlayfs
	[ "$tested_of" = "$3" ] || tested_to=${3#*=}
	tested_row=$(row "$2" "$tested_of" "$4${6:+:$6}")
	tested_reference=$(row "$2" "$tested_to" "$4${6:+:$6}")
	case $tested_row/$tested_reference in
	*."$tested_of".*/*."$tested_to".*)
		finding "$1" "$tested_row" "$tested_reference" "$5"
		;;
	*)
		tested_ratio=$(ratio "$tested_row" "$tested_reference" |
		    awk '{ printf "%.3f", $1 }')
		exact "$1" \
		    "${tested_ratio:+not tested: measured with our client for the format}" \
		    "$tested_row/$tested_reference: here ${tested_ratio:--}"
		;;
	esac
}

# claim TEXT TRUE CELL SYSTEM LINK DETAIL: tests a finding about the bytes
# transferred by the system
claim() {
	case $2/$(row "$3" "$4" "$5") in
	/* | */*."$4".*) exact "$1" "$2" "$6" ;;
	*) exact "$1" 'not tested: measured with our client for the format' "$6" ;;
	esac
}

# wire LABEL: prints the median of the bytes received
wire() { column rx_B "$1"; }

# findings_cited: tests findings that the study cites from other work
findings_cited() {
	for f_cell in $f_cells; do
		f_row=${f_cell%.*}.overlayfs.${f_cell##*.}
		finding "a pull takes 76 % of a start (10 points; $f_cell)" \
		    "$f_row:pull" "$f_row" '0.66 .. 0.86'
	done
	for f_cell in $(echo "$f_cells" | sed 's/[.][^.]*$//' | sort -u); do
		f_image=${f_cell%.*}
		f_needed=$(noted touched "$f_image" "${f_cell#*.} " |
		    cut -d ' ' -f 2)
		f_all=$(noted files "$f_image")
		exact "6.4 % of the data is needed, at most ($f_cell)" \
		    "$(calc 'print (a <= 0.064 * b)' a="$f_needed" b="$f_all")" \
		    "here $(calc 'printf "%.1f", 100 * a / b' a="$f_needed" \
		    b="$f_all") % of the files"
	done
	for f_cell in $f_cells; do
		f_needed=$(least_wire "$f_cell")
		f_all=$(wire "${f_cell%.*}.overlayfs.${f_cell##*.}")
		exact "and of what is transferred, compressed ($f_cell)" \
		    "$(calc 'print (a <= 0.064 * b)' a="$f_needed" b="$f_all")" \
		    "here $(calc 'printf "%.1f", 100 * a / b' a="$f_needed" \
		    b="$f_all") %, if pulled lazily"
	done
}

# least_wire IMAGE.WORKLOAD.LINK: prints the smallest number of bytes received
# by any system
least_wire() {
	tabulate '
	parts image workload system link more
	where rx_B > 0 && more == "" && image "." workload "." link == of
	group 1
	line min(rx_B)' of="$1" "$study/summary"
}

findings_python() {
	for f_system in stargz soci cvmfs; do
		tested "Python starts drastically faster (half the time; $f_system)" \
		    py.hello $f_system "$1" 0.5
		f_bytes=$(wire "$(row py.hello $f_system "$1")")
		claim "only a few megabytes (10) are loaded ($f_system)" \
		    "$(calc 'print (a <= 1e7)' a="$f_bytes")" \
		    py.hello $f_system "$1" "here ${f_bytes:--} bytes"
	done
	tested 'SOCI loads more than stargz' py.hello soci=stargz "$1" '> 1' wire
	tested 'because it pulls layers below 10 MB' py.hello soci-10M=soci \
	    "$1" '> 1' wire
	tested 'CVMFS is slightly ahead of stargz with Python (up to 25 %)' \
	    py.hello cvmfs=stargz "$1" '0.75 .. 1'
	f_index=$(column index_B "$(row py.hello cvmfs "$1")")
	f_bytes=$(wire "$(row py.hello cvmfs "$1")")
	claim 'the catalogue of CVMFS is a small overhead (a tenth)' \
	    "$(calc 'print (a <= 0.1 * b)' a="$f_index" b="$f_bytes")" \
	    py.hello cvmfs "$1" "here ${f_index:--} of ${f_bytes:--} bytes"
}

findings_root() {
	tested 'SOCI and stargz load about as much for ROOT (25 %)' \
	    root.import soci=stargz "$1" '0.8 .. 1.25' wire
	tested 'CVMFS and stargz load about as much for ROOT (25 %)' \
	    root.import cvmfs=stargz "$1" '0.8 .. 1.25' wire
	f_bytes=$(wire "$(row root.import stargz "$1")")
	claim 'import ROOT loads much (100 MB)' \
	    "$(calc 'print (a >= 1e8)' a="$f_bytes")" root.import stargz \
	    "$1" "here ${f_bytes:--} bytes"
	tested 'CVMFS is faster than SOCI with ROOT' root.import cvmfs=soci \
	    "$1" 1
	tested 'CVMFS is faster than stargz with ROOT' root.import \
	    cvmfs=stargz "$1" 1
	f_row=$(row root.fillrandom stargz "$1")
	finding 'a lazy pull is negligible in a complex workload (a tenth)' \
	    "$f_row:pull" "$f_row" 0.1
}

# findings_remote: tests the cost of a distant registry, with and without a
# cache
findings_remote() {
	cut -f 1 "$study/summary" | grep -E '[.]d[0-9]+([.]cache)?$' |
	    while read -r f_row; do
		finding "a distant registry takes longer ($f_row)" "$f_row" \
		    "${f_row%%.d[0-9]*}" '> 1'
	done
}

# findings_many: tests how much a cache saves when several clients start
# concurrently
findings_many() {
	cut -f 1 "$study/summary" | grep '[.]x[0-9]*[.]cache$' |
	    while read -r f_row; do
		finding "near several clients, a cache saves half the data (${f_row%.cache})" \
		    "$f_row:wire" "${f_row%.cache}:wire" 0.5
	done
}

# findings_saved: tests the largest share of the data saved in any cell
findings_saved() {
	f_saved=$(tabulate '
	parts image workload system link more
	where rx_B > 0 && !place(system, "overlayfs containerd")
	let all = cut(label, "[.]" system "[.].*")
	let rest = after(label, all "." system)
	let whole = any(rx_B[all ".containerd" rest], rx_B[all ".overlayfs" rest])
	let saved = 1 - ratio(rx_B, whole)
	where saved > 0
	order -saved
	first 1
	.1f = 100 * saved' "$study/summary")
	exact 'over 65 % of the data is saved in some cases' \
	    "$(calc 'print (a > 65)' a="$f_saved")" \
	    "here up to ${f_saved:--} %"
}

# findings_ours LINK OVERLAYFS STARGZ: tests whether our formats meet their
# targets, which are relative to these two
findings_ours() {
	for f_system in estargz-trace zstd-trace; do
		f_row=root.import.$f_system.$1:first
		finding "import ROOT prints in $2 of the time of overlayfs ($f_system)" \
		    "$f_row" "root.import.overlayfs.$1:first" "$2"
		finding "and in $3 of that of stargz" "$f_row" \
		    "root.import.stargz.$1:first" "$3"
		finding "a start of Python prints in half the time of stargz ($f_system)" \
		    "py.hello.$f_system.$1:first" "py.hello.stargz.$1:first" 0.5
		finding "a trace halves the data of a start of Python ($f_system)" \
		    "py.hello.$f_system.$1:wire" "py.hello.estargz.$1:wire" 0.5
	done
}

# has IMAGE LINK: whether the image was measured over this link
has() { grep -q "^$1[.][^.]*[.][^.]*[.]$2[.$tab]" "$study/summary"; }

print_findings() {
	findings_begin
	printf '\nWhat the study found (ratios of pairs of runs, 95 %% intervals; bytes, where\nthey are not compared in pairs, are medians):\n'
	f_cells=$(tabulate '
	parts image workload system link more
	where system == "overlayfs" && more == "" && n > 0
	let cell = image "." workload "." link
	order cell
	line cell' "$study/summary")
	findings_cited
	for f_link in $(labels_of link); do
		! has py "$f_link" || findings_python "$f_link"
		! has root "$f_link" || findings_root "$f_link"
	done
	findings_remote
	findings_many
	findings_saved
	f_ours=$(for f_link in $(labels_of link); do
		case $f_link in
		1000) findings_ours 1000 0.6 0.5 ;;
		100) findings_ours 100 0.35 0.35 ;;
		esac
	done)
	[ -z "$f_ours" ] || printf '\nWhat can be saved:\n%s\n' "$f_ours"
	findings_end
}

# shellcheck shell=sh
# lazy-pull-rows.sh - the rows of the study, and their number of rounds; sourced
# SPDX-License-Identifier: BSD-2-Clause

# table: the rows' ids are image.workload.system.link, with .xN for N clients,
# .dMS for a delay, and .cache; the id is followed by image, workload, system,
# link, clients, delay and cache
table() {
	for table_image in $images; do
		for table_workload in $(workloads "$table_image" | cut -f 1); do
			for table_system in $systems; do
				table_links "$table_image" "$table_workload" \
				    "$table_system"
			done
		done
	done
}

table_links() {
	for table_link in $links; do
		for table_n in $clients; do
			for table_delay in $delays; do
				for table_cache in $caches; do
					table_row "$@" "$table_link" \
					    "$table_n" "$table_delay" \
					    "$table_cache"
				done
			done
		done
	done
}

table_row() {
	table_id=$1.$2.$3.$4
	[ "$5" = 1 ] || table_id=$table_id.x$5
	[ "$6" = 0 ] || table_id=$table_id.d$6
	[ "$7" = no ] || table_id=$table_id.cache
	printf '%s' "$table_id"
	printf '\t%s' "$@"
	echo
}

# rounds_of ID: prints the number of rounds, from --few, for the rows that take
# longest
rounds_of() {
	rounds=$runs
	case $1 in
	*.x[0-9]* | *.d[0-9]* | *.[0-9] | *.[0-9][0-9])
		[ "$few_runs" -ge "$runs" ] || rounds=$few_runs
		;;
	esac
	echo "$rounds"
}

lacking() {
	lacking_why=$(system_lacks "$(field 4 "$1")")
	[ "$(field 7 "$1")" = 0 ] || have python3 ||
	    lacking_why='there is no python3'
	lacking_cache=nginx
	case $(field 4 "$1") in
	cas | cvmfs) lacking_cache=squid ;;
	esac
	[ "$(field 8 "$1")" = no ] || have $lacking_cache ||
	    lacking_why="there is no $lacking_cache"
	case $(field 4 "$1")/$(field 8 "$1") in
	*-squid/yes) lacking_why='squid is the cache' ;;
	ztoc*/*)
		[ ! -e "$study/images/$(field 2 "$1")/whiteouts" ] ||
		    lacking_why='the layers have whiteouts'
		;;
	esac
	case $(field 2 "$1")/$(field 5 "$1") in
	root/[0-9] | root/[0-9][0-9])
		lacking_why='the image is too large for so slow a link'
		;;
	esac
	[ -z "$lacking_why" ] || echo "$lacking_why"
}

# shellcheck shell=sh
# lazy-pull-publish.sh - converting images, and pushing them; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154

# image_publish IMAGE SYSTEM: converts the image for the system, and pushes it
# to the registry; keeps how long that took.  Systems with the same options have
# the same image.
image_publish() {
	publish_note=$study/images/$1/$2.published
	[ ! -e "$publish_note" ] || return 0
	[ "$verbosity" = 0 ] || say "making the image $1 for $2"
	for publish_as in $(systems_names); do
		if [ "$(system_get "$publish_as" 3)" = "$(system_get "$2" 3)" ] &&
		    [ -e "$study/images/$1/$publish_as.published" ]; then
			registry_call image_tag "$1" "$publish_as" "$2"
			cp "$study/images/$1/$publish_as.published" \
			    "$publish_note"
			return 0
		fi
	done
	registry_call image_convert "$1" "$2"
	csv 'csv_row() {
		printf "%.3f\t%.3f\n", get("wall_s"),
		    get("user_s") + get("sys_s")
	}' "$study/publish.csv" >"$publish_note.new"
	publish_made=$study/push
	[ "$2" != cas ] || publish_made=$study/www/$1
	find "$publish_made" -type f -printf '%s\n' |
	    awk '{ n += $1 } END { print n }' >>"$publish_note.new"
	mv "$publish_note.new" "$publish_note"
	rm -rf "$study/push" "$study/publish.csv"
}

# registry_call FUNCTION IMAGE SYSTEM...: in a network namespace, where it can
# start the registry
registry_call() {
	cell_lap "$study/publish.csv" -l "$3" -- unshare --net --pid --fork \
	    --kill-child --mount-proc sh "$here/$study_name" -o "$rows_csv" \
	    call "$@"
	[ -n "$(csv 'csv_row() && !failed()' "$study/publish.csv")" ] ||
	    die "$2 for $3: $(tail -n 1 "$study/log")"
}

# image_tag IMAGE SYSTEM SYSTEM: the image of the one for the other
image_tag() {
	ip link set lo up
	registry_start '' 127.0.0.1
	skopeo --insecure-policy copy -q --all --src-tls-verify=false \
	    --dest-tls-verify=false "docker://127.0.0.1:5000/$1:$2" \
	    "docker://127.0.0.1:5000/$1:$3"
}

# image_convert IMAGE SYSTEM: in its own network namespace; leaves the layout in
# $study/push
image_convert() {
	convert_from=$study/images/$1/layout
	convert_options=$(system_get "$2" 3)
	case $convert_options in
	*--order)
		convert_options="$convert_options $study/images/$1/$(
		    workloads "$1" | tail -n 1 | cut -f 1).touched"
		;;
	esac
	rm -rf "$study/push"
	if [ "$2" = cas ]; then
		mkdir -p "$study/www"
		rm -rf "$study/www/$1"
		layerpack -q --image -F cas "$convert_from:plain" \
		    "$study/www/$1"
		return 0
	fi
	if [ -z "$convert_options" ]; then
		cp -r "$convert_from" "$study/push"
	else
		# shellcheck disable=SC2086
		layerpack -q --image $convert_options "$convert_from:plain" \
		    "$study/push"
	fi
	ip link set lo up
	registry_start '' 127.0.0.1
	skopeo --insecure-policy copy -q --all --dest-tls-verify=false \
	    "oci:$study/push:plain" "docker://127.0.0.1:5000/$1:$2"
}

# image_facts IMAGE: comment lines
image_facts() {
	printf '# files: %s %s\n' "$1" "$(find "$study/images/$1/tree" -type f \
	    -printf '%D:%i\t%s\n' | sort -u | awk '{ n += $2 }
	    END { printf "%.0f", n }')"
	for facts_name in $(workloads "$1" | cut -f 1); do
		printf '# touched: %s %s %s\n' "$1" "$facts_name" \
		    "$(awk -F '\t' '{ n += $4; file[$2] }
		    END {
			for (f in file)
				files++
			printf "%.0f %d", n, files
		    }' "$study/images/$1/$facts_name.touched")"
	done
	for facts_note in "$study/images/$1/"*.published; do
		facts_system=${facts_note##*/}
		printf '# published: %s %s %s\n' "$1" \
		    "${facts_system%.published}" \
		    "$(tr '\t\n' '  ' <"$facts_note")"
	done
}

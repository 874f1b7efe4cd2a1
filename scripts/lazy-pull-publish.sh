# shellcheck shell=sh
# lazy-pull-publish.sh - convert and push images; sourced
# SPDX-License-Identifier: BSD-2-Clause

# image_publish IMAGE SYSTEM: converts the image for the system, and pushes it
# to the registry, or stores it in $study/www; records the time that this takes.
# Systems with the same options share one image.
image_publish() {
	publish_note=$study/images/$1/$2.published
	[ ! -e "$publish_note" ] || return 0
	[ "$verbosity" = 0 ] || say "making the image $1 for $2"
	for publish_as in $(systems_names); do
		if [ "$(publish_how "$publish_as")" = "$(publish_how "$2")" ] &&
		    [ -e "$study/images/$1/$publish_as.published" ]; then
			registry_call image_tag "$1" "$publish_as" "$2"
			cp "$study/images/$1/$publish_as.published" \
			    "$publish_note"
			return 0
		fi
	done
	: >"$study/publish.from"
	registry_call image_convert "$1" "$2"
	csv 'csv_row() {
		printf "%.3f\t%.3f\n", get("wall_s"),
		    get("user_s") + get("sys_s")
	}' "$study/publish.csv" >"$publish_note.new"
	publish_size "$1" "$2" >>"$publish_note.new"
	mv "$publish_note.new" "$publish_note"
	rm -rf "$study/push" "$study/publish.csv" "$study/publish.from" \
	    "$study/optimize"
}

# publish_how SYSTEM: prints the options that determine its image
publish_how() {
	system_get "$1" 3
	system_get "$1" 2 | grep -x -e cas -e files || :
}

# publish_size IMAGE SYSTEM: prints the number of bytes that have just been
# stored for it
publish_size() {
	case $(publish_how "$2") in
	*cas | *--key | *files) find "$study/www/$1.$2" -type f -printf '%s\n' ;;
	optimize* | nydus*) find "$study/registry" -name data \
		-newer "$study/publish.from" -printf '%s\n' ;;
	*) find "$study/push" -type f -printf '%s\n' ;;
	esac | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# registry_call FUNCTION IMAGE SYSTEM...: calls the function in namespaces in
# which it can start the registry
registry_call() {
	cell_lap "$study/publish.csv" -l "$3" -- unshare --net --pid --fork \
	    --kill-child --mount-proc sh "$study_script" -o "$rows_csv" \
	    call "$@"
	[ -n "$(csv 'csv_row() && !failed()' "$study/publish.csv")" ] ||
	    die "$2 for $3: $(tail -n 1 "$study/log")"
}

registry_here() {
	ip link set lo up
	registry_start "$study" 127.0.0.1 "$study/registry"
}

# image_tag IMAGE SYSTEM SYSTEM: also publishes the first system's image for the
# second
image_tag() {
	[ ! -e "$study/www/$1.$2" ] || {
		rm -rf "$study/www/$1.$3"
		cp -rl "$study/www/$1.$2" "$study/www/$1.$3"
		return 0
	}
	registry_here
	skopeo --insecure-policy copy -q --all --src-tls-verify=false \
	    --dest-tls-verify=false "docker://127.0.0.1:5000/$1:$2" \
	    "docker://127.0.0.1:5000/$1:$3"
}

# image_convert IMAGE SYSTEM: stores the converted layout in $study/push
image_convert() {
	convert_from=$study/images/$1/layout
	convert_options=$(system_get "$2" 3)
	convert_main=$(workloads "$1" | tail -n 1 | cut -f 1)
	case $convert_options in
	*--order)
		convert_options="$convert_options $study/images/$1/$convert_main.touched"
		;;
	*--orders)
		# the main workload's list is first
		convert_options=${convert_options% --orders}
		for convert_name in $(workloads "$1" | cut -f 1 | tac); do
			convert_options="$convert_options --order $study/images/$1/$convert_name.touched"
		done
		;;
	esac
	mkdir -p "$study/www"
	rm -rf "$study/push" "$study/www/$1.$2"
	case $(publish_how "$2") in
	optimize*)
		image_optimize "$1" "$2" "$(workload_command "$1" "$convert_main")"
		return 0
		;;
	'') cp -r "$convert_from" "$study/push" ;;
	*cas)
		layerpack -q --image -F cas "$convert_from:plain" \
		    "$study/www/$1.$2"
		return 0
		;;
	*--key)
		key_make
		layerpack -q --image -F cas --key "$study/$cvmfs_name.key" \
		    --name "$cvmfs_name" "$convert_from:plain" \
		    "$study/www/$1.$2"
		return 0
		;;
	nydus*)
		image_nydus "$1" "$2"
		return 0
		;;
	*)
		# shellcheck disable=SC2086
		layerpack -q --image $convert_options "$convert_from:plain" \
		    "$study/push"
		;;
	esac
	case $(publish_how "$2") in
	*files) mv "$study/push" "$study/www/$1.$2" ;;
	*)
		registry_here
		skopeo --insecure-policy copy -q --all --dest-tls-verify=false \
		    "oci:$study/push:plain" "docker://127.0.0.1:5000/$1:$2"
		;;
	esac
}

# key_make: makes the key that signs repositories
key_make() {
	key_file=$study/$cvmfs_name
	[ ! -e "$key_file.pub" ] || return 0
	openssl genrsa -out "$key_file.key" 2048 2>/dev/null
	openssl rsa -in "$key_file.key" -pubout -out "$key_file.pub" 2>/dev/null
}

# image_nydus IMAGE SYSTEM: converts the image with nydusify, which reads the list
# of the files that the main workload touches if an option says so
image_nydus() {
	registry_here
	skopeo --insecure-policy copy -q --dest-tls-verify=false \
	    "oci:$convert_from:plain" "docker://127.0.0.1:5000/$1:plain"
	# shellcheck disable=SC2086
	cut -f 2 "$study/images/$1/$convert_main.touched" | sort -u |
	    sed 's,^,/,' |
	    TMPDIR=$study nydusify convert --plain-http \
	    --source "127.0.0.1:5000/$1:plain" --source-insecure \
	    --target "127.0.0.1:5000/$1:$2" --target-insecure \
	    --work-dir "$study/push" ${convert_options#nydus} >>"$study/log"
}

# image_optimize IMAGE SYSTEM COMMAND: converts the image with ctr-remote, which
# runs the command in a container, and stores the files that it opens at the
# beginning of their layers
image_optimize() {
	optimize_target=127.0.0.1:5000/$1:$2
	registry_here
	rm -rf "$study/optimize"
	mkdir "$study/optimize"
	mount -t tmpfs run /run
	node=$$ LAZY_SNAPSHOTTER=overlayfs
	containerd_config "$study/optimize" >"$study/optimize/containerd.toml"
	daemon containerd/containerd.sock containerd \
	    --config "$study/optimize/containerd.toml"
	skopeo --insecure-policy copy -q "oci:$convert_from:plain" \
	    "oci-archive:$study/optimize/image.tar:plain"
	optimize_args=$(printf '%s' "$3" | sed 's/["\\]/\\&/g')
	{
		ctr images import "$study/optimize/image.tar"
		ctr-remote images optimize --oci --period 300 \
		    --entrypoint '["/bin/sh", "-c"]' \
		    --args "[\"$optimize_args\"]" "$(ctr images ls -q)" \
		    "$optimize_target"
		ctr images push --plain-http "$optimize_target"
	} >>"$study/log"
}

# image_facts IMAGE: prints comment lines about the image
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

# shellcheck shell=sh
# sqpack_matrix.sh - images with files of about the block size, with every
# method and many block sizes
# SPDX-License-Identifier: BSD-2-Clause

# sizes_tree BLOCK: makes tree, with files of about that size and many tiny ones
sizes_tree() {
	rm -rf tree
	mkdir -p tree/tiny
	for size in 0 1 $(($1 - 1)) "$1" $(($1 + 1)) $((2 * $1)) \
	    $((2 * $1 + 7)); do
		head -c "$size" text >"tree/text-$size"
		head -c "$size" /dev/zero >"tree/zeros-$size"
		tail -c +1000 noise | head -c "$size" >"tree/noise-$size"
	done
	# data between zeros, and a tail after a hole
	{
		head -c "$1" /dev/zero
		head -c 3000 noise
		head -c $((2 * $1)) /dev/zero
		echo end
	} >tree/mixed
	i=0
	while [ $i -lt 300 ]; do
		echo $i >tree/tiny/$i
		i=$((i + 1))
	done
	cp "tree/text-$(($1 + 1))" tree/twin
}

# matrix FUNCTION: calls FUNCTION NAME for each image, a file called image, and
# its tree
matrix() {
	seq 400000 >text
	openssl enc -aes-128-ctr -K 0 -iv 0 -in text >noise 2>/dev/null
	for block in 4096 8192 65536 131072 1048576; do
		sizes_tree $block
		for method in zstd gzip lz4 lz4hc xz lzo none; do
			level=
			[ $method != zstd ] || level='-L 3'
			[ $method != gzip ] || level='-L 6'
			# shellcheck disable=SC2086
			sqpack -f -F $method $level -b $block -o image tree \
			    2>err && "$1" "$method, $block bytes" && continue
			case $(cat err) in
			*"method 'lzo' is none of"*) ;;
			*) not_ok "$method, $block bytes" ;;
			esac
		done
	done
}

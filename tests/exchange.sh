# shellcheck shell=sh
# exchange.sh - pzc in a tree where another process exchanges a directory with
# a link to one outside; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

FILES=400

# content N: prints the contents of the tree's N-th file
content() { seq "$1" $(($1 + 200)); }

# make_trees: makes a tree with a directory of files, a link next to it, and the
# link's target, which contains the same names
make_trees() {
	mkdir -p tree/d etc
	ln -s ../etc tree/l
	make_i=1
	while [ $make_i -le $FILES ]; do
		content $make_i >tree/d/f$make_i
		echo "precious $make_i" >etc/f$make_i
		[ $((make_i % 2)) = 0 ] || gzip etc/f$make_i
		make_i=$((make_i + 1))
	done
	listing etc >etc.want
}

# listing DIR: prints names, owners, modes and contents
listing() {
	(cd "$1" && stat -c '%n %u %g %a %s %Y' -- * && cat -- * | sha256sum)
}

# lost DIR: prints the files for which neither the plain nor the compressed
# version is complete
lost() {
	lost_i=1
	while [ $lost_i -le $FILES ]; do
		content $lost_i >one.want
		if [ -e "$1/f$lost_i" ]; then
			cmp -s "$1/f$lost_i" one.want || echo "f$lost_i"
		else
			gzip -dc "$1/f$lost_i.gz" 2>/dev/null |
			    cmp -s - one.want || echo "f$lost_i"
		fi
		lost_i=$((lost_i + 1))
	done
}

# attack COUNT [AS...]: exchanges names COUNT times, with the exchanger run
# through the command AS, while pzc compresses and decompresses the tree
attack() {
	attack_count=$1
	shift
	make_trees
	[ $# = 0 ] || chown -R 65534:65534 tree
	"$@" exchange tree/d tree/l 2 2>err || {
		cat err
		skip_all 'two names cannot be exchanged here'
	}
	"$@" exchange tree/d tree/l "$attack_count" &
	attack_runs=0
	while kill -0 $! 2>/dev/null; do
		pzc -r tree 2>/dev/null
		pzc -dr tree 2>/dev/null
		attack_runs=$((attack_runs + 2))
	done
	wait $!
	is "$attack_count exchanges were made" $? 0
	echo "# in $attack_runs runs of pzc"
	listing etc >etc.got
	same 'outside nothing is planted, changed or lost' etc.got etc.want
	is 'inside nothing is lost' "$(lost tree/d | tr '\n' ' ')" ''
	is 'inside no leftovers' "$(find tree -name '.c*')" ''
	t 'and it can be compressed' 0 pzc -r tree/d
}

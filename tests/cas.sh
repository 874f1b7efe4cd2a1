# shellcheck shell=sh
# cas.sh - inspect a CVMFS repository with other programs; sourced by tests
# SPDX-License-Identifier: BSD-2-Clause

# published REPOSITORY LETTER: prints a value from the manifest
published() {
	LC_ALL=C sed -n -e '/^--$/q' -e "s/^$2//p" "$1/.cvmfspublished"
}

# object REPOSITORY HASH[SUFFIX]: prints an object's path
object() { echo "$1/data/$(echo "$2" | sed 's,^..,&/,')"; }

# inflated FILE: prints an object's content; gzip complains about zlib's trailer
inflated() {
	{
		printf '\037\213\10\0\0\0\0\0\0\377'
		tail -c +3 "$1"
	} | gzip -dc 2>/dev/null || :
}

# misnamed REPOSITORY: prints the objects whose name does not match their SHA-1
misnamed() {
	(cd "$1/data" && find . -type f | while IFS= read -r file; do
		hash=$(echo "$file" | sed 's,^\./,,; s,/,,; s,[A-Z]$,,')
		[ "$(sha1sum <"$file")" = "$hash  -" ] || echo "$file"
	done)
}

# catalogs REPOSITORY HASH PATH: unpacks a catalog and its nested catalogs into
# files, whose names and paths are listed in ./catalogs.list
catalogs() {
	inflated "$(object "$1" "$2C")" >"$2.db"
	echo "$2.db|$3" >>catalogs.list
	sqlite3 "$2.db" 'SELECT sha1, path FROM nested_catalogs' >"$2.nested"
	while IFS='|' read -r nested path; do
		(catalogs "$1" "$nested" "$path")
	done <"$2.nested"
}

# listing: prints path, type and permissions, size, owner, time, target and hash
# of all entries in the catalogs, read with SQLite
listing() {
	while IFS='|' read -r db path; do
		sqlite3 "$db" "WITH RECURSIVE t(m1, m2, path, id) AS (
		    SELECT md5path_1, md5path_2, '$path', rowid FROM catalog
		    WHERE flags & 32 OR name = ''
		    UNION ALL SELECT md5path_1, md5path_2,
		    t.path || '/' || name, c.rowid FROM t, catalog c
		    WHERE parent_1 = t.m1 AND parent_2 = t.m2)
		    SELECT printf('%s|%x|%d|%d|%d|%d|%s|%s', path, mode,
		    CASE WHEN flags & 1 THEN 0 ELSE size END, uid, gid, mtime,
		    symlink, lower(hex(hash)))
		    FROM t, catalog c WHERE c.rowid = id AND NOT flags & 2
		    AND name NOT LIKE '.cvmfs%catalog'"
	done <catalogs.list | LC_ALL=C sort
}

/*
 * as_pseudo.c - an image written as pseudo file definitions, with its data
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is that of unsquashfs -pf, which mksquashfs - IMAGE -pf FILE
 * reads: a definition for each name, a marker, and the data of all files, in
 * the order of the definitions.
 */
#include "as.h"

#include "base/output.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes a name as the format wants it: blanks, quotes and backslashes escaped */
static void
put_name(FILE *to, const char *name)
{
	if (*name == '\0')
		putc('/', to);
	for (; *name != '\0'; name++) {
		if (*name == '"' || *name == '\\' ||
		    isspace((unsigned char)*name))
			putc('\\', to);
		putc(*name, to);
	}
}

struct naming {
	FILE *to;
	const char *path;
};

static int
put_attribute(void *arg, const char *name, const void *value, size_t len)
{
	const struct naming *n = arg;
	const uint8_t *v = value;
	bool plain = true;

	for (size_t i = 0; i < len; i++)
		plain = plain && v[i] >= ' ' && v[i] <= '~';
	put_name(n->to, n->path);
	fprintf(n->to, " x %s=%s", name, plain ? "" : "0t");
	for (size_t i = 0; i < len; i++)
		if (plain || (v[i] >= ' ' && v[i] <= '~' && v[i] != '\\'))
			putc(v[i], n->to);
		else
			fprintf(n->to, "\\%03o", v[i]);
	putc('\n', n->to);
	return 0;
}

/* Returns whether a block of the file is a hole. */
static bool
is_sparse(const struct sq_entry *e)
{
	for (uint32_t k = 0; k < e->blocks; k++)
		if (sq_word(e, k) == 0)
			return true;
	return false;
}

/*
 * Writes the definition of a name, which leads to the first of those that are
 * wanted; *at is the offset of its data.
 */
static int
put_definition(struct sqpack_image *i, FILE *to, size_t number, size_t first,
    uint64_t *at)
{
	const char *path = sqpack_image_path(i, number);
	struct naming n = { to, path };
	struct sq_entry e;
	char type;

	if (path == NULL)
		return -ENOMEM;
	sq_get(i->m, number, &e);
	put_name(to, path);
	if (first != number) {
		fputs(" L ", to);
		path = sqpack_image_path(i, first);
		if (path == NULL)
			return -ENOMEM;
		put_name(to, path);
		putc('\n', to);
		return 0;
	}
	type = S_ISDIR(e.mode) ? 'D' : S_ISREG(e.mode) ? 'R' :
	    S_ISLNK(e.mode) ? 'S' : S_ISBLK(e.mode) ? 'B' :
	    S_ISCHR(e.mode) ? 'C' : 'I';
	fprintf(to, " %c %u %o %u %u", type, i->p->o.has_time ?
	    i->p->o.time : e.mtime, e.mode & 07777, e.uid, e.gid);
	switch (type) {
	case 'S': fprintf(to, " %.*s", (int)e.size, e.target); break;
	case 'I': fputs(S_ISSOCK(e.mode) ? " s" : " f", to); break;
	case 'B':
	case 'C':
		fprintf(to, " %u %u", squashfs_major(e.rdev),
		    squashfs_minor(e.rdev));
		break;
	case 'R':
		fprintf(to, " %llu %llu %d", (unsigned long long)e.size,
		    (unsigned long long)*at, is_sparse(&e));
		*at += e.size;
		break;
	default: break;
	}
	putc('\n', to);
	if (e.xattr == SQUASHFS_NONE || i->p->o.no_xattrs)
		return 0;
	return sq_xattrs(i->m, e.xattr, put_attribute, &n);
}

static int
write_all(struct sqpack_image *i, int fd)
{
	int copy = sys_dup(fd), rc = copy < 0 ? copy : 0;
	FILE *to = rc != 0 ? NULL : fdopen(copy, "w");
	struct sqpack_cat cat;
	uint64_t at = 0;
	struct sq_entry e;
	size_t *firsts;		/* of what has several names, the first wanted */

	if (to == NULL)
		return rc != 0 ? rc : -errno;
	firsts = sys_calloc(sq_count(i->m), sizeof(*firsts));
	if (firsts == NULL)
		rc = -ENOMEM;
	for (size_t n = 0; rc == 0 && n < sq_count(i->m); n++) {
		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		sq_get(i->m, n, &e);
		if (firsts[e.first] == 0)
			firsts[e.first] = n;
		rc = put_definition(i, to, n, firsts[e.first], &at);
	}
	fputs("#\n# START OF DATA - DO NOT MODIFY\n#\n", to);
	if (fclose(to) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		goto out;
	rc = sqpack_cat_open(&cat, i, fd);
	for (size_t n = 1; rc == 0 && n < sq_count(i->m); n++) {
		sq_get(i->m, n, &e);
		if (firsts[e.first] == n && S_ISREG(e.mode))
			rc = sqpack_cat_file(&cat, n);
	}
	sqpack_cat_close(&cat);
out:
	sys_free(firsts);
	return rc;
}

int
as_write_pseudo(struct sqpack_image *i, const char *path)
{
	struct msg *m = &i->p->msg;
	struct output out;
	int rc;

	if (strcmp(path, "-") == 0) {
		rc = write_all(i, STDOUT_FILENO);
		if (rc != 0 && m->status != MSG_ERROR)
			msg_error(m, "standard output: %s", strerror(-rc));
		return rc;
	}
	rc = output_create(&out, path, true);
	if (rc == 0) {
		rc = write_all(i, out.fd);
		if (rc == 0)
			rc = output_commit(&out, false);
		else
			output_abort(&out);
	}
	if (rc != 0 && m->status != MSG_ERROR)
		msg_error(m, "%s: %s", path, strerror(-rc));
	return rc;
}

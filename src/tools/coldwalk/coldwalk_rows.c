/*
 * coldwalk_rows.c - storing, sorting and writing the results of a walk
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A manifest line has the format of sha256sum(1): digest, two blanks, name.
 * Backslashes, newlines and carriage returns in the name are written as \\, \n
 * and \r, and the line then begins with a backslash.
 *
 * Rows arrive nearly sorted: an image is packed in the order of its names, and
 * each thread reports in that order.  Therefore the merge sort skips merging
 * halves that are already in order.
 */
#include "coldwalk.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/parallel.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_B = 1 << 16 };

static const char *const columns[] = {
	"series", "path", "type", "size_B", "compressed_B", "blocks",
	"fragment", "duplicate_of", "hash", "first_read_s", "error"
};

/* Storing */

/* Writes the path, preceded by its root's prefix, to `to`. */
static void
full_path(const struct root *root, const char *path, char *to)
{
	size_t before = strlen(root->prefix);

	memcpy(to, root->prefix, before);
	if (root->slash)
		to[before++] = '/';
	strcpy(to + before, path);
}

static size_t
full_size(const struct root *root, const char *path)
{
	return strlen(root->prefix) + root->slash + strlen(path) + 1;
}

/*
 * Allocates memory for a row; rows of an image may use the remainder of its
 * memory limit.
 */
static void *
take_memory(struct coldwalk *c, size_t size)
{
	if (c->root->image != NULL && c->o.memory != 0) {
		if (size > c->memory_left)
			return NULL;
		c->memory_left -= size;
	}
	return arena_take(&c->memory, size);
}

int
coldwalk_keep_row(void *arg, const struct walk_file *f)
{
	struct coldwalk *c = arg;
	void *rows = c->rows;
	/* including the memory for sorting */
	struct row *r = take_memory(c, sizeof(*r) + f->digest_len +
	    full_size(c->root, f->path) + 2 * sizeof(*c->rows));
	int rc;

	if (r == NULL)
		goto no_memory;
	*r = (struct row){ .err = f->err, .type = (uint8_t)f->type,
	    .digest_len = (uint8_t)f->digest_len };
	memcpy(r->digest, f->digest, f->digest_len);
	r->path = (char *)r->digest + f->digest_len;
	full_path(c->root, f->path, r->path);
	if (c->o.csv || c->o.json) {
		size_t size = f->duplicate_of == NULL ? 0 :
		    full_size(c->root, f->duplicate_of);
		struct row_more *m = take_memory(c, sizeof(*m) + size);

		if (m == NULL)
			goto no_memory;
		*m = (struct row_more){ .size = f->size, .blocks = f->blocks,
		    .compressed_B = f->compressed_B, .fragment = f->fragment,
		    .first_read_ns = f->first_read_ns };
		if (size > 0) {
			m->duplicate_of = (char *)(m + 1);
			full_path(c->root, f->duplicate_of, m->duplicate_of);
		}
		r->more = m;
	}
	/* report a file that was requested by name but not read */
	if (c->only != NULL && f->type != WALK_FILE && f->err == 0) {
		r->err = f->type == WALK_LINK ? -ELOOP : -ENOTSUP;
		c->total.errors++;
	}
	rc = array_grow(&rows, c->row_count, &c->row_cap, sizeof(*c->rows));
	c->rows = rows;
	if (rc == 0)
		c->rows[c->row_count++] = r;
	return rc;
no_memory:
	return c->root->image != NULL && c->o.memory != 0 ? -EDQUOT : -ENOMEM;
}

int
coldwalk_keep_damage(void *arg, const struct walk_damage *d)
{
	struct coldwalk *c = arg;
	void *all = c->damages;
	int rc = array_grow(&all, c->damage_count, &c->damage_cap,
	    sizeof(*c->damages));
	struct damage *mine;

	c->damages = all;
	if (rc != 0)
		return rc;
	mine = &c->damages[c->damage_count++];
	*mine = (struct damage){ .offset = d->offset,
	    .image = c->root->path };
	mine->reason = strcopy(d->reason);
	if (d->path != NULL)
		mine->path = strcopy(d->path);
	return mine->reason == NULL || (d->path != NULL &&
	    mine->path == NULL) ? -ENOMEM : 0;
}

void
coldwalk_free_rows(struct coldwalk *c)
{
	for (size_t i = 0; i < c->damage_count; i++) {
		sys_free(c->damages[i].path);
		sys_free(c->damages[i].reason);
	}
	arena_free(&c->memory);
	sys_free(c->rows);
	sys_free(c->damages);
}

/* Sorting by path */

enum { FEW = 4096 };			/* minimum number of rows for another
					 * thread */

struct sorting {
	struct row **rows;
	size_t count;
	struct row **spare;		/* as large as rows */
	unsigned threads;
};

/* Each half is sorted in its own thread, or both in one thread. */
struct halves {
	struct sorting half[2];
	atomic_uint next;
};

static void sort_rows(const struct sorting *t);

static void
sort_halves(void *arg, unsigned thread)
{
	struct halves *h = arg;
	unsigned i;

	(void)thread;
	while ((i = atomic_fetch_add(&h->next, 1)) < 2)
		sort_rows(&h->half[i]);
}

static void
sort_rows(const struct sorting *t)
{
	size_t half = t->count / 2;
	struct row **to = t->rows, **a = t->spare, **a_end = a + half;
	struct row **b = to + half, **b_end = to + t->count;
	unsigned more = t->count < FEW ? 0 : t->threads / 2;
	struct halves h = { .half = { { to, half, a, more },
	    { b, t->count - half, a_end, t->threads - more } } };

	if (t->count < 2)
		return;
	if (more > 0) {
		parallel_run(2, sort_halves, &h);
	} else {
		sort_rows(&h.half[0]);
		sort_rows(&h.half[1]);
	}
	if (strcmp(b[-1]->path, b[0]->path) <= 0)
		return;
	memcpy(a, to, half * sizeof(*to));
	while (a < a_end && b < b_end)
		*to++ = strcmp((*a)->path, (*b)->path) <= 0 ? *a++ : *b++;
	/* the rest of b is already in place */
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*to));
}

static int
by_image_offset(const void *a, const void *b)
{
	const struct damage *x = a, *y = b;
	int image = strcmp(x->image, y->image);

	if (image != 0 || x->offset != y->offset)
		return image != 0 ? image : x->offset < y->offset ? -1 : 1;
	return strcmp(x->path == NULL ? "" : x->path,
	    y->path == NULL ? "" : y->path);
}

void
coldwalk_sort(struct coldwalk *c)
{
	struct sorting t = { c->rows, c->row_count, NULL, c->o.threads };

	if (c->row_count > 0) {
		t.spare = sys_malloc((c->row_count + 1) * sizeof(*t.spare));
		if (t.spare == NULL)
			msg_error(&c->msg, "%s", strerror(ENOMEM));
		else
			sort_rows(&t);
		sys_free(t.spare);
	}
	if (c->damage_count > 1)
		qsort(c->damages, c->damage_count, sizeof(*c->damages),
		    by_image_offset);
}

/* Reporting errors */

static const char *
reason_of(int err)
{
	switch (err) {
	case -EAGAIN: return "changed while it was being read";
	case -EBADMSG: return "damaged";
	case -ELOOP: return "is a symbolic link";
	case -ENOTSUP: return "not a regular file";
	default: return strerror(-err);
	}
}

void
coldwalk_complain(struct coldwalk *c)
{
	for (size_t i = 0; i < c->damage_count; i++) {
		const struct damage *d = &c->damages[i];

		msg_error(&c->msg, "%s: offset %llu: %s%s%s", d->image,
		    (unsigned long long)d->offset,
		    d->path == NULL ? "" : d->path,
		    d->path == NULL ? "" : ": ", d->reason);
	}
	for (size_t i = 0; i < c->row_count; i++) {
		const struct row *r = c->rows[i];

		/* damage to the image has been reported above */
		if (r->err != 0 && (r->err != -EBADMSG ||
		    c->damage_count == 0))
			msg_error(&c->msg, "%s: %s", r->path,
			    reason_of(r->err));
	}
	if (c->total.errors > 0 && c->msg.status == MSG_OK)
		msg_error(&c->msg, "%llu files could not be read",
		    (unsigned long long)c->total.errors);
}

/* Lines */

struct lines {
	int fd, err;
	size_t len;
	char s[LINES_B];
};

static void
put_bytes(struct lines *l, const char *s, size_t n)
{
	while (n > 0) {
		size_t part = LINES_B - l->len < n ? LINES_B - l->len : n;

		memcpy(l->s + l->len, s, part);
		l->len += part;
		s += part;
		n -= part;
		if (l->len == LINES_B) {
			if (l->err == 0)
				l->err = fdio_write(l->fd, l->s, l->len);
			l->len = 0;
		}
	}
}

int
coldwalk_write_manifest(const struct coldwalk *c, int fd)
{
	struct lines *l = sys_malloc(sizeof(*l));
	char text[2 * DIGEST_MAX + 1];
	int rc;

	if (l == NULL)
		return -ENOMEM;
	l->fd = fd;
	l->err = 0;
	l->len = 0;
	for (size_t i = 0; i < c->row_count && l->err == 0; i++) {
		const struct row *r = c->rows[i];
		const char *s = r->path;
		size_t plain;

		if (r->digest_len == 0)
			continue;
		plain = strcspn(s, "\\\n\r");
		if (s[plain] != '\0')
			put_bytes(l, "\\", 1);
		hex_write(text, r->digest, r->digest_len);
		put_bytes(l, text, (size_t)2 * r->digest_len);
		put_bytes(l, "  ", 2);
		for (;; plain = strcspn(s, "\\\n\r")) {
			const char *escape = "\\\\";

			put_bytes(l, s, plain);
			s += plain;
			if (*s == '\0')
				break;
			if (*s == '\n')
				escape = "\\n";
			else if (*s == '\r')
				escape = "\\r";
			put_bytes(l, escape, 2);
			s++;
		}
		put_bytes(l, "\n", 1);
	}
	rc = l->err != 0 ? l->err : fdio_write(fd, l->s, l->len);
	sys_free(l);
	return rc;
}

/* Rows */

int
coldwalk_open_table(const struct coldwalk *c, struct table **t, int fd,
    const char *const *names, size_t count)
{
	char openssl[64];
	const char *libs[] = { openssl };
	struct provenance p = { .series = c->series, .tool = "coldwalk",
	    .libs = libs, .lib_count = 1, .argc = c->o.argc,
	    .argv = c->o.argv };
	int rc = table_to_fd(t, fd, c->o.json ? TABLE_JSON : TABLE_CSV, names,
	    count);

	if (rc != 0)
		return rc;
	if (c->o.provenance)
		table_inline_comments(*t);
	digest_version(openssl, sizeof(openssl));
	rc = provenance_write(*t, &p);
	for (int i = 0; i < c->root_count && rc == 0; i++)
		rc = provenance_input(*t, c->roots[i].path);
	return rc;
}

int
coldwalk_write_rows(const struct coldwalk *c, int fd)
{
	static const char *const types[] = { "file", "directory", "link",
		"other" };
	char text[2 * DIGEST_MAX + 1];
	struct table *t = NULL;
	int closed, rc = coldwalk_open_table(c, &t, fd, columns,
	    sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < c->row_count && rc == 0; i++) {
		const struct row *r = c->rows[i];
		const struct row_more *m = r->more;

		table_text(t, c->series);
		table_text(t, r->path);
		table_text(t, types[r->type]);
		table_int(t, (int64_t)m->size);
		table_known(t, m->compressed_B);
		table_known(t, m->blocks);
		table_known(t, m->fragment);
		table_text(t, m->duplicate_of);
		hex_write(text, r->digest, r->digest_len);
		table_text(t, r->digest_len > 0 ? text : NULL);
		if (m->first_read_ns < 0)
			table_none(t);
		else
			table_real(t, (double)m->first_read_ns / 1e9, 6);
		table_text(t, r->err != 0 ? reason_of(r->err) : NULL);
		rc = table_end(t);
	}
	closed = table_close(t);
	return rc != 0 ? rc : closed;
}

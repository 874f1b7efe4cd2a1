/*
 * tar_entry.c - building an entry from its headers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_impl.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

/* The fields of a header: offset and length. */
enum {
	NAME_AT = 0, NAME_B = 100,
	MODE_AT = 100, UID_AT = 108, GID_AT = 116, ID_B = 8,
	SIZE_AT = 124, MTIME_AT = 136, LONG_B = 12,
	TYPE_AT = 156,
	LINK_AT = 157, LINK_B = 100,
	MAGIC_AT = 257, MAGIC_B = 6,
	UNAME_AT = 265, GNAME_AT = 297, OWNER_B = 32,
	MAJOR_AT = 329, MINOR_AT = 337,
	PREFIX_AT = 345, PREFIX_B = 155,
	STAR_PREFIX_B = 131, STAR_AT = 508
};

static int
header_field(struct tar *t, unsigned at, unsigned len, int64_t least,
    int64_t most, int64_t *value)
{
	if (tar_number(t->block + at, len, value) != 0 || *value < least ||
	    *value > most)
		return tar_fail(t, -EBADMSG,
		    "a header field is not a number or is out of range");
	return 0;
}

static bool
is_ustar(const struct tar *t)
{
	return memcmp(t->block + MAGIC_AT, "ustar", MAGIC_B) == 0;
}

static bool
is_gnu(const struct tar *t)
{
	return memcmp(t->block + MAGIC_AT, "ustar ", MAGIC_B) == 0;
}

static int
text_field(struct tar *t, unsigned at, unsigned len, struct tar_text *text)
{
	const char *s = (const char *)t->block + at;

	return tar_text_set(text, s, strnlen(s, len));
}

/* Builds the path from the name in the header, with its prefix. */
static int
plain_path(struct tar *t)
{
	const char *name = (const char *)t->block + NAME_AT;
	const char *prefix = (const char *)t->block + PREFIX_AT;
	bool star = memcmp(t->block + STAR_AT, "tar", 4) == 0;
	size_t name_len = strnlen(name, NAME_B);
	size_t prefix_len = !is_ustar(t) ? 0 :
	    strnlen(prefix, star ? STAR_PREFIX_B : PREFIX_B);
	size_t at = prefix_len > 0 ? prefix_len + 1 : 0;

	if (tar_text_reserve(&t->path, at + name_len) != 0)
		return -ENOMEM;
	memcpy(t->path.data, prefix, prefix_len);
	if (prefix_len > 0)
		t->path.data[prefix_len] = '/';
	memcpy(t->path.data + at, name, name_len);
	t->path.data[at + name_len] = '\0';
	return 0;
}

static const char *
first_of(const char *a, const char *b, const char *c)
{
	return a != NULL ? a : b != NULL ? b : c;
}

static int
set_names(struct tar *t, struct tar_entry *e)
{
	const struct tar_pax *l = &t->local, *g = &t->global;
	int rc = plain_path(t);

	if (rc == 0)
		rc = text_field(t, LINK_AT, LINK_B, &t->link);
	if (rc == 0)
		rc = text_field(t, UNAME_AT, is_ustar(t) || is_gnu(t) ?
		    OWNER_B : 0, &t->uname);
	if (rc == 0)
		rc = text_field(t, GNAME_AT, is_ustar(t) || is_gnu(t) ?
		    OWNER_B : 0, &t->gname);
	if (rc != 0)
		return rc;
	e->path = first_of(l->path, g->path, t->long_path.len > 0 ?
	    t->long_path.data : t->path.data);
	if (l->sparse_name != NULL)
		e->path = l->sparse_name;
	e->link = first_of(l->link, g->link, t->long_link.len > 0 ?
	    t->long_link.data : t->link.data);
	e->uname = first_of(l->uname, g->uname, t->uname.data);
	e->gname = first_of(l->gname, g->gname, t->gname.data);
	return *e->path != '\0' ? 0 :
	    tar_fail(t, -EBADMSG, "an entry has no name");
}

static int
set_numbers(struct tar *t, struct tar_entry *e)
{
	const struct tar_pax *l = &t->local, *g = &t->global;
	int64_t mode, uid = 0, gid = 0, major = 0, minor = 0, size = 0;
	bool device = t->block[TYPE_AT] == '3' || t->block[TYPE_AT] == '4';
	const struct {
		bool wanted;		/* no record replaces it */
		unsigned at, len;
		int64_t least, most, *to;
	} fields[] = {
		{ true, MODE_AT, ID_B, 0, INT64_MAX, &mode },
		{ !l->has_uid && !g->has_uid, UID_AT, ID_B, 0, INT64_MAX,
		    &uid },
		{ !l->has_gid && !g->has_gid, GID_AT, ID_B, 0, INT64_MAX,
		    &gid },
		{ true, MTIME_AT, LONG_B, INT64_MIN, INT64_MAX, &e->mtime },
		{ !l->has_size && !g->has_size, SIZE_AT, LONG_B, 0, INT64_MAX,
		    &size },
		{ device, MAJOR_AT, ID_B, 0, UINT32_MAX, &major },
		{ device, MINOR_AT, ID_B, 0, UINT32_MAX, &minor },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		int rc = !fields[i].wanted ? 0 : header_field(t, fields[i].at,
		    fields[i].len, fields[i].least, fields[i].most,
		    fields[i].to);

		if (rc != 0)
			return rc;
	}
	e->mode = (uint32_t)mode & 07777;
	e->uid = l->has_uid ? l->uid : g->has_uid ? g->uid : (uint64_t)uid;
	e->gid = l->has_gid ? l->gid : g->has_gid ? g->gid : (uint64_t)gid;
	e->size = l->has_size ? l->size : g->has_size ? g->size :
	    (uint64_t)size;
	if (l->has_mtime || g->has_mtime) {
		e->mtime = l->has_mtime ? l->mtime : g->mtime;
		e->mtime_ns = l->has_mtime ? l->mtime_ns : g->mtime_ns;
	}
	e->major = (uint32_t)major;
	e->minor = (uint32_t)minor;
	return e->size <= INT64_MAX - TAR_BLOCK ? 0 :
	    tar_fail(t, -EBADMSG, "an entry's size is out of range");
}

static int
add_xattr(struct tar *t, const struct tar_xattr *x)
{
	void *items = t->xattrs;

	for (size_t i = 0; i < t->xattr_count; i++)
		if (strcmp(t->xattrs[i].name, x->name) == 0) {
			t->xattrs[i] = *x;
			return 0;
		}
	if (array_grow(&items, t->xattr_count, &t->xattr_cap,
	    sizeof(*t->xattrs)) != 0)
		return -ENOMEM;
	t->xattrs = items;
	t->xattrs[t->xattr_count++] = *x;
	return 0;
}

/* Applies the global records, then the entry's own. */
static int
set_xattrs(struct tar *t, struct tar_entry *e)
{
	const struct tar_pax *pax[] = { &t->global, &t->local };

	t->xattr_count = 0;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < pax[k]->xattr_count; i++) {
			int rc = add_xattr(t, &pax[k]->xattrs[i]);

			if (rc != 0)
				return rc;
		}
	e->xattrs = t->xattrs;
	e->xattr_count = t->xattr_count;
	e->records = t->local.records;
	e->record_count = t->local.record_count;
	return 0;
}

static enum tar_type
entry_type(char flag, const char *path)
{
	switch (flag) {
	case '1':
		return TAR_HARDLINK;
	case '2':
		return TAR_SYMLINK;
	case '3':
		return TAR_CHAR;
	case '4':
		return TAR_BLOCK_DEVICE;
	case '5':
	case 'D':	/* GNU tar directory, with a listing as its data */
		return TAR_DIR;
	case '6':
		return TAR_FIFO;
	default:	/* in POSIX, any unknown type is a regular file */
		return (flag == '0' || flag == '\0') &&
		    path[strlen(path) - 1] == '/' ? TAR_DIR : TAR_FILE;
	}
}

/*
 * Returns whether data follows the header.  In old archives, the header of a
 * hard link or a directory may contain a size although no data follows; only
 * pax archives may store the data of a link.
 */
static bool
stores_data(const struct tar *t, const struct tar_entry *e)
{
	if (e->type == TAR_HARDLINK)
		return t->local.parsed > 0;
	return e->type == TAR_FILE || t->block[TYPE_AT] == 'D';
}

static int
set_sparse(struct tar *t, struct tar_entry *e)
{
	const struct tar_pax *p = &t->local;
	uint64_t realsize = p->realsize;
	int rc = 0;

	if (t->block[TYPE_AT] == 'S')
		rc = tar_sparse_old(t, &realsize);
	else if (!p->sparse || e->type != TAR_FILE)
		return 0;
	else if (p->sparse_major == 1 && p->sparse_minor == 0)
		rc = tar_sparse_map(t);
	else if (p->sparse_major > 0)
		return tar_fail(t, -ENOTSUP,
		    "a sparse file is stored in an unknown format");
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < p->extent_count; i++) {
		rc = tar_extent_add(t, p->extents[i].offset,
		    p->extents[i].length);
		if (rc != 0)
			return rc;
	}
	rc = tar_sparse_check(t, realsize, t->left);
	if (rc != 0)
		return rc;
	e->size = realsize;
	e->stored = t->left;
	e->extents = t->extents;
	e->extent_count = t->extent_count;
	return 0;
}

static int
make_entry(struct tar *t, struct tar_entry *e)
{
	uint64_t data;
	int rc = set_names(t, e);

	if (rc == 0)
		rc = set_numbers(t, e);
	if (rc == 0)
		rc = set_xattrs(t, e);
	if (rc != 0)
		return rc;
	e->type = entry_type((char)t->block[TYPE_AT], e->path);
	data = stores_data(t, e) ? e->size : 0;
	if (e->type == TAR_FILE || e->type == TAR_HARDLINK)
		t->left = data;
	t->pad = -data % TAR_BLOCK;
	t->padding = data + t->pad - t->left;
	e->size = e->stored = t->left;
	rc = set_sparse(t, e);
	e->data_offset = t->offset;
	return rc;
}

/* Reads an extension's data, and appends it to text. */
static int
read_extension(struct tar *t, struct tar_text *text)
{
	int64_t size;
	ssize_t n = 1;
	int rc = header_field(t, SIZE_AT, LONG_B, 0, INT64_MAX, &size);

	if (rc != 0)
		return rc;
	if (size > TAR_EXTENSION_MAX - (int64_t)text->len)
		return tar_fail(t, -EFBIG, "an extended header is too long");
	if (tar_text_reserve(text, text->len + (size_t)size) != 0)
		return -ENOMEM;
	t->left = (uint64_t)size;
	t->pad = -(uint64_t)size % TAR_BLOCK;
	t->padding = t->pad;
	while (t->left > 0 && n > 0) {
		n = tar_read(t, text->data + text->len, (size_t)t->left);
		if (n > 0)
			text->len += (size_t)n;
	}
	text->data[text->len] = '\0';
	return n < 0 ? (int)n : 0;
}

static int
read_name(struct tar *t, struct tar_text *text)
{
	int rc;

	text->len = 0;
	rc = read_extension(t, text);
	if (rc == 0)
		text->len = strlen(text->data);
	return rc;
}

/*
 * Processes an extension.  Returns 1, 2 if the extension is skipped, 0 if the
 * header belongs to an entry, or -errno.
 */
static int
extension(struct tar *t)
{
	int64_t size;
	int rc;

	switch (t->block[TYPE_AT]) {
	case 'x':
	case 'X':
		t->local.text.len = 0;
		tar_pax_reset(&t->local);
		rc = read_extension(t, &t->local.text);
		if (rc == 0)
			rc = tar_pax_parse(t, &t->local);
		break;
	case 'g':
		rc = read_extension(t, &t->global.text);
		if (rc == 0)
			rc = tar_pax_parse(t, &t->global);
		return rc != 0 ? rc : 2;
	case 'L':
		rc = read_name(t, &t->long_path);
		break;
	case 'K':
		rc = read_name(t, &t->long_link);
		break;
	case 'V':
	case 'M':
		rc = header_field(t, SIZE_AT, LONG_B, 0, INT64_MAX - TAR_BLOCK,
		    &size);
		if (rc == 0 && t->block[TYPE_AT] == 'M') {
			t->pad = -(uint64_t)size % TAR_BLOCK;
			t->padding = (uint64_t)size + t->pad;
		}
		return rc != 0 ? rc : 2;
	default:
		return 0;
	}
	return rc != 0 ? rc : 1;
}

int
tar_next(struct tar *t, struct tar_entry *e)
{
	bool pending = false;
	int rc;

	*e = (struct tar_entry){ 0 };
	t->local.text.len = 0;
	tar_pax_reset(&t->local);
	t->long_path.len = t->long_link.len = t->extent_count = 0;
	for (;;) {
		rc = tar_header_next(t);
		if (rc == 0 && pending)
			return tar_fail(t, -EBADMSG, "the archive ends after "
			    "an extended header");
		if (rc <= 0)
			return rc;
		if (!pending)
			e->header_offset = t->offset - TAR_BLOCK;
		e->after_global |= t->block[TYPE_AT] == 'g';
		rc = extension(t);
		if (rc == 1)
			pending = true;
		if (rc < 0)
			return rc;
		if (rc == 0)
			break;
	}
	rc = make_entry(t, e);
	return rc != 0 ? rc : 1;
}

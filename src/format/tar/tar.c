/*
 * tar.c - reading a tar archive as a stream: headers, data and end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_impl.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The fields of a header: offset and length. */
enum {
	NAME_AT = 0, NAME_B = 100,
	MODE_AT = 100, UID_AT = 108, GID_AT = 116, ID_B = 8,
	SIZE_AT = 124, MTIME_AT = 136, LONG_B = 12,
	CHECKSUM_AT = 148, CHECKSUM_B = 8,
	TYPE_AT = 156,
	LINK_AT = 157, LINK_B = 100,
	MAGIC_AT = 257, MAGIC_B = 6,
	UNAME_AT = 265, GNAME_AT = 297, OWNER_B = 32,
	MAJOR_AT = 329, MINOR_AT = 337,
	PREFIX_AT = 345, PREFIX_B = 155,
	STAR_PREFIX_B = 131, STAR_AT = 508
};

int
tar_open(struct tar **t, const struct tar_source *source)
{
	*t = sys_calloc(1, sizeof(**t));
	if (*t == NULL)
		return -ENOMEM;
	(*t)->source = *source;
	return 0;
}

void
tar_close(struct tar *t)
{
	if (t == NULL)
		return;
	tar_pax_free(&t->global);
	tar_pax_free(&t->local);
	sys_free(t->long_path.data);
	sys_free(t->long_link.data);
	sys_free(t->path.data);
	sys_free(t->link.data);
	sys_free(t->uname.data);
	sys_free(t->gname.data);
	sys_free(t->extents.at);
	sys_free(t->xattrs.at);
	sys_free(t);
}

uint64_t
tar_offset(const struct tar *t)
{
	return t->offset;
}

const char *
tar_flaw(const struct tar *t)
{
	return t->flaw;
}

const char *
tar_why(const struct tar *t)
{
	return t->why;
}

mode_t
tar_type_mode(enum tar_type type)
{
	static const mode_t modes[] = {
		[TAR_FILE] = S_IFREG, [TAR_HARDLINK] = S_IFREG,
		[TAR_SYMLINK] = S_IFLNK, [TAR_CHAR] = S_IFCHR,
		[TAR_BLOCK_DEVICE] = S_IFBLK, [TAR_DIR] = S_IFDIR,
		[TAR_FIFO] = S_IFIFO
	};

	return modes[type];
}

int
tar_number(const uint8_t *field, size_t len, int64_t *value)
{
	bool negative = (field[0] & 0x40) != 0;
	uint64_t v = 0;
	size_t i = 0;

	if ((field[0] & 0x80) != 0) {
		/*
		 * two's complement, most significant byte first; bit 7 of the
		 * first byte only marks the encoding
		 */
		v = negative ? UINT64_MAX << 8 | field[0] : field[0] & 0x7f;
		while (++i < len) {
			/* the bits shifted out must be copies of the sign */
			if (v >> 55 != (negative ? 0x1ff : 0))
				return -EBADMSG;
			v = v << 8 | field[i];
		}
		*value = (int64_t)v;
		return 0;
	}
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
		if (v >> 60 != 0)
			return -EBADMSG;
		v = v << 3 | (uint64_t)(field[i] - '0');
	}
	while (i < len && field[i] == ' ')
		i++;
	if (i < len && field[i] != '\0')
		return -EBADMSG;
	*value = (int64_t)v;
	return 0;
}

int
tar_decimal(const char *s, uint64_t *value)
{
	uint64_t v = 0;

	if (*s == '\0')
		return -EBADMSG;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9' || v > (UINT64_MAX - 9) / 10)
			return -EBADMSG;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*value = v;
	return 0;
}

int
tar_fail(struct tar *t, int rc, const char *why)
{
	t->why = why;
	return rc;
}

/*
 * Reads some bytes, counts them and passes them to raw().  Returns the number
 * read, or 0 at the end of input.
 */
static ssize_t
read_raw(struct tar *t, void *buf, size_t len)
{
	ssize_t n = t->source.read(t->source.arg, buf, len);
	int rc;

	if (n <= 0)
		return n;
	t->offset += (uint64_t)n;
	if (t->source.raw == NULL)
		return n;
	rc = t->source.raw(t->source.arg, buf, (size_t)n);
	return rc != 0 ? rc : n;
}

int
tar_block(struct tar *t)
{
	size_t have = 0;
	ssize_t n;

	while (have < TAR_BLOCK) {
		n = read_raw(t, t->block + have, TAR_BLOCK - have);
		if (n < 0)
			return (int)n;
		if (n == 0 && have == 0)
			return 0;
		if (n == 0)
			return tar_fail(t, -ENODATA,
			    "the archive ends within a header");
		have += (size_t)n;
	}
	return 1;
}

ssize_t
tar_read(struct tar *t, void *buf, size_t len)
{
	ssize_t n;

	if (len > t->left)
		len = (size_t)t->left;
	if (len == 0)
		return 0;
	n = read_raw(t, buf, len);
	if (n == 0)
		return tar_fail(t, -ENODATA,
		    "the archive ends within an entry's data");
	if (n > 0)
		t->left -= (uint64_t)n;
	return n;
}

int
tar_drain(struct tar *t)
{
	uint8_t buf[16 << 10];
	ssize_t n;

	do {
		n = read_raw(t, buf, sizeof(buf));
	} while (n > 0);
	return (int)n;
}

static bool
is_end(const struct tar *t)
{
	return t->block[0] == 0 &&
	    memcmp(t->block, t->block + 1, TAR_BLOCK - 1) == 0;
}

/* Returns whether the checksum of the block is that of a header. */
static bool
is_header(const uint8_t block[TAR_BLOCK])
{
	int64_t plain = 0, with_sign = 0, want;

	/* the checksum is a sum of signed or of unsigned chars */
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool own = i - CHECKSUM_AT < CHECKSUM_B;

		plain += own ? ' ' : block[i];
		with_sign += own ? ' ' : (int8_t)block[i];
	}
	return tar_number(block + CHECKSUM_AT, CHECKSUM_B, &want) == 0 &&
	    (want == plain || want == with_sign);
}

int64_t
tar_peek(const uint8_t block[TAR_BLOCK])
{
	bool file = block[TYPE_AT] == '0' || block[TYPE_AT] == '\0' ||
	    block[TYPE_AT] == '7';
	int64_t size;

	if (memcmp(block + MAGIC_AT, "ustar", MAGIC_B - 1) != 0 ||
	    !is_header(block) ||
	    tar_number(block + SIZE_AT, LONG_B, &size) != 0 || size < 0)
		return -1;
	return file ? size : 0;
}

/*
 * Reads the next header into t->block, past the rest of the previous entry.
 * Returns 1, 0 at the end of the archive, or -errno.
 */
static int
next_header(struct tar *t)
{
	bool passed = false;		/* the end of an archive */
	uint8_t buf[16 << 10];
	ssize_t n;
	int rc;

	/*
	 * the rest of the entry, and the padding after it, within which the
	 * archive may end, as Go's archive/tar leaves it if it is not closed
	 */
	t->left += t->padding;
	t->padding = 0;
	while (t->left > t->pad) {
		n = tar_read(t, buf, t->left - t->pad < sizeof(buf) ?
		    (size_t)(t->left - t->pad) : sizeof(buf));
		if (n < 0)
			return (int)n;
	}
	while (t->left > 0) {
		n = read_raw(t, buf, (size_t)t->left);
		if (n < 0)
			return (int)n;
		if (n == 0) {
			t->flaw = "the archive ends within the padding after "
			    "its last entry, whose data is complete";
			t->ended = true;
			t->left = 0;
		}
		t->left -= (uint64_t)n;
	}
	if (t->ended)
		return 0;

	do {
		rc = tar_block(t);
		passed = passed || (rc > 0 && t->source.skip_ends &&
		    is_end(t));
	} while (rc > 0 && passed && (is_end(t) || !is_header(t->block)));
	if (rc < 0)
		return rc;
	if (rc == 0 && t->offset == 0 && t->source.refuse_empty)
		return tar_fail(t, -ENODATA, "the archive is empty: it does "
		    "not even contain an end-of-archive block");
	if (rc == 0 && !passed)
		t->flaw = "the archive ends without an end-of-archive block, "
		    "and may be truncated";
	if (rc == 0 || is_end(t)) {
		t->ended = true;
		return 0;
	}
	if (!is_header(t->block))
		return tar_fail(t, -EBADMSG, t->offset == TAR_BLOCK ?
		    "not a tar archive" :
		    "a header checksum is wrong");
	return 1;
}

/*
 * Makes room for len bytes and a terminating NUL, leaving the contents
 * undefined.
 */
static int
text_reserve(struct tar_text *text, size_t len)
{
	size_t cap = 2 * text->cap;
	char *p;

	if (len < text->cap)
		return 0;
	if (cap > TAR_EXTENSION_MAX + 1)
		cap = TAR_EXTENSION_MAX + 1;
	if (cap < len + 1)
		cap = len + 1;
	p = sys_realloc(text->data, cap);
	if (p == NULL)
		return -ENOMEM;
	text->data = p;
	text->cap = cap;
	return 0;
}

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

static const char *
first_of(const char *a, const char *b, const char *c)
{
	return a != NULL ? a : b != NULL ? b : c;
}

/* Copies a field of the header, at most len bytes long. */
static int
text_field(struct tar_text *text, const uint8_t *field, size_t len)
{
	len = strnlen((const char *)field, len);
	if (text_reserve(text, len) != 0)
		return -ENOMEM;
	memcpy(text->data, field, len);
	text->data[len] = '\0';
	return 0;
}

static int
set_names(struct tar *t, struct tar_entry *e)
{
	const struct tar_pax *l = &t->local, *g = &t->global;
	const uint8_t *block = t->block;
	bool ustar = memcmp(block + MAGIC_AT, "ustar", MAGIC_B) == 0;
	bool gnu = memcmp(block + MAGIC_AT, "ustar ", MAGIC_B) == 0;
	bool star = memcmp(block + STAR_AT, "tar", 4) == 0;
	size_t prefix = !ustar ? 0 : strnlen((const char *)block + PREFIX_AT,
	    star ? STAR_PREFIX_B : PREFIX_B);
	size_t name = strnlen((const char *)block + NAME_AT, NAME_B);
	size_t owner = ustar || gnu ? OWNER_B : 0;
	char *p;

	if (text_reserve(&t->path, prefix + 1 + name) != 0 ||
	    text_field(&t->link, block + LINK_AT, LINK_B) != 0 ||
	    text_field(&t->uname, block + UNAME_AT, owner) != 0 ||
	    text_field(&t->gname, block + GNAME_AT, owner) != 0)
		return -ENOMEM;
	p = t->path.data;
	memcpy(p, block + PREFIX_AT, prefix);
	p += prefix;
	if (prefix > 0)
		*p++ = '/';
	memcpy(p, block + NAME_AT, name);
	p[name] = '\0';
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
	e->more_mode = mode > 07777;
	e->atime = l->atime;
	e->ctime = l->ctime;
	e->uid = l->has_uid ? l->uid : g->has_uid ? g->uid : (uint64_t)uid;
	e->gid = l->has_gid ? l->gid : g->has_gid ? g->gid : (uint64_t)gid;
	e->size = l->has_size ? l->size : g->has_size ? g->size :
	    (uint64_t)size;
	if (l->mtime.known || g->mtime.known) {
		e->mtime = (l->mtime.known ? &l->mtime : &g->mtime)->seconds;
		e->mtime_ns = (l->mtime.known ? &l->mtime : &g->mtime)->ns;
	}
	e->major = (uint32_t)major;
	e->minor = (uint32_t)minor;
	return e->size <= INT64_MAX - TAR_BLOCK ? 0 :
	    tar_fail(t, -EBADMSG, "an entry's size is out of range");
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
	for (size_t i = 0; i < p->extents.count; i++) {
		rc = tar_extent_add(t, &t->extents, p->extents.at[i]);
		if (rc != 0)
			return rc;
	}
	rc = tar_sparse_check(t, realsize, t->left);
	if (rc != 0)
		return rc;
	e->size = realsize;
	e->stored = t->left;
	e->extents = t->extents.at;
	e->extent_count = t->extents.count;
	return 0;
}

/* Returns whether global records say something that the entry's own do not. */
static bool
global_applies(const struct tar_pax *l, const struct tar_pax *g)
{
	return (l->path == NULL && g->path != NULL) ||
	    (l->link == NULL && g->link != NULL) ||
	    (l->uname == NULL && g->uname != NULL) ||
	    (l->gname == NULL && g->gname != NULL) ||
	    (!l->has_uid && g->has_uid) || (!l->has_gid && g->has_gid) ||
	    (!l->has_size && g->has_size) ||
	    (!l->mtime.known && g->mtime.known) || g->xattrs.count > 0;
}

/* Builds an entry from its headers. */
static int
make_entry(struct tar *t, struct tar_entry *e)
{
	const struct tar_xattrs *pax[] = { &t->global.xattrs,
		&t->local.xattrs };
	uint64_t data = 0;
	int rc = set_names(t, e);

	if (rc == 0)
		rc = set_numbers(t, e);
	if (rc != 0)
		return rc;

	/* the global attributes, then the entry's own */
	t->xattrs.count = 0;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < pax[k]->count; i++) {
			const struct tar_xattr *x = &pax[k]->at[i];
			size_t same = 0;

			while (same < t->xattrs.count &&
			    strcmp(t->xattrs.at[same].name, x->name) != 0)
				same++;
			if (same < t->xattrs.count)
				t->xattrs.at[same] = *x;
			else if (tar_xattr_add(&t->xattrs, x) != 0)
				return -ENOMEM;
		}
	e->xattrs = t->xattrs.at;
	e->xattr_count = t->xattrs.count;
	e->from_global = global_applies(&t->local, &t->global);
	e->records = t->local.records.at;
	e->record_count = t->local.records.count;

	/*
	 * In old archives, the header of a hard link or a directory may contain
	 * a size although no data follows; only pax archives may store the data
	 * of a link.
	 */
	e->type = entry_type((char)t->block[TYPE_AT], e->path);
	if (e->type == TAR_HARDLINK ? t->local.parsed > 0 :
	    e->type == TAR_FILE || t->block[TYPE_AT] == 'D')
		data = e->size;
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
	if (text_reserve(text, text->len + (size_t)size) != 0)
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

/*
 * Processes an extension.  Returns 1, 2 if the extension is skipped, 0 if the
 * header belongs to an entry, or -errno.
 */
static int
extension(struct tar *t)
{
	uint8_t type = t->block[TYPE_AT];
	struct tar_pax *pax = type == 'g' ? &t->global : &t->local;
	struct tar_text *name = type == 'L' ? &t->long_path : &t->long_link;
	int64_t size;
	int rc;

	switch (type) {
	case 'x':
	case 'X':
	case 'g':
		if (type != 'g') {
			pax->text.len = 0;
			tar_pax_reset(pax);
		}
		rc = read_extension(t, &pax->text);
		if (rc == 0)
			rc = tar_pax_parse(t, pax);
		if (rc != 0)
			return rc;
		return type == 'g' ? 2 : 1;
	case 'L':
	case 'K':
		name->len = 0;
		rc = read_extension(t, name);
		if (rc != 0)
			return rc;
		name->len = strlen(name->data);
		return 1;
	case 'V':
	case 'M':
		rc = header_field(t, SIZE_AT, LONG_B, 0, INT64_MAX - TAR_BLOCK,
		    &size);
		if (rc != 0)
			return rc;
		if (type == 'M') {
			t->pad = -(uint64_t)size % TAR_BLOCK;
			t->padding = (uint64_t)size + t->pad;
		}
		return 2;
	default:
		return 0;
	}
}

int
tar_next(struct tar *t, struct tar_entry *e)
{
	bool pending = false;
	int rc;

	*e = (struct tar_entry){ 0 };
	t->local.text.len = 0;
	tar_pax_reset(&t->local);
	t->long_path.len = t->long_link.len = t->extents.count = 0;
	for (;;) {
		rc = next_header(t);
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

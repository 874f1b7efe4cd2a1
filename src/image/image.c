/*
 * image.c - an image's names, and accounting for their memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image_impl.h"

#include <errno.h>
#include <string.h>

int
image_take(struct image_memory *m, uint64_t bytes)
{
	if (m == NULL)
		return 0;
	if (bytes > *m->left)
		return -EDQUOT;
	*m->left -= bytes;
	m->taken += bytes;
	return 0;
}

void
image_give(struct image_memory *m, uint64_t bytes)
{
	if (m == NULL)
		return;
	*m->left += bytes;
	m->taken -= bytes;
}

/*
 * Makes room for one more item; the allocated memory counts towards the limit.
 */
static int
grow_items(struct image *m, void **items, size_t count, size_t *cap,
    size_t size)
{
	size_t before = *cap;
	int rc;

	/* items have 32-bit indices */
	if (count >= UINT32_MAX)
		return -EFBIG;
	/* the array doubles, except for the first time */
	rc = count < before ? 0 : image_take(m->memory, (before + 8) * size);
	return rc != 0 ? rc : array_grow(items, count, cap, size);
}

int
image_add_dir(struct image *m, const struct image_dir *d)
{
	void *p = m->dir;
	int rc = grow_items(m, &p, m->dir_count, &m->dir_cap, sizeof(*m->dir));

	m->dir = p;
	if (rc == 0)
		m->dir[m->dir_count++] = *d;
	return rc;
}

int
image_add_file(struct image *m, const struct image_file *f)
{
	void *p = m->file;
	int rc = grow_items(m, &p, m->file_count, &m->file_cap,
	    sizeof(*m->file));

	m->file = p;
	if (rc == 0)
		m->file[m->file_count++] = *f;
	return rc;
}

int
image_open(struct image *m, const struct image_source *source, int fd,
    uint64_t offset, struct image_memory *memory, const uint8_t *verity_root,
    unsigned threads, image_report_fn *report, void *arg, const char **why)
{
	/* index 0 is the end of a list of files */
	const struct image_file none = { .type = WALK_OTHER };
	int rc;

	*m = (struct image){ .source = source, .fd = fd, .offset = offset,
	    .memory = memory, .verity_root = verity_root };
	rc = image_add_file(m, &none);
	return rc != 0 ? rc : source->open(m, threads, report, arg, why);
}

void
image_close(struct image *m)
{
	m->source->close(m);
	verity_close(m->verity);
	sys_free(m->dir);
	sys_free(m->file);
}

int
image_read(const struct image *m, uint64_t pos, void *buf, size_t len)
{
	ssize_t n;

	if (pos > m->length || len > m->length - pos)
		return -ENODATA;
	n = m->verity != NULL ? (ssize_t)verity_pread(m->verity, buf, len,
	    pos) : fdio_pread(m->fd, buf, len, (off_t)(m->offset + pos));
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -ENODATA;
}

int64_t
image_unpack(const struct image *m, void *decoder,
    struct image_packed *packed, uint64_t at, image_word word, size_t want,
    uint8_t *out, const char **why)
{
	size_t n = image_stored_B(word), cap = want != 0 ? want : m->block_B;
	bool raw = (word & IMAGE_RAW) != 0;
	int64_t made = (int64_t)n;
	int rc;

	*why = "the block's stored size is 0 or exceeds the block size";
	if ((word & IMAGE_BAD) != 0 || n == 0 || n > m->block_B ||
	    (raw && n > cap))
		return -EBADMSG;
	rc = image_read(m, at, raw ? out : packed->data, n);
	*why = rc == -ENODATA ? "the block extends past the end of the image "
	    "file" : rc == -EBADMSG ? "the block does not match the hash tree" :
	    "the block cannot be read";
	if (rc != 0)
		return rc;
	packed->read_B += n;
	if (!raw)
		made = m->source->unpack(decoder, packed->data, n, out, cap);
	*why = "the block cannot be decompressed";
	if (made < 0)
		return made;
	*why = "the block decompresses to less data than expected";
	if (want != 0 && (size_t)made != want)
		return -EBADMSG;
	*why = NULL;
	return made;
}

/* Paths */

static const char *
path_in(const struct image *m, uint32_t dir, const uint8_t *name,
    size_t len, char *buf)
{
	char *p = buf + IMAGE_PATH_MAX - 1;

	*p = '\0';
	for (;;) {
		if ((size_t)(p - buf) < len + 1)
			return NULL;
		p -= len;
		memcpy(p, name, len);
		if (dir == 0)
			return p;
		*--p = '/';
		name = m->dir[dir].name;
		len = m->dir[dir].name_len;
		dir = m->dir[dir].parent;
	}
}

const char *
image_file_path(const struct image *m, uint32_t file, char *buf)
{
	const struct image_file *f = &m->file[file];

	return path_in(m, f->dir, f->name, f->name_len, buf);
}

const char *
image_dir_path(const struct image *m, size_t dir, char *buf)
{
	const struct image_dir *d = &m->dir[dir];

	return path_in(m, d->parent, d->name, d->name_len, buf);
}

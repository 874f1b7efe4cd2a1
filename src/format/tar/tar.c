/*
 * tar.c - reading a tar archive as a stream: blocks, data and end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int
tar_fail(struct tar *t, int rc, const char *why)
{
	t->why = why;
	return rc;
}

int
tar_text_reserve(struct tar_text *text, size_t len)
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

int
tar_text_set(struct tar_text *text, const char *s, size_t len)
{
	if (tar_text_reserve(text, len) != 0)
		return -ENOMEM;
	memcpy(text->data, s, len);
	text->data[len] = '\0';
	text->len = len;
	return 0;
}

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
	sys_free(t->extents);
	sys_free(t->xattrs);
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

/*
 * Skips the rest of the entry and the padding after it.  The archive may end
 * within the padding, as Go's archive/tar leaves it if it is not closed.
 */
static int
skip_rest(struct tar *t)
{
	uint8_t buf[16 << 10];
	ssize_t n = 0;

	t->left += t->padding;
	t->padding = 0;
	while (t->left > t->pad && n >= 0)
		n = tar_read(t, buf, t->left - t->pad < sizeof(buf) ?
		    (size_t)(t->left - t->pad) : sizeof(buf));
	while (t->left > 0 && n >= 0) {
		n = read_raw(t, buf, (size_t)t->left);
		if (n == 0) {
			t->flaw = "the archive ends within the padding after "
			    "its last entry, whose data is complete";
			t->ended = true;
			n = (ssize_t)t->left;
		}
		if (n > 0)
			t->left -= (uint64_t)n;
	}
	return n < 0 ? (int)n : 0;
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
is_zero(const uint8_t *block)
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* Reads the next header into t->block.  Returns 1, 0 at the end, or -errno. */
int
tar_header_next(struct tar *t)
{
	int rc = skip_rest(t);

	if (rc != 0)
		return rc;
	if (t->ended)
		return 0;
	rc = tar_block(t);
	if (rc == 0 && t->offset == 0 && t->source.refuse_empty)
		return tar_fail(t, -ENODATA, "the archive is empty: it does "
		    "not even contain an end-of-archive block");
	if (rc == 0)
		t->flaw = "the archive ends without an end-of-archive block, "
		    "and may be truncated";
	if (rc == 1 && is_zero(t->block))
		rc = 0;
	if (rc == 0)
		t->ended = true;
	if (rc == 1 && !tar_checksum_ok(t->block))
		return tar_fail(t, -EBADMSG, t->offset == TAR_BLOCK ?
		    "not a tar archive" :
		    "a header checksum is wrong");
	return rc;
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

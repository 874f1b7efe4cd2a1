/*
 * imgsrc_made.h - building images in memory for tests of what they are made
 * from
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_IMGSRC_MADE_H
#define COLDPRESS_TESTS_IMGSRC_MADE_H

#include "base/sys.h"
#include "image/source/imgsrc.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { MADE_BLOCK = 4096, MADE_TEXT = 8192 };

struct made {
	struct imgsrc_image image;
	int fd;				/* the image */
	char said[MADE_TEXT];		/* messages: E, W or N, a colon, text */
};

static inline void
made_hear(void *arg, enum imgsrc_message kind, const char *text)
{
	struct made *m = arg;
	size_t n = strlen(m->said);

	snprintf(m->said + n, sizeof(m->said) - n, "%c: %s\n",
	    "EWN"[kind], text);
}

/* Sets the options to small blocks of no compression and no attributes. */
static inline void
made_begin(struct made *m, const char *path)
{
	*m = (struct made){ .fd = -1 };
	m->image.o = (struct imgsrc_options){ .path = path, .no_xattrs = true,
		.report = made_hear, .arg = m };
	m->image.pack = (struct sqw_data_options){ .block = MADE_BLOCK,
		.method = sqw_method_by_name("none"), .threads = 2,
		.memory = 64 << 20 };
}

/* Builds the image.  Returns the result of imgsrc_build(). */
static inline int
made_build(struct made *m, const struct imgsrc_source *source)
{
	int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	m->fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(tmp >= 0 && m->fd >= 0);
	rc = imgsrc_build(&m->image, source, m->fd, tmp);
	close(tmp);
	return rc;
}

static inline void
made_end(struct made *m)
{
	imgsrc_free(&m->image);
	if (m->fd >= 0)
		close(m->fd);
}

static inline void
made_refuse(void *arg, uint64_t at, const char *why)
{
	(void)arg;
	fail_msg("offset %llu: %s", (unsigned long long)at, why);
}

static inline struct sq_image *
made_open(const struct made *m)
{
	struct sq_image *image;
	const char *why = "";

	if (sq_open(&image, m->fd, 0, 1, 64 << 20, made_refuse, NULL,
	    &why) != 0)
		fail_msg("%s", why);
	return image;
}

static inline int
made_xattr(void *arg, const char *name, const void *value, size_t len)
{
	char *text = arg;
	size_t n = strlen(text);

	snprintf(text + n, MADE_TEXT - n, " %s=%.*s", name, (int)len,
	    (const char *)value);
	return 0;
}

/*
 * Describes the image, one name a line: path, mode, owner, time, links, then
 * the size of a file, the target of a link or the number of a device, and the
 * attributes.
 */
static inline void
made_list(const struct made *m, char text[MADE_TEXT])
{
	struct sq_image *image = made_open(m);
	char *path = NULL, *at = text, *end = text + MADE_TEXT;
	size_t cap = 0;

	for (size_t n = 0; n < sq_count(image); n++) {
		struct sq_entry e;

		sq_get(image, n, &e);
		assert_int_equal(sq_path(image, n, &path, &cap), 0);
		assert_true(e.why == NULL && !e.lost && e.has_owner);
		at += snprintf(at, (size_t)(end - at), "/%s %o %u:%u %u %u",
		    path, e.mode, e.uid, e.gid, e.mtime, e.links);
		if (S_ISREG(e.mode))
			at += snprintf(at, (size_t)(end - at), " %llu",
			    (unsigned long long)e.size);
		if (S_ISLNK(e.mode))
			at += snprintf(at, (size_t)(end - at), " %.*s",
			    (int)e.size, e.target);
		if (S_ISCHR(e.mode) || S_ISBLK(e.mode))
			at += snprintf(at, (size_t)(end - at), " %u,%u",
			    squashfs_major(e.rdev), squashfs_minor(e.rdev));
		if (e.xattr != SQUASHFS_NONE)
			assert_int_equal(sq_xattrs(image, e.xattr, made_xattr,
			    text), 0);
		at = text + strlen(text);
		at += snprintf(at, (size_t)(end - at), "\n");
	}
	sys_free(path);
	sq_close(image);
}

/* Finds a name, which must be in the image. */
static inline void
made_find(const struct sq_image *image, const char *name, struct sq_entry *e)
{
	char *path = NULL;
	size_t cap = 0;

	for (size_t n = 0; n < sq_count(image); n++) {
		assert_int_equal(sq_path(image, n, &path, &cap), 0);
		sq_get(image, n, e);
		if (strcmp(path, name) == 0) {
			sys_free(path);
			return;
		}
	}
	fail_msg("%s is not in the image", name);
}

/* Returns where the data of a file begins in the image. */
static inline uint64_t
made_start(const struct made *m, const char *name)
{
	struct sq_image *image = made_open(m);
	struct sq_entry e;
	uint64_t at;
	uint32_t word;

	made_find(image, name, &e);
	at = e.start;
	if (e.blocks == 0) {
		sq_fragment(image, e.fragment, &at, &word);
		at += e.tail_at;
	}
	sq_close(image);
	return at;
}

/* The file must have exactly this content. */
static inline void
made_content(const struct made *m, const char *name, const void *data,
    size_t len)
{
	struct sq_image *image = made_open(m);
	struct sq_decoder *d;
	struct sq_entry e;
	uint8_t *whole = calloc(1, len + MADE_BLOCK), block[MADE_BLOCK];
	const char *why;
	uint64_t at;
	uint32_t word, tail;

	made_find(image, name, &e);
	assert_int_equal(e.size, len);
	assert_int_equal(sq_decoder_open(&d, image), 0);
	at = e.start;
	for (uint32_t k = 0; k < e.blocks; k++) {
		word = sq_word(&e, k);
		if (word != 0)
			assert_true(sq_unpack(d, at, word, sq_block_len(image,
			    &e, k), whole + (size_t)k * MADE_BLOCK, &why) > 0);
		at += sq_word_len(word);
	}
	tail = sq_tail_len(image, &e);
	if (tail > 0) {
		sq_fragment(image, e.fragment, &at, &word);
		assert_true(sq_unpack(d, at, word, 0, block, &why) >=
		    (int64_t)(e.tail_at + tail));
		memcpy(whole + (size_t)e.blocks * MADE_BLOCK,
		    block + e.tail_at, tail);
	}
	assert_memory_equal(whole, data, len);
	sq_decoder_close(d);
	sq_close(image);
	free(whole);
}

#endif

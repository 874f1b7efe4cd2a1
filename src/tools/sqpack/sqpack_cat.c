/*
 * sqpack_cat.c - writing one file of an image to standard output
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "base/fdio.h"
#include "base/sandbox.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cat {
	struct sqpack_image i;
	struct sq_entry e;
	struct sq_decoder *decoder;
	uint8_t *data, *zeros;
};

static int
damage(struct cat *c, uint64_t at, const char *why)
{
	msg_error(&c->i.p->msg, "%s: %s: offset %llu: %s", c->i.p->o.source,
	    c->i.p->o.name, (unsigned long long)at, why);
	return -EBADMSG;
}

static int
put_data(struct cat *c, const uint8_t *data, size_t len)
{
	int rc = fdio_write(STDOUT_FILENO, data, len);

	if (rc != 0)
		msg_error(&c->i.p->msg, "standard output: %s",
		    strerror(-rc));
	return rc;
}

static int
put_blocks(struct cat *c)
{
	const struct sq_image *m = c->i.m;
	uint64_t at = c->e.start;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < c->e.blocks; k++) {
		uint32_t word = sq_word(&c->e, k);
		uint32_t len = sq_block_len(m, &c->e, k);
		const char *why;

		if (word != 0 && sq_unpack(c->decoder, at, word, len,
		    c->data, &why) < 0)
			return damage(c, at, why);
		rc = put_data(c, word == 0 ? c->zeros : c->data, len);
		at += sq_word_len(word);
	}
	return rc;
}

static int
put_tail(struct cat *c)
{
	uint32_t len = sq_tail_len(c->i.m, &c->e), word;
	const char *why;
	uint64_t at;
	int64_t made;

	if (len == 0)
		return 0;
	sq_fragment(c->i.m, c->e.fragment, &at, &word);
	made = sq_unpack(c->decoder, at, word, 0, c->data, &why);
	if (made < 0)
		return damage(c, at, why);
	if ((uint64_t)made < (uint64_t)c->e.tail_at + len)
		return damage(c, at, "the fragment block ends before the "
		    "file does");
	return put_data(c, c->data + c->e.tail_at, len);
}

/* Finds the file by its path, without following symbolic links. */
static int
find_file(struct cat *c)
{
	const char *name = c->i.p->o.name;
	size_t count = sq_count(c->i.m);

	for (size_t n = 1; n < count;) {
		const char *path = sqpack_image_path(&c->i, n);
		size_t len;

		if (path == NULL)
			return -ENOMEM;
		len = strlen(path);
		if (strcmp(path, name) == 0) {
			sq_get(c->i.m, n, &c->e);
			return 0;
		}
		/* skip directories that do not contain the file */
		n = strncmp(path, name, len) == 0 && name[len] == '/' ? n + 1 :
		    sq_end(c->i.m, n);
	}
	return -ENOENT;
}

static int
open_buffers(struct cat *c)
{
	uint32_t block = sq_facts(c->i.m)->block;
	int rc = sq_decoder_open(&c->decoder, c->i.m);

	c->data = sys_malloc(block);
	c->zeros = sys_calloc(1, block);
	if (c->data != NULL && c->zeros != NULL && rc == 0)
		return 0;
	msg_error(&c->i.p->msg, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

/*
 * Writes the file.  A name that is not that of a file is reported, and the next
 * one follows.
 */
static int
cat(struct cat *c)
{
	int rc = find_file(c);

	if (rc == -ENOMEM)
		return rc;
	if (rc != 0 || (c->e.mode != 0 && !S_ISREG(c->e.mode))) {
		msg_error(&c->i.p->msg, "%s: %s: %s", c->i.p->o.source,
		    c->i.p->o.name, rc != 0 ? strerror(-rc) :
		    "not a regular file");
		return 0;
	}
	/* sqpack_image_open() has reported the reason */
	if (c->e.mode == 0 || c->e.lost)
		return -EBADMSG;
	rc = put_blocks(c);
	return rc != 0 ? rc : put_tail(c);
}

int
sqpack_cat_all(struct sqpack *p, char *const *names, size_t count)
{
	struct cat c = { .decoder = NULL };
	bool confined;
	int rc = sqpack_image_open(&c.i, p);

	if (rc == 0) {
		sandbox_enter(&confined);
		rc = open_buffers(&c);
	}
	for (size_t k = 0; rc == 0 && k < count; k++) {
		p->o.name = names[k] + strspn(names[k], "/");
		rc = cat(&c);
	}
	sq_decoder_close(c.decoder);
	sys_free(c.data);
	sys_free(c.zeros);
	sqpack_image_close(&c.i);
	return rc;
}

int
sqpack_cat(struct sqpack *p)
{
	char *name = (char *)(uintptr_t)p->o.name;

	return sqpack_cat_all(p, &name, 1);
}

/*
 * toy_image.c - images in a format invented for tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "toy_image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/* An image source, as the code for a format would define it */

static struct toy toy;

static int
toy_open(struct image *m, unsigned threads, image_report_fn *report,
    void *arg, const char **why)
{
	struct image_dir root = { .parent = 0 }, d = { .parent = 0,
	    .name = (const uint8_t *)"dir", .name_len = 3 };
	int rc = image_add_dir(m, &root);

	(void)threads;
	m->block_B = TOY_BLOCK_B;
	m->length = (uint64_t)lseek(m->fd, 0, SEEK_END) - m->offset;
	m->fragment_count = toy.fragments;
	*why = toy.err != 0 ? "toy is broken" : NULL;
	if (rc == 0)
		rc = toy.err != 0 ? toy.err : image_add_dir(m, &d);
	for (uint32_t i = 0; rc == 0 && i < toy.files; i++) {
		const struct toy_file *t = &toy.file[i];
		struct image_file f = { .name = (const uint8_t *)t->name,
		    .name_len = (uint16_t)strlen(t->name), .dir = i % 2,
		    .type = WALK_FILE, .size = t->size, .start = t->start,
		    .map = (const uint8_t *)t->words, .blocks = t->blocks,
		    .fragment = t->fragment, .tail_at = t->tail_at,
		    .flaw = t->bad, .unreadable = t->bad };

		rc = image_add_file(m, &f);
	}
	return rc != 0 || !toy.file[0].bad ? rc :
	    report(arg, 7, "a table of toy's is bad");
}

static void
toy_close(struct image *m)
{
	(void)m;
}

static const char *
toy_flaw(unsigned flaw)
{
	return flaw == 0 ? "" : "toy says so";
}

static uint64_t
toy_where(const struct image *m, uint64_t ref)
{
	(void)m;
	return ref;
}

static image_word
toy_block(const struct image *m, const struct image_file *f, uint32_t k,
    uint64_t *at)
{
	(void)m;
	(void)at;
	return ((const image_word *)(const void *)f->map)[k];
}

static image_word
toy_fragment(const struct image *m, uint32_t index, uint64_t *at)
{
	(void)m;
	*at = toy.fragment_at[index];
	return TOY_BLOCK_B | IMAGE_RAW;
}

static int
toy_decoder(const struct image *m, void **decoder)
{
	(void)m;
	*decoder = &toy;
	return 0;
}

static void
toy_decoder_close(void *decoder)
{
	assert_ptr_equal(decoder, &toy);
}

static int64_t
toy_unpack(void *decoder, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t n = in[1] | (size_t)in[2] << 8;

	(void)decoder;
	if (len != TOY_RUN_B || in[3] != 0x55 || n > cap)
		return -EBADMSG;
	memset(out, in[0], n);
	return (int64_t)n;
}

const struct image_source toy_source = { .name = "toy", .open = toy_open,
    .close = toy_close, .flaw = toy_flaw, .where = toy_where,
    .block = toy_block, .fragment = toy_fragment, .decoder_open = toy_decoder,
    .decoder_close = toy_decoder_close, .unpack = toy_unpack };

/* An image in memory */

static uint64_t
append(const void *p, size_t len)
{
	off_t at = lseek(toy.fd, 0, SEEK_END);

	assert_int_equal(write(toy.fd, p, len), (ssize_t)len);
	return (uint64_t)at;
}

/*
 * Makes a file whose block k is raw, a run or a hole, according to `what`; its
 * last block has `last` bytes.
 */
static void
add_blocks(struct toy_file *t, const char *what, size_t last)
{
	uint8_t raw[TOY_BLOCK_B], run[TOY_RUN_B];

	t->start = (uint64_t)lseek(toy.fd, 0, SEEK_END);
	t->blocks = (uint32_t)strlen(what);
	for (uint32_t k = 0; k < t->blocks; k++) {
		size_t n = k + 1 < t->blocks ? TOY_BLOCK_B : last;

		for (size_t i = 0; i < n; i++)
			raw[i] = (uint8_t)(i * 7 + k);
		memcpy(run, (uint8_t[]){ (uint8_t)what[k], (uint8_t)n,
		    (uint8_t)(n >> 8), 0x55 }, TOY_RUN_B);
		t->words[k] = what[k] == '0' ? 0 : what[k] == 'R' ?
		    (image_word)n | IMAGE_RAW : TOY_RUN_B;
		if (what[k] != '0')
			append(what[k] == 'R' ? raw : run,
			    what[k] == 'R' ? n : TOY_RUN_B);
		t->size += n;
	}
}

static struct toy_file *
add_file(const char *name)
{
	struct toy_file *t = &toy.file[toy.files++];

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->fragment = IMAGE_NONE;
	return t;
}

static void
add_tail(struct toy_file *t, uint32_t fragment, uint32_t at, size_t len)
{
	t->fragment = fragment;
	t->tail_at = at;
	t->size += len;
}

struct toy *
toy_make(void)
{
	uint8_t block[TOY_BLOCK_B];
	struct toy_file *t;
	char name[16];

	memset(&toy, 0, sizeof(toy));
	toy.fd = memfd_create("toy", MFD_CLOEXEC);
	toy.fragments = TOY_FRAGMENTS;
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i >> 4);
	for (int k = 0; k < TOY_FRAGMENTS; k++)
		toy.fragment_at[k] = append(block, sizeof(block));
	add_blocks(add_file("one"), "RaR0bR", 100);
	add_file("empty");
	t = add_file("tailed");
	add_blocks(t, "aR0R", TOY_BLOCK_B);
	add_tail(t, 1, 1000, 2000);
	add_blocks(add_file("holes"), "00000", 5);
	*add_file("twin") = toy.file[0];
	strcpy(toy.file[4].name, "twin");
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "small %d", i);
		t = add_file(name);
		if (i % 5 == 0)
			add_blocks(t, i % 2 == 0 ? "RRRRRRRRRRRRR" : "cdcdRRc",
			    1 + (size_t)i);
		else
			add_tail(t, (uint32_t)i % TOY_FRAGMENTS, (uint32_t)i,
			    1 + (size_t)i * 3);
	}
	return &toy;
}

void
toy_free(struct toy *t)
{
	assert_ptr_equal(t, &toy);
	close(t->fd);
}

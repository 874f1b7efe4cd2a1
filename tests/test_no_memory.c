/*
 * test_no_memory.c - what the engines take, and each allocation refused in turn
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What was refused is reported, nothing is used that is not there, and nothing
 * is left.
 */
#include "sys_fault.h"

#include "engine/bzip2/bz2_block.h"
#include "engine/deflate/deflate_find.h"
#include "engine/deflate/deflate_strong.h"
#include "engine/deflate/inflater.h"
#include "engine/lzma/lzma_encode.h"
#include "engine/lzma/unlzma.h"
#include "engine/other/lzw.h"
#include "engine/packer/packer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 40000 };

static uint8_t text[LEN], packed[2 * LEN];

static int
open_inflater(void)
{
	struct inflater *f;
	int rc = inflater_open(&f);

	if (rc == 0)
		inflater_close(f);
	return rc;
}

static int
open_finder(void)
{
	struct deflate_finder *f;
	int rc = deflate_finder_open(&f);

	if (rc == 0)
		deflate_finder_close(f);
	return rc;
}

static int
open_strong(void)
{
	struct deflate_strong *s;
	int rc = deflate_strong_open(&s, DEFLATE_STRONG_MAX);

	if (rc == 0)
		deflate_strong_close(s);
	return rc;
}

/* The second block needs larger tables than the first. */
static int
encode_lzma(void)
{
	struct lzma2_params p;
	struct lzma2_encoder *e;
	ssize_t n;

	lzma2_params_of(&p, 6);
	e = lzma2_encoder_new(&p);
	n = e == NULL ? -ENOMEM : lzma2_encode(e, text, 1000, packed,
	    sizeof(packed));
	if (n > 0)
		n = lzma2_encode(e, text, LEN, packed, sizeof(packed));
	lzma2_encoder_free(e);
	return n > 0 ? 0 : (int)n;
}

static int
open_unlzma(void)
{
	struct unlzma *u;
	int rc = unlzma_open(&u);

	if (rc != 0)
		return rc;
	rc = unlzma_start(u, 4096);
	if (rc == 0)
		rc = unlzma_start(u, 1 << 20);
	unlzma_close(u);
	return rc;
}

static int
open_bz2(void)
{
	struct bz2_encoder *e = bz2_encoder_new(1);
	struct bz2_decoder *d = bz2_decoder_new(1);
	int rc = e != NULL && d != NULL ? 0 : -ENOMEM;

	bz2_encoder_free(e);
	bz2_decoder_free(d);
	return rc;
}

static int
open_lzw(void)
{
	void *z;
	int rc = lzw_stream.open(&z, 0);

	if (rc == 0)
		lzw_stream.close(z);
	return rc;
}

/* The name of this run. */
static struct packer_name name;

static int
open_packer(void)
{
	struct packer *p;
	int rc = packer_open(&p, &name, LEN);

	if (rc == 0)
		assert_true(packer_pack(p, text, LEN, LEN) > 0);
	else
		assert_null(p);
	if (rc == 0)
		packer_close(p);
	return rc;
}

static void
suffers(const char *what, int (*run)(void))
{
	unsigned long n;

	assert_true(fault_plan(""));
	assert_int_equal(run(), 0);
	n = fault_count(FAULT_MALLOC);
	if (n == 0)
		fail_msg("%s: no memory", what);
	for (unsigned long k = 1; k <= n; k++) {
		long blocks = fault_blocks();
		char plan[64];
		int rc;

		snprintf(plan, sizeof(plan), "malloc:%lu:ENOMEM", k);
		assert_true(fault_plan(plan));
		rc = run();
		assert_true(fault_plan(""));
		if (rc != -ENOMEM || fault_blocks() != blocks)
			fail_msg("%s, %lu: %d, %ld blocks left", what, k, rc,
			    fault_blocks() - blocks);
	}
}

static void
engines(void **state)
{
	(void)state;
	suffers("inflater", open_inflater);
	suffers("finder", open_finder);
	suffers("strong", open_strong);
	suffers("lzma", encode_lzma);
	suffers("unlzma", open_unlzma);
	suffers("bzip2", open_bz2);
	suffers("lzw", open_lzw);
}

static void
packers(void **state)
{
	static const char *const names[] = { "lz4", "lzjb", "gzip-6",
		"zstd-3" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(packer_by_name(packers_zfs, names[i], &name),
		    0);
		suffers(names[i], open_packer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines),
		cmocka_unit_test(packers),
	};

	for (size_t i = 0; i < LEN; i++)
		text[i] = (uint8_t)"is there any memory left?"[i * i % 25];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * fuzz_mail_like.c - arbitrary bytes as a mail profile, and as mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Depending on the first byte, the rest is a mailbox to measure, or a profile.
 * A profile is written and read back, and some messages are generated from it,
 * which must not be much larger than it states.
 */
#include "mail/measure.h"
#include "../../src/tools/mailgen/mailgen.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Allowance for a message's header and parts, and the last line of each. */
enum { MAILS = 24, LARGE = 1 << 20, MORE = 16 << 10 };

static int
load(struct mail_like *like, const void *text, size_t len)
{
	int fd = memfd_create("like", MFD_CLOEXEC), rc;
	unsigned line;
	char path[64];

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = mailgen_like_load(like, path, &line);
	close(fd);
	return rc;
}

static void
make_mails(const struct mail_like *like, uint64_t seed)
{
	static struct world w;
	struct mail_maker *m = calloc(1, sizeof(*m));

	if (m == NULL || (w.lists == NULL && world_make(&w, 0, 1) != 0))
		abort();
	m->world = &w;
	m->like = like;
	m->seed = seed;
	mail_week(m, seed % 3);
	for (int i = 0; i < MAILS; i++)
		if (mail_next(m) != 0 ||
		    m->out.len > m->mails[m->count - 1].target_B + MORE)
			abort();
	mail_free(m);
	free(m);
}

static void
try_like(const uint8_t *data, size_t size, uint8_t seed)
{
	struct mail_like like = mail_like_default, again = mail_like_default;
	struct strbuf b = { .data = NULL };

	if (load(&like, data, size) != 0)
		return;
	mailgen_like_text(&b, &like);
	if (b.failed || load(&again, b.data, b.len) != 0 ||
	    memcmp(&like, &again, sizeof(like)) != 0)
		abort();
	strbuf_free(&b);
	/* large ones take a long time and reveal no more errors */
	for (unsigned i = 0; i < SIZES; i++)
		if (like.sizes.at_B[i] > LARGE)
			like.sizes.at_B[i] = LARGE;
	make_mails(&like, seed);
}

static void
try_mail(const uint8_t *data, size_t size)
{
	struct measure m = { .every = 1 };
	char *mail = malloc(size + (size == 0));
	struct sizes s;
	uint64_t sum = 0;

	if (mail == NULL)
		abort();
	memcpy(mail, data, size);
	if (measure_file(&m, mail, size) != 0 || m.bytes > size ||
	    m.with_parts > m.count)
		abort();
	for (size_t i = 0; i < m.count; i++)
		sum += m.sizes[i];
	if (sum != m.bytes || measure_ratio(&m) < 0)
		abort();
	if (m.count > 0)
		sizes_learn(&s, m.sizes, m.count);
	measure_free(&m);
	free(mail);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		try_mail(data + 1, size - 1);
	else
		try_like(data + 1, size - 1, data[0] >> 1);
	return 0;
}

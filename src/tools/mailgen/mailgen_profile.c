/*
 * mailgen_profile.c - measuring existing mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sizes and the share of messages with attachments are measured.  The amount of
 * repetition in the text and the share of incompressible attachments are then
 * determined by generating messages of these sizes until they compress like the
 * originals.  Only numbers are returned, no text.
 */
#include "mailgen.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "mail/measure.h"
#include "walk/fs_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A trial generates FIT_MAILS messages, or enough messages for FIT_PARTS of
 * them to have attachments, but at most FIT_B bytes.
 */
enum { SAMPLE = 20000, TRIES = 9, FIT_MAILS = 2048, FIT_PARTS = 512,
    FIT_B = 64 << 20 };

enum { FILE_MOST = 1 << 30 };

/* With more repetition than this, the text would be a single endless phrase. */
enum { REPEAT_MOST = PRNG_ONE * 7 / 8 };

static int
read_file(int dir, const char *path, struct strbuf *b)
{
	int fd = sys_open_beneath(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	strbuf_clear(b);
	while (fd >= 0 && n > 0) {
		char *p = strbuf_room(b, 64 << 10);

		n = p == NULL ? -ENOMEM : fdio_read(fd, p, 64 << 10);
		b->len += n > 0 ? (size_t)n : 0;
		if (b->len > FILE_MOST)
			n = -EFBIG;
	}
	if (fd >= 0)
		sys_close(fd);
	return fd < 0 ? fd : (int)n;
}

static bool
is_mail(const struct fs_item *it)
{
	return it->err == 0 && !it->again && S_ISREG(it->st.st_mode) &&
	    it->st.st_size > 0;
}

/* Reads all files; reports and skips unreadable ones. */
static int
measure_all(struct mailgen *g, const struct fs_list *l, struct measure *m)
{
	struct strbuf b = { .data = NULL };
	uint64_t files = 0;
	int rc = 0;

	for (size_t i = 0; i < l->count; i++)
		files += is_mail(&l->items[i]);
	m->every = files / SAMPLE + 1;
	for (size_t i = 0; rc != -ENOMEM && i < l->count; i++) {
		const struct fs_item *it = &l->items[i];

		rc = it->err;
		if (is_mail(it))
			rc = read_file(l->roots[it->root], it->path, &b);
		if (rc == 0 && is_mail(it))
			rc = measure_file(m, b.data, b.len);
		if (rc != 0)
			msg_error(&g->msg, "%s/%s: %s", g->o.profile,
			    it->path, strerror(-rc));
	}
	strbuf_free(&b);
	return rc == -ENOMEM ? rc : m->count == 0 ? -ENODATA : 0;
}

/* The value being tried, and the cached compressed size of the text. */
struct trial {
	const struct world *world;
	struct mail_like *like;
	uint32_t *number;		/* in like */
	uint32_t most;
	bool more;			/* a larger value increases the ratio */
	bool text;			/* measure text only */
	uint64_t mails, text_packed_B;
};

/* Generates messages and measures how well they compress. */
static int
make_some(const struct trial *t, struct measure *m)
{
	struct mail_maker *maker = sys_calloc(1, sizeof(*maker));
	int rc = maker == NULL ? -ENOMEM : 0;

	if (rc != 0)
		return rc;
	maker->world = t->world;
	maker->like = t->like;
	for (uint64_t i = 0; rc == 0 && i < t->mails && m->bytes < FIT_B;
	    i++) {
		if (i % MAIL_WEEK == 0)
			mail_week(maker, i / MAIL_WEEK);
		rc = mail_next(maker);
		if (rc == 0)
			rc = measure_mail(m, maker->out.data, maker->out.len);
	}
	mail_free(maker);
	sys_free(maker);
	return rc;
}

static int
try(struct trial *t, double *ratio)
{
	struct measure made = { .every = 1 };
	int rc;

	made.parts_only = t->text_packed_B > 0;
	made.packed_B[0] = t->text_packed_B;
	rc = make_some(t, &made);
	if (!t->text)
		t->text_packed_B = made.packed_B[0];
	*ratio = t->text ? measure_ratio_of(&made, 0) : measure_ratio(&made);
	measure_free(&made);
	return rc;
}

/* Bisects the range of one number until the ratio is close. */
static int
fit_one(struct trial *t, double want)
{
	uint32_t lo = 0, hi = t->most;
	int rc = 0;

	for (int i = 0; rc == 0 && want > 0 && i < TRIES; i++) {
		double ratio;

		*t->number = lo + (hi - lo) / 2;
		rc = try(t, &ratio);
		if ((ratio < want) == t->more)
			lo = *t->number;
		else
			hi = *t->number;
	}
	return rc;
}

/*
 * Returns the number of messages in a trial, which must include enough messages
 * with attachments; these are large and may be rare.
 */
static uint64_t
fit_mails(const struct measure *m)
{
	uint64_t n = m->with_parts == 0 ? 0 :
	    m->count * FIT_PARTS / m->with_parts;

	return n < FIT_MAILS ? FIT_MAILS : n > SAMPLE ? SAMPLE : n;
}

static int
fit_all(const struct world *w, struct mail_like *like,
    const struct measure *m, double *ratio)
{
	struct trial t = {
		.world = w,
		.like = like,
		.number = &like->repeat,
		.most = REPEAT_MOST,
		.more = true,
		.text = true,
		.mails = FIT_MAILS,
	};
	int rc = fit_one(&t, measure_ratio_of(m, 0));

	t.number = &like->noise;
	t.most = PRNG_ONE;
	t.more = t.text = false;
	t.mails = fit_mails(m);
	if (rc == 0 && m->with_parts > 0)
		rc = fit_one(&t, measure_ratio(m));
	return rc != 0 ? rc : try(&t, ratio);
}

static int
by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
fit(struct mail_like *like, struct measure *m, double *ratio)
{
	struct world *w = sys_calloc(1, sizeof(*w));
	struct sizes exact;
	int rc = w == NULL ? -ENOMEM : world_make(w, 0, 1);

	qsort(m->sizes, m->count, sizeof(*m->sizes), by_size);
	sizes_learn(&like->sizes, m->sizes, m->count);
	exact = like->sizes;
	if (sizes_fit(&exact, m->bytes / m->count, m->sizes[m->count / 2]) ==
	    0)
		like->sizes = exact;
	like->attachments = (uint32_t)(m->with_parts * PRNG_ONE / m->count);
	if (rc == 0)
		rc = fit_all(w, like, m, ratio);
	if (w != NULL)
		world_free(w);
	sys_free(w);
	return rc;
}

static int
write_like(struct mailgen *g, const struct measure *m, double ratio)
{
	struct strbuf b = { .data = NULL };
	int rc;

	strbuf_fmt(&b, "# mailgen --like: %zu messages, %" PRIu64 " bytes\n"
	    "# each through zlib -6: ratio %.3f measured, %.3f generated\n",
	    m->count, m->bytes, measure_ratio(m), ratio);
	mailgen_like_text(&b, &g->o.like);
	rc = b.failed ? -ENOMEM : fwrite(b.data, 1, b.len, stdout) == b.len ?
	    0 : -EIO;
	strbuf_free(&b);
	return rc;
}

void
mailgen_profile(struct mailgen *g)
{
	struct fs_list list = { .count = 0 };
	struct measure m = { .every = 1 };
	double ratio = 0;
	int fd = sys_openat(AT_FDCWD, g->o.profile,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fs_list_add(&list, fd, g->o.threads);

	if (rc == 0)
		rc = fs_list_end(&list);
	if (rc == 0)
		rc = measure_all(g, &list, &m);
	if (rc == 0)
		rc = fit(&g->o.like, &m, &ratio);
	if (rc == 0)
		rc = write_like(g, &m, ratio);
	if (rc == -ENODATA)
		msg_error(&g->msg, "%s: contains no mail",
		    g->o.profile);
	else if (rc != 0)
		msg_error(&g->msg, "%s: %s", g->o.profile, strerror(-rc));
	measure_free(&m);
	fs_list_free(&list);
}

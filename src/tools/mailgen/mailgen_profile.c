/*
 * mailgen_profile.c - measuring existing mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only numbers are written, no text.
 */
#include "mailgen.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "walk/fs_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most messages compressed alone, and bytes compressed together. */
enum { SAMPLE = 20000, TOGETHER_B = 8 << 20 };

enum { FILE_MOST = 1 << 30 };

static int
read_mail(int dir, const char *path, struct strbuf *b)
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

/* Reads all files; reports and skips unreadable ones. */
static int
measure_all(struct mailgen *g, const struct fs_list *l, struct measure *m)
{
	struct strbuf b = { .data = NULL };
	uint64_t files = 0, bytes = 0;
	int rc = 0;

	for (size_t i = 0; i < l->count; i++)
		if (fs_item_has_data(&l->items[i])) {
			files++;
			bytes += (uint64_t)l->items[i].st.st_size;
		}
	m->every = files / SAMPLE + 1;
	m->run_B = TOGETHER_B / MAILGEN_RUNS;
	m->stretch_B = bytes / MAILGEN_RUNS + 1;
	for (size_t i = 0; rc != -ENOMEM && i < l->count; i++) {
		const struct fs_item *it = &l->items[i];

		rc = it->err;
		if (fs_item_has_data(it)) {
			rc = read_mail(l->roots[it->root], it->path, &b);
			if (rc == 0)
				rc = measure_file(m, b.data, b.len);
		}
		if (rc != 0)
			msg_error(&g->msg, "%s/%s: %s", g->o.profile,
			    it->path, strerror(-rc));
	}
	strbuf_free(&b);
	if (rc == -ENOMEM)
		return rc;
	return m->count == 0 ? -ENODATA : 0;
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void
mailgen_profile(struct mailgen *g)
{
	static const char *const names[TOGETHER] = { "zstd -3",
	    "zstd -12 --long", "xz -1" };
	struct mail_like *like = &g->o.like;
	struct fs_list list = { .count = 0 };
	struct measure m = { .every = 1 };
	struct mailgen_fit got = { .each = 0 };
	struct strbuf b = { .data = NULL };
	struct sizes exact;
	int fd = sys_openat(AT_FDCWD, g->o.profile,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fs_list_add(&list, fd, g->o.threads);

	if (rc == 0)
		rc = fs_list_end(&list);
	if (rc == 0)
		rc = measure_all(g, &list, &m);
	if (rc != 0)
		goto out;
	/* what can be measured, and then the rest by trials */
	qsort(m.sizes, m.count, sizeof(*m.sizes), by_value);
	sizes_learn(&like->sizes, m.sizes, m.count);
	exact = like->sizes;
	if (sizes_fit(&exact, m.bytes / m.count, m.sizes[m.count / 2]) == 0)
		like->sizes = exact;
	traits_learn(&m.traits, like);
	like->attachments = (uint32_t)(m.with_parts * PRNG_ONE / m.count);
	rc = mailgen_fit(like, &m, &got);
	if (rc != 0)
		goto out;
	strbuf_fmt(&b, "# mailgen --like: %zu messages, %" PRIu64 " bytes\n"
	    "# each through zlib -6: ratio %.3f measured, %.3f generated\n",
	    m.count, m.bytes, measure_ratio(&m), got.each);
	for (int i = 0; i < TOGETHER && got.want[i] > 0; i++)
		strbuf_fmt(&b, "# together through %s: ratio %.3f measured, "
		    "%.3f generated\n", names[i], got.want[i],
		    got.together[i]);
	mailgen_like_text(&b, like);
	if (b.failed)
		rc = -ENOMEM;
	else if (fwrite(b.data, 1, b.len, stdout) != b.len)
		rc = -EIO;
out:
	if (rc == -ENODATA)
		msg_error(&g->msg, "%s: contains no mail",
		    g->o.profile);
	else if (rc != 0)
		msg_error(&g->msg, "%s: %s", g->o.profile, strerror(-rc));
	strbuf_free(&b);
	measure_free(&m);
	fs_list_free(&list);
}

/*
 * mailgen_profile.c - profiles: measuring existing mail, and the text of one
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only numbers are written, no text.
 */
#include "mailgen.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "walk/fs_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIKE_MOST = 64 << 10 };		/* maximum size of a profile */

/* The numbers of a profile, by name. */
static const struct {
	const char *name;
	size_t at;			/* in struct mail_like */
	uint32_t most;
} numbers[] = {
#define NUMBER(name, member, most) \
	{ name, offsetof(struct mail_like, member), most }
	NUMBER("attachments", attachments, PRNG_ONE),
	NUMBER("noise", noise, PRNG_ONE),
	NUMBER("replies", replies, PRNG_ONE),
	NUMBER("quoted", quoted, PRNG_ONE),
	NUMBER("foreign", foreign, PRNG_ONE),
	NUMBER("repeat", text.repeat, PRNG_ONE),
	NUMBER("phrase", text.phrase, PRNG_ONE),
	NUMBER("novel", text.novel, PRNG_ONE),
	NUMBER("topic", text.topic, PRNG_ONE),
	NUMBER("again", again, PRNG_ONE),
	NUMBER("message-id", id_B, MAIL_ID_MOST),
	NUMBER("more-fields", more_B, MAIL_MORE_MOST),
	NUMBER("signatures", signatures, PRNG_ONE),
	NUMBER("constant", constant, PRNG_ONE),
	NUMBER("to", fields[FIELD_TO], PRNG_ONE),
	NUMBER("in-reply-to", fields[FIELD_REPLY], PRNG_ONE),
	NUMBER("references", fields[FIELD_REFERENCES], PRNG_ONE),
	NUMBER("mime-version", fields[FIELD_MIME], PRNG_ONE),
	NUMBER("user-agent", fields[FIELD_AGENT], PRNG_ONE),
	NUMBER("list-id", fields[FIELD_LIST], PRNG_ONE),
	NUMBER("received", fields[FIELD_RECEIVED], PRNG_ONE),
	NUMBER("received-more", fields[FIELD_ROUTE], PRNG_ONE),
	NUMBER("dkim-signature", fields[FIELD_DKIM], PRNG_ONE),
	NUMBER("arc-seal", fields[FIELD_ARC], PRNG_ONE),
#undef NUMBER
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

void
mailgen_like_text(struct strbuf *b, const struct mail_like *like)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		uint32_t n;

		memcpy(&n, (const char *)like + numbers[i].at, sizeof(n));
		if (n != FIELD_BY_SIZE)
			strbuf_fmt(b, "%s %u\n", numbers[i].name, n);
	}
	for (unsigned i = 0; i < SIZES; i++)
		strbuf_fmt(b, "size %u %u\n", sizes_node(i),
		    like->sizes.at_B[i]);
}

int
mailgen_like_load(struct mail_like *like, const char *path, unsigned *line)
{
	bool std = strcmp(path, "-") == 0;
	int fd = std ? STDIN_FILENO :
	    sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	char *text = fd < 0 ? NULL : sys_malloc(LIKE_MOST + 1), *nl;
	unsigned nodes = 0;
	ssize_t n;
	int rc;

	if (fd < 0)
		return fd;
	n = text == NULL ? -ENOMEM : fdio_read(fd, text, LIKE_MOST);
	if (n == LIKE_MOST)
		n = -EFBIG;
	if (n < 0) {
		rc = (int)n;
		goto out;
	}
	text[n] = '\0';
	rc = -EBADMSG;
	*line = 0;
	for (char *at = text; *at != '\0'; at = nl) {
		char *value, *space;
		unsigned i = 0;
		int64_t v, size;
		uint32_t number;

		nl = strchrnul(at, '\n');
		if (*nl == '\n')
			*nl++ = '\0';
		++*line;
		if (*at == '#' || *at == '\0')
			continue;
		/* "NAME NUMBER", or "size NODE BYTES", the nodes in order */
		value = strchr(at, ' ');
		if (value == NULL)
			goto out;
		*value++ = '\0';
		if (strcmp(at, "size") == 0) {
			uint32_t *to = &like->sizes.at_B[nodes];

			space = strchr(value, ' ');
			if (space == NULL || nodes == SIZES)
				goto out;
			*space = '\0';
			if (args_int(value, 0, PRNG_ONE, &v) != 0 ||
			    v != sizes_node(nodes) || args_int(space + 1,
			    SIZE_LEAST, SIZE_MOST, &size) != 0 ||
			    (nodes > 0 && size < to[-1]))
				goto out;
			*to = (uint32_t)size;
			nodes++;
			continue;
		}
		while (i < NUMBERS && strcmp(at, numbers[i].name) != 0)
			i++;
		if (i == NUMBERS ||
		    args_int(value, 0, numbers[i].most, &v) != 0)
			goto out;
		number = (uint32_t)v;
		memcpy((char *)like + numbers[i].at, &number, sizeof(number));
	}
	/* a table must be complete or absent */
	rc = nodes == 0 || nodes == SIZES ? 0 : -EBADMSG;
out:
	sys_free(text);
	if (!std)
		sys_close(fd);
	return rc;
}

/* The most messages compressed alone, and bytes compressed together. */
enum { SAMPLE = 20000, TOGETHER_B = 8 << 20 };

enum { FILE_MOST = 1 << 30, READ_B = 64 << 10 };

/* Reads all files; reports and skips unreadable ones. */
static int
measure_all(struct mailgen *g, const struct fs_list *l, struct measure *m)
{
	struct strbuf b = { .data = NULL };
	struct fs_path p = { .s = NULL };
	uint64_t files = 0, bytes = 0;
	ssize_t n;
	int fd, rc = 0;

	for (size_t i = 0; i < l->count; i++)
		if (fs_item_has_data(&l->items[i])) {
			files++;
			bytes += l->items[i].size;
		}
	m->every = files / SAMPLE + 1;
	m->run_B = TOGETHER_B / MAILGEN_RUNS;
	m->stretch_B = bytes / MAILGEN_RUNS + 1;
	for (size_t i = 0; rc != -ENOMEM && i < l->count; i++) {
		const struct fs_item *it = &l->items[i];
		const char *path = fs_list_path(l, i, &p);

		rc = path == NULL ? -ENOMEM : it->err;
		if (rc != -ENOMEM && fs_item_has_data(it)) {
			fd = sys_open_beneath(l->roots[it->root], path,
			    O_RDONLY | O_CLOEXEC);
			strbuf_clear(&b);
			n = fd < 0 ? fd : 1;
			while (n > 0) {
				char *to = strbuf_room(&b, READ_B);

				n = to == NULL ? -ENOMEM :
				    fdio_read(fd, to, READ_B);
				b.len += n > 0 ? (size_t)n : 0;
				if (b.len > FILE_MOST)
					n = -EFBIG;
			}
			if (fd >= 0)
				sys_close(fd);
			rc = n < 0 ? (int)n :
			    measure_file(m, b.data, b.len);
		}
		if (rc != 0)
			msg_error(&g->msg, "%s/%s: %s", g->o.profile,
			    path == NULL ? it->name : path, strerror(-rc));
	}
	sys_free(p.s);
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

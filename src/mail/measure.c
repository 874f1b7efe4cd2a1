/*
 * measure.c - measuring mail: sizes, attachments and compressibility
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/measure.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sys.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

enum { LEVEL = 6 };

static bool
begins(const char *at, const char *end, const char *field)
{
	size_t n = strlen(field);

	return (size_t)(end - at) >= n && strncasecmp(at, field, n) == 0;
}

int
measure_mail(struct measure *m, const char *mail, size_t len)
{
	const char *end = mail + len, *nl;
	bool parts = false;
	uLongf packed = compressBound((uLong)len);
	void *sizes = m->sizes;
	int rc = array_grow(&sizes, m->count, &m->cap, sizeof(*m->sizes));

	m->sizes = sizes;
	if (rc != 0 || len > UINT32_MAX)
		return rc != 0 ? rc : -EFBIG;
	if (m->run_B > 0 && m->bytes % m->stretch_B < m->run_B)
		strbuf_add(&m->sample, mail, len);
	if (m->sample.failed)
		return -ENOMEM;
	/* a header field that indicates an attachment or base64 */
	for (const char *at = mail; at < end && !parts; at = nl + 1) {
		parts = begins(at, end, "content-transfer-encoding: base64") ||
		    begins(at, end, "content-disposition: attachment");
		nl = memchr(at, '\n', (size_t)(end - at));
		if (nl == NULL)
			break;
	}
	m->sizes[m->count++] = len;
	m->bytes += len;
	m->with_parts += parts;
	traits_add(&m->traits, mail, len);
	if (m->count % m->every != 0)
		return 0;
	m->plain_B[parts] += len;
	if (m->parts_only && !parts)
		return 0;
	strbuf_clear(&m->packed);
	if (strbuf_room(&m->packed, packed) == NULL)
		return -ENOMEM;
	if (compress2((Bytef *)m->packed.data, &packed, (const Bytef *)mail,
	    (uLong)len, LEVEL) != Z_OK)
		return -ENOMEM;
	m->packed_B[parts] += packed;
	return 0;
}

int
measure_file(struct measure *m, const char *data, size_t len)
{
	const char *end = data + len;
	int rc = 0;

	if (len < 5 || memcmp(data, "From ", 5) != 0)
		return measure_mail(m, data, len);
	while (rc == 0 && data < end) {
		const char *nl = memchr(data, '\n', (size_t)(end - data));
		const char *mail = nl == NULL ? end : nl + 1;
		const char *next = mail >= end ? NULL : memmem(mail,
		    (size_t)(end - mail), "\n\nFrom ", 7);

		next = next == NULL ? end : next + 2;
		rc = measure_mail(m, mail, (size_t)(next - mail));
		data = next;
	}
	return rc;
}

double
measure_ratio_of(const struct measure *m, int with_parts)
{
	return m->packed_B[with_parts] == 0 ? 0 :
	    (double)m->plain_B[with_parts] / (double)m->packed_B[with_parts];
}

double
measure_ratio(const struct measure *m)
{
	uint64_t packed = m->packed_B[0] + m->packed_B[1];

	return packed == 0 ? 0 :
	    (double)(m->plain_B[0] + m->plain_B[1]) / (double)packed;
}

void
measure_free(struct measure *m)
{
	sys_free(m->sizes);
	strbuf_free(&m->packed);
	strbuf_free(&m->sample);
	*m = (struct measure){ .every = 1 };
}

/* The fields' names; User-Agent has two. */
static const struct {
	const char *name;
	enum mail_field field;
} names[] = {
	{ "to:", FIELD_TO }, { "in-reply-to:", FIELD_REPLY },
	{ "references:", FIELD_REFERENCES }, { "mime-version:", FIELD_MIME },
	{ "user-agent:", FIELD_AGENT }, { "x-mailer:", FIELD_AGENT },
	{ "list-id:", FIELD_LIST }, { "received:", FIELD_RECEIVED },
	{ "dkim-signature:", FIELD_DKIM }, { "arc-seal:", FIELD_ARC }
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Shorter lines, which are often empty or a sign, are not repeated ones. */
enum { LINE_LEAST = 9 };

/* Shorter runs of base64 characters may be words and numbers. */
enum { TOKEN_LEAST = 32 };

struct line {
	const char *at;
	size_t len;			/* including the newline */
};

static bool
next_line(struct line *l, const char *end)
{
	const char *nl;

	l->at += l->len;
	nl = memchr(l->at, '\n', (size_t)(end - l->at));
	l->len = nl == NULL ? (size_t)(end - l->at) : (size_t)(nl + 1 - l->at);
	return l->len > 0;
}

/* Returns the bytes in long runs of base64 characters. */
static uint64_t
tokens(const struct line *l)
{
	uint64_t all = 0, run = 0;

	for (size_t i = 0; i < l->len; i++) {
		uint8_t c = (uint8_t)l->at[i];

		if ((c < '0' || c > '9') && ((c | 0x20) < 'a' ||
		    (c | 0x20) > 'z') && c != '+' && c != '/')
			run = 0;
		else if (++run >= TOKEN_LEAST)
			all += run == TOKEN_LEAST ? run : 1;
	}
	return all;
}

/* Returns the bytes in lines of earlier messages; quotes do not count. */
static uint64_t
known(const struct traits *t, struct line l, const char *end)
{
	uint64_t bytes = 0;

	while (next_line(&l, end)) {
		uint64_t h = hash_bytes(0, l.at, l.len);

		if (l.len >= LINE_LEAST && *l.at != '>' &&
		    t->seen[h % TRAITS_LINES] == (uint32_t)(h >> 32))
			bytes += l.len;
	}
	return bytes;
}

void
traits_add(struct traits *t, const char *mail, size_t len)
{
	static const char id_field[] = "message-id:";
	const char *end = mail + len, *open, *shut;
	bool has[FIELD_COUNT] = { false }, is_reply;
	uint64_t quoted = 0, text = 0, accented = 0;
	struct line l = { .at = mail };

	while (next_line(&l, end) && *l.at != '\n' &&
	    (l.len != 2 || *l.at != '\r')) {
		for (unsigned i = 0; i < NAMES; i++) {
			enum mail_field f = names[i].field;

			if (!begins(l.at, l.at + l.len, names[i].name))
				continue;
			if (f == FIELD_RECEIVED && has[f])
				f = FIELD_ROUTE;
			has[f] = true;
		}
		t->token_B += tokens(&l);
		if (!begins(l.at, l.at + l.len, id_field))
			continue;
		/* the size of the Message-ID, from < to > */
		open = memchr(l.at, '<', l.len);
		shut = memchr(l.at, '>', l.len);
		if (open != NULL && shut != NULL && open < shut) {
			t->ids++;
			t->id_B += (uint64_t)(shut + 1 - open);
		}
	}
	t->head_B += (uint64_t)(l.at + l.len - mail);
	t->same_B += known(t, (struct line){ .at = mail }, l.at);
	t->again_B += known(t, l, end);
	for (struct line k = { .at = mail }; next_line(&k, end);) {
		uint64_t h = hash_bytes(0, k.at, k.len);

		if (k.len >= LINE_LEAST && *k.at != '>')
			t->seen[h % TRAITS_LINES] = (uint32_t)(h >> 32);
	}
	while (next_line(&l, end)) {
		text += l.len;
		quoted += *l.at == '>' ? l.len : 0;
		t->own_B += *l.at == '>' ? 0 : l.len;
		for (size_t i = 0; i < l.len; i++)
			accented += (uint8_t)l.at[i] >= 0xc0 ||
			    (l.at[i] == '=' && i + 1 < l.len &&
			    memchr("89ABCDEF", l.at[i + 1], 8) != NULL);
	}
	is_reply = quoted > 0 || has[FIELD_REPLY] || has[FIELD_REFERENCES];
	t->count++;
	t->foreign += accented * 100 > text;
	for (unsigned i = 0; i < FIELD_COUNT; i++) {
		bool of_reply = i == FIELD_REPLY || i == FIELD_REFERENCES;
		bool room = len >= mail_field_least[i] &&
		    (is_reply || !of_reply);

		t->room[i] += room;
		t->fields[i] += room && has[i];
	}
	if (!is_reply)
		return;
	t->replies++;
	t->text_B += text;
	t->quoted_B += quoted;
}

static uint32_t
share(uint64_t part, uint64_t all)
{
	return all == 0 ? 0 : part >= all ? PRNG_ONE :
	    (uint32_t)(part * PRNG_ONE / all);
}

void
traits_learn(const struct traits *t, struct mail_like *like)
{
	like->replies = share(t->replies, t->count);
	like->quoted = share(t->quoted_B, t->text_B);
	like->foreign = share(t->foreign, t->count);
	like->id_B = t->ids == 0 ? 0 : (uint32_t)(t->id_B / t->ids);
	if (like->id_B > MAIL_ID_MOST)
		like->id_B = MAIL_ID_MOST;
	for (unsigned i = 0; i < FIELD_COUNT; i++)
		like->fields[i] = share(t->fields[i], t->room[i]);
}

enum { FAST = 3, SLOW = 12, LONG_LOG = 27, XZ = 1 };

static size_t
pack_zstd(void *out, size_t room, const char *data, size_t len, int level,
    bool far)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t n = 0;

	if (c == NULL)
		return 0;
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	if (far) {
		ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching,
		    1);
		ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, LONG_LOG);
	}
	n = ZSTD_compress2(c, out, room, data, len);
	ZSTD_freeCCtx(c);
	return ZSTD_isError(n) ? 0 : n;
}

int
together_ratios(double ratio[TOGETHER], const char *data, size_t len)
{
	size_t packed[TOGETHER], room = ZSTD_compressBound(len);
	void *out;

	if (room < lzma_stream_buffer_bound(len))
		room = lzma_stream_buffer_bound(len);
	out = sys_malloc(room);
	if (out == NULL)
		return -ENOMEM;
	packed[0] = pack_zstd(out, room, data, len, FAST, false);
	packed[1] = pack_zstd(out, room, data, len, SLOW, true);
	packed[2] = 0;
	if (lzma_easy_buffer_encode(XZ, LZMA_CHECK_NONE, NULL,
	    (const uint8_t *)data, len, out, &packed[2], room) != LZMA_OK)
		packed[2] = 0;
	sys_free(out);
	for (int i = 0; i < TOGETHER; i++) {
		if (packed[i] == 0)
			return -ENOMEM;
		ratio[i] = (double)len / (double)packed[i];
	}
	return 0;
}

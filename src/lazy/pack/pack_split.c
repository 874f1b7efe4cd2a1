/*
 * pack_split.c - an archive's headers in tar-split form
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_split.h"

#include "base/bytes.h"
#include "base/quote.h"
#include "base/sys.h"
#include "base/utc.h"
#include "base/utf8.h"
#include "pack_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { FILE_TYPE = 1, SEGMENT_TYPE = 2 };

int
pack_split_open(struct pack_split **out, int level)
{
	struct pack_split *s = sys_calloc(1, sizeof(*s));
	int rc = s == NULL ? -ENOMEM : pack_store_open(&s->store, level);

	if (rc != 0) {
		sys_free(s);
		return rc;
	}
	crc64_init(&s->crc64);
	*out = s;
	return 0;
}

void
pack_split_close(struct pack_split *s)
{
	if (s == NULL)
		return;
	pack_store_close(&s->store);
	strbuf_free(&s->segment);
	strbuf_free(&s->line);
	sys_free(s);
}

void
pack_split_bytes(struct pack_split *s, const void *data, size_t n)
{
	strbuf_add(&s->segment, data, n);
}

void
pack_split_cut(struct pack_split *s, size_t n)
{
	s->segment.len -= n < s->segment.len ? n : s->segment.len;
}

/* Completes the line with its number, and stores it. */
static int
store_line(struct pack_split *s)
{
	struct strbuf *b = &s->line;
	int rc;

	strbuf_fmt(b, ",\"position\":%" PRIu64 "}\n", s->position++);
	rc = b->failed || s->segment.failed ? -ENOMEM :
	    pack_store_add(&s->store, b->data, b->len);
	strbuf_clear(b);
	return rc;
}

int
pack_split_header(struct pack_split *s)
{
	int rc;

	if (s->segment.len == 0)
		return s->segment.failed ? -ENOMEM : 0;
	strbuf_fmt(&s->line, "{\"type\":%d,\"payload\":", SEGMENT_TYPE);
	pack_put_base64(&s->line, s->segment.data, s->segment.len);
	rc = store_line(s);
	strbuf_clear(&s->segment);
	return rc;
}

void
pack_split_data(struct pack_split *s, const void *data, size_t n)
{
	s->crc = crc64_add(&s->crc64, s->crc, data, n);
}

static bool
is_utf8(const char *name)
{
	size_t n;

	while (*name != '\0' && (n = utf8_length(name)) > 0)
		name += n;
	return *name == '\0';
}

bool
pack_split_fits(const struct tar_entry *e)
{
	static const char other[] = "LIBARCHIVE.xattr.";
	char text[UTC_B];

	for (size_t i = 0; i < e->record_count; i++)
		if (strncmp(e->records[i].name, other, sizeof(other) - 1) == 0)
			return false;
	for (size_t i = 0; i < e->xattr_count; i++)
		if (!is_utf8(e->xattrs[i].name))
			return false;
	return !e->after_global && !e->from_global && !e->more_mode &&
	    is_utf8(e->path) && is_utf8(e->link) &&
	    utc_rfc3339(text, e->mtime, e->mtime_ns) &&
	    utc_rfc3339(text, e->atime.seconds, e->atime.ns) &&
	    utc_rfc3339(text, e->ctime.seconds, e->ctime.ns);
}

int
pack_split_file(struct pack_split *s, const char *name, uint64_t size)
{
	bool utf8 = is_utf8(name);
	uint8_t crc[8];

	store_be64(crc, s->crc);
	s->crc = 0;
	strbuf_fmt(&s->line, "{\"type\":%d,", FILE_TYPE);
	/* in base64 if the name is not valid UTF-8 */
	strbuf_str(&s->line, utf8 ? "\"name\":" : "\"name_raw\":");
	if (utf8)
		quote_json(&s->line, name);
	else
		pack_put_base64(&s->line, name, strlen(name));
	strbuf_fmt(&s->line, ",\"size\":%" PRIu64 ",\"payload\":", size);
	pack_put_base64(&s->line, crc, sizeof(crc));
	return store_line(s);
}

int
pack_split_end(struct pack_split *s)
{
	int rc = pack_split_header(s);

	return rc != 0 ? rc : pack_store_end(&s->store);
}

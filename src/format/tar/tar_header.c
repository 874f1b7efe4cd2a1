/*
 * tar_header.c - writing a file's header in a tar archive
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/tar/tar_header.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12];
	char checksum[8], type, link[100], magic[6], version[2];
	char uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct ustar) == TAR_BLOCK, "a header is one block");

/* Writes value in octal with leading zeros, or 0 if it does not fit. */
static void
put_number(char *field, size_t size, uint64_t value)
{
	bool fits = value >> 3 * (size - 1) == 0;

	snprintf(field, size, "%0*" PRIo64, (int)size - 1, fits ? value : 0);
}

static void
put_text(char *field, size_t size, const char *text)
{
	memcpy(field, text, strnlen(text, size));
}

static void
put_tar_block(struct strbuf *b, struct ustar *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	memcpy(h->magic, "ustar", sizeof(h->magic));
	memcpy(h->version, "00", sizeof(h->version));
	memset(h->checksum, ' ', sizeof(h->checksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += p[i];
	snprintf(h->checksum, sizeof(h->checksum) - 1, "%06o", sum & 0777777);
	strbuf_add(b, h, sizeof(*h));
}

/* Appends "LENGTH KEY=VALUE\n", where LENGTH includes its own digits. */
static void
put_record(struct strbuf *b, const char *prefix, const char *key,
    const void *value, size_t len)
{
	size_t rest = strlen(prefix) + strlen(key) + len + 3, all = rest + 1;
	char digits[24];

	while (rest + (size_t)snprintf(digits, sizeof(digits), "%zu", all) !=
	    all)
		all++;
	strbuf_fmt(b, "%s %s%s=", digits, prefix, key);
	strbuf_add(b, value, len);
	strbuf_char(b, '\n');
}

static void
put_text_record(struct strbuf *b, const char *key, const char *value,
    size_t room)
{
	if (strlen(value) > room)
		put_record(b, "", key, value, strlen(value));
}

static void
put_number_record(struct strbuf *b, const char *key, uint64_t value,
    unsigned bits)
{
	char text[24];

	if (value >> bits == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_record(b, "", key, text, strlen(text));
}

void
tar_header_file(struct strbuf *b, const struct tar_entry *e)
{
	struct strbuf records = { 0 };
	struct ustar h = { .type = 'x' };
	int64_t s = e->mtime;
	uint32_t ns = e->mtime_ns;
	char text[48];

	put_text_record(&records, "path", e->path, sizeof(h.name));
	put_number_record(&records, "size", e->size, 33);
	put_number_record(&records, "uid", e->uid, 21);
	put_number_record(&records, "gid", e->gid, 21);
	put_text_record(&records, "uname", e->uname, sizeof(h.uname) - 1);
	put_text_record(&records, "gname", e->gname, sizeof(h.gname) - 1);
	if (s < 0 || s >> 33 != 0 || ns != 0) {
		/* stored as seconds rounded down, plus nanoseconds */
		if (s < 0 && ns > 0) {
			s++;
			ns = 1000000000 - ns;
		}
		snprintf(text, sizeof(text), "%s%" PRId64 ".%09" PRIu32,
		    s == 0 && e->mtime < 0 ? "-" : "", s, ns);
		put_record(&records, "", "mtime", text, strlen(text));
	}
	for (size_t i = 0; i < e->xattr_count; i++)
		put_record(&records, "SCHILY.xattr.", e->xattrs[i].name,
		    e->xattrs[i].value, e->xattrs[i].length);
	if (records.len > 0) {
		put_text(h.name, sizeof(h.name), "PaxHeader");
		put_number(h.mode, sizeof(h.mode), 0644);
		put_number(h.size, sizeof(h.size), records.len);
		put_tar_block(b, &h);
		strbuf_add(b, records.data, records.len);
		for (size_t n = -records.len % TAR_BLOCK; n > 0; n--)
			strbuf_char(b, '\0');
	}
	b->failed |= records.failed;
	strbuf_free(&records);
	h = (struct ustar){ .type = '0' };
	put_text(h.name, sizeof(h.name), e->path);
	put_number(h.mode, sizeof(h.mode), e->mode);
	put_number(h.uid, sizeof(h.uid), e->uid);
	put_number(h.gid, sizeof(h.gid), e->gid);
	put_number(h.size, sizeof(h.size), e->size);
	put_number(h.mtime, sizeof(h.mtime),
	    e->mtime < 0 ? 0 : (uint64_t)e->mtime);
	put_text(h.uname, sizeof(h.uname) - 1, e->uname);
	put_text(h.gname, sizeof(h.gname) - 1, e->gname);
	put_tar_block(b, &h);
}

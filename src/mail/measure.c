/*
 * measure.c - measuring mail: sizes, attachments and compressibility
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/measure.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum { LEVEL = 6 };

static bool
begins(const char *at, const char *end, const char *field)
{
	size_t n = strlen(field);

	return (size_t)(end - at) >= n && strncasecmp(at, field, n) == 0;
}

/* Returns whether a header field indicates an attachment or base64. */
static bool
has_parts(const char *mail, size_t len)
{
	const char *at = mail, *end = mail + len;

	while (at != NULL && at < end) {
		if (begins(at, end, "content-transfer-encoding: base64") ||
		    begins(at, end, "content-disposition: attachment"))
			return true;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at == NULL ? NULL : at + 1;
	}
	return false;
}

static int
pack(struct measure *m, const char *mail, size_t len, bool parts)
{
	uLongf packed = compressBound((uLong)len);

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
measure_mail(struct measure *m, const char *mail, size_t len)
{
	bool parts = has_parts(mail, len);
	void *sizes = m->sizes;
	int rc = array_grow(&sizes, m->count, &m->cap, sizeof(*m->sizes));

	m->sizes = sizes;
	if (rc != 0 || len > UINT32_MAX)
		return rc != 0 ? rc : -EFBIG;
	if (m->run_B > 0 && m->bytes % m->stretch_B < m->run_B)
		strbuf_add(&m->sample, mail, len);
	if (m->sample.failed)
		return -ENOMEM;
	m->sizes[m->count++] = len;
	m->bytes += len;
	m->with_parts += parts;
	traits_add(&m->traits, mail, len);
	if (m->count % m->every != 0)
		return 0;
	m->plain_B[parts] += len;
	return m->parts_only && !parts ? 0 : pack(m, mail, len, parts);
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

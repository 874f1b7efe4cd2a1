/*
 * cache_text.c - small documents in a cache directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file contains the SHA-256, in hexadecimal, of the key, a newline and the
 * text; then a newline and the text.  So a truncated file, or a file with a
 * different key, is not used.
 */
#include "cache_private.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { HEX = 2 * DIGEST_MAX };

/* Writes the first line of the file. */
static int
sum_of(const char *key, const char *text, size_t len, char line[HEX + 1])
{
	struct strbuf b = { .len = 0 };
	uint8_t sum[DIGEST_MAX];
	int rc;

	strbuf_str(&b, key);
	strbuf_char(&b, '\n');
	strbuf_add(&b, text, len);
	rc = b.failed ? -ENOMEM : digest_sha256(b.data, b.len, sum);
	strbuf_free(&b);
	hex_write(line, sum, sizeof(sum));
	return rc;
}

int
cache_text_write(int dir, const char *key, const char *text, size_t len)
{
	char name[CACHE_NAME], line[HEX + 1];
	int fd, rc = cache_name(key, CACHE_TEXT, name);

	if (rc != 0)
		return rc;
	rc = sum_of(key, text, len, line);
	if (rc != 0)
		return rc;
	fd = cache_file(dir, name, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	line[HEX] = '\n';
	rc = fdio_write(fd, line, sizeof(line));
	if (rc == 0)
		rc = fdio_write(fd, text, len);
	sys_close(fd);
	return rc;
}

static int
check_sum(const char *key, char *file, size_t *len)
{
	char line[HEX + 1];
	int rc;

	if (*len <= HEX || file[HEX] != '\n')
		return -ENOENT;
	*len -= HEX + 1;
	rc = sum_of(key, file + HEX + 1, *len, line);
	if (rc != 0)
		return rc;
	if (memcmp(line, file, HEX) != 0)
		return -ENOENT;
	/* including the NUL after the text */
	memmove(file, file + HEX + 1, *len + 1);
	return 0;
}

int
cache_text_read(int dir, const char *key, size_t max, char **text, size_t *len)
{
	char name[CACHE_NAME];
	int fd, rc = cache_name(key, CACHE_TEXT, name);

	*text = NULL;
	if (rc != 0)
		return rc;
	fd = cache_file(dir, name, O_RDONLY);
	if (fd < 0)
		return fd;
	rc = fdio_read_all(fd, max + HEX + 1, text, len);
	if (rc == 0)
		rc = check_sum(key, *text, len);
	/* the time of the last use, for cache_trim() */
	if (rc == 0)
		(void)sys_utimens(fd, NULL, NULL, 0);
	sys_close(fd);
	if (rc != 0) {
		sys_free(*text);
		*text = NULL;
	}
	return rc;
}

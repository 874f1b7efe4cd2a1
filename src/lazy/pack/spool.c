/*
 * spool.c - storing records in a file and reading them in reverse order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each record is followed by its length.  The buffer contains the last records,
 * and the file all earlier ones.
 */
#include "spool.h"

#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 512 << 10 };

struct spool {
	const char *tmpdir;
	int fd;				/* -1: not opened yet */
	uint64_t filed;			/* bytes in the file */
	struct strbuf end;
};

int
spool_open(struct spool **out, const char *tmpdir)
{
	struct spool *s = sys_calloc(1, sizeof(*s));

	*out = s;
	if (s == NULL)
		return -ENOMEM;
	s->tmpdir = tmpdir;
	s->fd = -1;
	return 0;
}

void
spool_close(struct spool *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		sys_close(s->fd);
	strbuf_free(&s->end);
	sys_free(s);
}

int
spool_push(struct spool *s, const void *data, size_t len)
{
	size_t need = len + sizeof(len);
	int rc;

	if (s->end.len > 0 && s->end.len + need > ROOM) {
		if (s->fd < 0)
			s->fd = sys_openat(AT_FDCWD, s->tmpdir,
			    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		rc = s->fd < 0 ? s->fd :
		    fdio_write(s->fd, s->end.data, s->end.len);
		if (rc != 0)
			return rc;
		s->filed += s->end.len;
		strbuf_clear(&s->end);
	}
	if (strbuf_room(&s->end, need) == NULL)
		return -ENOMEM;
	strbuf_add(&s->end, data, len);
	strbuf_add(&s->end, &len, sizeof(len));
	return 0;
}

/*
 * Loads data into the buffer, which contains fewer than `need` bytes, until it
 * contains at least that many.
 */
static int
load_file(struct spool *s, size_t need)
{
	size_t more = need > ROOM ? need : ROOM;
	ssize_t n;
	char *to;

	more -= s->end.len;
	more = more < s->filed ? more : (size_t)s->filed;
	to = strbuf_room(&s->end, more);
	if (to == NULL)
		return -ENOMEM;
	memmove(s->end.data + more, s->end.data, s->end.len);
	n = fdio_pread(s->fd, s->end.data, more, (off_t)(s->filed - more));
	if (n < (ssize_t)more)
		return n < 0 ? (int)n : -EIO;
	s->end.len += more;
	s->filed -= more;
	return 0;
}

int
spool_pop(struct spool *s, const void **data, size_t *len)
{
	size_t size = 0;
	int rc = 0;

	if (s->end.len + s->filed == 0)
		return 0;
	if (s->end.len < sizeof(size))
		rc = load_file(s, sizeof(size));
	if (rc == 0)
		memcpy(&size, s->end.data + s->end.len - sizeof(size),
		    sizeof(size));
	if (rc == 0 && s->end.len < size + sizeof(size))
		rc = load_file(s, size + sizeof(size));
	if (rc != 0)
		return rc;
	s->end.len -= size + sizeof(size);
	*data = s->end.data + s->end.len;
	*len = size;
	return 1;
}

/*
 * mailgen_like.c - the properties of a corpus, as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LIKE_MOST = 64 << 10 };		/* maximum size of a profile */

void
mailgen_like_text(struct strbuf *b, const struct mail_like *like)
{
	strbuf_fmt(b, "attachments %u\nrepeat %u\nnoise %u\n",
	    like->attachments, like->repeat, like->noise);
	for (unsigned i = 0; i < SIZES; i++)
		strbuf_fmt(b, "size %u %u\n", sizes_node(i),
		    like->sizes.at_B[i]);
}

static int
take_part(const char *text, uint32_t *part)
{
	int64_t n;
	int rc = args_int(text, 0, PRNG_ONE, &n);

	if (rc == 0)
		*part = (uint32_t)n;
	return rc;
}

/* Parses "size NODE BYTES"; the nodes must be in order. */
static int
take_node(struct mail_like *like, char *text, unsigned *next)
{
	char *space = strchr(text, ' ');
	int64_t node, size;

	if (space == NULL || *next == SIZES)
		return -EBADMSG;
	*space = '\0';
	if (args_int(text, 0, PRNG_ONE, &node) != 0 ||
	    node != sizes_node(*next) ||
	    args_int(space + 1, SIZE_LEAST, SIZE_MOST, &size) != 0 ||
	    (*next > 0 && size < like->sizes.at_B[*next - 1]))
		return -EBADMSG;
	like->sizes.at_B[(*next)++] = (uint32_t)size;
	return 0;
}

static int
take_line(struct mail_like *like, char *line, unsigned *next)
{
	char *space = strchr(line, ' ');

	if (*line == '#' || *line == '\0')
		return 0;
	if (space == NULL)
		return -EBADMSG;
	*space = '\0';
	if (strcmp(line, "attachments") == 0)
		return take_part(space + 1, &like->attachments);
	if (strcmp(line, "repeat") == 0)
		return take_part(space + 1, &like->repeat);
	if (strcmp(line, "noise") == 0)
		return take_part(space + 1, &like->noise);
	if (strcmp(line, "size") == 0)
		return take_node(like, space + 1, next);
	return -EBADMSG;
}

static int
take_text(struct mail_like *like, char *text, unsigned *line)
{
	unsigned next = 0;

	*line = 0;
	for (char *at = text, *nl; *at != '\0'; at = nl) {
		nl = strchr(at, '\n');
		nl = nl == NULL ? strchr(at, '\0') : nl;
		if (*nl == '\n')
			*nl++ = '\0';
		++*line;
		if (take_line(like, at, &next) != 0)
			return -EBADMSG;
	}
	/* a table must be complete or absent */
	return next == 0 || next == SIZES ? 0 : -EBADMSG;
}

int
mailgen_like_load(struct mail_like *like, const char *path, unsigned *line)
{
	bool std = strcmp(path, "-") == 0;
	int fd = std ? STDIN_FILENO :
	    sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	char *text = fd < 0 ? NULL : sys_malloc(LIKE_MOST + 1);
	ssize_t n;
	int rc;

	if (fd < 0)
		return fd;
	n = text == NULL ? -ENOMEM : fdio_read(fd, text, LIKE_MOST);
	rc = n < 0 ? (int)n : n == LIKE_MOST ? -EFBIG : 0;
	if (rc == 0) {
		text[n] = '\0';
		rc = take_text(like, text, line);
	}
	sys_free(text);
	if (!std)
		sys_close(fd);
	return rc;
}

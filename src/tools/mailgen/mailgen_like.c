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
#include <stddef.h>
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

static int
take_like_number(struct mail_like *like, const char *name, const char *text)
{
	int64_t n;
	uint32_t value;

	for (unsigned i = 0; i < NUMBERS; i++) {
		if (strcmp(name, numbers[i].name) != 0)
			continue;
		if (args_int(text, 0, numbers[i].most, &n) != 0)
			return -EBADMSG;
		value = (uint32_t)n;
		memcpy((char *)like + numbers[i].at, &value, sizeof(value));
		return 0;
	}
	return -EBADMSG;
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
	if (strcmp(line, "size") == 0)
		return take_node(like, space + 1, next);
	return take_like_number(like, line, space + 1);
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

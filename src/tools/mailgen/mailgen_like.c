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

/* Parses "NAME NUMBER", or "size NODE BYTES"; the nodes must be in order. */
static bool
parse_line(struct mail_like *like, char *line, unsigned *nodes)
{
	char *text = strchr(line, ' '), *space;
	int64_t n, size;
	uint32_t value;

	if (text == NULL)
		return false;
	*text++ = '\0';
	if (strcmp(line, "size") == 0) {
		space = strchr(text, ' ');
		if (space == NULL || *nodes == SIZES)
			return false;
		*space = '\0';
		if (args_int(text, 0, PRNG_ONE, &n) != 0 ||
		    n != sizes_node(*nodes) ||
		    args_int(space + 1, SIZE_LEAST, SIZE_MOST, &size) != 0 ||
		    (*nodes > 0 && size < like->sizes.at_B[*nodes - 1]))
			return false;
		like->sizes.at_B[(*nodes)++] = (uint32_t)size;
		return true;
	}
	for (unsigned i = 0; i < NUMBERS; i++) {
		if (strcmp(line, numbers[i].name) != 0)
			continue;
		if (args_int(text, 0, numbers[i].most, &n) != 0)
			return false;
		value = (uint32_t)n;
		memcpy((char *)like + numbers[i].at, &value, sizeof(value));
		return true;
	}
	return false;
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
		nl = strchrnul(at, '\n');
		if (*nl == '\n')
			*nl++ = '\0';
		++*line;
		if (*at != '#' && *at != '\0' && !parse_line(like, at, &nodes))
			goto out;
	}
	/* a table must be complete or absent */
	rc = nodes == 0 || nodes == SIZES ? 0 : -EBADMSG;
out:
	sys_free(text);
	if (!std)
		sys_close(fd);
	return rc;
}

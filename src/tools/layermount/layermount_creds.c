/*
 * layermount_creds.c - credentials on the command line, and their server
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * They are sent only to the server that the operands name.  A store has no such
 * server: its users choose the hosts.
 */
#include "layermount.h"

#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CREDS_MAX = 4096 };

/* Takes ownership of the text, which is not printed. */
static int
set_credentials(struct layermount *m, char *text, const char *from)
{
	if (text != NULL && strchr(text, ':') != NULL &&
	    strpbrk(text, "\r\n") == NULL) {
		sys_free(m->o.credentials);
		m->o.credentials = text;
		return -1;
	}
	msg_error(&m->msg, "%s: %s", from, text == NULL ? strerror(ENOMEM) :
	    "expected one line, USER:PASSWORD");
	sys_free(text);
	return MSG_ERROR;
}

int
creds_take(struct layermount *m, char *argument)
{
	char *copy = strcopy(argument);

	explicit_bzero(argument, strlen(argument));
	return set_credentials(m, copy, "--creds");
}

int
creds_read(struct layermount *m, const char *file)
{
	bool input = strcmp(file, "-") == 0;
	int fd = input ? STDIN_FILENO : sys_openat(AT_FDCWD, file, O_RDONLY |
	    O_CLOEXEC, 0);
	char *text;
	size_t len;
	int rc = fd < 0 ? fd : fdio_read_all(fd, CREDS_MAX, &text, &len);

	if (fd >= 0 && !input)
		sys_close(fd);
	if (rc != 0) {
		msg_error(&m->msg, "%s: %s", file, strerror(-rc));
		return MSG_ERROR;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return set_credentials(m, text, file);
}

/* Returns a URL of an operand's server, or NULL. */
static char *
server_of(const struct layermount *m, const char *operand)
{
	struct vfs_image_name n;
	char why[LAYER_WHY];

	if (!vfs_image_is_remote(operand))
		return strstr(operand, "://") == NULL ? NULL :
		    strcopy(operand);
	return vfs_image_parse(operand, m->o.plain_http, &n, why) == 0 ?
	    strcopy(n.base) : NULL;
}

int
creds_bind(struct layermount *m)
{
	struct layermount_options *o = &m->o;
	bool one = true;

	for (int i = 0; one && i < o->operand_count; i++) {
		char *url = server_of(m, o->operands[i]);

		if (url == NULL)
			continue;
		if (o->credentials_for == NULL) {
			o->credentials_for = url;
			continue;
		}
		one = http_same_server(url, o->credentials_for);
		sys_free(url);
	}
	if (one)
		return -1;
	msg_error(&m->msg, "the layers are on several servers, but --creds and "
	    "--creds-file are for one; use --authfile");
	return MSG_ERROR;
}

/*
 * sqpack.c - build a squashfs image from a tree or an archive
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/fdio.h"
#include "base/output.h"
#include "base/sys.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Parses the options of the program that sqpack was invoked as. */
static int
parse_as(struct sqpack *p, int argc, char **argv)
{
	const char *slash = argc == 0 ? NULL : strrchr(argv[0], '/');
	const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";

	if (strcmp(name, "mksquashfs") == 0)
		return as_mksquashfs_parse(p, argc, argv);
	if (strcmp(name, "unsquashfs") == 0)
		return as_unsquashfs_parse(p, argc, argv);
	if (strcmp(name, "sqfstar") == 0 || strcmp(name, "sqfscat") == 0) {
		msg_init(&p->msg, name);
		msg_error(&p->msg, "sqpack does not replace this program; "
		    "under the names mksquashfs and unsquashfs, -tar and -cat "
		    "do the same");
		return MSG_ERROR;
	}
	return sqpack_parse(p, argc, argv);
}

int
main(int argc, char **argv)
{
	struct sqpack p = { .o.memory = SQPACK_MEMORY_B };
	uint64_t t0 = sys_now_ns();
	int status, rc = 0;

	fdio_hold_standard();
	/* treat exceeding the file size limit as an ordinary error */
	signal(SIGXFSZ, SIG_IGN);
	output_on_signals();
	status = parse_as(&p, argc, argv);
	if (status < 0) {
		rc = p.o.task != NULL ? sqpack_read(&p) : sqpack_build(&p);
		if (rc != 0)
			p.msg.status = MSG_ERROR;
		p.wall_ns = sys_now_ns() - t0;
		if (rc == 0 && p.o.done != NULL)
			p.o.done(&p);
		if (p.msg.status != MSG_ERROR && p.o.stats != NULL &&
		    sqpack_write_stats(&p) != 0)
			msg_error(&p.msg, "%s: %s", p.o.stats,
			    strerror(errno));
		status = msg_finish(&p.msg);
		if (status == MSG_ERROR && p.o.status_of != NULL)
			status = p.o.status_of(&p, rc);
		else if (status == MSG_WARNING)
			status = MSG_OK;
	}
	sqpack_free(&p);
	return status;
}

/*
 * pzc.c - compress and decompress streams and files on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * pzc_style.c, and a file for each program that pzc stands in for, define the
 * behaviour for each name.  pzc_options.c parses the command line and checks it.  pzc_file.c opens
 * an operand, converts it and names the output; pzc_walk.c does so for all
 * files below a directory.  pzc_list.c lists a file, and pzc_stats.c reports
 * statistics.
 */
#include "pzc.h"

#include "base/fdio.h"
#include "base/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
process_name(struct pzc *p, const char *name)
{
	if (p->recursive && strcmp(name, "-") != 0)
		pzc_walk(p, name);
	else
		pzc_operand(p, name);
}

/* Processes the operands that a file lists. */
static void
process_names(struct pzc *p, const char *file)
{
	bool input = strcmp(file, "-") == 0;
	FILE *f = input ? stdin : fopen(file, "re");
	char *name = NULL;
	size_t room = 0;
	ssize_t n;

	if (f == NULL) {
		pzc_say(p, ON_OPEN, file, strerror(errno));
		return;
	}
	while (!p->ended && (n = getdelim(&name, &room, p->names_end, f)) > 0) {
		if (name[n - 1] == p->names_end)
			name[n - 1] = '\0';
		if (*name != '\0')
			process_name(p, name);
	}
	if (ferror(f))
		msg_error(&p->msg, "%s: cannot be read", file);
	free(name);
	if (!input)
		fclose(f);
}

/*
 * -o with several inputs: the file becomes standard output until it is
 * complete.  Returns 0, or -1 after reporting the error.
 */
static int
begin_together(struct pzc *p, struct output *o)
{
	bool asks = !p->msg.quiet;
	int rc, c, first;

	/* standard input cannot be both an input and the answer */
	for (int i = 0; i < p->file_count; i++)
		asks &= strcmp(p->files[i], "-") != 0;
	if (!p->force) {
		msg_note(&p->msg, "WARNING: all input files will be processed "
		    "and concatenated into a single output file: %s ",
		    p->output);
		fprintf(stderr, "The concatenated output CANNOT regenerate "
		    "original file names nor directory structure. \n"
		    "Proceed? (y/n): ");
		first = c = asks ? getchar() : EOF;
		while (c != '\n' && c != EOF)
			c = getchar();
		if (first != 'y' && first != 'Y') {
			fputs("Aborting... \n", stderr);
			p->msg.status = MSG_ERROR;
			return -1;
		}
	}
	rc = output_create(o, p->output, p->force);
	if (rc == -EEXIST)
		pzc_say(p, ON_EXISTS, p->output, NULL);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->output, strerror(-rc));
	if (rc != 0)
		return -1;
	if (dup2(o->fd, STDOUT_FILENO) == -1) {
		msg_error(&p->msg, "%s: %s", p->output, strerror(errno));
		output_abort(o);
		return -1;
	}
	p->output = NULL;
	p->to_stdout = true;
	return 0;
}

static void
end_together(struct pzc *p, struct output *o)
{
	mode_t mask = umask(0);
	int rc = 0;

	umask(mask);
	if (!o->direct && fchmod(o->fd, 0666 & ~mask) == -1)
		rc = -errno;
	if (p->msg.status != MSG_OK || rc != 0)
		output_abort(o);
	else
		rc = output_commit(o, p->sync);
	if (rc != 0)
		msg_error(&p->msg, "the output: %s", strerror(-rc));
}

int
main(int argc, char **argv)
{
	static char stdin_name[] = "-";
	static char *stdin_only[] = { stdin_name };
	struct output together = { .fd = -1, .dirfd = -1 };
	struct pzc p;
	int status;

	fdio_hold_standard();
	output_on_signals();
	status = pzc_parse(&p, argc, argv);
	if (status >= 0) {
		pzc_release(&p);
		return status;
	}
	if (p.file_count == 0 && p.names_files.count == 0) {
		p.files = stdin_only;
		p.file_count = 1;
	}
	if (p.output != NULL && p.style->concatenates && (p.file_count > 1 ||
	    p.recursive || p.names_files.count > 0) &&
	    begin_together(&p, &together) != 0) {
		pzc_release(&p);
		return msg_finish(&p.msg);
	}
	for (int i = 0; i < p.file_count; i++)
		process_name(&p, p.files[i]);
	for (size_t i = 0; i < p.names_files.count; i++)
		process_names(&p, p.names_files.items[i]);
	if (p.mode == PZC_LIST)
		pzc_list_end(&p);
	if (p.style->end != NULL)
		p.style->end(&p);
	if (together.fd >= 0)
		end_together(&p, &together);
	pzc_release(&p);
	status = msg_finish(&p.msg);
	return status == MSG_WARNING && p.no_warn ? MSG_OK : status;
}

/*
 * pzc.c - compress and decompress streams and files on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parts: pzc_style.c, pzc_gzip.c and pzc_pigz.c are what pzc is by its name;
 * pzc_parse.c and pzc_options.c read the command line, which pzc_check.c looks
 * over; pzc_file.c opens a file (or standard input), pzc_convert.c turns it
 * into another, pzc_target.c makes that; pzc_list.c looks into a file,
 * pzc_stats.c reports.
 */
#include "pzc.h"

#include "base/fdio.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <unistd.h>

/* -r: every regular file below path, in the order of their names. */
static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void
walk(struct pzc *p, char *path)
{
	char *paths[] = { path, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *e;

	if (fts == NULL) {
		msg_error(&p->msg, "%s: %s", path, strerror(errno));
		return;
	}
	while ((e = fts_read(fts)) != NULL) {
		switch (e->fts_info) {
		case FTS_D:
		case FTS_DP:
			break;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			msg_error(&p->msg, "%s: %s", e->fts_path,
			    strerror(e->fts_errno));
			break;
		default:
			pzc_file(p, e->fts_path);
		}
	}
	fts_close(fts);
}

int
main(int argc, char **argv)
{
	static char stdin_name[] = "-";
	static char *stdin_only[] = { stdin_name };
	struct pzc p;
	int status;

	fdio_hold_standard();
	status = pzc_parse(&p, argc, argv);
	if (status >= 0) {
		pzc_release(&p);
		return status;
	}
	if (p.file_count == 0) {
		p.files = stdin_only;
		p.file_count = 1;
	}
	for (int i = 0; i < p.file_count; i++) {
		if (p.recursive && strcmp(p.files[i], "-") != 0)
			walk(&p, p.files[i]);
		else
			pzc_file(&p, p.files[i]);
	}
	pzc_list_end(&p);
	pzc_release(&p);
	return msg_finish(&p.msg);
}

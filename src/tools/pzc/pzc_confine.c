/*
 * pzc_confine.c - dropping pzc's privileges once all files are open
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_file.h"
#include "pzc_style.h"

#include "base/sandbox.h"

#include <stdlib.h>
#include <string.h>

static bool
writes_stats(const struct pzc *p)
{
	const char *env = getenv("PZC_STATS");

	return (p->stats != NULL && strcmp(p->stats, "-") != 0) ||
	    (env != NULL && *env != '\0');
}

void
pzc_confine(struct pzc *p, const struct source *s, const struct output *out)
{
	const char *why = "statistics will be written to a file";
	bool confined;
	int rc;

	if (p->file_count != 1 || p->recursive)
		return;
	if (p->mode == PZC_LIST || !writes_stats(p)) {
		/* the input is removed from the same directory */
		rc = out != NULL && out->fd >= 0 && !out->direct ?
		    sandbox_enter_naming(out->dirfd, &confined) :
		    sandbox_enter(&confined);
		why = rc != 0 ? strerror(-rc) : confined ? NULL :
		    "the kernel has no Landlock";
	}
	if (why != NULL && p->msg.verbose > 0 && p->style->talks)
		msg_note(&p->msg, "%s: not confined: %s", s->path, why);
}

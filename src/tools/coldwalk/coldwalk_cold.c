/*
 * coldwalk_cold.c - examining and evicting every file before it is read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/table.h"
#include "measure/caches.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct walk_options
coldwalk_walk_options(struct coldwalk *c)
{
	return (struct walk_options){ .threads = c->o.threads,
	    .digest = c->digest, .arg = c,
	    .only = c->only, .only_count = c->only_count,
	    .ranges = c->ranges, .range_ends = c->range_ends };
}

static void
add_cold(void *arg, int fd, const struct stat *st, bool after,
    uint64_t asked_B, uint64_t *mine)
{
	struct coldwalk *c = arg;

	(void)after;
	(void)asked_B;
	(void)mine;
	cold_add(c->cold, fd, st);
}

/*
 * Opens every file once before the walk, which also reads names and inodes into
 * the caches.
 */
static int
look_at_all(struct coldwalk *c, const struct root *root, walk_row_fn *row,
    struct walk_result *r)
{
	struct walk_options o = coldwalk_walk_options(c);

	o.look = add_cold;
	o.look_only = true;
	o.row = row;
	return walk_dir(root->fd, root->path, &o, r);
}

int
coldwalk_make_cold(struct coldwalk *c)
{
	/* if all caches are dropped, only a summary needs the previous state */
	bool each = c->o.cold != COLD_NONE &&
	    (c->o.cold != COLD_DROP || c->o.summary);
	struct walk_result unread;	/* the walk will report errors */
	int rc = cold_open(&c->cold, c->o.cold);

	for (int i = 0; i < c->root_count && rc == 0; i++) {
		const struct root *root = &c->roots[i];

		cold_add(c->cold, root->fd, &root->st);
		if (each && S_ISDIR(root->st.st_mode))
			rc = look_at_all(c, root, NULL, &unread);
	}
	if (rc != 0) {
		msg_error(&c->msg, "%s", strerror(-rc));
		return rc;
	}
	rc = cold_apply(c->cold);
	if (rc != 0)
		msg_error(&c->msg, "cannot drop caches: %s%s",
		    caches_reason(rc), rc == -EACCES || rc == -EPERM ?
		    " (requires root)" : "");
	return rc;
}

/* --resident */

static const char *const columns[] = {
	"series", "files", "errors", "pages", "resident_pages",
	"resident_pct", "unseen_files"
};

static double
percent(const struct cold_count *n)
{
	return 100 * (double)n->resident / (double)n->pages;
}

void
coldwalk_look(struct coldwalk *c)
{
	const struct cold_count *n;
	struct table *t = NULL;
	int rc, closed;

	if (c->o.cold_asked && coldwalk_make_cold(c) != 0)
		return;
	cold_close(c->cold);
	c->cold = NULL;
	rc = cold_open(&c->cold, COLD_LOOK);
	for (int i = 0; i < c->root_count && rc == 0; i++) {
		const struct root *root = &c->roots[i];
		struct walk_result r = { .files = 0 };

		c->root = root;
		if (S_ISDIR(root->st.st_mode))
			rc = look_at_all(c, root, coldwalk_keep_row, &r);
		else
			cold_add(c->cold, root->fd, &root->st);
		c->total.errors += r.errors;
	}
	if (rc != 0) {
		msg_error(&c->msg, "%s", strerror(-rc));
		return;
	}
	cold_end(c->cold, &c->report);
	coldwalk_complain(c);
	n = &c->report.found;
	/*
	 * a count would be misleading if the pages of some files are not
	 * visible
	 */
	if (c->o.csv || c->o.json) {
		rc = coldwalk_open_table(c, &t, STDOUT_FILENO, columns,
		    sizeof(columns) / sizeof(columns[0]));
		if (rc == 0) {
			table_text(t, c->series);
			table_int(t, (int64_t)n->files);
			table_int(t, (int64_t)c->total.errors);
			table_int(t, (int64_t)n->pages);
			table_known(t, n->unseen > 0 ? -1 :
			    (int64_t)n->resident);
			table_real(t, n->unseen > 0 ? NAN : percent(n), 2);
			table_int(t, (int64_t)n->unseen);
			rc = table_end(t);
		}
		closed = table_close(t);
		rc = rc != 0 ? rc : closed;
	} else {
		if (n->unseen > 0)
			printf("unknown, of %" PRIu64 " pages in %" PRIu64
			    " files; %" PRIu64 " of these reveal their pages "
			    "only to their owner\n", n->pages, n->files,
			    n->unseen);
		else
			printf("%" PRIu64 " of %" PRIu64 " pages in %" PRIu64
			    " files, %.1f %%\n", n->resident, n->pages,
			    n->files, n->pages == 0 ? 0 : percent(n));
		rc = fflush(stdout) == EOF ? -errno : 0;
	}
	if (rc != 0)
		msg_error(&c->msg, "standard output: %s", strerror(-rc));
}

/*
 * coldwalk.c - read every file of a tree or an image, cold and in parallel
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coldwalk_options.c parses the command line, and coldwalk_list.c a list of
 * names.  coldwalk_open.c opens files, coldwalk_cold.c evicts them and examines
 * the caches, coldwalk_rows.c stores and writes the rows of walk.h, and
 * coldwalk_summary.c writes the summary.  This file calls them in sequence:
 * open all files, evict, enter the sandbox, walk, write.
 */
#include "coldwalk.h"

#include "base/fdio.h"
#include "base/sandbox.h"
#include "base/sys.h"
#include "base/utc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Walking */

static void
examine(void *arg, int fd, const struct stat *st, bool after, uint64_t asked_B,
    uint64_t *mine)
{
	struct coldwalk *c = arg;

	if (after)
		cold_after(c->cold, fd, st, COLD_THREAD, mine, asked_B);
	else
		cold_before(c->cold, fd, st, COLD_THREAD, mine);
}

/* Only one thread at a time draws the line; the others do not wait for it. */
static void
show_progress(void *arg, uint64_t bytes)
{
	struct coldwalk *c = arg;

	progress_add(&c->progress, bytes);
	if (pthread_mutex_trylock(&c->drawing) != 0)
		return;
	progress_draw(&c->progress);
	pthread_mutex_unlock(&c->drawing);
}

static void
add_to_plan(void *arg, uint64_t files, uint64_t bytes)
{
	struct coldwalk *c = arg;

	(void)files;
	c->progress.total_B += bytes;
}

static void
walk_root(struct coldwalk *c, const struct root *root)
{
	struct walk_options o = coldwalk_walk_options(c);
	struct walk_result r = { .files = 0 }, *sum = &c->total;
	const char *why = NULL;
	uint64_t mine;
	int rc;

	o.row = coldwalk_keep_row;
	o.damage = coldwalk_keep_damage;
	o.look = examine;
	o.verity_root = c->o.verity == NULL ? NULL : c->o.verity_root;
	if (c->terminal) {
		o.plan = add_to_plan;
		o.progress = show_progress;
	}
	c->root = root;
	if (root->image != NULL) {
		if (c->o.memory != 0)
			o.memory_left = &c->memory_left;
		cold_before(c->cold, root->fd, &root->st, COLD_PROCESS, &mine);
		rc = root->image->walk(root->fd, root->offset, &o, &r, &why);
		cold_after(c->cold, root->fd, &root->st, COLD_PROCESS, &mine,
		    r.stored_B);
	} else {
		rc = walk_dir(root->fd, root->path, &o, &r);
	}
	if (rc != 0) {
		msg_error(&c->msg, "%s: %s%s", root->path,
		    why != NULL ? why : strerror(-rc), root->image != NULL &&
		    rc == -EDQUOT ? " (--memory allows more)" : "");
		c->broken = true;
	}
	sum->files += r.files;
	sum->dirs += r.dirs;
	sum->links += r.links;
	sum->others += r.others;
	sum->bytes += r.bytes;
	sum->read_B += r.read_B;
	sum->stored_B += r.stored_B;
	sum->duplicates += r.duplicates;
	sum->errors += r.errors;
	sum->damaged += r.damaged;
}

/* Reporting */

static void
report_all(struct coldwalk *c)
{
	const struct cold_report *r = &c->report;
	int rc = 0;

	coldwalk_sort(c);
	coldwalk_complain(c);
	if (r->state != COLD_YES && !c->msg.quiet &&
	    (c->o.cold_asked || c->msg.verbose > 0))
		msg_note(&c->msg, "cold: %s, %s", cold_word(r->state), r->why);
	if (c->has_out)
		rc = coldwalk_write_manifest(c, c->out.fd);
	if (rc != 0) {
		msg_error(&c->msg, "%s: %s", c->o.output, strerror(-rc));
		goto out;
	}
	if (c->o.summary)
		rc = coldwalk_write_summary(c, STDOUT_FILENO);
	else if (c->o.csv || c->o.json)
		rc = coldwalk_write_rows(c, STDOUT_FILENO);
	else if (!c->has_out)
		rc = coldwalk_write_manifest(c, STDOUT_FILENO);
	if (rc != 0)
		msg_error(&c->msg, "standard output: %s", strerror(-rc));
	/*
	 * files reported as errors may be missing from a manifest, but it is
	 * never truncated
	 */
	if (c->has_out && rc == 0 && !c->broken) {
		rc = output_commit(&c->out, false);
		if (rc != 0)
			msg_error(&c->msg, "%s: %s", c->o.output,
			    strerror(-rc));
		c->has_out = false;
	}
out:
	if (c->msg.verbose > 0 && !c->o.summary)
		coldwalk_write_summary(c, STDERR_FILENO);
}

/* Opens all files, evicts them, enters the sandbox, walks and reports. */
static void
run_walk(struct coldwalk *c)
{
	int *dirs, sys, rc = digest_algo_open(&c->digest, c->o.hash);
	struct rusage a, b;
	bool confined;
	size_t n = 0;
	uint64_t t0;

	if (rc != 0) {
		msg_error(&c->msg, "%s: %s", c->o.hash, rc == -ENOTSUP ?
		    "not supported by this OpenSSL" : strerror(-rc));
		return;
	}
	if (c->o.files_from != NULL && coldwalk_read_list(c) != 0)
		return;
	if (c->o.output != NULL) {
		rc = output_create(&c->out, c->o.output, c->o.force);
		c->has_out = rc == 0;
		if (rc != 0) {
			msg_error(&c->msg, "%s: %s%s", c->o.output,
			    strerror(-rc), rc == -EEXIST ?
			    " (-f replaces it)" : "");
			return;
		}
	}
	rc = coldwalk_open_roots(c);
	if (rc != 0)
		msg_error(&c->msg, "%s", strerror(-rc));
	if (rc != 0 || c->root_count == 0)
		return;
	if (c->o.resident) {
		coldwalk_look(c);
		return;
	}
	c->terminal = !c->msg.quiet && isatty(STDERR_FILENO);
	if (coldwalk_make_cold(c) != 0)
		return;
	coldwalk_ask_kernel(c);
	/*
	 * After this, only the files to be read can be opened, and /sys, for
	 * information about the devices of filesystems found during the walk.
	 * With a manifest there is no sandbox, because the file is linked to
	 * its name at the end.
	 */
	if (!c->has_out) {
		dirs = sys_calloc((size_t)c->root_count + 1,
		    sizeof(*dirs));
		for (int i = 0; dirs != NULL && i < c->root_count; i++)
			if (S_ISDIR(c->roots[i].st.st_mode))
				dirs[n++] = c->roots[i].fd;
		sys = dirs == NULL ? -1 : sys_openat(AT_FDCWD, "/sys",
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (sys >= 0)
			dirs[n++] = sys;
		rc = dirs == NULL ? -ENOMEM :
		    sandbox_enter_reading(dirs, n, &confined);
		if (sys >= 0)
			sys_close(sys);
		sys_free(dirs);
	}
	if (rc != 0) {
		msg_error(&c->msg, "no sandbox: %s", strerror(-rc));
		return;
	}
	c->memory_left = c->o.memory;
	t0 = sys_now_ns();
	getrusage(RUSAGE_SELF, &a);
	progress_start(&c->progress, STDERR_FILENO, 0, c->msg.quiet);
	for (int i = 0; i < c->root_count; i++)
		walk_root(c, &c->roots[i]);
	progress_erase(&c->progress);
	getrusage(RUSAGE_SELF, &b);
	c->wall_s = (double)(sys_now_ns() - t0) / 1e9;
	c->user_s = (double)(utc_span_us(b.ru_utime) -
	    utc_span_us(a.ru_utime)) / 1e6;
	c->sys_s = (double)(utc_span_us(b.ru_stime) -
	    utc_span_us(a.ru_stime)) / 1e6;
	cold_end(c->cold, &c->report);
	report_all(c);
}

int
main(int argc, char **argv)
{
	struct coldwalk c = { .root_count = 0 };
	int status;

	fdio_hold_standard();
	pthread_mutex_init(&c.drawing, NULL);
	status = coldwalk_parse(&c, argc, argv);
	if (status >= 0)
		return status;
	provenance_series(c.series);
	run_walk(&c);
	for (int i = 0; i < c.root_count; i++)
		sys_close(c.roots[i].fd);
	if (c.has_out)
		output_abort(&c.out);
	cold_close(c.cold);
	coldwalk_free_rows(&c);
	digest_algo_close(c.digest);
	sys_free(c.only);
	sys_free(c.only_text);
	sys_free(c.ranges);
	sys_free(c.range_ends);
	sys_free(c.roots);
	pthread_mutex_destroy(&c.drawing);
	return msg_finish(&c.msg);
}

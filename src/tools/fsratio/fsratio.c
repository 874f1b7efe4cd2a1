/*
 * fsratio.c - predict the size of a tree on a compressing filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * Lists all directories.  Fails if one cannot be listed, because a partial
 * result would be wrong.
 */
static int
list_all(struct fsratio *f)
{
	int rc = 0;

	f->list.with_names = true;
	for (int i = 0; i < f->o.dir_count; i++) {
		const char *name = f->o.dirs[i];
		int fd = sys_openat(AT_FDCWD, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

		rc = fd < 0 ? fd : fs_list_add(&f->list, fd, f->o.threads);
		if (rc != 0) {
			msg_error(&f->msg, "%s: %s", name, strerror(-rc));
			return rc;
		}
	}
	rc = fs_list_end(&f->list);
	if (rc != 0)
		msg_error(&f->msg, "%s", strerror(-rc));
	for (size_t i = 0; i < f->list.count; i++)
		if (f->list.items[i].err != 0)
			msg_error(&f->msg, "%s/%s: %s",
			    f->o.dirs[f->list.items[i].root],
			    f->list.items[i].path,
			    strerror(-f->list.items[i].err));
	return rc;
}

static void
on_error(void *arg, size_t item, int err)
{
	struct fsratio *f = arg;
	const struct fs_item *it = &f->list.items[item];

	progress_erase(&f->progress);
	msg_error(&f->msg, "%s/%s: %s", f->o.dirs[it->root], it->path,
	    err == -EAGAIN ? "was truncated while it was being read" :
	    strerror(-err));
}

static void
on_model_progress(void *arg, uint64_t bytes)
{
	struct fsratio *f = arg;

	progress_add(&f->progress, bytes);
	progress_draw(&f->progress);
}

static int
add_fs_row(void *arg, const struct fs_row *row)
{
	struct fsratio *f = arg;
	void *rows = f->rows;
	int rc = array_grow(&rows, f->row_count, &f->row_cap,
	    sizeof(*f->rows));

	f->rows = rows;
	if (rc == 0)
		f->rows[f->row_count++] = *row;
	return rc;
}

static void
measure_tree(struct fsratio *f)
{
	const struct fs_job job = { .list = &f->list, .params = &f->o.params,
	    .algorithms = f->o.algorithms, .count = f->o.count,
	    .threads = f->o.threads, .by_size = f->o.by_size,
	    .on_error = on_error, .on_progress = on_model_progress,
	    .row = add_fs_row, .arg = f };
	uint64_t bytes = 0;
	int rc = list_all(f);

	if (rc != 0)
		return;
	for (size_t i = 0; i < f->list.count; i++)
		if (fs_item_has_data(&f->list.items[i]))
			bytes += (uint64_t)f->list.items[i].st.st_size;
	progress_start(&f->progress, STDERR_FILENO, bytes, f->msg.quiet);
	rc = f->o.fs->run(&job);
	progress_erase(&f->progress);
	if (rc != 0) {
		msg_error(&f->msg, "%s", strerror(-rc));
		return;
	}
	rc = fsratio_write(f);
	if (rc != 0)
		msg_error(&f->msg, "standard output: %s", strerror(-rc));
}

int
main(int argc, char **argv)
{
	struct fsratio f = { .row_count = 0 };
	int status;

	fdio_hold_standard();
	status = fsratio_parse(&f, argc, argv);
	if (status >= 0)
		return status;
	measure_tree(&f);
	fs_list_free(&f.list);
	sys_free(f.rows);
	return msg_finish(&f.msg);
}

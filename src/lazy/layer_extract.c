/*
 * layer_extract.c - extracting the entries of a layer to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each unit is fetched and decoded once, by any thread, and its content is
 * written to the files that share it.
 */
#include "lazy/extract.h"
#include "layer_plan.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/oci/whiteout.h"
#include "lazy/unit_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

struct extraction {
	const struct layer *l;
	const struct layer_blobs *blobs;
	const struct layer_extract_options *o;
	const struct layer_entry *entries;
	struct layer_plan plan;
	struct unit_map map;
	struct extract *x;
	atomic_uint next;		/* next unit */
	pthread_mutex_t lock;		/* protects reports */
};

/* The entries */

/*
 * Returns whether the entry with this path is a whiteout to be extracted in the
 * form used by overlayfs.
 */
static bool
is_overlay(const struct extraction *t, const struct layer_entry *e,
    const char *path)
{
	return t->o->overlay && e->type == TAR_FILE &&
	    whiteout_has_prefix(path_name(path));
}

static bool
get_layer_entry(void *arg, size_t n, struct extract_entry *out)
{
	const struct extraction *t = arg;
	const struct layer_entry *e = &t->entries[n];
	uint32_t at = t->plan.at[n], file = t->plan.file[n];
	const char *path;

	/* replaced, or the name under which the file itself is extracted */
	if (at == LAYER_PLAN_NONE || (file != n && t->plan.at[file] == n))
		return false;
	path = t->entries[at].path;
	*out = (struct extract_entry){
		.mode = tar_type_mode(e->type) | e->mode,
		.parent = t->plan.parent[at] == LAYER_PLAN_NONE ? EXTRACT_NONE :
		    t->plan.parent[at],
		.file = file, .has_owner = true,
		.uid = (uid_t)e->uid, .gid = (gid_t)e->gid,
		.mtime = { .tv_sec = e->mtime, .tv_nsec = (long)e->mtime_ns },
		.device = e->type == TAR_FIFO ? 0 :
		    makedev(e->major, e->minor),
		.size = e->size,
		.target = e->link, .target_len = strlen(e->link)
	};
	if (is_overlay(t, e, path))
		out->form = strcmp(path_name(path), WHITEOUT_OPAQUE) == 0 ?
		    EXTRACT_OPAQUE : EXTRACT_WHITEOUT;
	return true;
}

/* Returns the path of entry n, in the form used by overlayfs if it is that. */
static const char *
entry_path(void *arg, size_t n, struct extract_text *text)
{
	const struct extraction *t = arg;
	uint32_t at = t->plan.at[n];
	const char *path = t->entries[at == LAYER_PLAN_NONE ? n : at].path;
	char *name;

	if (!is_overlay(t, &t->entries[n], path) ||
	    strcmp(path_name(path), WHITEOUT_OPAQUE) == 0)
		return path;
	sys_free(text->text);
	text->text = strcopy(path);
	if (text->text == NULL)
		return NULL;
	name = text->text + (path_name(path) - path);
	memmove(name, name + strlen(WHITEOUT_PREFIX),
	    strlen(name + strlen(WHITEOUT_PREFIX)) + 1);
	return text->text;
}

static void
pass_attributes(void *arg, size_t n, extract_attribute_fn *set, void *to)
{
	const struct extraction *t = arg;
	const struct layer_entry *e = &t->entries[n];

	for (size_t i = 0; !t->o->no_xattrs && i < e->xattr_count; i++)
		set(to, e->xattrs[i].name, e->xattrs[i].value,
		    e->xattrs[i].length);
}

static void
report_entry(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct extraction *t = arg;

	pthread_mutex_lock(&t->lock);
	t->o->report(t->o->arg, level, path, text);
	pthread_mutex_unlock(&t->lock);
}

/* Data */

static void
write_unit(struct extraction *t, struct extract_place *place,
    struct unit_reader *r, uint32_t unit)
{
	bool read = false;
	int rc = 0;

	for (size_t i = t->map.first[unit]; i < t->map.first[unit + 1]; i++) {
		const struct unit_run *u = &t->map.runs[i];
		int fd;

		if (t->plan.at[u->entry] == LAYER_PLAN_NONE ||
		    !extract_wants(t->x, u->entry))
			continue;
		if (!read)
			rc = unit_read(r, unit);
		read = true;
		if (rc != 0) {
			extract_file_break(place, u->entry,
			    rc == -EBADMSG ? r->why : "", rc);
			continue;
		}
		fd = extract_file_open(place, u->entry);
		if (fd < 0)
			continue;
		extract_file_close(place, fd, u->entry, fdio_pwrite(fd,
		    r->content + u->run->inner, (size_t)u->run->length,
		    (off_t)u->run->offset));
	}
}

static void
write_units(void *arg, unsigned thread)
{
	struct extraction *t = arg;
	struct extract_place place;
	struct unit_reader r;
	unsigned unit;
	int rc = unit_reader_open(&r, t->l, t->blobs);

	(void)thread;
	extract_place_open(&place, t->x);
	if (rc != 0)
		extract_end(t->x, rc);
	while (!extract_ended(t->x) &&
	    (unit = atomic_fetch_add(&t->next, 1)) < t->map.units)
		write_unit(t, &place, &r, unit);
	extract_place_close(&place);
	unit_reader_close(&r);
}

static void
write_data(void *arg, struct extract *x)
{
	struct extraction *t = arg;

	(void)x;
	parallel_run(unit_threads(t->l, t->o->to.threads), write_units, t);
}

/* The whole layer */

/* Decides which entry has which name, and reports hard links without a file. */
static int
plan_names(struct extraction *t)
{
	char why[LAYER_WHY];
	size_t count;
	int rc;

	t->entries = layer_entries(t->l, &count);
	rc = layer_plan_open(&t->plan, t->l);
	for (size_t n = 0; rc == 0 && n < count; n++) {
		rc = layer_plan_add(&t->plan, n);
		if (rc != -ENOENT)
			continue;
		snprintf(why, sizeof(why), "a hard link to %.160s, which the "
		    "layer does not contain before it", t->entries[n].link);
		report_entry(t, EXTRACT_ERROR, t->entries[n].path, why);
		rc = 0;
	}
	if (rc == 0)
		layer_plan_end(&t->plan);
	return rc;
}

int
layer_extract(const struct layer *l, const struct layer_blobs *blobs,
    const struct layer_extract_options *o)
{
	struct extraction t = { .l = l, .blobs = blobs, .o = o };
	struct extract_source s = {
		.get = get_layer_entry, .path = entry_path,
		.attributes = pass_attributes, .data = write_data,
		.report = report_entry, .arg = &t
	};
	int rc;

	pthread_mutex_init(&t.lock, NULL);
	rc = plan_names(&t);
	s.count = t.plan.count;
	if (rc == 0)
		rc = unit_map_open(&t.map, l);
	if (rc == 0)
		rc = extract_open(&t.x, &s, &o->to);
	if (rc == 0) {
		for (size_t i = 0; i < t.map.first[t.map.units]; i++)
			extract_expect(t.x, t.map.runs[i].entry);
		rc = extract_run(t.x);
		extract_close(t.x);
	} else {
		report_entry(&t, EXTRACT_ERROR, NULL, strerror(-rc));
	}
	pthread_mutex_destroy(&t.lock);
	layer_plan_close(&t.plan);
	unit_map_close(&t.map);
	return rc;
}

/*
 * layer_extract.c - extracting the entries of a layer to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each unit is fetched and decoded once, by any thread, and its content is
 * written to the files that share it.
 */
#include "lazy/extract.h"

#include "base/fdio.h"
#include "base/hash.h"
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

#define NOWHERE UINT32_MAX

/* Names */

/*
 * The entry to which a name ultimately refers.  An archive may contain a path
 * several times, in which case the last entry is used, and hard links to files
 * that are later replaced.  Entries are added in order; at any time the plan
 * contains a current name of each file.
 */
struct name_plan {
	const struct layer_entry *entries;
	size_t count;
	/*
	 * For each entry, the entry with its current path, which may be a hard
	 * link; NOWHERE if it has been replaced.
	 */
	uint32_t *at;
	/* For a hard link, the file; for other entries, the entry itself. */
	uint32_t *file;
	/*
	 * The nearest directory above an entry's own path that is an entry, or
	 * NOWHERE.
	 */
	uint32_t *parent;
	uint32_t *links, *next;		/* additional names of a file */
	uint32_t *table;		/* hash table of paths, with mask + 1
					 * entries */
	size_t mask;
	uint64_t seed;
};

/*
 * Returns the slot of the entry whose path is the first len bytes of path, or
 * the empty slot for it.
 */
static uint32_t *
path_slot(const struct name_plan *p, const char *path, size_t len)
{
	size_t at = (size_t)hash_bytes(p->seed, path, len) & p->mask;

	for (; p->table[at] != NOWHERE; at = (at + 1) & p->mask) {
		const char *other = p->entries[p->table[at]].path;

		if (strncmp(other, path, len) == 0 && other[len] == '\0')
			break;
	}
	return &p->table[at];
}

static uint32_t *
new_list(size_t count)
{
	uint32_t *all = sys_malloc((count + 1) * sizeof(*all));

	if (all != NULL)
		memset(all, 0xff, (count + 1) * sizeof(*all));
	return all;
}

/* Returns 0 or -ENOMEM; p must be closed even after an error. */
static int
plan_open(struct name_plan *p, const struct layer *l)
{
	size_t size = 16;

	p->entries = layer_entries(l, &p->count);
	while (size < 2 * p->count)
		size *= 2;
	p->mask = size - 1;
	p->seed = hash_seed();
	p->at = new_list(p->count);
	p->file = new_list(p->count);
	p->parent = new_list(p->count);
	p->links = new_list(p->count);
	p->next = new_list(p->count);
	p->table = new_list(size);
	return p->at == NULL || p->file == NULL || p->parent == NULL ||
	    p->links == NULL || p->next == NULL || p->table == NULL ?
	    -ENOMEM : 0;
}

/* Removes a name of a file, which may still be available under another name. */
static void
displace(struct name_plan *p, uint32_t name)
{
	uint32_t file = p->file[name], link;

	if (name != file) {
		p->at[name] = NOWHERE;
		if (p->at[file] != name)
			return;
	} else if (p->at[file] != name) {
		return;
	}
	p->at[file] = NOWHERE;
	while ((link = p->links[file]) != NOWHERE) {
		p->links[file] = p->next[link];
		if (p->at[link] == NOWHERE)
			continue;
		p->at[file] = link;
		return;
	}
}

/*
 * Adds entry n, which must follow the last one added.  Returns 0, -ENOENT (a
 * hard link to a file that is not in the layer) or -ENOMEM.
 */
static int
plan_add(struct name_plan *p, size_t n)
{
	const struct layer_entry *e = &p->entries[n];
	uint32_t *slot = path_slot(p, e->path, strlen(e->path));
	uint32_t me = (uint32_t)n, file = me;

	if (e->type == TAR_HARDLINK) {
		char *path = strcopy(e->link);
		uint32_t found = NOWHERE;

		if (path == NULL)
			return -ENOMEM;
		if (path_clean(path) == 0)
			found = *path_slot(p, path, strlen(path));
		sys_free(path);
		if (found == NOWHERE ||
		    p->file[found] == NOWHERE)
			return -ENOENT;
		file = p->file[found];
		/* a link to itself, or to the file with the same path */
		if (*slot != NOWHERE && p->file[*slot] == file)
			return 0;
	}
	if (*slot != NOWHERE)
		displace(p, *slot);
	*slot = me;
	p->file[n] = file;
	p->at[n] = me;
	if (file != me) {
		p->next[n] = p->links[file];
		p->links[file] = me;
	}
	return 0;
}

/* The extraction */

struct extraction {
	const struct layer *l;
	const struct layer_blobs *blobs;
	const struct layer_extract_options *o;
	const struct layer_entry *entries;
	struct name_plan plan;
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
	if (at == NOWHERE || (file != n && t->plan.at[file] == n))
		return false;
	path = t->entries[at].path;
	*out = (struct extract_entry){
		.mode = tar_type_mode(e->type) | e->mode,
		.parent = t->plan.parent[at] == NOWHERE ? EXTRACT_NONE :
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
	const char *path = t->entries[at == NOWHERE ? n : at].path;
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

		if (t->plan.at[u->entry] == NOWHERE ||
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
	struct name_plan *p = &t.plan;
	char why[LAYER_WHY];
	int rc;

	pthread_mutex_init(&t.lock, NULL);
	rc = plan_open(p, l);
	s.count = p->count;
	t.entries = p->entries;
	for (size_t n = 0; rc == 0 && n < s.count; n++) {
		rc = plan_add(p, n);
		if (rc != -ENOENT)
			continue;
		snprintf(why, sizeof(why), "a hard link to %.160s, which the "
		    "layer does not contain before it", t.entries[n].link);
		report_entry(&t, EXTRACT_ERROR, t.entries[n].path, why);
		rc = 0;
	}
	/* now that the names are settled, the parents of all entries */
	for (size_t n = 0; rc == 0 && n < s.count; n++) {
		const char *path = t.entries[n].path;
		size_t len = strlen(path);
		uint32_t found = NOWHERE;

		while (found == NOWHERE && len > 0) {
			while (len > 0 && path[--len] != '/')
				;
			if (len > 0)
				found = *path_slot(p, path, len);
		}
		p->parent[n] = found;
	}
	if (rc == 0)
		rc = unit_map_open(&t.map, l);
	if (rc == 0)
		rc = extract_open(&t.x, &s, &o->to);
	if (rc != 0) {
		report_entry(&t, EXTRACT_ERROR, NULL, strerror(-rc));
		goto out;
	}
	for (size_t i = 0; i < t.map.first[t.map.units]; i++)
		extract_expect(t.x, t.map.runs[i].entry);
	rc = extract_run(t.x);
	extract_close(t.x);
out:
	pthread_mutex_destroy(&t.lock);
	sys_free(p->at);
	sys_free(p->file);
	sys_free(p->parent);
	sys_free(p->links);
	sys_free(p->next);
	sys_free(p->table);
	unit_map_close(&t.map);
	return rc;
}

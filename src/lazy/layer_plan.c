/*
 * layer_plan.c - determining the entry to which a name ultimately refers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layer_plan.h"

#include "base/hash.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/*
 * Returns the slot of the entry whose path is the first len bytes of path, or
 * the empty slot for it.
 */
static uint32_t *
path_slot(const struct layer_plan *p, const char *path, size_t len)
{
	size_t at = (size_t)hash_bytes(p->seed, path, len) & p->mask;

	for (; p->table[at] != LAYER_PLAN_NONE; at = (at + 1) & p->mask) {
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

int
layer_plan_open(struct layer_plan *p, const struct layer *l)
{
	size_t size = 16;

	*p = (struct layer_plan){ .count = 0 };
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

void
layer_plan_close(struct layer_plan *p)
{
	sys_free(p->at);
	sys_free(p->file);
	sys_free(p->parent);
	sys_free(p->links);
	sys_free(p->next);
	sys_free(p->table);
}

/* Removes a name of a file, which may still be available under another name. */
static void
displace(struct layer_plan *p, uint32_t name)
{
	uint32_t file = p->file[name], link;

	if (name != file) {
		p->at[name] = LAYER_PLAN_NONE;
		if (p->at[file] != name)
			return;
	} else if (p->at[file] != name) {
		return;
	}
	p->at[file] = LAYER_PLAN_NONE;
	while ((link = p->links[file]) != LAYER_PLAN_NONE) {
		p->links[file] = p->next[link];
		if (p->at[link] == LAYER_PLAN_NONE)
			continue;
		p->at[file] = link;
		return;
	}
}

/* Finds the file of a hard link, by path. */
static int
find_file(const struct layer_plan *p, const char *link, uint32_t *file)
{
	char *path = strcopy(link);
	uint32_t found = LAYER_PLAN_NONE;

	if (path == NULL)
		return -ENOMEM;
	if (path_clean(path) == 0)
		found = *path_slot(p, path, strlen(path));
	sys_free(path);
	if (found == LAYER_PLAN_NONE || p->file[found] == LAYER_PLAN_NONE)
		return -ENOENT;
	*file = p->file[found];
	return 0;
}

int
layer_plan_add(struct layer_plan *p, size_t n)
{
	const struct layer_entry *e = &p->entries[n];
	uint32_t *slot = path_slot(p, e->path, strlen(e->path));
	uint32_t me = (uint32_t)n, file = me;
	int rc = e->type != TAR_HARDLINK ? 0 :
	    find_file(p, e->link, &file);

	if (rc != 0)
		return rc;
	/* a link to itself, or to the file with the same path */
	if (e->type == TAR_HARDLINK && *slot != LAYER_PLAN_NONE &&
	    p->file[*slot] == file)
		return 0;
	if (*slot != LAYER_PLAN_NONE)
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

void
layer_plan_end(struct layer_plan *p)
{
	for (size_t n = 0; n < p->count; n++) {
		const char *path = p->entries[n].path;
		size_t len = strlen(path);
		uint32_t found = LAYER_PLAN_NONE;

		while (found == LAYER_PLAN_NONE && len > 0) {
			while (len > 0 && path[--len] != '/')
				;
			if (len > 0)
				found = *path_slot(p, path, len);
		}
		p->parent[n] = found;
	}
}

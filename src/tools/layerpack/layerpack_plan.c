/*
 * layerpack_plan.c - determining the entry to which a name ultimately refers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_plan.h"

#include "base/hash.h"
#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* Returns the slot of the entry with this path, or the empty slot for it. */
static uint32_t *
slot_of(const struct plan *p, const char *path)
{
	size_t at = (size_t)hash_bytes(p->seed, path, strlen(path)) & p->mask;

	while (p->table[at] != PLAN_NONE &&
	    strcmp(p->entries[p->table[at]].path, path) != 0)
		at = (at + 1) & p->mask;
	return &p->table[at];
}

static uint32_t *
fill(size_t count)
{
	uint32_t *all = sys_malloc((count + 1) * sizeof(*all));

	if (all != NULL)
		memset(all, 0xff, (count + 1) * sizeof(*all));
	return all;
}

int
plan_open(struct plan *p, const struct layer *l)
{
	size_t size = 16;

	*p = (struct plan){ .count = 0 };
	p->entries = layer_entries(l, &p->count);
	while (size < 2 * p->count)
		size *= 2;
	p->mask = size - 1;
	p->seed = hash_seed();
	p->at = fill(p->count);
	p->file = fill(p->count);
	p->links = fill(p->count);
	p->next = fill(p->count);
	p->table = fill(size);
	return p->at == NULL || p->file == NULL || p->links == NULL ||
	    p->next == NULL || p->table == NULL ? -ENOMEM : 0;
}

void
plan_close(struct plan *p)
{
	sys_free(p->at);
	sys_free(p->file);
	sys_free(p->links);
	sys_free(p->next);
	sys_free(p->table);
}

/* Removes a name of a file, which may still be available under another name. */
static void
displace(struct plan *p, uint32_t name)
{
	uint32_t file = p->file[name], link;

	if (name != file) {
		p->at[name] = PLAN_NONE;
		if (p->at[file] != name)
			return;
	} else if (p->at[file] != name) {
		return;
	}
	p->at[file] = PLAN_NONE;
	while ((link = p->links[file]) != PLAN_NONE) {
		p->links[file] = p->next[link];
		if (p->at[link] == PLAN_NONE)
			continue;
		p->at[file] = link;
		return;
	}
}

/* Finds the file of a hard link, by path. */
static int
find_file(const struct plan *p, const char *link, uint32_t *file)
{
	char *path = strcopy(link);
	uint32_t found = PLAN_NONE;

	if (path == NULL)
		return -ENOMEM;
	if (path_clean(path) == 0)
		found = *slot_of(p, path);
	sys_free(path);
	if (found == PLAN_NONE || p->file[found] == PLAN_NONE)
		return -ENOENT;
	*file = p->file[found];
	return 0;
}

int
plan_add(struct plan *p, size_t n)
{
	const struct layer_entry *e = &p->entries[n];
	uint32_t *slot = slot_of(p, e->path), me = (uint32_t)n, file = me;
	int rc = e->type != TAR_HARDLINK ? 0 :
	    find_file(p, e->link, &file);
	bool again = *slot != PLAN_NONE;

	if (rc != 0)
		return rc;
	/* a link to itself, or to the file with the same path */
	if (e->type == TAR_HARDLINK && again && p->file[*slot] == file)
		return 0;
	if (again)
		displace(p, *slot);
	*slot = me;
	p->file[n] = file;
	p->at[n] = me;
	if (file != me) {
		p->next[n] = p->links[file];
		p->links[file] = me;
	}
	return again ? 1 : 0;
}

/*
 * vfs.c - layers presented as one tree, and reading its files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_private.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
	/* memory for units, in bytes: 32 MiB including unused buffers */
	UNITS_MEMORY = (32 << 20) / 5 * 4,
	/* maximum decoded size of the units that one read fetches at a time */
	AT_ONCE_MAX = 8 << 20,
	PATIENCE_S = 2			/* to wait for a thread to end */
};

int
vfs_open(struct vfs **out, const struct vfs_options *o)
{
	struct vfs *v = sys_calloc(1, sizeof(*v));
	int rc;

	*out = v;
	if (v == NULL)
		return -ENOMEM;
	v->o = *o;
	v->o.remote.health = &v->health;
	rc = units_open(&v->units, UNITS_MEMORY);
	if (rc != 0)
		return rc;
	return vfs_ahead_open(&v->ahead, v->units, &v->o);
}

void
vfs_stop(struct vfs *v)
{
	if (v == NULL)
		return;
	vfs_ahead_close(v->ahead);
	v->ahead = NULL;
}

void
vfs_close(struct vfs *v)
{
	if (v == NULL)
		return;
	units_close(v->units);
	sys_free(v);
}

void
vfs_counted(struct vfs *v, struct vfs_counts *c)
{
	*c = (struct vfs_counts){ .layers = 0 };
	if (v == NULL)
		return;
	c->layers = atomic_load(&v->layers);
	c->files = atomic_load(&v->files);
	c->unloaded = atomic_load(&v->unloaded);
	c->reads = atomic_load(&v->reads);
	c->read_bytes = atomic_load(&v->read_bytes);
	c->first_reads = atomic_load(&v->first_reads);
	c->failures = atomic_load(&v->failures);
	c->failing = atomic_load(&v->health.failed_ns) >
	    atomic_load(&v->health.fetched_ns);
	c->trace_bytes = atomic_load(&v->trace_bytes);
	if (v->ahead != NULL)
		c->ahead_units = vfs_ahead_counted(v->ahead);
	if (v->units != NULL)
		units_counted(v->units, &c->units);
}

bool
vfs_join(pthread_t thread)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

/* Stacks */

/* Adds an empty source to a stack, or returns NULL. */
static struct vfs_source *
new_source(struct vfs_stack *to)
{
	void *all = to->sources;
	struct vfs_source *s;
	int rc = array_grow(&all, to->source_count, &to->source_cap,
	    sizeof(*to->sources));

	to->sources = all;
	s = rc != 0 ? NULL : sys_calloc(1, sizeof(*s));
	if (s != NULL)
		to->sources[to->source_count++] = s;
	return s;
}

int
vfs_stack_add(struct vfs_stack *to, const char *name,
    const struct oci_document *manifest, size_t which)
{
	const struct vfs_options *o = &to->v->o;
	struct vfs_source *s = new_source(to);

	return s == NULL ? vfs_refuse(&o->remote.report, name, -ENOMEM, "") :
	    vfs_source_open(s, name, &o->remote, &o->expect, manifest, which);
}

int
vfs_stack_add_part(struct vfs_stack *to, const char *name,
    const struct vfs_source_ops *ops, void *arg,
    const struct vfs_report *report, const struct vfs_expect *expect)
{
	struct vfs_source *s = new_source(to);

	if (s != NULL)
		return vfs_source_open_ops(s, name, ops, arg, report, expect,
		    NULL, 0);
	if (ops->close != NULL)
		ops->close(arg);
	return vfs_refuse(report, name, -ENOMEM, "");
}

int
vfs_stack_add_ops(struct vfs_stack *to, const char *name,
    const struct vfs_source_ops *ops, void *arg)
{
	const struct vfs_options *o = &to->v->o;

	return vfs_stack_add_part(to, name, ops, arg, &o->remote.report,
	    &o->expect);
}

int
vfs_stack_build(struct vfs_stack *s, enum merge_mode mode)
{
	struct vfs *v = s->v;
	const struct vfs_report *report = &v->o.remote.report;
	const char *name = s->source_count == 1 ? s->sources[0]->name :
	    v->o.name;
	struct layer **layers = sys_calloc(s->source_count + 1,
	    sizeof(*layers));
	char why[LAYER_WHY] = "";
	bool has_trace = false;
	struct layer_range r;
	size_t count;
	int rc;

	if (layers == NULL)
		return vfs_refuse(report, name, -ENOMEM, "");
	for (size_t i = 0; i < s->source_count; i++) {
		layers[i] = s->sources[i]->layer;
		has_trace |= layer_trace(layers[i], &r);
	}
	rc = merge_build(&s->tree, layers, s->source_count, mode, why);
	sys_free(layers);
	if (rc != 0)
		return vfs_refuse(report, name, rc, why);
	count = merge_count(s->tree);
	s->seen = sys_calloc(count, 1);
	if (mode == MERGE_OVERLAY)
		s->lookups = sys_calloc(count, sizeof(*s->lookups));
	if (s->seen == NULL || (mode == MERGE_OVERLAY && s->lookups == NULL))
		return vfs_refuse(report, v->o.name, -ENOMEM, "");
	if (v->o.prefetch != VFS_PREFETCH_NONE && has_trace) {
		rc = vfs_trace_load(&s->trace, s->sources, s->source_count,
		    v->o.remote.cache_dir, report);
		if (rc != 0)
			return vfs_refuse(report, v->o.name, rc, "");
	}
	rc = vfs_nested_prepare(s, s->nested);
	if (rc != 0)
		return vfs_refuse(report, v->o.name, rc, "");
	/* a nested stack is a part of a layer */
	if (s->up == NULL)
		atomic_fetch_add(&v->layers, s->source_count);
	atomic_fetch_add(&v->files, count);
	return 0;
}

void
vfs_stack_fetch(struct vfs_stack *s)
{
	vfs_ahead_add(s->v->ahead, s);
}

void
vfs_stack_forget(struct vfs_stack *s)
{
	vfs_ahead_forget(s->v->ahead, s);
}

void
vfs_stack_close(struct vfs_stack *s)
{
	void *seen, *lookups;

	vfs_nested_close(s);
	if (s->trace != NULL)
		vfs_trace_free(s->trace);
	merge_free(s->tree);
	for (size_t i = 0; i < s->source_count; i++) {
		units_forget(s->v->units, s->sources[i]);
		vfs_source_close(s->sources[i]);
		sys_free(s->sources[i]);
	}
	sys_free(s->sources);
	memcpy(&seen, &s->seen, sizeof(seen));
	memcpy(&lookups, &s->lookups, sizeof(lookups));
	sys_free(seen);
	sys_free(lookups);
	*s = (struct vfs_stack){ .v = s->v };
}

void
vfs_stack_reference(struct vfs_stack *s, uint32_t inode, uint64_t count)
{
	atomic_fetch_add(&s->references, count);
	if (s->lookups != NULL)
		atomic_fetch_add(&s->lookups[inode], (uint32_t)count);
}

void
vfs_stack_unreference(struct vfs_stack *s, uint32_t inode, uint64_t count)
{
	atomic_fetch_sub(&s->references, count);
	if (s->lookups != NULL)
		atomic_fetch_sub(&s->lookups[inode], (uint32_t)count);
}

/* Reading from units */

struct unit_id
vfs_unit_of(const struct vfs_stack *s, const struct merge_node *n,
    uint32_t unit)
{
	return (struct unit_id){ .source = s->sources[n->layer],
		.unit = unit };
}

/*
 * Reads [offset, end) of a file from several units, or from none; the units
 * that are in memory at one time are few and small.
 */
static int
read_units(const struct vfs_stack *s, const struct merge_node *n,
    uint64_t offset, uint64_t end, uint8_t *buf)
{
	const struct layer_entry *e = n->entry;
	struct unit_id ids[UNITS_MAX];
	struct unit *got[UNITS_MAX];
	size_t run = layer_find_run(e, offset), all;
	const struct layer_unit *units = layer_units(
	    s->sources[n->layer]->layer, &all);

	memset(buf, 0, (size_t)(end - offset));
	while (run < e->run_count && e->runs[run].offset < end) {
		uint64_t bytes = 0;
		size_t count = 0;
		int rc;

		for (; count < UNITS_MAX && run + count < e->run_count &&
		    e->runs[run + count].offset < end; count++) {
			uint32_t unit = e->runs[run + count].unit;

			bytes += units[unit].content;
			if (count > 0 && bytes > AT_ONCE_MAX)
				break;
			ids[count] = vfs_unit_of(s, n, unit);
		}
		rc = units_get(s->v->units, ids, count, HTTP_READ, got);
		if (rc != 0)
			return rc;
		for (size_t i = 0; i < count; i++, run++) {
			const struct layer_run *r = &e->runs[run];
			const uint8_t *data = unit_data(got[i]) + r->inner;
			uint64_t from = r->offset > offset ? r->offset :
			    offset;
			uint64_t to = r->offset + r->length < end ?
			    r->offset + r->length : end;

			if (from < to)
				memcpy(buf + (from - offset), data +
				    (from - r->offset), (size_t)(to - from));
			units_release(s->v->units, got[i]);
		}
	}
	return 0;
}

/* Reading */

/* Returns the number of a node's entry in its layer. */
static uint32_t
entry_number(const struct vfs_stack *s, const struct merge_node *n)
{
	size_t count;

	return (uint32_t)(n->entry - layer_entries(
	    s->sources[n->layer]->layer, &count));
}

/* Fills in r for r->size bytes, which are in the file.  Returns 0 or -errno. */
static int
read_data(struct vfs_read *r)
{
	struct vfs_stack *s = r->stack;
	const struct merge_node *n = merge_node(s->tree, r->inode);
	uint64_t end = r->offset + r->size;
	size_t i = layer_find_run(n->entry, r->offset);
	const struct layer_run *run = i < n->entry->run_count ?
	    &n->entry->runs[i] : NULL;
	struct unit_id id;
	int rc;

	if (s->trace != NULL && r->size > 0) {
		r->data = r->buf = sys_malloc(r->size);
		r->traced = r->buf != NULL && vfs_trace_read(s->trace,
		    n->layer, entry_number(s, n), r->offset, r->size, r->buf);
		if (r->traced)
			return 0;
	}
	/* one run contains all of the data */
	if (run != NULL && r->size > 0 && run->offset <= r->offset &&
	    run->offset + run->length >= end) {
		id = vfs_unit_of(s, n, run->unit);
		rc = units_get(s->v->units, &id, 1, HTTP_READ, &r->unit);
		if (rc != 0)
			return rc;
		r->data = unit_data(r->unit) + run->inner +
		    (r->offset - run->offset);
		return 0;
	}
	if (r->buf == NULL)
		r->data = r->buf = sys_malloc(r->size + 1);
	if (r->buf == NULL)
		return -ENOMEM;
	return read_units(s, n, r->offset, end, r->buf);
}

ssize_t
vfs_read(struct vfs_read *r, size_t size)
{
	struct vfs_stack *s = r->stack;
	uint64_t length = merge_node(s->tree, r->inode)->entry->size;
	struct vfs *v = s->v;
	int rc;

	*r = (struct vfs_read){ .stack = s, .inode = r->inode,
		.offset = r->offset };
	if (r->offset < length)
		r->size = size < length - r->offset ? size :
		    (size_t)(length - r->offset);
	vfs_ahead_read_begins(v->ahead);
	rc = read_data(r);
	if (rc != 0) {
		atomic_fetch_add(&v->failures, 1);
		vfs_note(&v->o.remote, false);
		r->unit = NULL;
		return rc;
	}
	if (r->traced)
		atomic_fetch_add(&v->trace_bytes, r->size);
	atomic_fetch_add(&v->reads, 1);
	atomic_fetch_add(&v->read_bytes, r->size);
	if ((atomic_fetch_or(&s->seen[r->inode], VFS_SEEN_READ) &
	    VFS_SEEN_READ) == 0)
		atomic_fetch_add(&v->first_reads, 1);
	return (ssize_t)r->size;
}

bool
vfs_read_ahead(const struct vfs_read *r)
{
	return !r->traced && r->size > 0 && vfs_ahead_note(r->stack->v->ahead,
	    r->stack, r->inode, r->offset, r->size);
}

void
vfs_read_end(struct vfs_read *r)
{
	if (r->unit != NULL)
		units_release(r->stack->v->units, r->unit);
	sys_free(r->buf);
	vfs_ahead_read_ends(r->stack->v->ahead);
}

size_t
vfs_copy_traced(struct vfs_stack *s, uint32_t inode, uint64_t *offset,
    size_t size, uint8_t *buf)
{
	const struct merge_node *n = merge_node(s->tree, inode);

	return vfs_trace_next(s->trace, n->layer, entry_number(s, n), offset,
	    size, buf);
}

unsigned
vfs_traced_sections(const struct vfs_stack *s)
{
	return s->trace == NULL ? 0 : vfs_trace_loaded(s->trace);
}

bool
vfs_copy_run(struct vfs_stack *s, uint32_t inode, const struct layer_run *r,
    uint64_t offset, size_t size, uint8_t *buf)
{
	const struct merge_node *n = merge_node(s->tree, inode);

	return units_copy(s->v->units, vfs_unit_of(s, n, r->unit), r->inner +
	    (offset - r->offset), size, buf);
}

/*
 * vfs_nested.c - directories whose contents are in a stack of their own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A nested catalog of a CVMFS repository becomes a stack of one layer, whose
 * bytes come from the source of the repository.  It is opened when its directory
 * is entered, and remains open.  Hard links do not lead from one catalog to
 * another, so each stack has inodes of its own.
 *
 * All stacks of a tree share a struct vfs_nested.  A part is opened by one
 * thread, without the lock; others wait for the result, even if it is an error.
 */
#include "vfs_private.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 1 << 24, OBJECT = 64 };

/* Limit on the indexes of all open parts, in bytes. */
#define PARTS_BYTES (4 * (uint64_t)LAYER_INDEX_MAX)

/* A part of a layer, guarded by the lock. */
struct vfs_part {
	struct vfs_stack *stack;	/* NULL: not open */
	bool opening;
	unsigned tries;			/* that have ended */
	int error;			/* of the last one */
};

struct vfs_nested {
	struct vfs_stack *top;
	_Atomic bool failing;		/* the last part was not opened */

	pthread_mutex_t lock;		/* protects the following, and parts */
	pthread_cond_t tried;
	struct vfs_stack **stacks;
	size_t count, cap;
	uint64_t bytes;			/* of all indexes */
	uint64_t inodes;		/* of all stacks */
};

/* The bytes of a part are those of the layer that it is part of. */
struct part_bytes {
	struct vfs_source *whole;
	char index[OBJECT];		/* name of the object with the index */
};

static int
read_part(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct part_bytes *b = arg;

	/* while the part is opened, by one thread */
	if (phase == HTTP_INDEX)
		snprintf(b->index, sizeof(b->index), "%s", r->object);
	return vfs_source_read(b->whole, r, count, phase);
}

static int
size_of_part(void *arg, const char *object, uint64_t *size)
{
	const struct part_bytes *b = arg;

	return b->whole->ops->size(b->whole->arg, object, size);
}

static int
fetch_part(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	const struct part_bytes *b = arg;

	return vfs_source_fetch(b->whole, r, count, phase);
}

static void
forget_part(void *arg, const struct layer_range *r)
{
	const struct part_bytes *b = arg;

	vfs_source_forget(b->whole, r);
}

/* Only the index has been read so far. */
static bool
forget_index(void *arg)
{
	struct part_bytes *b = arg;
	const struct layer_range r = { .object = b->index };

	vfs_source_forget(b->whole, &r);
	return true;
}

static void
why_of_part(void *arg, char why[LAYER_WHY])
{
	const struct part_bytes *b = arg;

	*why = '\0';
	if (b->whole->ops->why != NULL)
		b->whole->ops->why(b->whole->arg, why);
}

static void
close_part(void *arg)
{
	sys_free(arg);
}

static const struct vfs_source_ops part_ops = {
	.read = read_part, .size = size_of_part, .fetch = fetch_part,
	.forget = forget_part, .forget_all = forget_index, .why = why_of_part,
	.close = close_part,
};

/* Opening */

int
vfs_nested_prepare(struct vfs_stack *s, struct vfs_nested *n)
{
	size_t count = 0;

	if (s->source_count != 1)
		return 0;
	(void)layer_parts(s->sources[0]->layer, &count);
	if (count == 0)
		return 0;
	s->parts = sys_calloc(count, sizeof(*s->parts));
	if (s->parts == NULL)
		return -ENOMEM;
	if (n != NULL)
		return 0;
	s->nested = n = sys_calloc(1, sizeof(*n));
	if (n == NULL)
		return -ENOMEM;
	n->top = s;
	n->inodes = merge_count(s->tree);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->tried, NULL);
	return 0;
}

/* Finds the part that is a directory; sets *which to its number. */
static const struct layer_part *
part_of(const struct vfs_stack *s, uint32_t inode, size_t *which)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const struct layer_entry *entries;
	const struct layer_part *parts;
	size_t low = 0, high, count, entry;

	if (s->parts == NULL || n->entry == NULL || n->entry->type != TAR_DIR)
		return NULL;
	entries = layer_entries(s->sources[0]->layer, &count);
	entry = (size_t)(n->entry - entries);
	parts = layer_parts(s->sources[0]->layer, &high);
	for (count = high; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (parts[mid].entry < entry)
			low = mid + 1;
		else
			high = mid;
	}
	*which = low;
	return low < count && parts[low].entry == entry ? &parts[low] : NULL;
}

/* Why a part was not opened, which is a warning here. */
static void
keep_reason(void *arg, const char *name, const char *why)
{
	(void)name;
	snprintf(arg, LAYER_WHY, "%s", why);
}

static void
ignore_warning(void *arg, const char *name, const char *why)
{
	(void)arg;
	(void)name;
	(void)why;
}

/* Opens the stack of a part.  Returns 0, or -errno with the reason in why. */
static int
open_part(struct vfs_stack **out, struct vfs_stack *of, uint32_t inode,
    const struct layer_part *part, char why[LAYER_WHY])
{
	struct vfs_source *whole = of->nested->top->sources[0];
	const struct vfs_report report = { .warn = ignore_warning,
		.fail = keep_reason, .arg = why };
	const struct vfs_expect expect = { .kind = layer_kind_name(layer_kind(
		whole->layer)), .part = part };
	struct part_bytes *bytes = sys_calloc(1, sizeof(*bytes));
	struct vfs_stack *s = sys_calloc(1, sizeof(*s));
	char name[512];
	int rc;

	if (s == NULL || bytes == NULL) {
		sys_free(bytes);
		sys_free(s);
		return -ENOMEM;
	}
	bytes->whole = whole;
	*s = (struct vfs_stack){ .v = of->v, .nested = of->nested, .up = of,
		.up_inode = inode };
	snprintf(name, sizeof(name), "%.255s%.255s", whole->name, part->path);
	rc = vfs_stack_add_part(s, name, &part_ops, bytes, &report,
	    &expect);
	if (rc == 0) {
		s->sources[0]->vouched = whole->vouched;
		s->sources[0]->local = whole->local;
		rc = vfs_stack_build(s, MERGE_MERGED);
	}
	if (rc == 0) {
		*out = s;
		return 0;
	}
	vfs_stack_close(s);
	sys_free(s);
	return rc;
}

/* Numbers a stack that has been opened.  Called with the lock held. */
static int
add_stack(struct vfs_nested *n, struct vfs_stack *s)
{
	void *stacks = n->stacks;
	int rc = n->count >= PARTS_MAX ? -EFBIG : array_grow(&stacks, n->count,
	    &n->cap, sizeof(struct vfs_stack *));

	n->stacks = stacks;
	if (rc != 0)
		return rc;
	s->first_inode = n->top->first_inode + n->inodes;
	n->inodes += merge_count(s->tree);
	n->stacks[n->count++] = s;
	s->number = n->count;
	return 0;
}

/*
 * Opens a part, which is marked as being opened.  Called with the lock held,
 * which is released meanwhile.
 */
static int
try_part(struct vfs_stack *of, uint32_t inode, const struct layer_part *part,
    struct vfs_part *p)
{
	const struct vfs_report *report = &of->v->o.remote.report;
	struct vfs_nested *n = of->nested;
	char why[LAYER_WHY] = "", text[2 * LAYER_WHY];
	struct vfs_stack *s = NULL;
	int rc = 0;

	if (part->size > PARTS_BYTES - n->bytes) {
		rc = -EFBIG;
		snprintf(why, sizeof(why), "the catalogs are larger than %llu "
		    "bytes", (unsigned long long)PARTS_BYTES);
	} else {
		n->bytes += part->size;
	}
	pthread_mutex_unlock(&n->lock);
	if (rc == 0) {
		rc = open_part(&s, of, inode, part, why);
		pthread_mutex_lock(&n->lock);
		if (rc == 0)
			rc = add_stack(n, s);
		if (rc != 0)
			n->bytes -= part->size;
		pthread_mutex_unlock(&n->lock);
		if (rc != 0 && s != NULL) {
			vfs_stack_close(s);
			sys_free(s);
		}
	}
	if (!atomic_exchange(&n->failing, rc != 0) && rc != 0) {
		snprintf(text, sizeof(text), "%.255s: %s", part->path,
		    *why != '\0' ? why : strerror(-rc));
		report->warn(report->arg, n->top->sources[0]->name, text);
	}
	if (rc != 0) {
		atomic_fetch_add(&of->v->failures, 1);
		vfs_note(&of->v->o.remote, false);
	}
	pthread_mutex_lock(&n->lock);
	if (rc == 0)
		p->stack = s;
	return rc;
}

int
vfs_stack_enter(struct vfs_stack **s, uint32_t *inode)
{
	size_t which = 0;
	const struct layer_part *part = part_of(*s, *inode, &which);
	struct vfs_nested *n = (*s)->nested;
	struct vfs_part *p;
	unsigned tries;
	int rc = 0;

	if (part == NULL)
		return 0;
	p = &(*s)->parts[which];
	pthread_mutex_lock(&n->lock);
	if (p->stack == NULL && p->opening) {
		for (tries = p->tries; p->tries == tries;)
			pthread_cond_wait(&n->tried, &n->lock);
		rc = p->error;
	} else if (p->stack == NULL) {
		p->opening = true;
		rc = try_part(*s, *inode, part, p);
		p->opening = false;
		p->error = rc;
		p->tries++;
		pthread_cond_broadcast(&n->tried);
	}
	/* another thread may have succeeded since that error */
	if (p->stack != NULL) {
		*s = p->stack;
		*inode = MERGE_ROOT;
		rc = 0;
	}
	pthread_mutex_unlock(&n->lock);
	return rc;
}

void
vfs_stack_leave(struct vfs_stack **s, uint32_t *inode)
{
	if (*inode != MERGE_ROOT || (*s)->up == NULL)
		return;
	*inode = (*s)->up_inode;
	*s = (*s)->up;
}

struct vfs_stack *
vfs_stack_numbered(struct vfs_stack *s, uint64_t number)
{
	struct vfs_nested *n = s->nested;
	struct vfs_stack *found = NULL;

	if (number == 0 || n == NULL)
		return NULL;
	pthread_mutex_lock(&n->lock);
	if (number <= n->count)
		found = n->stacks[number - 1];
	pthread_mutex_unlock(&n->lock);
	return found;
}

uint32_t
vfs_stack_links(const struct vfs_stack *s, uint32_t inode)
{
	size_t which;
	const struct layer_part *part = part_of(s, inode, &which);
	uint32_t links = merge_node(s->tree, inode)->links;

	/* the kernel remembers it, so it must be right before it is entered */
	return part != NULL && part->links > links ? part->links : links;
}

void
vfs_nested_close(struct vfs_stack *s)
{
	struct vfs_nested *n = s->nested;

	sys_free(s->parts);
	s->parts = NULL;
	if (n == NULL || n->top != s)
		return;
	for (size_t i = 0; i < n->count; i++) {
		vfs_stack_close(n->stacks[i]);
		sys_free(n->stacks[i]);
	}
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->tried);
	sys_free(n->stacks);
	sys_free(n);
	s->nested = NULL;
}

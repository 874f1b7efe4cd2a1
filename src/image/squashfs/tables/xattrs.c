/*
 * xattrs.c - the extended attributes of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libsquashfs writes the tables, unless the image must have the bytes that
 * mksquashfs would write.  Those are written here, by the rules of mksquashfs
 * 4.7.5: sets are in the order of the inodes that use them, and attributes in
 * the order in which the filesystem lists them.
 */
#include "xattrs.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>

#define NOWHERE UINT64_MAX

enum {
	OUT_OF_LINE = 256,		/* flag in an attribute's type */
	REFERENCE_B = 8,		/* size of such a value's reference */
	INLINE_MAX = 128,		/* the longest value within a set */
	SET_MAX = 64 << 10,		/* above this, shorter values are also
					 * moved out of line */
	ID_B = 16, HEAD_B = 16, IDS = SQUASHFS_META_B / ID_B
};

/* An attribute: its numbers among the names and the values. */
struct pair {
	uint32_t name, value;
};

/* An attribute while its set is written. */
struct entry {
	const struct sqt_text *name, *value;
	uint32_t number;		/* of the value */
	unsigned space;			/* namespace */
	bool is_moved;			/* the value is out of line */
	uint64_t at;			/* position of the value */
	bool first;			/* the value has not occurred before */
};

static void
texts_free(struct sqt_texts *t)
{
	arena_free(&t->arena);
	sys_free(t->items);
	sys_free(t->slots);
}

static uint32_t *
find_text(const struct sqt_texts *t, const void *data, size_t len)
{
	size_t i = (size_t)hash_bytes(t->seed, data, len) & t->mask;

	for (; t->slots[i] != SQUASHFS_NONE; i = (i + 1) & t->mask) {
		const struct sqt_text *x = &t->items[t->slots[i]];

		if (x->len == len && memcmp(x->data, data, len) == 0)
			break;
	}
	return &t->slots[i];
}

/* Sets *number to the number of a text, which is added if it is new. */
static int
intern(struct sqt_texts *t, const void *data, size_t len, uint32_t *number)
{
	void *items = t->items;
	size_t slots = t->slots == NULL ? 64 : (t->mask + 1) * 2;
	uint32_t *slot;
	char *copy;

	if (t->slots == NULL)
		t->seed = hash_seed();
	if (t->slots == NULL || t->count >= t->mask / 2) {
		slot = sys_malloc(slots * sizeof(*slot));
		if (slot == NULL)
			return -ENOMEM;
		sys_free(t->slots);
		t->slots = slot;
		memset(t->slots, 0xff, slots * sizeof(*t->slots));
		t->mask = slots - 1;
		for (uint32_t i = 0; i < t->count; i++)
			*find_text(t, t->items[i].data, t->items[i].len) = i;
	}
	slot = find_text(t, data, len);
	if (*slot == SQUASHFS_NONE) {
		if (array_grow(&items, t->count, &t->cap,
		    sizeof(*t->items)) != 0)
			return -ENOMEM;
		t->items = items;
		copy = arena_copy(&t->arena, data, len);
		if (copy == NULL)
			return -ENOMEM;
		*slot = (uint32_t)t->count;
		t->items[t->count++] = (struct sqt_text){ copy, len,
			SQUASHFS_NONE, NOWHERE };
	}
	*number = *slot;
	return 0;
}

static const struct {
	const char *prefix;
	size_t len;
} spaces[] = { { "user.", 5 }, { "trusted.", 8 }, { "security.", 9 } };

enum { SPACES = sizeof(spaces) / sizeof(spaces[0]) };

/* Returns the number of a name's namespace, or SPACES. */
static unsigned
space_of(const char *name)
{
	unsigned i = 0;

	while (i < SPACES && strncmp(name, spaces[i].prefix,
	    spaces[i].len) != 0)
		i++;
	return i;
}

int
sqt_xattrs_open(struct sqt_xattrs **x, bool exact)
{
	*x = sys_calloc(1, sizeof(**x));
	if (*x == NULL || exact)
		return *x == NULL ? -ENOMEM : 0;
	(*x)->writer = sqfs_xattr_writer_create(0);
	if ((*x)->writer != NULL)
		return 0;
	sys_free(*x);
	*x = NULL;
	return -ENOMEM;
}

void
sqt_xattrs_close(struct sqt_xattrs *x)
{
	if (x == NULL)
		return;
	if (x->writer != NULL)
		sqfs_destroy(x->writer);
	texts_free(&x->names);
	texts_free(&x->values);
	texts_free(&x->sets);
	sys_free(x->pairs);
	sys_free(x->used);
	sys_free(x);
}

int
sqt_xattrs_begin(struct sqt_xattrs *x)
{
	x->pair_count = 0;
	return x->writer == NULL ? 0 :
	    sqt_error(sqfs_xattr_writer_begin(x->writer, 0));
}

int
sqt_xattrs_add(struct sqt_xattrs *x, const char *name, const void *value,
    size_t len)
{
	void *pairs = x->pairs;
	struct pair *p;
	int rc;

	if (x->writer != NULL)
		return sqt_error(sqfs_xattr_writer_add(x->writer, name, value,
		    len));
	if (space_of(name) == SPACES)
		return -ENOTSUP;
	rc = array_grow(&pairs, x->pair_count, &x->pair_cap, sizeof(*p));
	if (rc != 0)
		return rc;
	x->pairs = pairs;
	p = &x->pairs[x->pair_count];
	rc = intern(&x->names, name, strlen(name), &p->name);
	if (rc == 0)
		rc = intern(&x->values, value, len, &p->value);
	x->pair_count += rc == 0;
	return rc;
}

int
sqt_xattrs_amend(struct sqt_xattrs *x, uint32_t *index, const char *name,
    const void *value, size_t len)
{
	size_t count = 0;
	uint32_t number;
	void *pairs = x->pairs;
	int rc = intern(&x->names, name, strlen(name), &number);

	if (rc == 0 && *index != SQUASHFS_NONE) {
		const struct sqt_text *old = &x->sets.items[*index];

		count = old->len / sizeof(*x->pairs);
		rc = array_reserve(&pairs, count + 1, &x->pair_cap,
		    sizeof(*x->pairs));
		x->pairs = pairs;
		if (rc == 0)
			memcpy(x->pairs, old->data, old->len);
	}
	if (rc != 0)
		return rc;
	x->pair_count = 0;
	for (size_t i = 0; i < count; i++)
		if (x->pairs[i].name != number)
			x->pairs[x->pair_count++] = x->pairs[i];
	rc = sqt_xattrs_add(x, name, value, len);
	return rc != 0 ? rc : sqt_xattrs_end(x, index);
}

int
sqt_xattrs_end(struct sqt_xattrs *x, uint32_t *index)
{
	void *used = x->used;
	int rc;

	if (x->writer != NULL)
		return sqt_error(sqfs_xattr_writer_end(x->writer, index));
	*index = SQUASHFS_NONE;
	if (x->pair_count == 0)
		return 0;
	rc = array_reserve(&used, x->sets.count + 1, &x->used_cap,
	    sizeof(*x->used));
	x->used = used;
	return rc != 0 ? rc : intern(&x->sets, x->pairs, x->pair_count *
	    sizeof(*x->pairs), index);
}

uint32_t
sqt_xattrs_number(struct sqt_xattrs *x, uint32_t set)
{
	struct sqt_text *s;

	if (x == NULL || x->writer != NULL)
		return set;
	s = &x->sets.items[set];
	if (s->number == SQUASHFS_NONE) {
		s->number = (uint32_t)x->used_count;
		x->used[x->used_count++] = set;
	}
	return s->number;
}

static uint64_t
next_place(const struct sqw_table *t)
{
	struct sqw_place p = sqw_place(t);

	return (uint64_t)p.block << 16 | p.offset;
}

static void
put_value(struct sqw_table *t, struct sqt_xattrs *x, struct entry *e)
{
	e->at = next_place(t);
	if (e->first)
		x->values.items[e->number].at = e->at;
	sqw_put32(t, e->value->len);
	sqw_put(t, e->value->data, e->value->len);
}

/*
 * Writes a set.  A value that another set has is replaced by a reference to it,
 * even if that one is stored inline; equal values in one set are not merged.
 */
static void
put_set(struct sqw_table *t, struct sqt_xattrs *x, struct sqt_text *set,
    struct entry *entries)
{
	size_t count = set->len / sizeof(struct pair), longest = INLINE_MAX;

	for (size_t i = 0; i < count; i++) {
		struct pair p;
		struct entry *e = &entries[i];

		memcpy(&p, set->data + i * sizeof(p), sizeof(p));
		*e = (struct entry){ .name = &x->names.items[p.name],
			.value = &x->values.items[p.value], .number = p.value,
			.at = NOWHERE };
		e->space = space_of(e->name->data);
	}
	/* move long values out of line until the set is small enough */
	for (;; longest /= 2) {
		uint64_t size = 0;

		for (size_t i = 0; i < count; i++) {
			struct entry *e = &entries[i];

			e->is_moved = e->value->len > longest;
			size += 4 + e->name->len - spaces[e->space].len + 4 +
			    (e->is_moved ? REFERENCE_B : e->value->len);
		}
		if (size <= SET_MAX || longest <= REFERENCE_B)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		struct entry *e = &entries[i];
		struct sqt_text *v = &x->values.items[e->number];

		if (v->len < REFERENCE_B)
			continue;
		e->first = v->number == SQUASHFS_NONE;
		v->number = 0;
		e->at = v->at;
		e->is_moved = e->is_moved || !e->first;
	}
	for (size_t i = 0; i < count; i++)
		if (entries[i].is_moved && entries[i].at == NOWHERE)
			put_value(t, x, &entries[i]);
	set->at = next_place(t);
	for (size_t i = 0; i < count; i++) {
		struct entry *e = &entries[i];
		size_t prefix = spaces[e->space].len;

		sqw_put16(t, e->space | (e->is_moved ? OUT_OF_LINE : 0));
		sqw_put16(t, e->name->len - prefix);
		sqw_put(t, e->name->data + prefix, e->name->len - prefix);
		if (e->is_moved) {
			sqw_put32(t, REFERENCE_B);
			sqw_put64(t, e->at);
		} else {
			put_value(t, x, e);
		}
	}
}

int
sqt_xattrs_write(struct sqt_xattrs *x, const struct sqw_table_ops *ops,
    uint64_t at, uint32_t unused, uint64_t *index)
{
	size_t blocks = (x->used_count + IDS - 1) / IDS;
	size_t head_B = HEAD_B + blocks * SQUASHFS_POINTER_B, longest = 0;
	struct entry *entries;
	struct sqw_table *t;
	uint8_t *head;
	int rc = -ENOMEM;

	*index = SQUASHFS_NO_TABLE;
	if (x->used_count == 0)
		return 0;
	for (size_t i = 0; i < x->sets.count; i++)
		if (x->sets.items[i].len > longest)
			longest = x->sets.items[i].len;
	entries = sys_calloc(longest / sizeof(struct pair), sizeof(*entries));
	t = sys_calloc(1, sizeof(*t));
	head = sys_calloc(head_B, 1);
	if (entries == NULL || t == NULL || head == NULL)
		goto out;
	t->ops = *ops;
	for (size_t i = 0; i < x->used_count; i++)
		put_set(t, x, &x->sets.items[x->used[i]], entries);
	rc = sqw_table_end(t);
	if (rc != 0)
		goto out;
	store_le64(head, at);
	store_le32(head + 8, (uint32_t)x->used_count);
	store_le32(head + 12, unused);
	at += t->size;
	x->table_B = t->size;
	*t = (struct sqw_table){ .ops = *ops };
	for (size_t i = 0; i < x->used_count; i++) {
		const struct sqt_text *set = &x->sets.items[x->used[i]];
		uint64_t size = 0;	/* of names, each with a NUL, and
					 * values */
		struct pair p;

		for (size_t k = 0; k < set->len; k += sizeof(p)) {
			memcpy(&p, set->data + k, sizeof(p));
			size += x->names.items[p.name].len + 1 +
			    x->values.items[p.value].len;
		}
		if (i % IDS == 0)
			store_le64(head + HEAD_B + i / IDS *
			    SQUASHFS_POINTER_B, at + sqw_place(t).block);
		x->text_B += size;
		sqw_put64(t, set->at);
		sqw_put32(t, set->len / sizeof(struct pair));
		sqw_put32(t, size);
	}
	rc = sqw_table_end(t);
	*index = at + t->size;
	if (rc == 0)
		rc = ops->write(ops->arg, head, head_B);
out:
	sys_free(entries);
	sys_free(t);
	sys_free(head);
	return rc;
}

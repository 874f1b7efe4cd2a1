/*
 * cas_unit.c - finding, unpacking and verifying a CVMFS repository's objects
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A catalog does not contain the size of an object, but a zlib stream contains
 * an end marker.  The SHA-1 of the bytes up to the end must be the object's
 * name.
 */
#include "cas_read.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sys.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

/* Units */

/* Returns the unit's slot, or the empty slot where it belongs. */
static size_t
slot_of_unit(const struct layer *l, const struct cas_unit *u, uint64_t content)
{
	const struct cas_state *s = l->state;
	size_t i = (size_t)hash_bytes(s->seed + content, u->hash, CAS_HASH) &
	    (s->slots - 1);

	for (; s->table[i] != 0; i = (i + 1) & (s->slots - 1)) {
		size_t n = s->table[i] - 1;

		if (strcmp(s->units[n].path, u->path) == 0 &&
		    s->units[n].plain == u->plain &&
		    l->index.units[n].content == content)
			break;
	}
	return i;
}

int64_t
cas_unit_add(struct layer *l, const uint8_t hash[CAS_HASH], char suffix,
    bool plain, uint64_t content, char why[LAYER_WHY])
{
	struct layer_unit unit = { .content = content,
		.stored = plain ? content : cas_stored_max(content) };
	struct cas_state *s = l->state;
	struct cas_unit u = { .plain = plain };
	size_t count = l->index.unit_count, slot;
	void *units = s->units;
	int rc;

	if (count >= s->slots / 2) {
		size_t slots = s->slots == 0 ? 1024 : 2 * s->slots;

		sys_free(s->table);
		s->table = sys_calloc(slots, sizeof(*s->table));
		s->seed = s->slots == 0 ? hash_seed() : s->seed;
		s->slots = s->table == NULL ? 0 : slots;
		if (s->table == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			s->table[slot_of_unit(l, &s->units[i],
			    l->index.units[i].content)] = (uint32_t)i + 1;
	}
	cas_object_path(u.path, hash, suffix);
	memcpy(u.hash, hash, CAS_HASH);
	slot = slot_of_unit(l, &u, content);
	if (s->table[slot] != 0)
		return (int64_t)s->table[slot] - 1;
	if (count >= LAYER_ENTRIES_MAX)
		return layer_refuse(why, -EFBIG, "too many objects");
	rc = array_grow(&units, count, &s->cap, sizeof(u));
	s->units = units;
	if (rc != 0)
		return rc;
	s->units[count] = u;
	rc = index_unit(&l->index, &unit, why);
	if (rc != 0)
		return rc;
	s->table[slot] = (uint32_t)count + 1;
	return (int64_t)count;
}

uint64_t
cas_stored_max(uint64_t content)
{
	return content + content / 512 + 1024;
}

/* Unpacking */

struct cas_unpacker {
	struct libdeflate_decompressor *z;
	struct digest *digest;
};

int
cas_unpacker_open(struct cas_unpacker **out, const struct digest_algo *sha1)
{
	struct cas_unpacker *u = sys_calloc(1, sizeof(*u));
	int rc = u == NULL ? -ENOMEM : digest_new(&u->digest, sha1);

	if (rc == 0 && (u->z = libdeflate_alloc_decompressor()) == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		cas_unpacker_close(u);
	else
		*out = u;
	return rc;
}

void
cas_unpacker_close(struct cas_unpacker *u)
{
	if (u == NULL)
		return;
	libdeflate_free_decompressor(u->z);
	digest_free(u->digest);
	sys_free(u);
}

ssize_t
cas_unpack(struct cas_unpacker *u, const uint8_t hash[CAS_HASH],
    const void *data, size_t len, void *content, size_t room, size_t *used)
{
	uint8_t sum[DIGEST_MAX];
	size_t made;

	if (libdeflate_zlib_decompress_ex(u->z, data, len, content, room, used,
	    &made) != LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	if (hash != NULL && (digest_once(u->digest, data, *used, sum) != 0 ||
	    memcmp(sum, hash, CAS_HASH) != 0))
		return -EBADMSG;
	return (ssize_t)made;
}

/* Units, as operations of a layer */

static size_t
ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	const struct cas_state *s = l->state;

	r[0] = (struct layer_range){ .object = s->units[unit].path,
		.length = l->index.units[unit].stored, .whole = true };
	return 1;
}

static int
open_unpacker(struct layer_decoder *d)
{
	const struct cas_state *s = d->l->state;
	struct cas_unpacker *u = NULL;
	int rc = cas_unpacker_open(&u, s->sha1);

	d->state = u;
	return rc;
}

static void
close_unpacker(struct layer_decoder *d)
{
	cas_unpacker_close(d->state);
}

static int
decode_unit(struct layer_decoder *d, uint32_t unit, const struct layer_range *r,
    void *content, const char **why)
{
	const struct cas_state *s = d->l->state;
	const struct cas_unit *u = &s->units[unit];
	const uint8_t *hash = d->known ? NULL : u->hash;
	size_t size = (size_t)d->l->index.units[unit].content, used;
	struct cas_unpacker *unpacker = d->state;
	uint8_t sum[DIGEST_MAX];

	*why = "an object does not match its hash";
	if (!u->plain)
		return cas_unpack(unpacker, hash, r->buf, (size_t)r->length,
		    content, size, &used) == (ssize_t)size ? 0 : -EBADMSG;
	if (hash != NULL && (digest_once(unpacker->digest, r->buf,
	    (size_t)r->length, sum) != 0 ||
	    memcmp(sum, hash, CAS_HASH) != 0))
		return -EBADMSG;
	memcpy(content, r->buf, (size_t)r->length);
	return 0;
}

/* Returns whether there is a manifest. */
static bool
has_manifest(const struct layer *l)
{
	uint64_t size;

	return l->blobs->size(l->blobs->arg, CAS_MANIFEST, &size) == 0;
}

static const struct layer_part *
parts(const struct layer *l, size_t *count)
{
	const struct cas_state *s = l->state;

	*count = s->part_count;
	return s->parts;
}

static void
close_layer(struct layer *l)
{
	struct cas_state *s = l->state;

	if (s == NULL)
		return;
	sys_free(s->units);
	sys_free(s->table);
	sys_free(s->parts);
	digest_algo_close(s->sha1);
	sys_free(s);
}

const struct layer_format format_cas = {
	.kind = LAYER_CAS,
	.probe = has_manifest, .open = cas_open_layer, .close = close_layer,
	.ranges = ranges,
	.decoder_open = open_unpacker, .decoder_close = close_unpacker,
	.decode = decode_unit, .parts = parts,
};

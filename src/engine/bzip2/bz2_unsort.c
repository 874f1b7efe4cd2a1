/*
 * bz2_unsort.c - the inverse of the rotation sort
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each row of the sorted rotations determines its first byte and the row of the
 * next rotation.  These links form a chain through all rows in random order.
 * Following a single chain would be limited by memory latency, so the chain is
 * entered at many evenly spaced rows, and several pieces are followed in turn,
 * each until it reaches the start of another.  Finally the pieces are joined.
 * A row belongs to only one piece, because the rows are a permutation for any
 * input.  This bounds the work for hostile blocks, and for periodic ones, whose
 * chain closes early and is traversed repeatedly.
 */
#include "bz2_impl.h"

enum {
	LANES = 8,
	STARTS = 1024,		/* maximum number of rows at which pieces
				 * begin */
	PLAIN_LEN = 8192,	/* shorter blocks use a single chain */
	CHUNK = 512,		/* size of a chunk in bytes */
	NONE = UINT16_MAX
};

#define START UINT32_C(0x80000000)	/* a piece begins at this row */

/* A piece is a list of chunks, the last of which names the next piece. */
struct chunk {
	uint16_t next;		/* chunk, or NONE */
	uint16_t len;
};

struct lane_chunk {
	uint16_t first;		/* chunk */
	uint16_t after;		/* piece */
};

struct lane {
	uint32_t row;
	uint16_t piece;
	uint16_t chunk;
	uint8_t *out;		/* output position in the current chunk */
};

struct unsort {
	uint32_t *rows;		/* next row << 8 | byte; an extra row at the end
				 * is a dead end */
	uint8_t *bytes;		/* the chunks' bytes */
	struct chunk *chunks;
	struct lane_chunk pieces[STARTS + 2];
	size_t n, origin, stride;
	unsigned chunk_count, started, active;
	struct lane lanes[LANES];
};

static size_t
chunks_max(size_t n)
{
	return n / CHUNK + STARTS + LANES + 2;
}

size_t
bz2_unsort_bytes(size_t n)
{
	return sizeof(struct unsort) + (n + 1) * sizeof(uint32_t) +
	    chunks_max(n) * (sizeof(struct chunk) + CHUNK);
}

static void
new_chunk(struct unsort *u, struct lane *a)
{
	unsigned chunk = u->chunk_count++;

	u->chunks[chunk].next = NONE;
	u->chunks[chunk].len = 0;
	a->chunk = (uint16_t)chunk;
	a->out = u->bytes + (size_t)chunk * CHUNK;
}

/*
 * Piece 0 begins at the origin, the others at every stride-th row.  Starts the
 * lane's next piece with its first byte; if none is left, the lane
 * moves to row n.
 */
static void
next_piece(struct unsort *u, struct lane *a)
{
	unsigned piece = u->started++;
	size_t row = piece == 0 ? u->origin : (piece - 1) * u->stride;

	if (piece > 0 && row == u->origin) {
		piece = u->started++;
		row += u->stride;
	}
	new_chunk(u, a);
	if (row >= u->n) {
		u->active--;
		a->row = (uint32_t)u->n;
		a->piece = NONE;
		return;
	}
	a->piece = (uint16_t)piece;
	u->pieces[piece].first = a->chunk;
	a->out[0] = (uint8_t)u->rows[row];
	u->chunks[a->chunk].len = 1;
	a->row = (u->rows[row] & ~START) >> 8;
}

/*
 * Advances all lanes, by at most `limit` steps, until one of them reaches the
 * start of a piece.
 */
static void
follow(struct unsort *u, size_t limit)
{
	const uint32_t *rows = u->rows;
	uint32_t row[LANES];
	uint8_t *out[LANES];
	size_t i;

	for (int k = 0; k < LANES; k++) {
		row[k] = u->lanes[k].row;
		out[k] = u->lanes[k].out + u->chunks[u->lanes[k].chunk].len;
	}
	for (i = 0; i < limit; i++) {
		uint32_t v[LANES], all = 0;

		for (int k = 0; k < LANES; k++) {
			v[k] = rows[row[k]];
			all |= v[k];
		}
		if ((all & START) != 0)
			break;
		for (int k = 0; k < LANES; k++) {
			out[k][i] = (uint8_t)v[k];
			row[k] = v[k] >> 8;
		}
	}
	for (int k = 0; k < LANES; k++) {
		u->lanes[k].row = row[k];
		u->chunks[u->lanes[k].chunk].len += (uint16_t)i;
	}
}

static void
follow_all(struct unsort *u)
{
	u->active = LANES;
	for (int k = 0; k < LANES; k++)
		next_piece(u, &u->lanes[k]);
	while (u->active > 0) {
		size_t limit = CHUNK;

		for (int k = 0; k < LANES; k++) {
			struct lane *a = &u->lanes[k];
			unsigned full;
			size_t room;

			while ((u->rows[a->row] & START) != 0) {
				u->pieces[a->piece].after = a->row ==
				    u->origin ? 0 :
				    (uint16_t)(a->row / u->stride + 1);
				next_piece(u, a);
			}
			/* a full one is followed; idle lanes reuse theirs */
			full = a->chunk;
			if (u->chunks[full].len == CHUNK) {
				if (a->piece == NONE) {
					u->chunks[full].len = 0;
				} else {
					new_chunk(u, a);
					u->chunks[full].next = a->chunk;
				}
			}
			room = CHUNK - (size_t)u->chunks[a->chunk].len;
			limit = limit < room ? limit : room;
		}
		follow(u, limit);
	}
}

void
bz2_unsort(uint8_t *l, size_t n, size_t origin, const uint32_t counts[256],
    void *scratch)
{
	struct unsort *u = scratch;
	uint32_t next[256], sum = 0, row = (uint32_t)origin;
	size_t done = 0;

	u->n = n;
	u->rows = (uint32_t *)(u + 1);
	u->chunks = (struct chunk *)(u->rows + n + 1);
	u->bytes = (uint8_t *)(u->chunks + chunks_max(n));
	for (int c = 0; c < 256; c++) {
		next[c] = sum;
		sum += counts[c];
	}
	for (size_t i = 0; i < n; i++)
		u->rows[next[l[i]]++] = (uint32_t)i << 8 | l[i];
	if (n < PLAIN_LEN) {
		for (size_t i = 0; i < n; i++) {
			l[i] = (uint8_t)u->rows[row];
			row = u->rows[row] >> 8;
		}
		return;
	}
	u->origin = origin;
	u->stride = n / STARTS + 1;
	u->chunk_count = 0;
	u->started = 0;
	u->rows[n] = (uint32_t)n << 8;
	u->rows[origin] |= START;
	for (size_t i = 0; i < n; i += u->stride)
		u->rows[i] |= START;
	follow_all(u);
	for (unsigned piece = 0;; piece = u->pieces[piece].after)
		for (unsigned c = u->pieces[piece].first; c != NONE;
		    c = u->chunks[c].next) {
			size_t len = u->chunks[c].len;

			if (len > n - done)
				len = n - done;
			memcpy(l + done, u->bytes + (size_t)c * CHUNK, len);
			done += len;
			if (done == n)
				return;
		}
}

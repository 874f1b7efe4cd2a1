/*
 * bz2_read_codes.c - reading a bzip2 block's codes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bz2_decode.h"

#include <errno.h>

/*
 * Reads the selectors, which are positions in a move-to-front list.  Returns
 * their number.
 */
static int
read_selectors(struct bz2_decoder *d, struct bz2_in *b, int tables)
{
	uint8_t list[BZ2_TABLES_MAX] = { 0, 1, 2, 3, 4, 5 };
	int count = (int)bz2_get(b, 15);

	if (count == 0)
		return -EBADMSG;
	for (int i = 0; i < count; i++) {
		uint8_t first;
		int at = 0;

		bz2_refill(b);
		while (bz2_take(b, 1) == 1)
			if (++at >= tables)
				return -EBADMSG;
		first = list[at];
		memmove(list + 1, list, (size_t)at);
		list[0] = first;
		if (i < BZ2_SELECTORS_MAX)
			d->selectors[i] = first;
	}
	return count < BZ2_SELECTORS_MAX ? count : BZ2_SELECTORS_MAX;
}

static int
read_lengths(struct bz2_in *b, uint8_t *lengths, int symbols)
{
	int length = (int)bz2_get(b, 5);

	for (int i = 0; i < symbols; i++) {
		for (;;) {
			if (length < 1 || length > BZ2_CODE_MAX)
				return -EBADMSG;
			if (bz2_get(b, 1) == 0)
				break;
			length += bz2_get(b, 1) == 0 ? 1 : -1;
		}
		lengths[i] = (uint8_t)length;
	}
	return 0;
}

/*
 * Codes are assigned by length, then by symbol, each the successor of the
 * previous one.  An oversubscribed set of lengths leads to codes of 2^length or
 * more, which are omitted.
 */
static void
make_table(struct bz2_table *t, const uint8_t *lengths, int symbols)
{
	uint32_t code = 0;
	int place = 0;

	memset(t->fast, 0, sizeof(t->fast));
	for (int len = 1; len <= BZ2_CODE_MAX; len++) {
		t->first[len] = place - (int32_t)code;
		for (int i = 0; i < symbols; i++) {
			uint16_t entry = (uint16_t)(i << BZ2_LEN_BITS | len);
			uint32_t from, to;

			if (lengths[i] != len)
				continue;
			t->order[place++] = (uint16_t)i;
			from = code++;
			if (len > BZ2_FAST_BITS || from >> len != 0)
				continue;
			to = (from + 1) << (BZ2_FAST_BITS - len);
			for (from <<= BZ2_FAST_BITS - len; from < to; from++)
				if (t->fast[from] == 0)
					t->fast[from] = entry;
		}
		t->end[len] = code << (BZ2_CODE_MAX - len);
		code <<= 1;
	}
}

static int
read_tables(struct bz2_decoder *d, struct bz2_in *b, int count, int symbols)
{
	uint8_t lengths[BZ2_SYMBOLS_MAX];

	for (int i = 0; i < count; i++) {
		int rc = read_lengths(b, lengths, symbols);

		if (rc != 0)
			return rc;
		make_table(&d->tables[i], lengths, symbols);
	}
	return 0;
}

int
bz2_read_codes(struct bz2_decoder *d, struct bz2_in *b, int symbols)
{
	int tables = (int)bz2_get(b, 3), selectors, rc;

	if (tables < BZ2_TABLES_MIN || tables > BZ2_TABLES_MAX)
		return -EBADMSG;
	selectors = read_selectors(d, b, tables);
	if (selectors < 0)
		return selectors;
	rc = read_tables(d, b, tables, symbols);
	return rc != 0 ? rc : selectors;
}

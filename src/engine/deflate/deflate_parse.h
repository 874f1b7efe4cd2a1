/*
 * deflate_parse.h - from bytes to the sequences of a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The front half of our own deflate encoder.  What
 * comes out depends on the input alone, never on the machine.
 */
#ifndef COLDPRESS_DEFLATE_PARSE_H
#define COLDPRESS_DEFLATE_PARSE_H

#include "deflate_match.h"
#include "engine/deflate/deflate_seq.h"

#include <stddef.h>

/* All at least 1; nice and lazy at most MATCH_MOST. */
struct deflate_effort {
	uint16_t steps;		/* places to look at for a match, ... */
	uint16_t lazy_steps;	/* for a better one a byte later */
	uint16_t good;		/* a quarter of these after one so long */
	uint16_t nice;		/* a match so long is not searched further */
	uint16_t lazy;		/* a shorter one waits for a better one */
};

struct deflate_parse {
	struct deflate_match match;
	struct deflate_effort effort;
	const uint8_t *in;
	uint32_t len;
	uint32_t pos;		/* what is before it has been parsed */
};

/* Begins with len bytes at in, which must stay. */
void deflate_parse_begin(struct deflate_parse *p,
    const struct deflate_effort *effort, const uint8_t *in, uint32_t len);

/*
 * The next sequences, at most `room` of them, which is at least one; 0 when
 * there are no more bytes.
 */
size_t deflate_parse_run(struct deflate_parse *p, struct deflate_seq *seqs,
    size_t room);

#endif

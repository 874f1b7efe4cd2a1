/*
 * slot.h - one piece of a stream on its way through a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A slot belongs to the stage that is processing it: first fill, then work,
 * then join, then finish.  Its notes describe the piece to the later stages; each format has
 * its own, which only the format's folder knows.  The comment on each field
 * names the stage that sets it and, for a number, the unit; later stages only
 * read it.
 */
#ifndef COLDPRESS_SLOT_H
#define COLDPRESS_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

/*
 * Makes room for cap bytes, keeping the content.  Returns 0, or -ENOMEM,
 * leaving the buffer unchanged.
 */
int buf_reserve(struct buf *b, size_t cap);

enum { SLOT_NOTES_MAX = 96 };

struct slot {
	struct buf in, out;
	struct buf spare;	/* for whatever a format needs besides them */
	uint64_t seq;		/* number of the piece, from 0 */
	bool last;		/* fill: nothing follows */
	int err;		/* the -errno of fill or work */

	union {			/* zeroed before fill; see SLOT_NOTES */
		max_align_t align;
		unsigned char bytes[SLOT_NOTES_MAX];
	} note;

	/* Used only by the pipeline. */
	struct pipeline *owner;
	uint64_t read_B;	/* input bytes read up to this piece's end */
	int state;
};

/*
 * Defines a function that returns the notes in a slot as a struct of the
 * format's own: SLOT_NOTES(inflate_notes) makes inflate_notes(s) a struct
 * inflate_notes *.
 */
#define SLOT_NOTES(type)						\
static inline struct type *						\
type(struct slot *s)							\
{									\
	_Static_assert(sizeof(struct type) <= sizeof(s->note),		\
	    "the notes do not fit into a slot");			\
	return (void *)&s->note;					\
}

#endif

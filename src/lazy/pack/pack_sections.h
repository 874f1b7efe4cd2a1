/*
 * pack_sections.h - which sections of a trace contain what several lists name
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each list names the data that one command touches.  Data that the same lists
 * name is in the same section; section 0 contains what all of them name.  So a
 * command needs the sections whose lists include its own, and nothing else.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_SECTIONS_H
#define COLDPRESS_LAZY_PACK_PACK_SECTIONS_H

#include "lazy/pack/pack.h"

#include <stddef.h>
#include <stdint.h>

/* A part of a listed file, for the trace. */
struct pack_touch {
	uint32_t entry;			/* number, as in layer_entries() */
	uint32_t section;		/* until pack_sections(): its list */
	uint64_t offset, length;	/* in the file */
	uint64_t at;			/* in the archive */
};

/*
 * Replaces the touches of count lists, of which each must be after those of
 * lists with smaller numbers, by the same data without overlaps, sorted by
 * section.  In a section, what comes first in the first list comes first.
 * There are at most `most` sections besides section 0, of at least `least`
 * bytes; any other data is added to the one where it makes commands fetch the
 * least data in vain.  No
 * more than `room` bytes are kept, the last sections being cut.  *touches was
 * allocated with sys_malloc(), and may move.  Returns 0 or -ENOMEM.
 */
int pack_sections(struct pack_touch **touches, size_t *touch_count,
    unsigned lists, size_t most, uint64_t least, uint64_t room);

#endif

/*
 * measure.h - measuring mail: sizes, attachments and compressibility
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct measure belongs to one thread; it must be zeroed initially, except
 * for `every'.
 */
#ifndef COLDPRESS_MEASURE_H
#define COLDPRESS_MEASURE_H

#include "mail/traits.h"

#include <stdbool.h>
#include <stdint.h>

struct measure {
	uint64_t every;			/* one in every `every` messages is
					 * compressed */
	bool parts_only;		/* compress only messages with
					 * attachments */
	uint64_t *sizes;		/* sizes of all messages */
	size_t count, cap;
	uint64_t bytes;
	uint64_t with_parts;		/* messages with attachments */
	/*
	 * Total sizes before and after zlib -6, for messages without and with
	 * attachments.
	 */
	uint64_t plain_B[2], packed_B[2];
	struct traits traits;
	/*
	 * The messages that begin in the first run_B of every stretch_B bytes;
	 * none if these are 0.
	 */
	struct strbuf sample;
	uint64_t run_B, stretch_B;
	struct strbuf packed;
};

/*
 * Adds one message, or a file: an mbox if it begins with "From ", otherwise a
 * message.  Returns 0, -ENOMEM, or -EFBIG (a message larger than 4 GiB).
 */
int measure_mail(struct measure *m, const char *mail, size_t len);
int measure_file(struct measure *m, const char *data, size_t len);

/*
 * Returns the compression ratio, original size divided by compressed size, of
 * all messages or of one type; 0 if nothing was compressed.
 */
double measure_ratio(const struct measure *m);
double measure_ratio_of(const struct measure *m, int with_parts);

void measure_free(struct measure *m);

#endif

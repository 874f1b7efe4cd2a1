/*
 * like.c - the default properties of a corpus
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sizes follow the published description of a store of 273,273 messages:
 * mean 8 KB, median 1.7 KB, most about 2.5 KB.  The other values make the
 * corpus as compressible as real mail, file by file and as one stream.
 */
#include "mail/mail.h"

const struct mail_like mail_like_default = {
	.attachments = PRNG_ONE / 4,
	.noise = 14900,
	.replies = PRNG_ONE * 7 / 10,
	.quoted = PRNG_ONE / 2,
	.foreign = PRNG_ONE / 4,
	.signatures = PRNG_ONE / 4,
	.constant = PRNG_ONE / 4,
	.fields = { FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE,
	    FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE,
	    FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE },
	.text = { .repeat = 17000 },
	.sizes = { .at_B = {
	    420, 430, 445, 489, 544, 594, 640, 684, 726, 767, 806, 846, 884,
	    923, 961, 999, 1037, 1075, 1114, 1153, 1192, 1232, 1272, 1313,
	    1354, 1397, 1440, 1484, 1529, 1575, 1622, 1670, 1720, 1778, 1839,
	    1902, 1966, 2033, 2103, 2175, 2250, 2329, 2412, 2499, 2591, 2687,
	    2790, 2898, 3014, 5147, 8440, 10018, 11883, 13432, 14524, 15703,
	    16770, 17897, 19260, 20986, 22865, 27134, 40670, 79058, 125913,
	    181461, 220826, 321751, 388362, 426669, 488691, 536304, 561822,
	    575033, 588555 } },
};

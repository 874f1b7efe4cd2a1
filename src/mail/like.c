/*
 * like.c - what a corpus is like unless it is told
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sizes are those of a published store of 273,273 mails as far as it was
 * described: mean 8 KB, median 1.7 KB, most about 2.5 KB.  The rest makes it
 * compress as real mail does, by the file and as one.
 */
#include "mail.h"

const struct mail_like mail_like_default = {
	.attachments = PRNG_ONE / 4,
	.repeat = PRNG_ONE * 15 / 100,
	.noise = PRNG_ONE * 40 / 100,
	.sizes = { .at_B = {
	    430, 430, 430, 489, 544, 594, 640, 684, 726, 767, 806, 846, 884,
	    923, 961, 999, 1037, 1075, 1114, 1153, 1192, 1232, 1272, 1313,
	    1354, 1397, 1440, 1484, 1529, 1575, 1622, 1670, 1720, 1771, 1824,
	    1879, 1935, 1994, 2055, 2118, 2184, 2253, 2326, 2402, 2482, 2566,
	    2656, 2751, 2852, 4719, 7601, 8982, 10614, 11969, 12925, 13957,
	    14890, 15877, 17069, 18580, 20224, 23960, 35805, 69399, 110402,
	    159012, 193461, 281781, 340073, 373595, 427871, 469538, 491869,
	    503430, 515263 } },
};

/*
 * fuzz_bz2_decode.c - our block decoder and libbz2 agree on any stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../bz2_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bz2_decoder *d;
	static struct verdict own, lib;

	if (d == NULL && (d = bz2_decoder_new(BZ2_LEVEL_MAX)) == NULL)
		abort();
	judge_own(d, &own, data, size);
	judge_lib(&lib, data, size);
	if (!judge_agree(&own, &lib))
		abort();
	return 0;
}

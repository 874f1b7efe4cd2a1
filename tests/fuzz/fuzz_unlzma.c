/*
 * fuzz_unlzma.c - our decoder and liblzma agree on any LZMA2 stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first two bytes choose the dictionary and the pieces.
 */
#include "../unlzma_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t dictionaries[] = { 0, 4096, 4097, 6144, 8192,
		65536, 1 << 20, 8 << 20 };
	static struct verdict lib, own;
	static struct unlzma *u;
	uint32_t dictionary;
	size_t cap;

	if (u == NULL) {
		if (unlzma_open(&u) != 0)
			abort();
		judge_open(&lib);
		judge_open(&own);
	}
	if (size < 2)
		return 0;
	dictionary = dictionaries[data[0] & 7];
	judge_lib(&lib, dictionary, data + 2, size - 2);
	judge_pieces(u, &own, dictionary, data + 2, size - 2,
	    1 + 7 * (size_t)data[1] * data[1], data[0]);
	if (!judge_agree(&own, &lib))
		abort();
	/* as much as there is, or some more */
	cap = lib.rc == 0 ? lib.len + (data[0] >> 4) * 40 : JUDGE_ROOM;
	judge_whole(u, &own, dictionary, data + 2, size - 2, cap);
	if (!judge_agree(&own, &lib) || (lib.rc == 0 && own.rc != 0))
		abort();
	return 0;
}

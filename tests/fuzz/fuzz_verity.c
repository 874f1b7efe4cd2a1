/*
 * fuzz_verity.c - a hash tree that was changed anywhere: what is read is what
 * was hashed, or it is refused
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/verity.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Enough for a tree of two levels */
enum { BLOCKS_MAX = 130, EDIT_B = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The first byte is the number of blocks, and the next four are the range that
 * is read; each four bytes more are a place and its new value.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[BLOCKS_MAX * VERITY_BLOCK_B];
	static uint8_t got[2 * VERITY_BLOCK_B];
	uint8_t root[VERITY_HASH_B];
	uint64_t data_B, end, at;
	struct verity *v = NULL;
	const char *why = NULL;
	size_t len;
	int fd, rc;

	if (size < 5)
		return 0;
	data_B = (1 + data[0] % BLOCKS_MAX) * (uint64_t)VERITY_BLOCK_B;
	len = load_le16(data + 1) % sizeof(got);
	at = load_le16(data + 3) * 16U % (data_B + VERITY_BLOCK_B);
	for (size_t i = 0; i < data_B; i += VERITY_BLOCK_B)
		store_le32(image + i, (uint32_t)i);
	fd = memfd_create("image", MFD_CLOEXEC);
	if (fd < 0 || write(fd, image, data_B) != (ssize_t)data_B ||
	    verity_append(fd, data_B, 1, root, &end) != 0)
		abort();
	for (size_t i = 5; i + EDIT_B <= size; i += EDIT_B) {
		uint64_t to = (load_le16(data + i) |
		    (uint64_t)data[i + 2] << 16) % end;

		if (pwrite(fd, data + i + 3, 1, (off_t)to) != 1)
			abort();
	}
	rc = verity_open(&v, fd, 0, data_B, root, &why);
	if (rc != 0 && (why == NULL || *why == '\0'))
		abort();
	if (rc == 0) {
		int64_t n = verity_pread(v, got, len, at);

		if (n >= 0 && ((size_t)n != len || at + len > data_B ||
		    memcmp(got, image + at, len) != 0))
			abort();
		if (size == 5 && n < 0 && at + len <= data_B)
			abort();
	} else if (size == 5) {
		abort();
	}
	verity_close(v);
	close(fd);
	return 0;
}

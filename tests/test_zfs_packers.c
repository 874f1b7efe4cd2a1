/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/other/zfs_blocks.h"
#include "engine/packer/packer.h"
#include "../src/fs/zfs/zfs.h"

#include <errno.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 128 << 10, ROOM = 2 * LEN };

struct data {
	uint8_t in[LEN], packed[ROOM], out[LEN];
	uint16_t table[LZJB_TABLE];
	uint32_t lz4[LZ4_ZFS_TABLE];
};

/* Makes text, a run of zeros and noise: something for each packer. */
static void
fill(uint8_t *p, size_t len, unsigned kind)
{
	uint32_t seed = kind + 1;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(seed >> 24) :
		    (uint8_t)(i % 4096 < 1000 ? 0 :
		    "from to subject date "[seed >> 24 & 15]);
	}
}

static void
both_ways(void **state)
{
	static const size_t lens[] = { 1, 2, 65, 66, 67, 512, 1024, 4095, LEN };
	struct data *d = *state;

	for (unsigned kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			size_t len = lens[i], n;

			fill(d->in, len, kind);
			n = lzjb_compress(d->in, len, d->packed, ROOM,
			    d->table);
			assert_true(n > 0);
			memset(d->out, 0xaa, len);
			assert_int_equal(lzjb_decompress(d->packed, n, d->out,
			    len), 0);
			assert_memory_equal(d->out, d->in, len);
			/* and each byte of it is needed */
			assert_int_equal(lzjb_decompress(d->packed, n - 1,
			    d->out, len), -EBADMSG);
			n = zle_compress(d->in, len, d->packed, ROOM, 0);
			assert_true(n > 0);
			memset(d->out, 0xaa, len);
			assert_int_equal(zle_decompress(d->packed, n, d->out,
			    len), 0);
			assert_memory_equal(d->out, d->in, len);
		}
}

/* Any lz4 reader decodes the output of ZFS's lz4, and no cap is exceeded. */
static void
lz4_of_zfs(void **state)
{
	static const size_t lens[] = { 1, 4, 11, 12, 13, 14, 512, 4096, 65546,
	    65547, LEN };
	struct data *d = *state;

	for (unsigned kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			size_t len = lens[i], n, cap;

			fill(d->in, len, kind);
			n = lz4_zfs_compress(d->in, len, d->packed, ROOM,
			    d->lz4);
			assert_in_range(n, 1, ROOM);
			assert_int_equal(LZ4_decompress_safe(
			    (const char *)d->packed, (char *)d->out, (int)n,
			    LEN), len);
			assert_memory_equal(d->out, d->in, len);
			for (cap = n < 40 ? 0 : n - 40; cap < n; cap++) {
				d->packed[cap] = 0xa5;
				assert_int_equal(lz4_zfs_compress(d->in, len,
				    d->packed, cap, d->lz4), 0);
				assert_int_equal(d->packed[cap], 0xa5);
			}
		}
}

/* Decodes streams built by hand from the descriptions of the formats. */
static void
by_hand(void **state)
{
	/* eight literals; then one more, and a match of 7 bytes, 4 back */
	static const uint8_t jb[] = { 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g',
	    'h', 2, 'i', 4 << 2, 4 };
	/* three literals, 130 zeros, and a literal */
	static const uint8_t le[] = { 2, 'x', 'y', 'z', 64 + 129, 0, 'w' };
	struct data *d = *state;

	assert_int_equal(lzjb_decompress(jb, sizeof(jb), d->out, 16), 0);
	assert_memory_equal(d->out, "abcdefghifghifgh", 16);
	assert_int_equal(zle_decompress(le, sizeof(le), d->out, 134), 0);
	assert_memory_equal(d->out, "xyz", 3);
	for (size_t i = 3; i < 133; i++)
		assert_int_equal(d->out[i], 0);
	assert_int_equal(d->out[133], 'w');
	/* compresses to the same bytes, but fails with less room */
	assert_int_equal(zle_compress(d->out, 134, d->packed, sizeof(le), 0),
	    sizeof(le));
	assert_memory_equal(d->packed, le, sizeof(le));
	assert_int_equal(zle_compress(d->out, 134, d->packed,
	    sizeof(le) - 1, 0), 0);
	/* OpenZFS wants room for 64 bytes after the last count: 5 + 1 + 64 */
	assert_int_equal(zle_compress(d->out, 134, d->packed, 70, ZLE_SPARE),
	    sizeof(le));
	assert_int_equal(zle_compress(d->out, 134, d->packed, 69, ZLE_SPARE),
	    0);
}

static void
damaged(void **state)
{
	static const uint8_t far[] = { 1, 0, 1 }, cut[] = { 1, 0 };
	static const uint8_t run[] = { 9, 'x' };
	struct data *d = *state;

	assert_int_equal(lzjb_decompress(far, 3, d->out, 3), -EBADMSG);
	assert_int_equal(lzjb_decompress(cut, 2, d->out, 3), -EBADMSG);
	assert_int_equal(lzjb_decompress(cut, 0, d->out, 3), -EBADMSG);
	assert_int_equal(zle_decompress(run, 2, d->out, 10), -EBADMSG);
	assert_int_equal(zle_decompress(run, 2, d->out, 1), -EBADMSG);
	assert_int_equal(zle_decompress(run, 0, d->out, 1), -EBADMSG);
}

static void
names(void **state)
{
	static const char *const bad[] = { "", "gzip-0", "gzip-10", "zstd-20",
	    "lz4-1", "lzjb-", "gzip-6x", "zstd-fast-0", "brotli",
	    "gzip-00000000000000000000000000006" };
	struct packer_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(packer_by_name(packers_zfs, bad[i], &name),
		    -EINVAL);
	assert_int_equal(packer_by_name(packers_zfs, "off", &name), 0);
	assert_null(name.kind);
	assert_int_equal(packer_by_name(packers_zfs, "gzip", &name), 0);
	assert_int_equal(name.level, 6);
	assert_int_equal(packer_by_name(packers_zfs, "zstd-19", &name), 0);
	assert_int_equal(name.level, 19);
	assert_int_equal(packer_by_name(packers_zfs, "zstd-fast-7", &name), 0);
	assert_int_equal(name.level, -7);
}

/* Returns the space that one record takes according to the rules. */
static struct zfs_space
record(const struct zfs_pool *pool, const char *algorithm, const uint8_t *data,
    uint32_t len)
{
	struct zfs_space s = { 0 };
	uint8_t payload[ZFS_EMBEDDED_MOST];
	bool embedded;
	struct packer *p, *probes[2] = { NULL, NULL };
	struct packer_name name;

	assert_int_equal(packer_by_name(packers_zfs, algorithm, &name), 0);
	assert_int_equal(packer_open(&p, &name, len), 0);
	embedded = zfs_record(pool, &name, p, probes, data, len, &s);
	if (embedded)
		assert_int_equal(s.physical_B, 0);
	if (embedded)
		assert_int_not_equal(zfs_payload(pool, &name, p, data, len,
		    payload), 0);
	packer_close(p);
	return s;
}

/* A packer that makes of a record what its level says, if there is room. */
static void *
open_fake(const struct packer_name *name, size_t most)
{
	size_t *made = malloc(sizeof(*made));

	(void)most;
	assert_non_null(made);
	*made = (size_t)name->level;
	return made;
}

static size_t
pack_fake(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t made = *(size_t *)state;

	(void)in;
	(void)len;
	(void)out;
	return made <= cap ? made : 0;
}

/*
 * From level 3 on, OpenZFS gives records of 128 KiB and more to zstd only if lz4
 * or zstd-1 makes them smaller by an eighth.
 */
static void
early_abort(void **state)
{
	enum { RECORD = 128 << 10, MOST = RECORD / 8 * 7 };
	static const struct packer_kind fake = { .name = "fake",
		.open = open_fake, .close = free, .pack = pack_fake };
	/* what zstd, lz4 and zstd-1 make of it, and whether zstd is asked */
	static const struct {
		const char *name;
		int lz4, zstd_1;
		uint32_t record;
		bool early, packs;
	} tries[] = {
		{ "zstd-3", RECORD, RECORD, RECORD, true, false },
		{ "zstd-3", RECORD, RECORD, RECORD, false, true },
		{ "zstd-3", RECORD, RECORD, RECORD / 2, true, true },
		{ "zstd-2", RECORD, RECORD, RECORD, true, true },
		{ "zstd-4", RECORD, RECORD, RECORD, true, false },
		{ "zstd-3", MOST - 4, RECORD, RECORD, true, true },
		{ "zstd-3", MOST - 3, RECORD, RECORD, true, false },
		{ "zstd-3", RECORD, MOST - 12, RECORD, true, true },
		{ "zstd-9", RECORD, MOST - 7, RECORD, true, false },
		{ "gzip-6", RECORD, RECORD, RECORD, true, true },
		{ "lz4", RECORD, RECORD, RECORD, true, true },
	};
	uint8_t *data = malloc(RECORD);

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < RECORD; i++)
		data[i] = (uint8_t)"so small that anything packs it"[i % 31];
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct zfs_pool pool = { .features = true, .copies = 1,
			.meta_copies = 2, .ashift = 12, .recordsize = RECORD,
			.early_abort = tries[i].early };
		struct packer_name name, probe = { .kind = &fake };
		struct packer *p, *probes[2];
		struct zfs_space s = { 0 };

		assert_int_equal(packer_by_name(packers_zfs, tries[i].name,
		    &name), 0);
		assert_int_equal(packer_open(&p, &name, RECORD), 0);
		probe.level = tries[i].lz4;
		assert_int_equal(packer_open(&probes[0], &probe, RECORD), 0);
		probe.level = tries[i].zstd_1;
		assert_int_equal(packer_open(&probes[1], &probe, RECORD), 0);
		assert_false(zfs_record(&pool, &name, p, probes, data,
		    tries[i].record, &s));
		if ((s.physical_B < tries[i].record) != tries[i].packs)
			fail_msg("%zu: %llu", i,
			    (unsigned long long)s.physical_B);
		packer_close(p);
		packer_close(probes[0]);
		packer_close(probes[1]);
	}
	/* zeros are a hole, but not what only begins with some */
	memset(data, 0, RECORD);
	assert_true(zfs_is_zero(data, RECORD));
	data[RECORD - 1] = 1;
	assert_false(zfs_is_zero(data, RECORD));
	assert_true(zfs_is_zero(data, RECORD - 1));
	free(data);
}

/*
 * What stands before the bytes of zstd: their number, then the level as ZFS
 * numbers it and the version 1.4.5.
 */
static void
zstd_headers(void **state)
{
	static const struct {
		const char *name;
		uint8_t level;
	} levels[] = { { "zstd-1", 1 }, { "zstd-19", 19 }, { "zstd-fast-1", 103 },
	    { "zstd-fast-5", 107 }, { "zstd-fast-10", 112 },
	    { "zstd-fast-20", 113 }, { "zstd-fast-30", 114 } };
	static const struct zfs_pool pool = { .features = true,
	    .whole_sectors = true, .embeds = true, .ashift = 9,
	    .recordsize = LEN, .copies = 1 };
	struct data *d = *state;

	memset(d->in, 'a', LEN);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		uint8_t out[ZFS_EMBEDDED_MOST];
		struct packer_name name;
		struct packer *p;
		size_t n;

		assert_int_equal(packer_by_name(packers_zfs, levels[i].name,
		    &name), 0);
		assert_int_equal(packer_open(&p, &name, LEN), 0);
		n = zfs_payload(&pool, &name, p, d->in, LEN, out);
		assert_in_range(n, 9, ZFS_EMBEDDED_MOST);
		assert_int_equal(out[0] << 24 | out[1] << 16 | out[2] << 8 |
		    out[3], n - 8);
		assert_int_equal(out[4], levels[i].level);
		assert_int_equal(out[5], 0);
		assert_int_equal(out[6], 0x28);
		assert_int_equal(out[7], 0xa5);
		packer_close(p);
	}
}

static void
packer_numbers(void **state)
{
	static const struct {
		const char *name;
		unsigned number;
	} numbers[] = { { "off", 2 }, { "lzjb", 3 }, { "gzip-1", 5 },
	    { "gzip-9", 13 }, { "zle", 14 }, { "lz4", 15 }, { "zstd-3", 16 },
	    { "zstd-fast-3", 16 } };
	struct packer_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(packer_by_name(packers_zfs, numbers[i].name,
		    &name), 0);
		assert_int_equal(zfs_packer_number(&name), numbers[i].number);
	}
}

static void
records(void **state)
{
	struct zfs_pool old = { .whole_sectors = true, .ashift = 9,
	    .recordsize = LEN, .copies = 1, .meta_copies = 2 };
	struct zfs_pool new = { .features = true, .embeds = true,
	    .ashift = 12, .recordsize = LEN, .copies = 1, .meta_copies = 2 };
	struct data *d = *state;
	struct zfs_space s;

	assert_int_equal(zfs_record_size(&old, 0), 512);
	assert_int_equal(zfs_record_size(&old, 513), 1024);
	assert_int_equal(zfs_record_size(&old, LEN), LEN);
	assert_int_equal(zfs_record_size(&old, LEN + 1), LEN);

	/* zeros are a hole, but not without compression */
	fill(d->in, LEN, 0);
	s = record(&old, "lzjb", d->in, LEN);
	assert_int_equal(s.blocks, 0);
	s = record(&old, "off", d->in, LEN);
	assert_int_equal(s.allocated_B, LEN);

	/* noise is stored uncompressed, in whole sectors */
	fill(d->in, LEN, 1);
	s = record(&old, "gzip-6", d->in, 1536);
	assert_int_equal(s.physical_B, 1536);
	old.ashift = 12;
	s = record(&old, "gzip-6", d->in, 1536);
	assert_int_equal(s.physical_B, 1536);
	assert_int_equal(s.allocated_B, 4096);

	/* an eighth must be saved: 14 sectors out of 16 */
	memset(d->in, 'a', 8192);
	fill(d->in, 7168, 1);
	s = record(&old, "lz4", d->in, 8192);
	assert_int_equal(s.physical_B, 8192);
	fill(d->in, 8192, 1);
	memset(d->in + 6144, 'a', 2048);
	s = record(&old, "lz4", d->in, 8192);
	assert_int_equal(s.physical_B, 6656);
	/* only whole sectors of the device, in newer pools */
	s = record(&new, "lz4", d->in, 8192);
	assert_int_equal(s.physical_B, 8192);

	/* so small that it is embedded in its pointer */
	memset(d->in, 'a', 4096);
	s = record(&new, "lz4", d->in, 4096);
	assert_int_equal(s.blocks, 1);
	assert_int_equal(s.allocated_B, 0);
	s = record(&old, "lz4", d->in, 4096);
	assert_int_equal(s.allocated_B, 4096);
	new.embeds = false;
	s = record(&new, "lz4", d->in, 8192);
	assert_int_equal(s.allocated_B, 4096);

	/*
	 * Seven eighths of 16 KiB are 3.5 sectors: three since version 2.3, but
	 * 14336 bytes before, and for zle.
	 */
	fill(d->in, 12800, 1);
	memset(d->in + 12800, 0, 3584);
	s = record(&new, "lz4", d->in, 16384);
	assert_int_equal(s.physical_B, 16384);
	s = record(&new, "zle", d->in, 16384);
	assert_int_equal(s.physical_B, 16384);
	fill(d->in, 12000, 1);
	memset(d->in + 12000, 0, 4384);
	for (int since = 0; since < 2; since++) {
		new.whole_sectors = since;
		s = record(&new, "lz4", d->in, 16384);
		assert_int_equal(s.physical_B, 12288);
	}
	new.ashift = 9;
	fill(d->in, 14100, 1);
	memset(d->in + 14100, 0, 2284);
	for (int since = 0; since < 2; since++) {
		new.whole_sectors = since;
		s = record(&new, "lz4", d->in, 16384);
		assert_int_equal(s.physical_B, 14336);
	}
	/* 8960 bytes of 10240 are 8.75 sectors of 1024 */
	new.ashift = 12;
	memset(d->in, 0, 10240);
	fill(d->in, 8500, 1);
	new.whole_sectors = false;
	s = record(&new, "lz4", d->in, 10240);
	assert_int_equal(s.physical_B, 10240);
	new.ashift = 10;
	s = record(&new, "lz4", d->in, 10240);
	assert_int_equal(s.physical_B, 9216);
	new.whole_sectors = true;
	s = record(&new, "lz4", d->in, 10240);
	assert_int_equal(s.physical_B, 10240);
}

static int
setup(void **state)
{
	*state = malloc(sizeof(struct data));
	return *state == NULL;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways),
		cmocka_unit_test(lz4_of_zfs),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(damaged),
		cmocka_unit_test(names),
		cmocka_unit_test(early_abort),
		cmocka_unit_test(zstd_headers),
		cmocka_unit_test(packer_numbers),
		cmocka_unit_test(records),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/*
 * zfs_model.c - the size of files in a ZFS dataset, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/fdio.h"
#include "base/sys.h"
#include "fs/fs_model.h"
#include "walk/walk_tree.h"
#include "zfs_meta.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { UNIT_LEAST = 1 << 20, ZFS_LINK_MOST = 65536 };

struct zfs_job {
	const struct fs_job *job;
	struct zfs_pool pool;
	struct fs_classes files;
	/*
	 * For each item, the number of records that are not all zeros; or, if
	 * any algorithm embeds its only record in its dnode, EMBEDDED and a bit
	 * for each that does.  Updated by any thread.
	 */
	atomic_uint_least64_t *filled;
};

#define EMBEDDED ((uint64_t)1 << 63)

_Static_assert(FS_ALGORITHMS <= 63, "a bit for each algorithm");

struct worker {
	struct packer *packers[FS_ALGORITHMS];
	struct packer *probes[2];
	struct zfs_space spaces[FS_CLASSES][FS_ALGORITHMS];
};

static int
open_worker(void *arg, void **out)
{
	const struct zfs_job *z = arg;
	struct worker *w = *out = sys_calloc(1, sizeof(*w));
	static const char *const names[2] = { "lz4", "zstd-1" };
	int rc = w == NULL ? -ENOMEM : fs_packers_open(w->packers, z->job,
	    z->pool.recordsize);

	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		struct packer_name probe;

		packer_by_name(packers_zfs, names[i], &probe);
		probe.zstd = z->job->params->zstd;
		rc = packer_open(&w->probes[i], &probe, z->pool.recordsize);
	}
	return rc;
}

static void
add_spaces(struct fs_space *to, const struct zfs_space *from)
{
	to->logical_B += from->logical_B;
	to->physical_B += from->physical_B;
	to->whole_B += from->allocated_B;
	to->padding_B += from->padding_B;
}

static void
close_worker(void *arg, void *worker)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;

	if (w == NULL)
		return;
	for (unsigned c = 0; c < FS_CLASSES; c++)
		for (unsigned i = 0; i < z->job->count; i++)
			add_spaces(&z->files.data[c][i], &w->spaces[c][i]);
	fs_packers_close(w->packers);
	packer_close(w->probes[0]);
	packer_close(w->probes[1]);
	sys_free(w);
}

static void
zeros(const struct zfs_job *z, uint32_t record, uint64_t count,
    struct zfs_space *sums)
{
	for (unsigned i = 0; i < z->job->count; i++)
		zfs_zeros(&z->pool, &z->job->algorithms[i], record, count,
		    &sums[i]);
}

static void
pack_records(void *arg, void *worker, size_t item, uint64_t offset,
    const uint8_t *data, size_t len)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;
	const struct fs_job *job = z->job;
	uint64_t size = job->list->items[item].size;
	uint32_t record = zfs_record_size(&z->pool, size);
	struct zfs_space *sums = w->spaces[fs_class_of(size)];
	uint64_t embedded = 0;

	(void)offset;
	for (size_t at = 0; at < len; at += record) {
		if (zfs_is_zero(data + at, record)) {
			zeros(z, record, 1, sums);
			continue;
		}
		atomic_fetch_add(&z->filled[item], 1);
		for (unsigned i = 0; i < job->count; i++)
			if (zfs_record(&z->pool, &job->algorithms[i],
			    w->packers[i], w->probes, data + at, record,
			    &sums[i]) && size <= record)
				embedded |= (uint64_t)1 << i;
		if (embedded != 0)
			atomic_store(&z->filled[item], EMBEDDED | embedded);
	}
}

static void
hole(void *arg, void *worker, size_t item, uint64_t offset, uint64_t len)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;
	uint64_t size = z->job->list->items[item].size;
	uint32_t record = zfs_record_size(&z->pool, size);

	(void)offset;
	zeros(z, record, len / record + (len % record != 0),
	    w->spaces[fs_class_of(size)]);
}

/*
 * The metadata of a dataset.  It is the same for all algorithms that embed no
 * file in its dnode; those that do have one each, and so has none, with which
 * records of zeros are stored, too.
 */
enum { META_OFF = FS_ALGORITHMS, META_PACKED, METAS, ANY_PACKER = 10 };

struct zfs_metas {
	struct zfs_job *z;
	struct zfs_meta *of[METAS];
	struct zfs_scratch scratch;
	struct packer *packers[FS_ALGORITHMS];
	uint64_t embedded;		/* all bits of the items */
	uint32_t *numbers;		/* of each item: how many objects are
					 * made before it, and 1; 0: none */
	struct fs_path path;
	uint8_t *record;		/* a file that is embedded */
	char *link;			/* the target of a link */
};

static unsigned
meta_of(const struct zfs_metas *m, unsigned algorithm)
{
	if (m->z->job->algorithms[algorithm].kind == NULL)
		return META_OFF;
	return m->embedded >> algorithm & 1 ? algorithm : META_PACKED;
}

/* Adds a file to the metadata of each algorithm. */
static int
add_file(struct zfs_metas *m, size_t i, const char *path, unsigned depth,
    const struct stat *st)
{
	const struct zfs_job *z = m->z;
	const struct fs_item *it = &z->job->list->items[i];
	uint64_t size = it->size;
	uint32_t record = zfs_record_size(&z->pool, size);
	uint64_t filled = atomic_load(&z->filled[i]), embedded = 0;
	int rc = 0;

	if (filled & EMBEDDED) {
		/* its bytes are needed once more */
		int fd = tree_open(z->job->list->roots[it->root], path, 0);
		ssize_t n = fd < 0 ? fd : fdio_pread(fd, m->record,
		    (size_t)size, 0);

		if (fd >= 0)
			sys_close(fd);
		if (n != (ssize_t)size)
			z->job->on_error(z->job->arg, i, n < 0 ? (int)n :
			    -EAGAIN);
		n = n < 0 ? 0 : n;
		memset(m->record + n, 0, record - (size_t)n);
		embedded = filled & ~EMBEDDED;
		filled = 1;
	}
	for (unsigned k = 0; rc == 0 && k < METAS; k++) {
		uint8_t payload[ZFS_EMBEDDED_MOST];
		unsigned packer = k == META_OFF ? ZFS_PACKER_OFF : ANY_PACKER;
		size_t len = 0;

		if (m->of[k] == NULL)
			continue;
		if (k < FS_ALGORITHMS)
			packer = zfs_packer_number(&z->job->algorithms[k]);
		if (k < FS_ALGORITHMS && embedded >> k & 1)
			len = zfs_payload(&z->pool, &z->job->algorithms[k],
			    m->packers[k], m->record, record, payload);
		rc = zfs_meta_file(m->of[k], depth, st, k == META_OFF ?
		    size / record + (size % record != 0) : filled, packer,
		    payload, len);
	}
	return rc;
}

static int
by_creation(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The names in a directory: its items in the order of their objects. */
struct dir_names {
	const struct zfs_metas *m;
	const uint32_t *items;
};

static const char *
get_name(const void *arg, size_t i, uint64_t *value)
{
	const struct dir_names *names = arg;
	const struct zfs_metas *m = names->m;
	const struct fs_item *it = &m->z->job->list->items[names->items[i]];
	uint32_t number = m->numbers[names->items[i]];

	*value = (number == 0 ? 0 : zfs_object_number(&m->z->pool,
	    number - 1)) | (uint64_t)(it->mode >> 12) << 60;
	return it->name;
}

/*
 * Names are added in the order in which their objects are made, and those of
 * one object in hash order.  Returns the items in a directory in this order, or
 * NULL if there is no memory.
 */
static uint32_t *
order_children(const struct zfs_metas *m, size_t i, size_t *count)
{
	const uint32_t *children = fs_list_children(m->z->job->list, i, count);
	uint32_t *items = sys_calloc(*count + 1, sizeof(*items));
	uint64_t *keys = sys_calloc(*count + 1, sizeof(*keys));

	if (items == NULL || keys == NULL) {
		sys_free(items);
		items = NULL;
		goto out;
	}
	for (size_t k = 0; k < *count; k++)
		keys[k] = (uint64_t)m->numbers[children[k]] << 32 | k;
	qsort(keys, *count, sizeof(*keys), by_creation);
	for (size_t k = 0; k < *count; k++)
		items[k] = children[keys[k] & UINT32_MAX];
out:
	sys_free(keys);
	return items;
}

/* Adds a directory to the metadata of each algorithm. */
static int
add_dir(struct zfs_metas *m, size_t i, unsigned depth, const struct stat *st)
{
	struct zfs_names names = { .get = get_name };
	uint32_t *items = order_children(m, i, &names.count);
	const struct dir_names of = { m, items };
	int rc = items == NULL ? -ENOMEM : 0;

	names.arg = &of;
	for (unsigned k = 0; rc == 0 && k < METAS; k++)
		if (m->of[k] != NULL)
			rc = zfs_dir_add(&m->of[k]->dnodes, depth, st, &names);
	sys_free(items);
	return rc;
}

/* Adds an item to the metadata of each algorithm. */
static int
add_item(struct zfs_metas *m, size_t i)
{
	const struct fs_list *l = m->z->job->list;
	const struct fs_item *it = &l->items[i];
	const struct stat st = fs_item_stat(it);
	const char *path = fs_list_path(l, i, &m->path), *link = NULL;
	unsigned depth = (unsigned)m->path.depth;
	int rc = 0;

	if (path == NULL)
		return -ENOMEM;
	if (S_ISREG(it->mode))
		return add_file(m, i, path, depth, &st);
	if (S_ISDIR(it->mode))
		return add_dir(m, i, depth, &st);
	if (S_ISLNK(it->mode)) {
		ssize_t n = sys_readlinkat(l->roots[it->root], path, m->link,
		    ZFS_LINK_MOST);

		if (n != st.st_size)
			m->z->job->on_error(m->z->job->arg, i, n < 0 ?
			    (int)n : -EAGAIN);
		n = n < 0 ? 0 : n;
		memset(m->link + n, 0, ZFS_LINK_MOST - (size_t)n);
		link = m->link;
	}
	for (unsigned k = 0; rc == 0 && k < METAS; k++)
		if (m->of[k] != NULL)
			rc = zfs_meta_other(m->of[k], depth, &st, link);
	return rc;
}

static int
add_meta(struct zfs_job *z)
{
	const struct fs_job *job = z->job;
	const struct fs_list *l = job->list;
	struct zfs_metas *m = sys_calloc(1, sizeof(*m));
	struct zfs_space sums[METAS];
	int rc = m == NULL ? -ENOMEM : 0;

	if (rc != 0)
		return rc;
	m->z = z;
	for (size_t i = 0; i < l->count; i++) {
		uint64_t filled = atomic_load(&z->filled[i]);

		m->embedded |= filled & EMBEDDED ? filled & ~EMBEDDED : 0;
	}
	m->record = sys_malloc(z->pool.recordsize);
	m->link = sys_malloc(ZFS_LINK_MOST);
	m->numbers = sys_calloc(l->count + 1, sizeof(*m->numbers));
	if (m->record == NULL || m->link == NULL || m->numbers == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0, n = 0; rc == 0 && i < l->count; i++)
		if (l->items[i].again)
			m->numbers[i] = m->numbers[l->items[i].first];
		else if (l->items[i].err == 0)
			m->numbers[i] = ++n;
	if (rc == 0 && m->embedded != 0)
		rc = fs_packers_open(m->packers, job, z->pool.recordsize);
	for (unsigned i = 0; rc == 0 && i < job->count; i++) {
		struct zfs_meta **of = &m->of[meta_of(m, i)];

		if (*of != NULL)
			continue;
		*of = sys_calloc(1, sizeof(**of));
		if (*of == NULL)
			rc = -ENOMEM;
		else
			zfs_meta_init(*of, &z->pool, &m->scratch);
	}
	for (size_t i = 0; rc == 0 && i < l->count; i++)
		if (l->items[i].err == 0 && !l->items[i].again)
			rc = add_item(m, i);
	for (unsigned k = 0; k < METAS; k++)
		if (rc == 0 && m->of[k] != NULL)
			zfs_meta_end(m->of[k], &sums[k]);
	for (unsigned i = 0; rc == 0 && i < job->count; i++)
		add_spaces(&z->files.meta[i], &sums[meta_of(m, i)]);
	for (unsigned k = 0; k < METAS; k++)
		sys_free(m->of[k]);
	fs_packers_close(m->packers);
	sys_free(m->path.s);
	sys_free(m->numbers);
	sys_free(m->link);
	sys_free(m->record);
	sys_free(m);
	return rc;
}

int
fs_layout_by_name(const char *text, struct fs_layout *layout)
{
	static const char *const kinds[] = { "raidz", "draid" };
	char *end;

	*layout = (struct fs_layout){ .parity = 0 };
	if (strcmp(text, "disk") == 0 || strcmp(text, "mirror") == 0)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		unsigned long n;

		if (strncmp(text, kinds[i], 5) != 0 || text[5] < '1' ||
		    text[5] > '3' || text[6] != ':' || text[7] < '0' ||
		    text[7] > '9')
			continue;
		n = strtoul(text + 7, &end, 10);
		layout->parity = (unsigned)(text[5] - '0');
		layout->draid = i == 1;
		if (layout->draid) {
			/* children and spares do not change the space */
			if (*end != 'd' || strspn(end, "d:cs0123456789") !=
			    strlen(end) || n < 1 || n > 255)
				return -EINVAL;
			layout->data = (unsigned)n;
			return 0;
		}
		if (*end != '\0' || n <= layout->parity || n > 255)
			return -EINVAL;
		layout->data = (unsigned)n - layout->parity;
		return 0;
	}
	return -EINVAL;
}

static int
run_zfs(const struct fs_job *job)
{
	struct zfs_job *z = sys_calloc(1, sizeof(*z));
	struct fs_run run = { .job = job, .open = open_worker,
	    .close = close_worker, .part = pack_records, .hole = hole,
	    .arg = z };
	int rc;

	if (z == NULL)
		return -ENOMEM;
	z->job = job;
	const struct fs_params *p = job->params;
	bool features = job->model != &fs_model_zfs_fuse;
	/* a dataset cannot have more copies, nor an encrypted one three */
	unsigned most = p->encrypted ? 2 : 3;
	unsigned more = p->copies < most ? p->copies + 1 : most;

	z->pool = (struct zfs_pool){
	    .features = features,
	    .whole_sectors = job->model != &fs_model_zfs_21,
	    .embeds = features && !p->encrypted && !p->not_embedded,
	    .early_abort = p->early_abort && job->model != &fs_model_zfs_21,
	    .kept_times = !p->new_times, .ashift = p->ashift,
	    .recordsize = p->recordsize, .copies = p->copies,
	    .meta_copies = p->redundant == FS_REDUNDANT_NONE ? p->copies :
	    more, .pointer_copies = p->redundant == FS_REDUNDANT_ALL ? more :
	    p->copies, .dnode_copies = p->redundant <= FS_REDUNDANT_MOST ?
	    more : p->copies, .dnode = p->dnodesize,
	    .encrypted = p->encrypted, .strong = p->encrypted || p->dedup,
	    .special = p->special != UINT64_MAX, .special_most = p->special,
	    .parity = p->layout.parity, .data = p->layout.data,
	    .draid = p->layout.draid };
	run.unit = z->pool.recordsize > UNIT_LEAST ? z->pool.recordsize :
	    UNIT_LEAST;
	fs_classes_count(&z->files, job->list);
	z->filled = sys_calloc(job->list->count + 1, sizeof(*z->filled));
	rc = z->filled == NULL ? -ENOMEM : fs_run(&run);
	if (rc == 0)
		rc = add_meta(z);
	if (rc == 0)
		rc = fs_classes_rows(&z->files, job);
	sys_free(z->filled);
	sys_free(z);
	return rc;
}

#define ZFS_SOME \
	"off,zle,lzjb,lz4,gzip-1,gzip-2,gzip-3,gzip-4,gzip-5,gzip-6,gzip-7," \
	"gzip-8,gzip-9,zstd-1,zstd-3,zstd-6,zstd-9"

const struct fs_model fs_model_zfs = {
	.name = "zfs-2.3",
	.whole = "allocated_B",
	.some = ZFS_SOME,
	.kinds = packers_zfs,
	.children = true,
	.options = FS_ASHIFT | FS_RECORDSIZE | FS_EARLY_ABORT | FS_BY_SIZE |
	    FS_OPENZFS,
	.run = run_zfs
};

const struct fs_model fs_model_zfs_21 = {
	.name = "zfs-2.1",
	.whole = "allocated_B",
	.some = ZFS_SOME,
	.kinds = packers_zfs,
	.children = true,
	.options = FS_ASHIFT | FS_RECORDSIZE | FS_BY_SIZE | FS_OPENZFS,
	.run = run_zfs
};

const struct fs_model fs_model_zfs_fuse = {
	.name = "zfs-fuse",
	.whole = "allocated_B",
	.some = "off,zle,lzjb,gzip-1,gzip-2,gzip-3,gzip-4,gzip-5,gzip-6,"
	    "gzip-7,gzip-8,gzip-9",
	.kinds = packers_zfs_fuse,
	.children = true,
	.options = FS_ASHIFT | FS_RECORDSIZE | FS_EARLY_ABORT | FS_BY_SIZE,
	.run = run_zfs
};

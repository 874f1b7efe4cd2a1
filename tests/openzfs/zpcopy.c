/*
 * zpcopy.c - copy a tree into a pool with OpenZFS's user-space library
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The program that this file is linked into also contains libzpool, which is
 * under the CDDL: see LICENSE in this folder.
 *
 * usage: zpcopy [-a ashift] [-r recordsize] [-c algorithm,...] [-l layout]
 *               [-o property=value]... [-d feature]... [-f MiB] [-s bits] [-t ns]
 *               folder tree
 *
 * Makes a pool of sparse files in the folder, and for each algorithm a dataset
 * as the kernel's POSIX layer would fill it if the tree were copied in the
 * order of its paths: with system attributes, directories, links, and the space
 * used by owners.  Modification times are kept, and the other times are the
 * coarse clock's, or with -t those of a clock that advances by so many
 * nanoseconds for an object and one for a byte.  The salt of a directory's hashes
 * is the difference of two addresses, which in a process are close to each other;
 * with -s it is made as in a kernel with 2^bits bytes of memory.  With -f the pool
 * already has so many MiB of other data, so that addresses in it are not small.
 * The rows have the sizes that `zfs get -Hp` would print, what the contents of
 * files take, and the time until the data is durable, by the clock and of all
 * processors.  The pool remains, for zdb -e -p folder.
 */
#include <sys/zfs_context.h>
#include <sys/dmu.h>
#include <sys/dmu_objset.h>
#include <sys/dsl_dataset.h>
#include <sys/dsl_pool.h>
#include <sys/dsl_prop.h>
#include <sys/fs/zfs.h>
#include <sys/sa.h>
#include <sys/sa_impl.h>
#include <sys/spa.h>
#include <sys/spa_impl.h>
#include <sys/txg.h>
#include <sys/zap.h>
#include <sys/zfeature.h>
#include <sys/zfs_acl.h>
#include <sys/zfs_sa.h>
#include <sys/zfs_znode.h>
#include <zfs_prop.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_NS = 4000000,		/* of the coarse clock, at 250 Hz */
	CHUNK = 1 << 20,		/* written in one transaction */
	DISKS_MOST = 64,
	LINK_MOST = 4096,
	SETTINGS_MOST = 32,
	NEAR_BITS = 20,			/* of addresses that are close */
	SLAB = 64,			/* directories until they are not */
	BASE_ATTRIBUTES = 256,		/* at least what all but links' have */
	ALLOWED = ACE_ACCESS_ALLOWED_ACE_TYPE,
	DENIED = ACE_ACCESS_DENIED_ACE_TYPE
};

struct setting {
	const char *name, *value;
};

struct copy {
	const char *folder;
	uint64_t ashift, recordsize;
	const char *layout;
	struct setting settings[SETTINGS_MOST];
	unsigned setting_count;
	const char *disabled[SETTINGS_MOST];
	unsigned disabled_count;
	uint64_t object_ns;		/* 0: the real clock */
	uint64_t salt_bits;		/* 0: the salts of this process */
	uint64_t filled;		/* MiB of other data */
	/* of the dataset being filled */
	objset_t *os;
	uint64_t root, root_size, sa_master;
	struct stat root_stat;
	sa_attr_type_t *attrs;
	uint64_t now_ns, dnode;
	uint64_t files, bytes;
	uint64_t salt, salted;
	void *links;			/* a tree of struct linked */
};

/* A file with several names, some of which are still to come. */
struct linked {
	dev_t dev;
	ino_t ino;
	uint64_t object;
};

static int
by_inode(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Returns the time of the next object, which has len bytes. */
static struct timespec
now(struct copy *c, uint64_t len)
{
	struct timespec t;
	uint64_t ns;

	if (c->object_ns == 0) {
		clock_gettime(CLOCK_REALTIME_COARSE, &t);
		return t;
	}
	c->now_ns += c->object_ns + len;
	ns = c->now_ns / TICK_NS * TICK_NS;
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };
}

/* The rights of one class of users, by their three bits of the mode. */
static uint32_t
rights(unsigned rwx, bool dir)
{
	return (rwx & 4 ? ACE_READ_DATA : 0) |
	    (rwx & 2 ? ACE_WRITE_DATA | ACE_APPEND_DATA |
	    (dir ? ACE_DELETE_CHILD : 0) : 0) | (rwx & 1 ? ACE_EXECUTE : 0);
}

/*
 * Writes the entries that represent a mode, and returns their number: before
 * the three usual ones come those that keep a class from what a wider class is
 * allowed.
 */
static unsigned
acl_of(mode_t mode, bool dir, zfs_ace_hdr_t acl[6])
{
	unsigned user = mode >> 6 & 7, group = mode >> 3 & 7, other = mode & 7;
	unsigned allowed = user & ~group & other;
	unsigned denied = ~user & (group | other) & 7;
	unsigned grouped = ~group & other & 7;
	const uint32_t all = ACE_READ_ACL | ACE_READ_ATTRIBUTES |
	    ACE_READ_NAMED_ATTRS | ACE_SYNCHRONIZE;
	const uint32_t owner = all | ACE_WRITE_ACL | ACE_WRITE_OWNER |
	    ACE_WRITE_ATTRIBUTES | ACE_WRITE_NAMED_ATTRS;
	unsigned n = 0;

	if (allowed != 0)
		acl[n++] = (zfs_ace_hdr_t){ ALLOWED, ACE_OWNER,
			rights(allowed, dir) };
	if (denied != 0)
		acl[n++] = (zfs_ace_hdr_t){ DENIED, ACE_OWNER,
			rights(denied, dir) };
	if (grouped != 0)
		acl[n++] = (zfs_ace_hdr_t){ DENIED, ACE_GROUP |
			ACE_IDENTIFIER_GROUP, rights(grouped, dir) };
	acl[n++] = (zfs_ace_hdr_t){ ALLOWED, ACE_OWNER,
		owner | rights(user, dir) };
	acl[n++] = (zfs_ace_hdr_t){ ALLOWED, ACE_GROUP | ACE_IDENTIFIER_GROUP,
		all | rights(group, dir) };
	acl[n++] = (zfs_ace_hdr_t){ ALLOWED, ACE_EVERYONE,
		all | rights(other, dir) };
	return n;
}

/* Adds the attributes of an object whose bonus is still empty. */
static void
set_attributes(struct copy *c, uint64_t object, uint64_t parent,
    const struct stat *st, uint64_t size, uint64_t nlink, dmu_tx_t *tx)
{
	const struct timespec t = now(c, S_ISREG(st->st_mode) ? size : 0);
	uint64_t mode = st->st_mode, gen = dmu_tx_get_txg(tx), project = 0;
	uint64_t uid = st->st_uid, gid = st->st_gid, rdev = st->st_rdev;
	uint64_t flags = ZFS_ARCHIVE | ZFS_AV_MODIFIED | ZFS_ACL_TRIVIAL;
	uint64_t made[2] = { (uint64_t)t.tv_sec, (uint64_t)t.tv_nsec };
	uint64_t modified[2] = { (uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec };
	zfs_ace_hdr_t acl[6];
	uint64_t aces = acl_of(st->st_mode, S_ISDIR(st->st_mode), acl);
	bool owned = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
	sa_handle_t *sa;
	sa_bulk_attr_t bulk[ZPL_END];
	int n = 0;
	const sa_attr_type_t *a = c->attrs;

	if (owned)
		flags |= ZFS_PROJID;
	if ((mode & 0111) == 0111)
		flags |= ZFS_NO_EXECS_DENIED;
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_MODE], NULL, &mode, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_SIZE], NULL, &size, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_GEN], NULL, &gen, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_UID], NULL, &uid, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_GID], NULL, &gid, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_PARENT], NULL, &parent, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_FLAGS], NULL, &flags, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_ATIME], NULL, made, 16);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_MTIME], NULL, modified, 16);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_CTIME], NULL, made, 16);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_CRTIME], NULL, made, 16);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_LINKS], NULL, &nlink, 8);
	if (owned)
		SA_ADD_BULK_ATTR(bulk, n, a[ZPL_PROJID], NULL, &project, 8);
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		SA_ADD_BULK_ATTR(bulk, n, a[ZPL_RDEV], NULL, &rdev, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_DACL_COUNT], NULL, &aces, 8);
	SA_ADD_BULK_ATTR(bulk, n, a[ZPL_DACL_ACES], NULL, acl,
	    (uint16_t)(aces * sizeof(acl[0])));
	VERIFY0(sa_handle_get(c->os, object, NULL, SA_HDL_PRIVATE, &sa));
	VERIFY0(sa_replace_all_by_template(sa, bulk, n, tx));
	sa_handle_destroy(sa);
}

static void
set_attribute(struct copy *c, uint64_t object, zpl_attr_t what, void *value,
    uint32_t len)
{
	sa_handle_t *sa;
	dmu_tx_t *tx = dmu_tx_create(c->os);

	VERIFY0(sa_handle_get(c->os, object, NULL, SA_HDL_PRIVATE, &sa));
	dmu_tx_hold_sa(tx, sa, B_TRUE);
	VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
	VERIFY0(sa_update(sa, c->attrs[what], value, len, tx));
	dmu_tx_commit(tx);
	sa_handle_destroy(sa);
}

/* Keeps the attributes of the user's namespace as xattr=sa would. */
static void
copy_xattrs(struct copy *c, uint64_t object, const char *path)
{
	static char names[65536], value[65536];
	ssize_t n = llistxattr(path, names, sizeof(names));
	nvlist_t *list = NULL;
	char *packed = NULL;
	size_t len = 0;

	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1) {
		ssize_t v = lgetxattr(path, p, value, sizeof(value));

		if (v < 0 || strncmp(p, "user.", 5) != 0)
			continue;
		if (list == NULL)
			list = fnvlist_alloc();
		fnvlist_add_byte_array(list, p, (uchar_t *)value, (uint_t)v);
	}
	if (list == NULL)
		return;
	VERIFY0(nvlist_pack(list, &packed, &len, NV_ENCODE_XDR, KM_SLEEP));
	set_attribute(c, object, ZPL_DXATTR, packed, (uint32_t)len);
	free(packed);
	fnvlist_free(list);
}

static uint64_t
record_of(const struct copy *c, uint64_t size)
{
	if (size > c->recordsize)
		return c->recordsize;
	return size == 0 ? 512 : (size + 511) / 512 * 512;
}

/* Gives a new directory the salt that it might have in a kernel. */
static void
set_salt(struct copy *c, uint64_t dir, dmu_tx_t *tx)
{
	uint64_t near = ((uint64_t)1 << NEAR_BITS) - 1, *head;
	dmu_buf_t *block;

	if (c->salted++ % SLAB == 0)
		c->salt = ((uint64_t)random() << 31 ^ (uint64_t)random()) &
		    (((uint64_t)1 << c->salt_bits) - 1);
	VERIFY0(dmu_buf_hold(c->os, dir, 0, FTAG, &block,
	    DMU_READ_NO_PREFETCH));
	dmu_buf_will_dirty(block, tx);
	head = block->db_data;
	head[1] = (c->salt & ~near) | ((uint64_t)random() & near) | 1;
	dmu_buf_rele(block, FTAG);
}

static uint64_t
create_object(struct copy *c, uint64_t parent, const struct stat *st,
    uint64_t size, uint64_t nlink, dmu_tx_t *tx)
{
	int bonus = DN_BONUS_SIZE((int)c->dnode);
	uint64_t object = S_ISDIR(st->st_mode) ? zap_create_norm_dnsize(c->os,
	    0, DMU_OT_DIRECTORY_CONTENTS, DMU_OT_SA, bonus, (int)c->dnode,
	    tx) : dmu_object_alloc_dnsize(c->os, DMU_OT_PLAIN_FILE_CONTENTS,
	    S_ISREG(st->st_mode) ? (int)record_of(c, size) : 0, DMU_OT_SA,
	    bonus, (int)c->dnode, tx);

	if (S_ISDIR(st->st_mode) && c->salt_bits > NEAR_BITS)
		set_salt(c, object, tx);
	set_attributes(c, object, parent == 0 ? object : parent, st, size,
	    nlink, tx);
	return object;
}

static uint64_t
add_object(struct copy *c, uint64_t parent, const struct stat *st,
    uint64_t size, uint64_t nlink)
{
	dmu_tx_t *tx = dmu_tx_create(c->os);
	uint64_t object;

	dmu_tx_hold_sa_create(tx, BASE_ATTRIBUTES);
	dmu_tx_hold_zap(tx, DMU_NEW_OBJECT, TRUE, NULL);
	VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
	object = create_object(c, parent, st, size, nlink, tx);
	dmu_tx_commit(tx);
	return object;
}

static void
add_name(struct copy *c, uint64_t dir, const char *name, uint64_t object,
    mode_t mode)
{
	uint64_t entry = object | (uint64_t)(mode >> 12) << 60;
	dmu_tx_t *tx = dmu_tx_create(c->os);

	dmu_tx_hold_zap(tx, dir, TRUE, name);
	VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
	VERIFY0(zap_add(c->os, dir, name, 8, 1, &entry, tx));
	dmu_tx_commit(tx);
}

static void
copy_data(struct copy *c, uint64_t object, const char *path, uint64_t size)
{
	static char buf[CHUNK];
	uint64_t at = 0;
	int fd = open(path, O_RDONLY | O_NOFOLLOW);

	if (fd < 0)
		err(1, "%s", path);
	while (at < size) {
		ssize_t n = pread(fd, buf, sizeof(buf), (off_t)at);
		dmu_tx_t *tx;

		if (n <= 0)
			errx(1, "%s: expected %llu bytes, found %llu", path,
			    (u_longlong_t)size, (u_longlong_t)at);
		tx = dmu_tx_create(c->os);
		dmu_tx_hold_write(tx, object, at, (int)n);
		VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
		dmu_write(c->os, object, at, (uint64_t)n, buf, tx);
		dmu_tx_commit(tx);
		at += (uint64_t)n;
	}
	close(fd);
	c->files++;
	c->bytes += size;
}

static void copy_names(struct copy *c, uint64_t dir, const char *path,
    struct dirent **names, int count);

static int
but_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
copy_dir(struct copy *c, uint64_t parent, const char *path,
    const struct stat *st, uint64_t *made)
{
	struct dirent **names;
	int count = scandir(path, &names, but_dots, by_name);
	uint64_t nlink = st->st_nlink < 2 ? 2 : st->st_nlink, object;

	if (count < 0)
		err(1, "%s", path);
	object = add_object(c, parent, st, (uint64_t)count + 2, nlink);
	*made = object;
	copy_xattrs(c, object, path);
	copy_names(c, object, path, names, count);
}

static void
copy_names(struct copy *c, uint64_t dir, const char *path,
    struct dirent **names, int count)
{
	for (int i = 0; i < count; i++) {
		struct linked **known = NULL;
		uint64_t object = 0;
		char *name, target[LINK_MOST];
		ssize_t len = 0;
		struct stat st;

		if (asprintf(&name, "%s/%s", path, names[i]->d_name) < 0)
			err(1, NULL);
		if (lstat(name, &st) != 0)
			err(1, "%s", name);
		if (S_ISDIR(st.st_mode)) {
			/* the kernel names a directory before it is filled */
			copy_dir(c, dir, name, &st, &object);
		} else {
			if (st.st_nlink > 1) {
				struct linked *l = calloc(1, sizeof(*l));

				*l = (struct linked){ st.st_dev, st.st_ino,
					0 };
				known = tsearch(l, &c->links, by_inode);
				object = (*known)->object;
			}
			if (S_ISLNK(st.st_mode))
				len = readlink(name, target, sizeof(target));
			if (object == 0) {
				object = add_object(c, dir, &st,
				    S_ISREG(st.st_mode) ?
				    (uint64_t)st.st_size : (uint64_t)len,
				    st.st_nlink);
				if (len > 0)
					set_attribute(c, object, ZPL_SYMLINK,
					    target, (uint32_t)len);
				copy_xattrs(c, object, name);
				if (S_ISREG(st.st_mode))
					copy_data(c, object, name,
					    (uint64_t)st.st_size);
			}
			if (known != NULL)
				(*known)->object = object;
		}
		add_name(c, dir, names[i]->d_name, object, st.st_mode);
		free(name);
		free(names[i]);
	}
	free(names);
}

/*
 * Fills a new dataset as the kernel does, in the transaction that makes it,
 * because the numbers of the first objects depend on that.
 */
static void
begin_dataset(objset_t *os, void *arg, cred_t *cred, dmu_tx_t *tx)
{
	static const struct {
		const char *name;
		uint64_t value;
	} starts[] = { { "normalization", 0 }, { "utf8only", 0 },
	    { "casesensitivity", 0 }, { ZPL_VERSION_STR, ZPL_VERSION } };
	struct copy *c = arg;
	uint64_t queue;

	(void)cred;
	c->os = os;
	c->dnode = DNODE_MIN_SIZE;
	VERIFY0(zap_create_claim(os, MASTER_NODE_OBJ, DMU_OT_MASTER_NODE,
	    DMU_OT_NONE, 0, tx));
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		VERIFY0(zap_update(os, MASTER_NODE_OBJ, starts[i].name, 8, 1,
		    &starts[i].value, tx));
	c->sa_master = zap_create(os, DMU_OT_SA_MASTER_NODE, DMU_OT_NONE, 0,
	    tx);
	VERIFY0(zap_add(os, MASTER_NODE_OBJ, ZFS_SA_ATTRS, 8, 1,
	    &c->sa_master, tx));
	queue = zap_create(os, DMU_OT_UNLINKED_SET, DMU_OT_NONE, 0, tx);
	VERIFY0(zap_add(os, MASTER_NODE_OBJ, ZFS_UNLINKED_SET, 8, 1, &queue,
	    tx));
	VERIFY0(sa_setup(os, c->sa_master, zfs_attr_table, ZPL_END,
	    &c->attrs));
	c->root = create_object(c, 0, &c->root_stat, c->root_size, 2, tx);
	VERIFY0(zap_add(os, MASTER_NODE_OBJ, ZFS_ROOT_OBJ, 8, 1, &c->root,
	    tx));
}

static void
set_property(const char *dataset, const char *name, const char *text)
{
	zfs_prop_t prop = zfs_name_to_prop(name);
	uint64_t value;
	char *end;

	if (prop == ZPROP_INVAL)
		errx(2, "unknown property '%s'", name);
	value = strtoull(text, &end, 0);
	if (*end != '\0' && zfs_prop_string_to_index(prop, text, &value) != 0)
		errx(2, "%s cannot be '%s'", name, text);
	VERIFY0(dsl_prop_set_int(dataset, name, ZPROP_SRC_LOCAL, value));
}

/* Returns the space that the contents of files take. */
static uint64_t
space_of_files(objset_t *os)
{
	uint64_t object = 0, sum = 0;
	dmu_object_info_t info;

	while (dmu_object_next(os, &object, B_FALSE, 0) == 0) {
		VERIFY0(dmu_object_info(os, object, &info));
		if (info.doi_type == DMU_OT_PLAIN_FILE_CONTENTS)
			sum += info.doi_physical_blocks_512 * 512;
	}
	return sum;
}

/* Returns a time of the clock, or of the processor, in seconds. */
static double
clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
fill_dataset(struct copy *c, const char *algorithm, const char *tree)
{
	double wall_s = clock_s(CLOCK_MONOTONIC);
	double cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	char name[64];
	struct dirent **names;
	dsl_dataset_t *ds;
	int count = scandir(tree, &names, but_dots, by_name);

	if (count < 0 || stat(tree, &c->root_stat) != 0)
		err(1, "%s", tree);
	c->root_size = (uint64_t)count + 2;
	c->files = c->bytes = 0;
	c->links = NULL;
	c->now_ns = (uint64_t)1700000000 * 1000000000;
	snprintf(name, sizeof(name), "p/%s", algorithm);
	VERIFY0(dmu_objset_create(name, DMU_OST_ZFS, 0, NULL, begin_dataset,
	    c));
	set_property(name, "compression", algorithm);
	VERIFY0(dsl_prop_set_int(name, "recordsize", ZPROP_SRC_LOCAL,
	    c->recordsize));
	for (unsigned i = 0; i < c->setting_count; i++)
		set_property(name, c->settings[i].name, c->settings[i].value);
	VERIFY0(dmu_objset_own(name, DMU_OST_ZFS, B_FALSE, B_TRUE, FTAG,
	    &c->os));
	VERIFY0(sa_setup(c->os, c->sa_master, zfs_attr_table, ZPL_END,
	    &c->attrs));
	c->dnode = dmu_objset_dnodesize(c->os);
	copy_names(c, c->root, tree, names, count);
	txg_wait_synced(dmu_objset_pool(c->os), 0);
	txg_wait_synced(dmu_objset_pool(c->os), 0);
	wall_s = clock_s(CLOCK_MONOTONIC) - wall_s;
	cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	ds = dmu_objset_ds(c->os);
	printf("%s,%llu,%llu,%llu,%llu,%.2f,%llu,%.2f,%.2f\n", algorithm,
	    (u_longlong_t)c->files, (u_longlong_t)c->bytes,
	    (u_longlong_t)dsl_get_referenced(ds),
	    (u_longlong_t)dsl_get_logicalreferenced(ds),
	    (double)dsl_get_refratio(ds) / 100,
	    (u_longlong_t)space_of_files(c->os), wall_s, cpu_s);
	fflush(stdout);
	sa_tear_down(c->os);
	dmu_objset_disown(c->os, B_TRUE, FTAG);
	tdestroy(c->links, free);
}

/* Writes other data, which cannot be compressed. */
static void
fill_pool(const struct copy *c)
{
	static char buf[CHUNK];
	objset_t *os;
	uint64_t object = 0;

	VERIFY0(dmu_objset_create("p/other", DMU_OST_OTHER, 0, NULL, NULL,
	    NULL));
	VERIFY0(dmu_objset_own("p/other", DMU_OST_OTHER, B_FALSE, B_TRUE,
	    FTAG, &os));
	for (uint64_t i = 0; i < c->filled; i++) {
		dmu_tx_t *tx = dmu_tx_create(os);

		for (size_t k = 0; k < sizeof(buf); k += 4) {
			uint32_t word = (uint32_t)random() << 1;

			memcpy(buf + k, &word, 4);
		}
		if (object == 0)
			dmu_tx_hold_bonus(tx, DMU_NEW_OBJECT);
		dmu_tx_hold_write(tx, object == 0 ? DMU_NEW_OBJECT : object,
		    i * CHUNK, CHUNK);
		VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
		if (object == 0)
			object = dmu_object_alloc(os, DMU_OT_UINT64_OTHER,
			    SPA_OLD_MAXBLOCKSIZE, DMU_OT_NONE, 0, tx);
		dmu_write(os, object, i * CHUNK, CHUNK, buf, tx);
		dmu_tx_commit(tx);
	}
	txg_wait_synced(dmu_objset_pool(os), 0);
	dmu_objset_disown(os, B_TRUE, FTAG);
}

/* Who owns the object with this bonus, so that space can be charged. */
static int
owner_of(dmu_object_type_t type, const void *bonus, zfs_file_info_t *info)
{
	const uint64_t *attrs;
	const sa_hdr_phys_t *head = bonus;

	if (type != DMU_OT_SA)
		return ENOENT;
	info->zfi_project = 0;
	if (bonus == NULL)
		return EEXIST;
	if (head->sa_magic == 0) {
		info->zfi_user = info->zfi_group = info->zfi_generation = 0;
		return 0;
	}
	attrs = (const uint64_t *)bonus +
	    (head->sa_layout_info >> 10 & 0x3f);
	info->zfi_generation = attrs[SA_GEN_OFFSET / 8];
	info->zfi_user = attrs[SA_UID_OFFSET / 8];
	info->zfi_group = attrs[SA_GID_OFFSET / 8];
	if (attrs[SA_FLAGS_OFFSET / 8] & ZFS_PROJID)
		info->zfi_project = attrs[SA_PROJID_OFFSET / 8];
	return 0;
}

/* Makes one sparse file, and returns its description. */
static nvlist_t *
make_disk(const struct copy *c, unsigned i)
{
	nvlist_t *disk = fnvlist_alloc();
	char *path;
	int fd;

	if (asprintf(&path, "%s/f%u", c->folder, i) < 0)
		err(1, NULL);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)16 << 30) != 0)
		err(1, "%s", path);
	close(fd);
	fnvlist_add_string(disk, ZPOOL_CONFIG_TYPE, VDEV_TYPE_FILE);
	fnvlist_add_string(disk, ZPOOL_CONFIG_PATH, path);
	fnvlist_add_uint64(disk, ZPOOL_CONFIG_ASHIFT, c->ashift);
	fnvlist_add_uint64(disk, ZPOOL_CONFIG_IS_LOG, 0);
	free(path);
	return disk;
}

/* Describes the vdev that a layout such as mirror:2 or raidz1:3 names. */
static nvlist_t *
make_vdev(const struct copy *c)
{
	nvlist_t *vdev = fnvlist_alloc(), *disks[DISKS_MOST];
	const char *colon = strchr(c->layout, ':');
	unsigned width = colon == NULL ? 1 : (unsigned)atoi(colon + 1);
	bool raidz = strncmp(c->layout, "raidz", 5) == 0;

	if (width == 0 || width > DISKS_MOST)
		errx(2, "a layout has 1 to %d disks", DISKS_MOST);
	if (colon == NULL)
		return make_disk(c, 0);
	for (unsigned i = 0; i < width; i++)
		disks[i] = make_disk(c, i);
	fnvlist_add_string(vdev, ZPOOL_CONFIG_TYPE, raidz ? VDEV_TYPE_RAIDZ :
	    VDEV_TYPE_MIRROR);
	if (raidz)
		fnvlist_add_uint64(vdev, ZPOOL_CONFIG_NPARITY,
		    (uint64_t)(c->layout[5] - '0'));
	fnvlist_add_uint64(vdev, ZPOOL_CONFIG_ASHIFT, c->ashift);
	fnvlist_add_uint64(vdev, ZPOOL_CONFIG_IS_LOG, 0);
	fnvlist_add_nvlist_array(vdev, ZPOOL_CONFIG_CHILDREN,
	    (void *)disks, width);
	return vdev;
}

static void
make_pool(const struct copy *c)
{
	nvlist_t *root = fnvlist_alloc(), *props = fnvlist_alloc();
	nvlist_t *vdev = make_vdev(c);

	fnvlist_add_string(root, ZPOOL_CONFIG_TYPE, VDEV_TYPE_ROOT);
	fnvlist_add_nvlist_array(root, ZPOOL_CONFIG_CHILDREN,
	    (void *)&vdev, 1);
	for (int i = 0; i < SPA_FEATURES; i++) {
		const char *uname = spa_feature_table[i].fi_uname;
		char feature[128];
		bool wanted = spa_feature_table[i].fi_zfs_mod_supported;

		for (unsigned k = 0; k < c->disabled_count; k++)
			wanted = wanted && strcmp(c->disabled[k], uname) != 0;
		snprintf(feature, sizeof(feature), "feature@%s", uname);
		if (wanted)
			fnvlist_add_uint64(props, feature, 0);
	}
	VERIFY0(spa_create("p", root, props, NULL, NULL));
}

int
main(int argc, char **argv)
{
	struct copy c = { .ashift = 12, .recordsize = 128 << 10,
		.layout = "disk" };
	char *algorithms = strdup("lz4"), *cache;
	int ch;

	while ((ch = getopt(argc, argv, "a:c:d:f:l:o:r:s:t:")) != -1)
		switch (ch) {
		case 'a':
			c.ashift = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			algorithms = optarg;
			break;
		case 'd':
			if (c.disabled_count == SETTINGS_MOST)
				errx(2, "too many features");
			c.disabled[c.disabled_count++] = optarg;
			break;
		case 'f':
			c.filled = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			c.layout = optarg;
			break;
		case 'o':
			if (c.setting_count == SETTINGS_MOST ||
			    strchr(optarg, '=') == NULL)
				errx(2, "-o property=value");
			c.settings[c.setting_count].name =
			    strtok(optarg, "=");
			c.settings[c.setting_count++].value =
			    strtok(NULL, "=");
			break;
		case 'r':
			c.recordsize = strtoull(optarg, NULL, 0);
			break;
		case 's':
			c.salt_bits = strtoull(optarg, NULL, 0);
			break;
		case 't':
			c.object_ns = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	if (argc - optind != 2)
		errx(2, "expected a folder and a tree");
	c.folder = realpath(argv[optind], NULL);
	if (c.folder == NULL)
		err(1, "%s", argv[optind]);
	if (asprintf(&cache, "%s/cache", c.folder) < 0)
		err(1, NULL);
	unlink(cache);
	spa_config_path = cache;
	kernel_init(SPA_MODE_READ | SPA_MODE_WRITE);
	dmu_objset_register_type(DMU_OST_ZFS, owner_of);
	make_pool(&c);
	if (c.filled > 0)
		fill_pool(&c);
	printf("algorithm,files,apparent_B,referenced_B,logicalreferenced_B,"
	    "refcompressratio,files_B,wall_s,cpu_s\n");
	for (char *a = strtok(algorithms, ","); a != NULL;
	    a = strtok(NULL, ","))
		fill_dataset(&c, a, argv[optind + 1]);
	VERIFY0(spa_export("p", NULL, B_TRUE, B_FALSE));
	kernel_fini();
	return 0;
}

/*
 * as_report.c - what mksquashfs prints of an image, and writes to its logs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void
print_line(const char *what, uint64_t n)
{
	printf("Number of %s %llu\n", what, (unsigned long long)n);
}

static const char *
un(bool raw)
{
	return raw ? "uncompressed" : "compressed";
}

void
as_report_inode(void *arg, size_t node, uint64_t ref)
{
	struct sqpack *p = arg;
	struct as_mksquashfs *a = p->o.as;

	if (a->refs == NULL)
		a->refs = sys_calloc(p->image.tree.count, sizeof(*a->refs));
	if (a->refs != NULL)
		a->refs[node] = ref;
}

/* Orders nodes by their data, and those with the same data by their index. */
static int
by_data(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sqw_node *nodes = arg;
	const struct sqw_position *x = &nodes[i].data, *y = &nodes[k].data;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->tail_unit != y->tail_unit)
		return x->tail_unit < y->tail_unit ? -1 : 1;
	if (x->tail_at != y->tail_at)
		return x->tail_at < y->tail_at ? -1 : 1;
	if (nodes[i].attr.size != nodes[k].attr.size)
		return nodes[i].attr.size < nodes[k].attr.size ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Marks files that have the data of an earlier one. */
static int
find_twins(const struct sqw_tree *t, bool *is_twin)
{
	uint32_t *files = sys_calloc(t->count, sizeof(*files));
	size_t n = 0;

	if (files == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		if (sqw_has_data(t, i))
			files[n++] = i;
	qsort_r(files, n, sizeof(*files), by_data, t->nodes);
	for (size_t i = 1; i < n; i++) {
		const struct sqw_node *x = &t->nodes[files[i - 1]];
		const struct sqw_node *y = &t->nodes[files[i]];

		is_twin[files[i]] = x->data.unit == y->data.unit &&
		    x->data.tail_unit == y->data.tail_unit &&
		    x->data.tail_at == y->data.tail_at &&
		    x->attr.size == y->attr.size;
	}
	sys_free(files);
	return 0;
}

static const char *
type_name(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR: return "directory";
	case S_IFLNK: return "symbolic link";
	case S_IFCHR: return "character device";
	case S_IFBLK: return "block device";
	case S_IFIFO: return "fifo";
	default: return "unix domain socket";
	}
}

/*
 * Prints the names in the image, for -info: files first, then the others in the
 * order of their inodes.
 */
static void
print_names(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *t = &p->image.tree;
	FILE *to = a->info_file == NULL ? stdout : fopen(a->info_file, "we");
	bool *is_twin = sys_calloc(t->count, sizeof(*is_twin));
	uint32_t dir = 0, *order = sys_calloc(t->count, sizeof(*order));
	char *path = NULL;
	size_t room = 0, n = 0;
	int rc = to == NULL ? -errno : is_twin == NULL || order == NULL ||
	    a->refs == NULL ? -ENOMEM : find_twins(t, is_twin);

	for (uint32_t i = 0; rc == 0 && i < t->count; i++)
		if (S_ISREG(t->nodes[i].attr.mode))
			order[n++] = i;
	/* directories follow what they contain */
	for (uint32_t i = 1; rc == 0 && i < t->count; i++) {
		for (; t->nodes[dir].end <= i; dir = t->nodes[dir].parent)
			order[n++] = dir;
		if (S_ISDIR(t->nodes[i].attr.mode))
			dir = i;
		else if (!S_ISREG(t->nodes[i].attr.mode))
			order[n++] = i;
	}
	for (; rc == 0 && dir != 0; dir = t->nodes[dir].parent)
		order[n++] = dir;
	if (rc == 0)
		order[n++] = 0;
	for (size_t k = 0; rc == 0 && k < n; k++) {
		const struct sqw_node *node = &t->nodes[order[k]];
		bool link = node->owner != order[k];

		rc = sqw_tree_path(t, order[k], &path, &room);
		if (rc != 0)
			break;
		if (S_ISREG(node->attr.mode))
			fprintf(to, "file /%s, uncompressed size %llu bytes "
			    "%s\n", path, (unsigned long long)node->attr.size,
			    link ? "LINK" : is_twin[order[k]] ? "DUPLICATE" :
			    "");
		else
			fprintf(to, "%s /%s inode 0x%llx%s\n",
			    type_name(node->attr.mode), path,
			    (unsigned long long)a->refs[order[k]],
			    link ? " LINK" : "");
	}
	if (to != NULL && to != stdout && fclose(to) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", a->info_file == NULL ?
		    "standard output" : a->info_file, strerror(-rc));
	sys_free(path);
	sys_free(is_twin);
	sys_free(order);
}

/* Where data is in the image, for -log. */
struct placed {
	uint64_t at;
	uint32_t index;			/* of the node, or the fragment block */
	bool fragment;
};

static int
by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Writes the log: the files with blocks of their own, and the fragment blocks,
 * with their offsets.
 */
static void
write_log(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *t = &p->image.tree;
	const struct sqw_data *d = &p->image.data;
	struct placed *places = sys_calloc(t->count + d->units + 1,
	    sizeof(*places));
	FILE *to = places == NULL ? NULL : fopen(a->log, "we");
	int rc = places == NULL ? -ENOMEM : to == NULL ? -errno : 0;
	char *path = NULL;
	size_t room = 0, n = 0;

	for (uint32_t i = 0; rc == 0 && i < t->count; i++)
		if (sqw_has_data(t, i) && t->nodes[i].data.blocks > 0 &&
		    !imgsrc_is_kept(&p->image, t->nodes[i].id))
			places[n++] = (struct placed){
				d->starts[t->nodes[i].data.unit], i, false };
	for (uint32_t i = 0; rc == 0 && i < d->units; i++)
		if (d->fragment[i] != SQUASHFS_NONE)
			places[n++] = (struct placed){ d->starts[i],
				d->fragment[i], true };
	if (n > 0)
		qsort(places, n, sizeof(*places), by_place);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (places[i].fragment) {
			fprintf(to, "Fragment %u, %llu\n", places[i].index,
			    (unsigned long long)places[i].at);
			continue;
		}
		/* the first of equal files */
		if (i > 0 && places[i].at == places[i - 1].at)
			continue;
		rc = sqw_tree_path(t, places[i].index, &path, &room);
		if (rc == 0)
			fprintf(to, "%s%s%s, %llu\n", p->o.from.input_count > 0
			    ? "" : p->o.source, p->o.from.input_count > 0 ?
			    "" : "/", path, (unsigned long long)places[i].at);
	}
	if (to != NULL && fclose(to) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", a->log, strerror(-rc));
	sys_free(path);
	sys_free(places);
}

/* The users and groups of an image, each once, in the order of its table. */
struct owner {
	uint32_t id;
	size_t at;			/* where it is first used */
	bool user, group;
};

struct owners {
	struct owner *items;
	size_t count;
};

static int
by_owner(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int
by_use(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void
add_owners(struct owners *o, const struct sqw_attr *attr)
{
	size_t at = o->count;

	o->items[o->count++] = (struct owner){ attr->uid, at, true, false };
	o->items[o->count++] = (struct owner){ attr->gid, at + 1, false, true };
}

/*
 * Finds the owners; inodes are written depth first, a directory after its
 * contents.  Returns 0 or -ENOMEM.
 */
static int
find_owners(const struct sqw_tree *t, struct owners *o)
{
	const struct sqw_node *nodes = t->nodes;
	size_t count = 0;
	uint32_t dir = 0;

	*o = (struct owners){ .items = sys_calloc(2 * t->count,
	    sizeof(*o->items)) };
	if (o->items == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->count; i++) {
		for (; nodes[dir].end <= i; dir = nodes[dir].parent)
			add_owners(o, &nodes[dir].attr);
		if (S_ISDIR(nodes[i].attr.mode))
			dir = i;
		else if (nodes[i].owner == i)
			add_owners(o, &nodes[i].attr);
	}
	for (; dir != 0; dir = nodes[dir].parent)
		add_owners(o, &nodes[dir].attr);
	add_owners(o, &nodes[0].attr);
	qsort(o->items, o->count, sizeof(*o->items), by_owner);
	for (size_t i = 0; i < o->count; i++) {
		const struct owner *x = &o->items[i];
		struct owner *last = count == 0 ? NULL : &o->items[count - 1];

		if (last == NULL || last->id != x->id) {
			o->items[count++] = *x;
			continue;
		}
		last->at = x->at < last->at ? x->at : last->at;
		last->user = last->user || x->user;
		last->group = last->group || x->group;
	}
	o->count = count;
	qsort(o->items, o->count, sizeof(*o->items), by_use);
	return 0;
}

static void
print_owners(const struct owners *o, bool groups)
{
	size_t n = 0;

	for (size_t i = 0; i < o->count; i++)
		n += groups ? o->items[i].group : o->items[i].user;
	print_line(groups ? "gids" : "uids", n);
	for (size_t i = 0; i < o->count; i++) {
		uint32_t id = o->items[i].id;
		const struct passwd *pw = groups ? NULL : getpwuid(id);
		const struct group *gr = groups ? getgrgid(id) : NULL;

		if (groups ? o->items[i].group : o->items[i].user)
			printf("\t%s (%u)\n", pw != NULL ? pw->pw_name :
			    gr != NULL ? gr->gr_name : "unknown", id);
	}
}

/* The size of a table that needs an index of its blocks, uncompressed. */
static uint64_t
indexed(uint64_t size)
{
	return size + (size + SQUASHFS_META_B - 1) / SQUASHFS_META_B *
	    SQUASHFS_POINTER_B;
}

/* The size of the image if nothing were compressed, nor shared. */
static uint64_t
raw_size(const struct sqpack *p, size_t ids)
{
	enum { XATTR_HEAD_B = 16, XATTR_ID_B = 16 };
	const struct sqw_tree *t = &p->image.tree;
	const struct sqt_image_space *s = &p->image.space;
	uint64_t n = SQUASHFS_SUPER_B + s->raw_inodes_B + s->raw_listings_B +
	    s->raw_xattrs_B + indexed(p->image.data.fragments *
	    SQUASHFS_FRAGMENT_B) + indexed(ids * SQUASHFS_ID_B);

	if (!p->image.tables.no_export)
		n += indexed(t->inodes * (uint64_t)SQUASHFS_EXPORT_B);
	if (s->xattr_sets > 0)
		n += XATTR_HEAD_B + indexed(s->xattr_sets *
		    (uint64_t)XATTR_ID_B);
	for (size_t i = 0; i < t->count; i++)
		if (sqw_has_data(t, i))
			n += t->nodes[i].attr.size;
	return n;
}

static void
print_table(const char *what, const char *lower, uint64_t size, uint64_t raw)
{
	printf("%s table size %llu bytes (%.2f Kbytes)\n", what,
	    (unsigned long long)size, (double)size / 1024);
	printf("\t%.2f%% of uncompressed %s table size (%llu bytes)\n",
	    raw == 0 ? 100 : (double)size / (double)raw * 100, lower,
	    (unsigned long long)raw);
}

/* Prints the same report as mksquashfs about an image that was built. */
void
as_report(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *tree = &p->image.tree;
	const struct sqt_image_options *t = &p->image.tables;
	const struct sqw_data_options *d = &p->image.pack;
	const struct sqt_image_space *space = &p->image.space;
	uint64_t files = 0, links = 0, devices = 0, fifos = 0, sockets = 0;
	uint64_t dirs = 0, hard = 0, empty = 0;
	struct owners ids;
	double size = (double)space->used_B;

	if (a->info)
		print_names(p);
	if (a->log != NULL)
		write_log(p);
	if (p->o.progress != NULL)
		as_bar_close(&a->bar, a->bar.all, a->bar.all);
	if (a->quiet)
		return;
	if (find_owners(tree, &ids) != 0) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return;
	}
	for (size_t i = 0; i < tree->count; i++) {
		const struct sqw_node *n = &tree->nodes[i];

		if (n->owner != i) {
			hard += !imgsrc_is_kept(&p->image, n->id);
			continue;
		}
		switch (n->attr.mode & S_IFMT) {
		case S_IFREG:
			files++;
			/* mksquashfs counts them as duplicates */
			empty += n->attr.size == 0 &&
			    !imgsrc_is_kept(&p->image, n->id);
			break;
		case S_IFDIR: dirs++; break;
		case S_IFLNK: links++; break;
		case S_IFIFO: fifos++; break;
		case S_IFSOCK: sockets++; break;
		default: devices++; break;
		}
	}
	printf("\n%sSquashfs 4.0 filesystem, %s compressed, data block size "
	    "%u\n", t->no_export ? "" : "Exportable ",
	    strcmp(d->method->name, "lz4hc") == 0 ? "lz4" : d->method->name,
	    d->block);
	printf("\t%s data, %s metadata, %s fragments,\n\t%s xattrs, %s ids\n",
	    un(d->raw_data), un(t->raw_inodes), d->no_fragments ? "no" :
	    un(d->raw_fragments), p->image.xattrs == NULL ? "no" :
	    un(t->raw_xattrs),
	    un(t->raw_inodes || t->raw_ids));
	printf("\tduplicates are %sremoved\n", d->no_duplicates ? "not " : "");
	printf("Filesystem size %.2f Kbytes (%.2f Mbytes)\n", size / 1024,
	    size / 1048576);
	printf("\t%.2f%% of uncompressed filesystem size (%.2f Kbytes)\n",
	    size / (double)raw_size(p, ids.count) * 100,
	    (double)raw_size(p, ids.count) / 1024);
	print_table("Inode", "inode", space->inodes_B, space->raw_inodes_B);
	print_table("Directory", "directory", space->listings_B,
	    space->raw_listings_B);
	if (space->raw_xattrs_B > 0)
		print_table("Xattr", "xattr", space->xattrs_B,
		    space->raw_xattrs_B);
	if (d->no_duplicates)
		puts("No duplicate files removed");
	else
		print_line("duplicate files found", p->image.data.duplicates +
		    empty);
	print_line("inodes", tree->inodes);
	print_line("files", files);
	if (!d->no_fragments)
		print_line("fragments", p->image.data.fragments);
	print_line("symbolic links", links);
	print_line("device nodes", devices);
	print_line("fifo nodes", fifos);
	print_line("socket nodes", sockets);
	print_line("directories", dirs);
	print_line("hard-links", hard);
	print_line("ids (unique uids + gids)", ids.count);
	print_owners(&ids, false);
	print_owners(&ids, true);
	sys_free(ids.items);
}

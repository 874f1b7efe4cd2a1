/*
 * as_mksquashfs_report.c - the report that mksquashfs prints about an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as_mksquashfs.h"

#include <stdio.h>
#include <string.h>

void
as_announce(const struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;

	if (a->quiet)
		return;
	printf("Parallel mksquashfs: Using %u processor%s\n",
	    p->o.data.threads, p->o.data.threads == 1 ? "" : "s");
	printf("Creating 4.0 filesystem on %s, block size %u.\n",
	    p->o.output, p->o.data.block);
	fflush(stdout);
}

struct kinds {
	uint64_t files, links, devices, fifos, sockets, dirs, hard;
};

static void
count_kinds(const struct sqw_tree *t, struct kinds *k)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct sqw_node *n = &t->nodes[i];

		if (n->owner != i) {
			k->hard++;
			continue;
		}
		switch (n->attr.mode & S_IFMT) {
		case S_IFREG: k->files++; break;
		case S_IFDIR: k->dirs++; break;
		case S_IFLNK: k->links++; break;
		case S_IFIFO: k->fifos++; break;
		case S_IFSOCK: k->sockets++; break;
		default: k->devices++; break;
		}
	}
}

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

static void
print_settings(const struct sqpack *p)
{
	const struct sqpack_options *o = &p->o;
	const struct sqt_image_options *t = &o->tables;
	const char *comp = o->data.method->name;

	printf("\n%sSquashfs 4.0 filesystem, %s compressed, data block size "
	    "%u\n", t->no_export ? "" : "Exportable ",
	    strcmp(comp, "lz4hc") == 0 ? "lz4" : comp, o->data.block);
	printf("\t%s data, %s metadata, %s fragments,\n\t%s xattrs, %s ids\n",
	    un(o->data.raw_data), un(t->raw_inodes), o->data.no_fragments ?
	    "no" : un(o->data.raw_fragments), o->no_xattrs ? "no" :
	    un(t->raw_xattrs), un(t->raw_inodes || t->raw_ids));
	printf("\tduplicates are %sremoved\n", o->data.no_duplicates ?
	    "not " : "");
}

static void
print_info(const struct sqw_tree *t)
{
	for (size_t i = 1; i < t->count; i++) {
		const struct sqw_node *n = &t->nodes[i];
		size_t up[256], depth = 0;

		for (size_t k = i; k != 0 && depth < 256; k =
		    t->nodes[k].parent)
			up[depth++] = k;
		fputs(S_ISREG(n->attr.mode) ? "file " :
		    S_ISDIR(n->attr.mode) ? "directory " :
		    S_ISLNK(n->attr.mode) ? "symbolic link " : "node ",
		    stdout);
		while (depth > 0)
			printf("/%s", t->nodes[up[--depth]].name);
		if (S_ISREG(n->attr.mode))
			printf(", uncompressed size %llu bytes%s",
			    (unsigned long long)n->attr.size,
			    n->owner != i ? " LINK" : "");
		putchar('\n');
	}
}

void
as_report(const struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	double size = (double)p->image.space.used_B;
	struct kinds k = { .files = 0 };

	if (a->info)
		print_info(&p->image.tree);
	if (a->quiet)
		return;
	count_kinds(&p->image.tree, &k);
	print_settings(p);
	printf("Filesystem size %.2f Kbytes (%.2f Mbytes)\n", size / 1024,
	    size / 1048576);
	printf("Inode table size %llu bytes (%.2f Kbytes)\n",
	    (unsigned long long)p->image.space.inodes_B,
	    (double)p->image.space.inodes_B / 1024);
	printf("Directory table size %llu bytes (%.2f Kbytes)\n",
	    (unsigned long long)p->image.space.listings_B,
	    (double)p->image.space.listings_B / 1024);
	if (p->o.data.no_duplicates)
		puts("No duplicate files removed");
	else
		print_line("duplicate files found", p->image.data.duplicates);
	print_line("inodes", p->image.tree.inodes);
	print_line("files", k.files);
	if (!p->o.data.no_fragments)
		print_line("fragments", p->image.data.fragments);
	print_line("symbolic links", k.links);
	print_line("device nodes", k.devices);
	print_line("fifo nodes", k.fifos);
	print_line("socket nodes", k.sockets);
	print_line("directories", k.dirs);
	print_line("hard-links", k.hard);
}

/*
 * as_unsquashfs.c - standing in for unsquashfs: what it does, and its options
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of unsquashfs and sqfscat 4.7.5, and prints in their
 * format.
 */
#include "as.h"

#include "base/bytes.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PARTLY = 2, WIDTH = 25, DEVICE_WIDTH = 7, ID_B = 64 };

/* p->o.as */
struct as_unsquashfs {
	struct as_texts names;		/* to list or extract; none: all */
	struct as_texts excludes;	/* to leave out */
	const char *pseudo;		/* file for -pf */
	bool info, is_long, concise, numeric, utc, quiet, no_exit_code;
	bool version;			/* it was printed */
	bool cat;			/* its name is sqfscat */
	bool names_excluded;		/* the names are left out */
	bool follow, follow_missing, must_match, strict;
	bool has_depth;
	uint32_t depth;
	bool precise;			/* times with seconds */
	struct path_regex *xattrs_in, *xattrs_out;
	bool no_progress;
	struct as_bar bar;
};

static void
print_long(const struct sqpack *p, const struct sq_entry *e)
{
	const struct as_unsquashfs *u = p->o.as;
	const struct passwd *pw = u->numeric ? NULL : getpwuid(e->uid);
	const struct group *gr = u->numeric ? NULL : getgrgid(e->gid);
	char mode[LISTING_MODE_B], user[ID_B], group[ID_B];
	time_t t = p->o.has_time ? p->o.time : e->mtime;
	struct tm tm = { .tm_sec = 0 };
	int width, pad;

	listing_mode(mode, e->mode);
	snprintf(user, ID_B, "%u", e->uid);
	if (pw != NULL)
		snprintf(user, ID_B, "%s", pw->pw_name);
	snprintf(group, ID_B, "%u", e->gid);
	if (gr != NULL)
		snprintf(group, ID_B, "%s", gr->gr_name);
	printf("%s %s/%s ", mode, user, group);
	width = WIDTH - (int)strlen(user) - (int)strlen(group);
	pad = width - DEVICE_WIDTH;
	if (S_ISBLK(e->mode) || S_ISCHR(e->mode))
		printf("%*s%3u,%3u ", pad > 0 ? pad : 0, " ",
		    squashfs_major(e->rdev), squashfs_minor(e->rdev));
	else
		printf("%*llu ", width > 0 ? width : 0,
		    (unsigned long long)e->size);
	if ((u->utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) != NULL)
		printf("%d-%02d-%02d %02d:%02d", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
	if (u->precise)
		printf(":%02d", tm.tm_sec);
	putchar(' ');
}

static int
unsquash_list(struct sqpack_image *i)
{
	const struct as_unsquashfs *u = i->p->o.as;

	for (size_t n = 0; n < sq_count(i->m); n++) {
		const char *path;
		struct sq_entry e;

		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		sq_get(i->m, n, &e);
		if (u->concise && S_ISDIR(e.mode) && sq_end(i->m, n) != n + 1)
			continue;
		if (u->is_long)
			print_long(i->p, &e);
		printf("%s%s%s", i->p->o.directory, n == 0 ? "" : "/", path);
		if (u->is_long && S_ISLNK(e.mode))
			printf(" -> %.*s", (int)e.size, e.target);
		putchar('\n');
	}
	return 0;
}

/* The number of names of each type. */
struct counts {
	uint64_t files, dirs, links, devices, fifos, sockets, hard, blocks;
};

/* Counts the names that are selected, or were extracted. */
static struct counts
count(const struct sqpack_image *i)
{
	uint32_t block = sq_facts(i->m)->block;
	struct counts c = { .files = 0 };

	for (size_t n = 0; n < sq_count(i->m); n++) {
		struct sq_entry e;

		if (i->wanted[n] <= SQ_MISSED && n != 0)
			continue;
		sq_get(i->m, n, &e);
		if (S_ISDIR(e.mode))
			c.dirs++;
		else if (e.first != n)
			c.hard++;
		else if (S_ISREG(e.mode)) {
			c.files++;
			c.blocks += (e.size + block - 1) / block;
		} else if (S_ISLNK(e.mode))
			c.links++;
		else if (S_ISFIFO(e.mode))
			c.fifos++;
		else if (S_ISSOCK(e.mode))
			c.sockets++;
		else
			c.devices++;
	}
	return c;
}

static uint64_t
inodes_of(const struct counts *c)
{
	return c->files + c->links + c->devices + c->fifos + c->sockets +
	    c->hard;
}

static void
print_count(uint64_t n, const char *one, const char *many)
{
	printf("created %llu %s\n", (unsigned long long)n,
	    n == 1 ? one : many);
}

static int
unsquash_extract(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	struct as_unsquashfs *u = p->o.as;
	struct counts c = count(i);
	uint64_t wanted = inodes_of(&c) + c.dirs;
	int rc;

	if (!u->quiet) {
		printf("Parallel unsquashfs: Using %u processor%s\n",
		    p->o.data.threads, p->o.data.threads == 1 ? "" : "s");
		printf("%llu inodes (%llu blocks) to write\n\n",
		    (unsigned long long)inodes_of(&c),
		    (unsigned long long)c.blocks);
	}
	rc = u->info ? unsquash_list(i) : 0;
	fflush(stdout);
	/* names would be printed into it */
	if (!u->no_progress && !u->info) {
		as_bar_open(&u->bar, AS_BAR_UNSQUASHFS, sq_facts(i->m)->block);
		u->bar.data = u->bar.all = inodes_of(&c) + c.blocks;
		p->o.progress = &u->bar.form;
	}
	if (rc == 0)
		rc = sqpack_extract(i);
	c = count(i);
	/* devices, for example, that only root can make */
	if (inodes_of(&c) + c.dirs < wanted)
		p->msg.status = MSG_ERROR;
	if (p->o.progress != NULL)
		as_bar_close(&u->bar, inodes_of(&c) + c.blocks, u->bar.all);
	if (u->quiet)
		return rc;
	putchar('\n');
	print_count(c.files, "file", "files");
	print_count(c.dirs, "directory", "directories");
	print_count(c.links, "symlink", "symlinks");
	print_count(c.devices, "device", "devices");
	print_count(c.fifos, "fifo", "fifos");
	print_count(c.sockets, "socket", "sockets");
	print_count(c.hard, "hardlink", "hardlinks");
	return rc;
}

static void
print_bits(const char *what, uint32_t bits, const char *const *names,
    size_t count)
{
	const char *comma = "";

	printf("\t%s selected: ", what);
	for (size_t i = 0; i < count; i++)
		if ((bits & 1U << i) != 0) {
			printf("%s%s", comma, names[i]);
			comma = ", ";
		}
	putchar('\n');
}

static void
print_settings(const struct sq_facts *f)
{
	uint32_t first, second;

	if (f->settings_B < 4)
		return;
	first = load_le32(f->settings);
	if (f->compressor == SQUASHFS_ZSTD)
		printf("\tcompression-level %u\n", first);
	if (f->settings_B < 8)
		return;
	second = load_le32(f->settings + 4);
	switch (f->compressor) {
	case SQUASHFS_GZIP:
		printf("\tcompression-level %u\n\twindow-size %u\n", first,
		    second & 0xffff);
		if (second >> 16 == 0)
			puts("\tStrategies selected: default");
		else
			print_bits("Strategies", second >> 16,
			    sqpack_strategies, SQPACK_STRATEGIES);
		break;
	case SQUASHFS_XZ:
		printf("\tDictionary size %u\n", first);
		if (second == 0)
			puts("\tNo filters specified");
		else
			print_bits("Filters", second, sqw_filters,
			    SQW_FILTERS);
		break;
	case SQUASHFS_LZO:
		if (first < SQPACK_LZOS)
			printf("\talgorithm %s\n", sqpack_lzos[first]);
		if (first == SQPACK_LZOS - 1)
			printf("\tcompression level %u\n", second);
		break;
	case SQUASHFS_LZ4:
		if ((second & 1) != 0)
			puts("\tHigh Compression option specified (-Xhc)");
		break;
	default: break;
	}
}

static const char *
un(const struct sq_facts *f, unsigned bits)
{
	return (f->flags & bits) != 0 ? "un" : "";
}

static int
unsquash_stat(struct sqpack_image *i)
{
	const struct as_unsquashfs *u = i->p->o.as;
	const struct sq_facts *f = sq_facts(i->m);
	double size = (double)f->used_B;
	uint32_t xattrs = 0;
	time_t t = f->mtime;
	struct tm tm = { .tm_mday = 1 };
	char date[64];

	if (u->utc)
		gmtime_r(&t, &tm);
	else
		localtime_r(&t, &tm);
	strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm);
	printf("Found a valid SQUASHFS 4:0 superblock on %s.\n",
	    i->p->o.source);
	printf("Creation or last append time %s\n", date);
	printf("Filesystem size %llu bytes (%.2f Kbytes / %.2f Mbytes)\n",
	    (unsigned long long)f->used_B, size / 1024, size / 1048576);
	printf("Compression %s\n", sq_compressor_name(f->compressor));
	print_settings(f);
	printf("Block size %u\n", f->block);
	printf("Filesystem is %sexportable via NFS\n", f->exports ? "" :
	    "not ");
	printf("Inodes are %scompressed\n", un(f, SQUASHFS_RAW_INODES));
	printf("Data is %scompressed\n", un(f, SQUASHFS_RAW_DATA));
	printf("Uids/Gids (Id table) are %scompressed\n",
	    un(f, SQUASHFS_RAW_INODES | SQUASHFS_RAW_IDS));
	if ((f->flags & SQUASHFS_NO_FRAGMENTS) != 0) {
		puts("Fragments are not stored");
	} else {
		printf("Fragments are %scompressed\n",
		    un(f, SQUASHFS_RAW_FRAGMENTS));
		printf("Always-use-fragments option is %sspecified\n",
		    (f->flags & SQUASHFS_ALWAYS_FRAGMENTS) != 0 ? "" :
		    "not ");
	}
	if ((f->flags & SQUASHFS_NO_XATTRS) != 0)
		puts("Xattrs are not stored");
	else
		printf("Xattrs are %scompressed\n",
		    un(f, SQUASHFS_RAW_XATTRS));
	printf("Duplicates are %sremoved\n",
	    (f->flags & SQUASHFS_DEDUPLICATED) != 0 ? "" : "not ");
	printf("Number of fragments %u\nNumber of inodes %u\n"
	    "Number of ids %u\n", f->fragments, f->inodes, f->ids);
	for (size_t n = 0; n < sq_count(i->m); n++) {
		struct sq_entry e;

		sq_get(i->m, n, &e);
		if (e.xattr != SQUASHFS_NONE && e.xattr >= xattrs)
			xattrs = e.xattr + 1;
	}
	if ((f->flags & SQUASHFS_NO_XATTRS) == 0)
		printf("Number of xattr ids %u\n", xattrs);
	return 0;
}

static int
unsquash_time(struct sqpack_image *i)
{
	printf("%u\n", sq_facts(i->m)->mtime);
	return 0;
}

static int
unsquash_pseudo(struct sqpack_image *i)
{
	struct as_unsquashfs *u = i->p->o.as;

	struct counts c = count(i);
	int rc;

	if (u->no_progress || strcmp(u->pseudo, "-") == 0)
		return as_write_pseudo(i, u->pseudo);
	as_bar_open(&u->bar, AS_BAR_UNSQUASHFS, sq_facts(i->m)->block);
	rc = as_write_pseudo(i, u->pseudo);
	as_bar_close(&u->bar, rc == 0 ? c.blocks : 0, c.blocks);
	return rc;
}

/* Options */

static const char usage[] =
"SYNTAX: unsquashfs [OPTIONS] FILESYSTEM [files to extract or list]\n"
"        sqfscat [OPTIONS] FILESYSTEM [files to print]\n";

static const char help[] =
"This is sqpack, standing in for unsquashfs and sqfscat 4.7.5.\n"
"\n"
"  -d[est] DIR            extract to DIR (squashfs-root)\n"
"  -f[orce]               replace files\n"
"  -n[o-progress], -q[uiet], -i[nfo], -li[nfo]\n"
"  -p[rocessors] N        threads\n"
"  -u[ser-xattrs], -x[attrs], -no[-xattrs]\n"
"  -l[s], -ll[s], -lln[umeric], -lc, -llc    list, in various formats\n"
"  -s[tat]                describe the image\n"
"  -mkfs-time             print the creation time (seconds since 1970)\n"
"  -cat                   write files to standard output\n"
"  -ef, -e FILE           names to extract, one per line\n"
"  -excludes              the names are left out instead\n"
"  -exc[f] FILE, -ex[clude-list] NAMES \\;    also leave these out\n"
"  -max[-depth] N         levels below the root\n"
"  -L, -follow[-symlinks] also extract what symbolic links lead to\n"
"  -missing[-symlinks]    fail if something they lead to is missing\n"
"  -match                 fail if a name matches nothing\n"
"  -pf FILE               write a pseudo file definition (- : to stdout)\n"
"  -st[rict-errors]       stop at the first error\n"
"  -no-wild[cards]        names are not patterns\n"
"  -r[egex]               names are regular expressions\n"
"  -o[ffset] BYTES        offset of the image in the file\n"
"  -no-exit[-code]        exit with 0 even if some names were left out\n"
"  -UTC                   times in UTC\n"
"  -v[ersion], -h[elp]\n";

static int
set_list(struct sqpack *p, bool is_long, bool concise, bool numeric)
{
	struct as_unsquashfs *u = p->o.as;

	p->o.task = unsquash_list;
	u->is_long = is_long;
	u->concise = concise;
	u->numeric = numeric;
	return -1;
}

static int
take_list(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return set_list(p, false, false, false);
}

static int
take_list_concise(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return set_list(p, false, true, false);
}

static int
take_long_list(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return set_list(p, true, false, false);
}

static int
take_long_numeric(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return set_list(p, true, false, true);
}

static int
take_long_concise(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return set_list(p, true, true, false);
}

static int
take_cat(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.task = sqpack_cat;
	return -1;
}

static int
take_stat(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.task = unsquash_stat;
	return -1;
}

static int
take_fstime(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.task = unsquash_time;
	return -1;
}

static int
take_pseudo_output(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	u->pseudo = w->value;
	p->o.task = unsquash_pseudo;
	return -1;
}

static int
take_linfo(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	(void)w;
	u->info = u->is_long = true;
	return -1;
}

static int
take_extract_file(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	return as_lines(p, &u->names, w->value) == 0 ? -1 : MSG_ERROR;
}

static int
take_exclude_file(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	return as_lines(p, &u->excludes, w->value) == 0 ? -1 : MSG_ERROR;
}

/* Takes the words up to one that is just a semicolon. */
static int
take_exclude_list(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	for (; w->at < w->argc && strcmp(w->argv[w->at], ";") != 0; w->at++)
		if (as_texts_add(p, &u->excludes, w->argv[w->at],
		    strlen(w->argv[w->at])) != 0)
			return MSG_ERROR;
	if (w->at == w->argc) {
		msg_error(&p->msg, "%s: expected a ; after the list", w->word);
		return options_usage(usage);
	}
	w->at++;
	return -1;
}

static int
take_depth(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;
	int64_t n;

	if (!as_number(&p->msg, w, 0, UINT32_MAX, &n))
		return MSG_ERROR;
	u->has_depth = true;
	u->depth = (uint32_t)n;
	return -1;
}

/* The last of this and -no-progress counts. */
static int
take_percentage(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	(void)w;
	u->bar.percent = true;
	u->no_progress = false;
	return -1;
}

static int
take_offset(struct sqpack *p, struct as_words *w)
{
	p->o.from.has_offset = true;
	return as_offset(p, w, &p->o.from.offset);
}

static int
take_processors(struct sqpack *p, struct as_words *w)
{
	return as_threads(p, w);
}

static bool
wants_xattr(void *arg, const char *name)
{
	const struct sqpack *p = arg;
	const struct as_unsquashfs *u = p->o.as;

	return as_wants_xattr(u->xattrs_in, u->xattrs_out, name);
}

static int
take_xattrs_exclude(struct sqpack *p, struct as_words *w)
{
	p->o.wants_xattr = wants_xattr;
	return as_xattr_regex(p, w,
	    &((struct as_unsquashfs *)p->o.as)->xattrs_out);
}

static int
take_xattrs_include(struct sqpack *p, struct as_words *w)
{
	p->o.wants_xattr = wants_xattr;
	return as_xattr_regex(p, w,
	    &((struct as_unsquashfs *)p->o.as)->xattrs_in);
}

static int
take_all_time(struct sqpack *p, struct as_words *w)
{
	p->o.has_time = imgsrc_date(w->value, &p->o.time);
	if (p->o.has_time)
		return -1;
	msg_error(&p->msg, "%s: expected seconds since 1970 or a date, found "
	    "'%s'", w->word, w->value);
	return MSG_ERROR;
}

static int
take_xattrs(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.no_xattrs = p->o.user_xattrs = false;
	return -1;
}

static int
take_help(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return options_help(&p->msg, usage, help);
}

/* As in the original, the other words still count. */
static int
take_version(struct sqpack *p, struct as_words *w)
{
	struct as_unsquashfs *u = p->o.as;

	(void)w;
	u->version = true;
	as_version(u->cat ? "sqfscat" : "unsquashfs");
	return -1;
}

#define OWN(member) AS_SET_OWN, offsetof(struct as_unsquashfs, member), NULL
#define SET(member) AS_SET, offsetof(struct sqpack, member), NULL
#define CALL(function) AS_CALL, 0, function
#define CALL_VALUE(function) AS_CALL_VALUE, 0, function
#define IGNORED AS_IGNORED, 0, NULL
#define IGNORED_VALUE AS_IGNORED_VALUE, 0, NULL

static const struct as_option options[] = {
	{ "-UTC", NULL, OWN(utc) },
	{ "-all-time", "-all", CALL_VALUE(take_all_time) },
	{ "-cat", NULL, CALL(take_cat) },
	{ "-cols", NULL, IGNORED_VALUE },
	{ "-data-queue", "-da", IGNORED_VALUE },
	{ "-dest", "-d", AS_TEXT, offsetof(struct sqpack, o.directory), NULL },
	{ "-exclude-file", "-excf", CALL_VALUE(take_exclude_file) },
	{ "-exc", NULL, CALL_VALUE(take_exclude_file) },
	{ "-exclude-list", "-ex", CALL(take_exclude_list) },
	{ "-excludes", NULL, OWN(names_excluded) },
	{ "-extract-file", "-ef", CALL_VALUE(take_extract_file) },
	{ "-e", NULL, CALL_VALUE(take_extract_file) },
	{ "-follow-symlinks", "-follow", OWN(follow) },
	{ "-L", NULL, OWN(follow) },
	{ "-force", "-f", SET(o.force) },
	{ "-frag-queue", "-fr", IGNORED_VALUE },
	{ "-fstime", "-mkfs-time", CALL(take_fstime) },
	{ "-full-precision", "-full", OWN(precise) },
	{ "-help", "-h", CALL(take_help) },
	{ "-help-all", "-ha", CALL(take_help) },
	{ "-help-option", "-ho", CALL_VALUE(take_help) },
	{ "-help-section", "-hs", CALL_VALUE(take_help) },
	{ "-ignore-errors", "-ig", IGNORED },
	{ "-info", "-i", OWN(info) },
	{ "-lc", NULL, CALL(take_list_concise) },
	{ "-linfo", "-li", CALL(take_linfo) },
	{ "-llc", NULL, CALL(take_long_concise) },
	{ "-lls", "-ll", CALL(take_long_list) },
	{ "-llnumeric", "-lln", CALL(take_long_numeric) },
	{ "-ls", "-l", CALL(take_list) },
	{ "-max-depth", "-max", CALL_VALUE(take_depth) },
	{ "-mem", "-mem-percent", IGNORED_VALUE },
	{ "-missing-symlinks", "-missing", OWN(follow_missing) },
	{ "-match", NULL, OWN(must_match) },
	{ "-no-exit-code", "-no-exit", OWN(no_exit_code) },
	{ "-no-pager", NULL, IGNORED },
	{ "-no-progress", "-n", OWN(no_progress) },
	{ "-no-wildcards", "-no-wild", SET(o.plain_names) },
	{ "-no-xattrs", "-no", SET(o.no_xattrs) },
	{ "-offset", "-o", CALL_VALUE(take_offset) },
	{ "-percentage", "-per", CALL(take_percentage) },
	{ "-processors", "-p", CALL_VALUE(take_processors) },
	{ "-pseudo-file", "-pf", CALL_VALUE(take_pseudo_output) },
	{ "-quiet", "-q", OWN(quiet) },
	{ "-regex", "-r", SET(o.regex) },
	{ "-stat", "-s", CALL(take_stat) },
	{ "-strict-errors", "-st", OWN(strict) },
	{ "-user-xattrs", "-u", SET(o.user_xattrs) },
	{ "-version", "-v", CALL(take_version) },
	{ "-xattrs", "-x", CALL(take_xattrs) },
	{ "-xattrs-exclude", NULL, CALL_VALUE(take_xattrs_exclude) },
	{ "-xattrs-include", NULL, CALL_VALUE(take_xattrs_include) },
	{ NULL, NULL, IGNORED }
};

/* Removes slashes at the ends of a name, and all but one between components. */
static void
tidy(char *name)
{
	char *to = name;

	for (const char *s = name; *s != '\0'; s++)
		if (*s != '/' || (to > name && s[1] != '/' && s[1] != '\0'))
			*to++ = *s;
	*to = '\0';
}

/* Parses the words after the options: the image, and names in it. */
static int
take_names(struct sqpack *p, struct as_words *w)
{
	struct sqpack_options *o = &p->o;
	struct as_unsquashfs *u = o->as;

	if (w->at == w->argc && u->version) {
		msg_finish(&p->msg);
		return MSG_ERROR;	/* as the original does */
	}
	if (w->at == w->argc) {
		msg_error(&p->msg, "expected an image");
		return options_usage(usage);
	}
	o->source = w->argv[w->at++];
	for (; w->at < w->argc; w->at++)
		if (as_texts_add(p, &u->names, w->argv[w->at],
		    strlen(w->argv[w->at])) != 0)
			return MSG_ERROR;
	if (o->task == sqpack_cat && u->names.count == 0) {
		msg_error(&p->msg, "%s requires the names of files", u->cat ?
		    "sqfscat" : "-cat");
		return options_usage(usage);
	}
	if (u->names_excluded) {
		struct as_texts names = u->excludes;

		u->excludes = u->names;
		u->names = names;
		for (size_t i = 0; i < names.count; i++)
			if (as_texts_add(p, &u->excludes, names.items[i],
			    strlen(names.items[i])) != 0)
				return MSG_ERROR;
		as_texts_free(&u->names);
		u->names = (struct as_texts){ .count = 0 };
	}
	for (size_t i = 0; i < u->excludes.count; i++)
		tidy(u->excludes.items[i]);
	for (size_t i = 0; i < u->names.count; i++) {
		char *name = u->names.items[i];

		if (name[strspn(name, "/")] == '\0') {
			msg_error(&p->msg, "expected a name in the image, "
			    "found '%s'", name);
			return MSG_ERROR;
		}
		tidy(name);
		if (!o->plain_names && !o->regex &&
		    !as_can_match(&p->msg, name))
			return MSG_ERROR;
	}
	o->names = u->names.items;
	o->name_count = u->names.count;
	if (o->task != sqpack_cat) {
		o->globs = u->names.items;
		o->glob_count = u->names.count;
	}
	o->out_globs = u->excludes.items;
	o->out_glob_count = u->excludes.count;
	o->max_depth = u->has_depth ? (int64_t)u->depth : -1;
	o->follow = u->follow || u->follow_missing;
	o->follow_missing = u->follow_missing;
	o->missing_is_fine = !u->must_match && !u->follow_missing;
	return -1;
}

static void
release(struct sqpack *p)
{
	struct as_unsquashfs *u = p->o.as;

	as_texts_free(&u->names);
	as_texts_free(&u->excludes);
	path_regex_close(u->xattrs_in);
	path_regex_close(u->xattrs_out);
	sys_free(u);
}

/*
 * Returns the exit status: 2 if any names were omitted, or 1 if the image
 * cannot be read.
 */
static int
status_of(const struct sqpack *p, int rc)
{
	const struct as_unsquashfs *u = p->o.as;

	if (rc != 0 || p->msg.status != MSG_ERROR)
		return p->msg.status;
	return u->no_exit_code ? MSG_OK : PARTLY;
}

static int
parse_words(struct sqpack *p, int argc, char **argv, bool cat)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	struct as_unsquashfs *u = sys_calloc(1, sizeof(*u));
	int status;

	msg_init(&p->msg, argv[0]);
	p->o.as = u;
	if (u == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	u->cat = cat;
	p->o.release = release;
	p->o.status_of = status_of;
	p->o.task = cat ? sqpack_cat : unsquash_extract;
	p->o.directory = "squashfs-root";
	p->o.may_be_streamed = true;
	status = as_parse(p, &w, options, usage, cat ? "sqfscat" :
	    "unsquashfs");
	if (status < 0)
		status = take_names(p, &w);
	p->o.data.threads = cpus_choose(p->o.data.threads, AS_THREADS_MAX);
	return status;
}

int
as_unsquashfs_parse(struct sqpack *p, int argc, char **argv)
{
	return parse_words(p, argc, argv, false);
}

int
as_sqfscat_parse(struct sqpack *p, int argc, char **argv)
{
	return parse_words(p, argc, argv, true);
}

/*
 * as_unsquashfs.c - standing in for unsquashfs: what it does, and its options
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of unsquashfs 4.5.1, and prints in its format.
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
	bool info, is_long, concise, numeric, utc, quiet, no_exit_code;
	bool version;			/* it was printed */
};

static void
print_long(const struct as_unsquashfs *u, const struct sq_entry *e)
{
	const struct passwd *pw = u->numeric ? NULL : getpwuid(e->uid);
	const struct group *gr = u->numeric ? NULL : getgrgid(e->gid);
	char mode[LISTING_MODE_B], user[ID_B], group[ID_B];
	time_t t = e->mtime;
	struct tm tm;
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
		printf("%d-%02d-%02d %02d:%02d ", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
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
			print_long(u, &e);
		printf("%s%s%s", i->p->o.directory, n == 0 ? "" : "/", path);
		if (u->is_long && S_ISLNK(e.mode))
			printf(" -> %.*s", (int)e.size, e.target);
		putchar('\n');
	}
	return 0;
}

/* The number of extracted names of each type. */
struct counts {
	uint64_t files, dirs, links, devices, fifos, sockets, hard, blocks;
};

static void
count(const struct sqpack_image *i, struct counts *c)
{
	uint32_t block = sq_facts(i->m)->block;

	for (size_t n = 0; n < sq_count(i->m); n++) {
		struct sq_entry e;

		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		sq_get(i->m, n, &e);
		if (S_ISDIR(e.mode))
			c->dirs++;
		else if (e.first != n)
			c->hard++;
		else if (S_ISREG(e.mode)) {
			c->files++;
			c->blocks += (e.size + block - 1) / block;
		} else if (S_ISLNK(e.mode))
			c->links++;
		else if (S_ISFIFO(e.mode))
			c->fifos++;
		else if (S_ISSOCK(e.mode))
			c->sockets++;
		else
			c->devices++;
	}
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
	const struct as_unsquashfs *u = p->o.as;
	struct counts c = { .files = 0 };
	int rc;

	count(i, &c);
	if (!u->quiet) {
		printf("Parallel unsquashfs: Using %u processor%s\n",
		    p->o.data.threads, p->o.data.threads == 1 ? "" : "s");
		printf("%llu inodes (%llu blocks) to write\n\n",
		    (unsigned long long)(c.files + c.links + c.devices +
		    c.fifos + c.sockets + c.hard),
		    (unsigned long long)c.blocks);
	}
	rc = u->info ? unsquash_list(i) : 0;
	fflush(stdout);
	if (rc == 0)
		rc = sqpack_extract(i);
	if (rc != 0 || p->msg.status != MSG_OK || u->quiet)
		return rc;
	putchar('\n');
	print_count(c.files, "file", "files");
	print_count(c.dirs, "directory", "directories");
	print_count(c.links, "symlink", "symlinks");
	print_count(c.devices, "device", "devices");
	print_count(c.fifos, "fifo", "fifos");
	print_count(c.sockets, "socket", "sockets");
	print_count(c.hard, "hardlink", "hardlinks");
	return 0;
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

/* Options */

enum { FORCE, CAT, DEST, EXTRACT_FILE, HELP, IGNORED, IGNORED_VALUE, INFO,
    LACKS, LINFO, LIST, LIST_CONCISE, LONG_CONCISE, LONG_LIST, LONG_NUMERIC,
    NO_EXIT_CODE, NO_PROGRESS, NO_WILDCARDS, NO_XATTRS, OFFSET, PROCESSORS,
    QUIET, REGEX, STAT, TIME, USER_XATTRS, UTC, VERSION, XATTRS };

static const struct as_option options[] = {
	{ "-UTC", NULL, false, UTC },
	{ "-cat", NULL, false, CAT },
	{ "-data-queue", "-da", true, IGNORED_VALUE },
	{ "-dest", "-d", true, DEST },
	{ "-exclude-file", "-excf", false, LACKS },
	{ "-exc", NULL, false, LACKS },
	{ "-exclude-list", "-ex", false, LACKS },
	{ "-excludes", NULL, false, LACKS },
	{ "-extract-file", "-ef", true, EXTRACT_FILE },
	{ "-e", NULL, true, EXTRACT_FILE },
	{ "-follow-symlinks", "-follow", false, LACKS },
	{ "-L", NULL, false, LACKS },
	{ "-force", "-f", false, FORCE },
	{ "-frag-queue", "-fr", true, IGNORED_VALUE },
	{ "-fstime", "-mkfs-time", false, TIME },
	{ "-help", "-h", false, HELP },
	{ "-ignore-errors", "-ig", false, IGNORED },
	{ "-info", "-i", false, INFO },
	{ "-lc", NULL, false, LIST_CONCISE },
	{ "-linfo", "-li", false, LINFO },
	{ "-llc", NULL, false, LONG_CONCISE },
	{ "-lls", "-ll", false, LONG_LIST },
	{ "-llnumeric", "-lln", false, LONG_NUMERIC },
	{ "-ls", "-l", false, LIST },
	{ "-max-depth", "-max", false, LACKS },
	{ "-missing-symlinks", "-missing", false, LACKS },
	{ "-no-exit-code", "-no-exit", false, NO_EXIT_CODE },
	{ "-no-progress", "-n", false, NO_PROGRESS },
	{ "-no-wildcards", "-no-wild", false, NO_WILDCARDS },
	{ "-no-xattrs", "-no", false, NO_XATTRS },
	{ "-offset", "-o", true, OFFSET },
	{ "-processors", "-p", true, PROCESSORS },
	{ "-pseudo-file", "-pf", false, LACKS },
	{ "-quiet", "-q", false, QUIET },
	{ "-regex", "-r", false, REGEX },
	{ "-stat", "-s", false, STAT },
	{ "-strict-errors", "-st", false, LACKS },
	{ "-user-xattrs", "-u", false, USER_XATTRS },
	{ "-version", "-v", false, VERSION },
	{ "-xattrs", "-x", false, XATTRS },
	{ NULL, NULL, false, 0 }
};

static const char usage[] =
"SYNTAX: unsquashfs [OPTIONS] FILESYSTEM [files to extract or list]\n";

static const char help[] =
"This is sqpack, standing in for unsquashfs 4.5.1.\n"
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
"  -no-wild[cards]        names are not patterns\n"
"  -r[egex]               names are regular expressions\n"
"  -o[ffset] BYTES        offset of the image in the file\n"
"  -no-exit[-code]        exit with 0 even if some names were left out\n"
"  -UTC                   times in UTC\n"
"  -v[ersion], -h[elp]\n";

static void
set_list(struct sqpack *p, bool is_long, bool concise, bool numeric)
{
	struct as_unsquashfs *u = p->o.as;

	p->o.task = unsquash_list;
	u->is_long = is_long;
	u->concise = concise;
	u->numeric = numeric;
}

static int
take_option(struct sqpack *p, const struct as_words *w, int id)
{
	struct sqpack_options *o = &p->o;
	struct as_unsquashfs *u = o->as;

	switch (id) {
	case AS_WRONG: return options_usage(usage);
	case CAT: o->task = sqpack_cat; break;
	case STAT: o->task = unsquash_stat; break;
	case TIME: o->task = unsquash_time; break;
	case LIST: set_list(p, false, false, false); break;
	case LIST_CONCISE: set_list(p, false, true, false); break;
	case LONG_LIST: set_list(p, true, false, false); break;
	case LONG_NUMERIC: set_list(p, true, false, true); break;
	case LONG_CONCISE: set_list(p, true, true, false); break;
	case INFO: u->info = true; break;
	case LINFO: u->info = u->is_long = true; break;
	case UTC: u->utc = true; break;
	case QUIET: u->quiet = true; break;
	case NO_EXIT_CODE: u->no_exit_code = true; break;
	case DEST: o->directory = w->value; break;
	case EXTRACT_FILE:
		return as_lines(p, &u->names, w->value) == 0 ? -1 : MSG_ERROR;
	case FORCE: o->force = true; break;
	case HELP: return options_help(&p->msg, usage, help);
	case LACKS: return as_lacks(&p->msg, w->word, "unsquashfs");
	case NO_PROGRESS: p->msg.quiet = true; break;
	case NO_WILDCARDS: o->plain_names = true; break;
	case NO_XATTRS: o->no_xattrs = true; break;
	case OFFSET:
		o->from.has_offset = true;
		return as_offset(p, w, &o->from.offset);
	case PROCESSORS: return as_threads(p, w);
	case REGEX: o->regex = true; break;
	case USER_XATTRS: o->user_xattrs = true; break;
	case VERSION:
		/* as in the original, the other words still count */
		u->version = true;
		printf("unsquashfs version 4.5.1 (2022/03/17)\n"
		    "This is sqpack (coldpress) %s, standing in for it.\n",
		    COLDPRESS_VERSION);
		fflush(stdout);
		break;
	case XATTRS: o->no_xattrs = o->user_xattrs = false; break;
	default: break;
	}
	return -1;
}

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
		msg_error(&p->msg, "-cat requires the names of files");
		return options_usage(usage);
	}
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
	if (o->task == unsquash_list || o->task == unsquash_extract) {
		o->globs = u->names.items;
		o->glob_count = u->names.count;
	}
	return -1;
}

static void
release(struct sqpack *p)
{
	struct as_unsquashfs *u = p->o.as;

	as_texts_free(&u->names);
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

int
as_unsquashfs_parse(struct sqpack *p, int argc, char **argv)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	int id, status = -1;

	msg_init(&p->msg, argv[0]);
	p->o.as = sys_calloc(1, sizeof(struct as_unsquashfs));
	if (p->o.as == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	p->o.release = release;
	p->o.status_of = status_of;
	p->o.task = unsquash_extract;
	p->o.directory = "squashfs-root";
	p->o.missing_is_fine = true;
	while (status < 0 && (id = as_next(&p->msg, &w, options)) != AS_END)
		status = take_option(p, &w, id);
	if (status < 0)
		status = take_names(p, &w);
	p->o.data.threads = cpus_choose(p->o.data.threads, AS_THREADS_MAX);
	return status;
}

/*
 * pzseek.c - ranges of what is in a compressed file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a format does for it is in src/codec/seek_*.c, by seek.h.
 */
#include "seek.h"

#include "args.h"
#include "cpus.h"
#include "fdio.h"
#include "msg.h"
#include "output.h"
#include "sandbox.h"
#include "sys.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MAX = 4096, WINDOW_MAX_LOG = 27 };
enum { SPACING = 4 << 20, SPACING_LEAST = 64 << 10 };

struct pzseek {
	struct msg msg;
	struct convert convert;
	const char *path, *output, *index;
	bool no_index, make_index, from_start, verify, force, list, json;
	uint64_t spacing;
	char **ranges;
	int range_count;

	int fd, index_fd, out_fd;
	struct stat st;
	struct output out;
	const char *index_state;	/* for a listing */
	char *index_name;		/* the caller's, or made */
};

static const char usage[] =
"usage: pzseek [-fqv] [-o file] [-p threads] [--index file] [--no-index]\n"
"           [--from-start] [--memory size] [--verify] file range ...\n"
"       pzseek [-fqv] [--index file] --make-index [--spacing size] file\n"
"       pzseek [--json] -l file\n";

static const char help[] =
"\n"
"Writes ranges of what is in a compressed file, without decompressing all\n"
"that is before them.\n"
"\n"
"  range               OFFSET:LENGTH, OFFSET: (to the end), :LENGTH,\n"
"                      -N: (the last N bytes), -N:LENGTH; K, M, G, T\n"
"  -o, --output FILE   write to FILE\n"
"  -p, --processes N   threads (default: the CPUs that may be used)\n"
"  --memory SIZE       use fewer threads rather than more memory\n"
"  --verify            decompress further, to where there is a check\n"
"  --from-start        believe no table or index; decompress from the start\n"
"  --make-index        make a side index of a gzip file\n"
"  --spacing SIZE      of the index's points (4M)\n"
"  --index FILE        the index, if not file.pzi\n"
"  --no-index          do not look for one\n"
"  -l, --list          sizes, and what ranges are found by; --json\n"
"  -f, --force         overwrite\n"
"  -q, -v              say less, or more\n"
"  -h, -V              this help; the version\n";

enum long_only {
	INDEX = 256, NO_INDEX, MAKE_INDEX, SPACE, FROM_START, VERIFY, MEMORY,
	JSON
};

static const struct option long_options[] = {
	{ "force", no_argument, NULL, 'f' },
	{ "from-start", no_argument, NULL, FROM_START },
	{ "help", no_argument, NULL, 'h' },
	{ "index", required_argument, NULL, INDEX },
	{ "json", no_argument, NULL, JSON },
	{ "list", no_argument, NULL, 'l' },
	{ "make-index", no_argument, NULL, MAKE_INDEX },
	{ "memory", required_argument, NULL, MEMORY },
	{ "no-index", no_argument, NULL, NO_INDEX },
	{ "output", required_argument, NULL, 'o' },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "silent", no_argument, NULL, 'q' },
	{ "spacing", required_argument, NULL, SPACE },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static int
bad_value(struct pzseek *p, const char *what)
{
	msg_error(&p->msg, "%s '%s' is not valid", what, optarg);
	return MSG_ERROR;
}

/* -1 to go on, or the status. */
static int
take_option(struct pzseek *p, int opt)
{
	int64_t v = 0;

	switch (opt) {
	case 'f':
		p->force = true;
		break;
	case 'l':
		p->list = true;
		break;
	case 'o':
		p->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		break;
	case 'p':
		if (args_int(optarg, 1, THREADS_MAX, &v) != 0)
			return bad_value(p, "number of threads");
		p->convert.options.threads = (unsigned)v;
		break;
	case 'q':
		p->msg.quiet = true;
		break;
	case 'v':
		p->msg.verbose++;
		break;
	case INDEX:
		p->index = optarg;
		break;
	case NO_INDEX:
		p->no_index = true;
		break;
	case MAKE_INDEX:
		p->make_index = true;
		break;
	case SPACE:
		if (args_size(optarg, &p->spacing) != 0 ||
		    p->spacing < SPACING_LEAST)
			return bad_value(p, "spacing (64K or more)");
		break;
	case FROM_START:
		p->from_start = true;
		break;
	case VERIFY:
		p->verify = true;
		break;
	case MEMORY:
		if (args_size(optarg, &p->convert.memory) != 0)
			return bad_value(p, "size");
		break;
	case JSON:
		p->json = true;
		break;
	case 'h':
		printf("%s%s", usage, help);
		return MSG_OK;
	case 'V':
		printf("pzseek (coldpress) %s\n", COLDPRESS_VERSION);
		return MSG_OK;
	default:
		fputs(usage, stderr);
		return MSG_ERROR;
	}
	return -1;
}

/* Options end with the file: a range may begin with a dash. */
static int
parse(struct pzseek *p, int argc, char **argv)
{
	int opt, status = -1;

	while (status < 0 && (opt = getopt_long(argc, argv, "+fhlo:p:qvV",
	    long_options, NULL)) != -1)
		status = take_option(p, opt);
	if (status >= 0)
		return status;
	p->ranges = argv + optind + 1;
	p->range_count = argc - optind - 1;
	if (p->range_count < 0 ||
	    (p->range_count == 0) != (p->list || p->make_index) ||
	    (p->list && p->make_index)) {
		fputs(usage, stderr);
		return MSG_ERROR;
	}
	p->path = argv[optind];
	for (int i = 0; i < p->range_count; i++) {
		struct seek_range r;

		if (seek_parse(p->ranges[i], &r) != 0) {
			msg_error(&p->msg, "'%s' is no range (OFFSET:LENGTH)",
			    p->ranges[i]);
			return MSG_ERROR;
		}
	}
	return -1;
}

static const char *
sentence(int rc)
{
	switch (rc) {
	case -EBADMSG:
		return "the data is corrupt";
	case -ENODATA:
		return "unexpected end of file";
	case -ENOTSUP:
		return "the format's variant is not supported";
	case -EFBIG:
		return "it needs more memory than it may have, or an index of "
		    "more points (--spacing)";
	case -ESTALE:
		return "the file changed while it was read";
	default:
		return strerror(-rc);
	}
}

static int
fail(struct pzseek *p, const char *what, const char *why)
{
	msg_error(&p->msg, "%s: %s", what, why);
	return -1;
}

/* The file, which must be one that can be read at any place. */
static int
open_file(struct pzseek *p)
{
	uint8_t head[CODEC_MAGIC_MAX];
	ssize_t n;

	p->fd = sys_openat(AT_FDCWD, p->path, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK | O_NOCTTY, 0);
	if (p->fd < 0)
		return fail(p, p->path, strerror(-p->fd));
	if (fstat(p->fd, &p->st) == -1)
		return fail(p, p->path, strerror(errno));
	if (!S_ISREG(p->st.st_mode))
		return fail(p, p->path, "not a regular file");
	n = fdio_pread(p->fd, head, sizeof(head), 0);
	if (n < 0)
		return fail(p, p->path, strerror((int)-n));
	p->convert.codec = codec_by_magic(head, (size_t)n);
	if (p->convert.codec == NULL)
		return fail(p, p->path, n == 0 ? "unexpected end of file" :
		    "not in a known format");
	return 0;
}

/* The index's name: that given, or the file's and .pzi. */
static int
name_index(struct pzseek *p)
{
	const char *given = p->index != NULL ? p->index : p->path;
	size_t len = strlen(given);

	p->index_name = sys_malloc(len + sizeof(".pzi"));
	if (p->index_name == NULL)
		return fail(p, p->path, strerror(ENOMEM));
	memcpy(p->index_name, given, len);
	memcpy(p->index_name + len, p->index != NULL ? "" : ".pzi",
	    p->index != NULL ? 1 : sizeof(".pzi"));
	return 0;
}

static int
open_index(struct pzseek *p)
{
	if (p->no_index || p->from_start || p->make_index)
		return 0;
	p->index_fd = sys_openat(AT_FDCWD, p->index_name, O_RDONLY |
	    O_CLOEXEC | O_NONBLOCK, 0);
	if (p->index_fd < 0 && (p->index != NULL ||
	    p->index_fd != -ENOENT))
		return fail(p, p->index_name, strerror(-p->index_fd));
	return 0;
}

/* How far into the data the ranges go; a listing wants all. */
static uint64_t
needed(const struct pzseek *p)
{
	uint64_t need = p->list ? UINT64_MAX : 1;

	for (int i = 0; i < p->range_count; i++) {
		struct seek_range r;

		if (seek_parse(p->ranges[i], &r) == 0 &&
		    seek_range_end(&r) > need)
			need = seek_range_end(&r);
	}
	return need;
}

/*
 * The map by the index, if there is one.  One that was not asked for and is
 * no good is passed over.
 */
static int
open_map(struct pzseek *p, struct seek_map *m)
{
	uint64_t len = (uint64_t)p->st.st_size;
	int rc;

	p->index_state = "none";
	if (p->index_fd >= 0) {
		const char *why;

		rc = seek_map_index(m, p->convert.codec, p->fd, len,
		    p->index_fd);
		p->index_state = "used";
		if (rc == 0)
			return 0;
		why = rc == -ESTALE ? "the index was made for another file, "
		    "or another state of this one" : rc == -EBADMSG ?
		    "this is no index, or it is damaged" : strerror(-rc);
		p->index_state = rc == -ESTALE ? "stale" : "damaged";
		if (p->index != NULL)
			return fail(p, p->index_name, why);
		if (!p->msg.quiet)
			msg_note(&p->msg, "%s: %s; not used", p->index_name,
			    why);
	}
	rc = 0;
	if (p->from_start)
		*m = (struct seek_map){ .fd = p->fd, .len = len,
		    .codec = p->convert.codec };
	else
		rc = seek_map_open(m, p->convert.codec, p->fd, len,
		    needed(p));
	return rc == 0 ? 0 : fail(p, p->path, sentence(rc));
}

/* Listing */

static int
list(struct pzseek *p, const struct seek_map *m)
{
	static const char *const columns[] = {
		"name", "format", "compressed_B", "uncompressed_B", "units",
		"longest_B", "found_by", "checked", "index"
	};
	uint64_t longest = 0;
	struct table *t;
	int rc = table_to_fd(&t, STDOUT_FILENO, p->json ? TABLE_JSON :
	    TABLE_CSV, columns, sizeof(columns) / sizeof(columns[0]));

	if (rc != 0)
		return fail(p, p->path, strerror(-rc));
	for (size_t i = 1; i < m->count; i++)
		if (m->units[i].plain - m->units[i - 1].plain > longest)
			longest = m->units[i].plain - m->units[i - 1].plain;
	table_text(t, p->path);
	table_text(t, p->convert.codec->name);
	table_int(t, (int64_t)m->len);
	if (m->count > 0) {
		table_int(t, (int64_t)m->units[m->count - 1].plain);
		table_int(t, (int64_t)m->count - 1);
		table_int(t, (int64_t)longest);
	} else {
		table_none(t);
		table_int(t, 0);
		table_none(t);
	}
	table_text(t, m->count > 0 ? m->how : "decompressing from the start");
	table_bool(t, m->count > 0 && m->checked);
	table_text(t, p->index_state);
	rc = table_end(t);
	table_close(t);
	return rc == 0 ? 0 : fail(p, "standard output", strerror(-rc));
}

/* Ranges */

static void
tell(struct pzseek *p, const char *range, const struct seek_result *r)
{
	msg_note(&p->msg, "%s %s: read %" PRIu64 " bytes, decompressed %"
	    PRIu64 ", wrote %" PRIu64 "%s%s", p->path, range, r->read_B,
	    r->made_B, r->wrote_B, r->from_start ? "; from the start" : "",
	    r->wrote_B > 0 && r->unverified ? "; not verified" : "");
}

static int
read_ranges(struct pzseek *p, const struct seek_map *m)
{
	for (int i = 0; i < p->range_count; i++) {
		struct seek_range r;
		struct seek_result result = { .why = NULL };
		int rc = seek_parse(p->ranges[i], &r);

		if (rc == 0)
			rc = seek_read(m, &p->convert, &r, p->verify,
			    p->out_fd, &result);
		if (rc != 0)
			return fail(p, !result.output_failed ? p->path :
			    p->output != NULL ? p->output : "standard output",
			    result.why != NULL ? result.why : sentence(rc));
		if (p->msg.verbose > 0)
			tell(p, p->ranges[i], &result);
	}
	return 0;
}

/* What is opened later than this, in a filter, is nothing. */
static int
open_output(struct pzseek *p)
{
	bool confined;
	int rc;

	p->out_fd = STDOUT_FILENO;
	if (p->output == NULL) {
		sandbox_enter(&confined);
		return 0;
	}
	rc = output_create(&p->out, p->output, p->force);
	p->out_fd = p->out.fd;
	return rc == 0 ? 0 : fail(p, p->output, strerror(-rc));
}

static int
close_output(struct pzseek *p, int rc)
{
	mode_t mask = umask(0);

	umask(mask);
	if (p->output == NULL)
		return rc;
	if (rc != 0) {
		output_abort(&p->out);
		return rc;
	}
	if (!p->out.direct)
		fchmod(p->out.fd, 0666 & ~mask);
	rc = output_commit(&p->out, false);
	return rc == 0 ? 0 : fail(p, p->output, strerror(-rc));
}

static void
seek(struct pzseek *p)
{
	struct seek_map m = { .count = 0 };
	int rc = p->list ? 0 : open_output(p);

	if (rc != 0)
		return;
	rc = open_map(p, &m);
	if (rc == 0 && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %s", p->path, m.count > 0 ? m.how :
		    "nothing in it helps; decompressing from the start");
	if (rc == 0)
		rc = p->list ? list(p, &m) : read_ranges(p, &m);
	seek_map_close(&m);
	if (p->msg.verbose > 0 && rc == 0)
		msg_note(&p->msg, "%s: read %" PRIu64 " bytes to find that",
		    p->path, m.read_B);
	if (!p->list)
		close_output(p, rc);
}

/* The index is no more readable than the file. */
static void
make_index(struct pzseek *p)
{
	int rc;

	if (strcmp(p->convert.codec->name, "gzip") != 0) {
		fail(p, p->path, "only gzip files take an index");
		return;
	}
	rc = output_create(&p->out, p->index_name, p->force);
	if (rc != 0) {
		fail(p, p->index_name, strerror(-rc));
		return;
	}
	fchmod(p->out.fd, p->st.st_mode & 0666);
	rc = seek_index_make(p->fd, (uint64_t)p->st.st_size, p->spacing,
	    p->out.fd);
	if (rc != 0) {
		output_abort(&p->out);
		fail(p, rc == -ENOSPC || rc == -EDQUOT ? p->index_name :
		    p->path, sentence(rc));
		return;
	}
	rc = output_commit(&p->out, false);
	if (rc != 0)
		fail(p, p->index_name, strerror(-rc));
}

int
main(int argc, char **argv)
{
	struct pzseek p = { .spacing = SPACING, .fd = -1, .index_fd = -1,
	    .convert = { .decompress = true, .options = {
	    .window_max = (uint64_t)1 << WINDOW_MAX_LOG } } };
	int status;

	msg_init(&p.msg, argv[0]);
	status = parse(&p, argc, argv);
	if (status >= 0) {
		p.msg.status = status;
		return msg_finish(&p.msg);
	}
	if (p.convert.options.threads == 0)
		p.convert.options.threads = cpus_usable();
	if (open_file(&p) == 0 && name_index(&p) == 0 &&
	    open_index(&p) == 0) {
		if (p.make_index)
			make_index(&p);
		else
			seek(&p);
	}
	if (p.index_fd >= 0)
		sys_close(p.index_fd);
	if (p.fd >= 0)
		sys_close(p.fd);
	sys_free(p.index_name);
	return msg_finish(&p.msg);
}

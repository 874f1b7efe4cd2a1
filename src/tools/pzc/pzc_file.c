/*
 * pzc_file.c - the life of one file: opened, converted, named, removed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of the operand is opened once, and all other operations are
 * relative to that descriptor, so that replacing part of the path in the
 * meantime has no effect.
 *
 * The input is removed last, once the output is complete, has been synced and
 * has its final name, and only if the input is still the file that was read.
 */
#include "pzc.h"

#include "base/fdio.h"
#include "base/output.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/sandbox.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/utc.h"
#include "format/skippable.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SUFFIX_MAX = 8 };	/* longest suffix tried, including the NUL */

struct file {
	struct pzc *p;
	struct source *src;
	struct input in;
	const struct codec *codec;	/* NULL: to be copied */
	bool decompress;
	struct codec_stored stored;	/* from the header being decompressed */
	char *target;			/* name of the output, or NULL */
	struct output out;
	int out_fd;
	bool empty;			/* a slice without data */
	struct convert_result result;
};

bool
pzc_is_console(const struct pzc *p, int fd)
{
	return p->consoles[fd] || isatty(fd);
}

int
pzc_load_blob(struct pzc *p, const char *path, const char *key)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), rc = fd;
	struct stat st = { .st_size = 0 };
	ssize_t n;

	if (rc >= 0)
		rc = fstat(fd, &st) == -1 ? -errno : !S_ISREG(st.st_mode) ?
		    -EINVAL : st.st_size > INT32_MAX ? -EFBIG : 0;
	if (rc == 0) {
		p->blob = sys_malloc((size_t)st.st_size + 1);
		rc = p->blob == NULL ? -ENOMEM : 0;
	}
	if (rc == 0) {
		n = fdio_read(fd, p->blob, (size_t)st.st_size);
		rc = n < 0 ? (int)n : 0;
		p->blob_B = n < 0 ? 0 : (size_t)n;
	}
	if (fd >= 0)
		sys_close(fd);
	p->blob_dev = st.st_dev;
	p->blob_ino = st.st_ino;
	return rc != 0 || p->blob_B == 0 ? rc :
	    codec_set(&p->codec_options, key, p->blob_B, p->blob);
}

/* Opening the input */

/*
 * Returns whether an option allows a symbolic link, a special file, or a file
 * with other hard links.
 */
static bool
input_stays(const struct pzc *p)
{
	return p->to_stdout || p->mode >= PZC_TEST;
}

/*
 * Returns whether the open file may be read and, unless it stays, replaced by
 * its output.
 */
static bool
is_fit(struct pzc *p, const struct source *s)
{
	const struct stat *st = &s->st;
	bool allowed = p->force || (p->style->lenient &&
	    (p->keep || p->output != NULL));
	bool asked_for = !s->in_tree && (input_stays(p) ||
	    (p->style->lenient && !p->style->regular_only && allowed));
	char links[64];

	if (S_ISDIR(st->st_mode)) {
		pzc_say(p, ON_DIRECTORY, s->path, NULL);
		return false;
	}
	if (!S_ISREG(st->st_mode)) {
		if (!asked_for)
			pzc_say(p, ON_SPECIAL, s->path, NULL);
		return asked_for;
	}
	if (input_stays(p))
		return true;
	snprintf(links, sizeof(links), "%lu other link%s",
	    (unsigned long)st->st_nlink - 1, st->st_nlink == 2 ? "" : "s");
	if (st->st_nlink > 1 && !allowed &&
	    pzc_say(p, ON_LINKS, s->path, links))
		return false;
	if (st->st_mode & S_ISVTX && !allowed &&
	    pzc_say(p, ON_SET_ID, s->path, NULL))
		return false;
	return !(st->st_mode & (S_ISUID | S_ISGID)) ||
	    (allowed && p->style->force_allows_set_id) ||
	    !pzc_say(p, ON_SET_ID, s->path, NULL);
}

int
pzc_source_open(struct pzc *p, struct source *s)
{
	struct pollfd wait = { .events = POLLIN };
	int rc;

	s->followed = !s->in_tree && (p->style->links_followed ||
	    p->to_stdout || p->force ||
	    p->output != NULL || (p->keep && p->style->keep_follows) ||
	    (p->mode >= PZC_TEST && !p->style->test_needs_file));
	rc = s->fd = sys_openat(s->dirfd, s->base, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK | O_NOCTTY | (s->followed ? 0 : O_NOFOLLOW), 0);
	if (rc >= 0)
		rc = fstat(s->fd, &s->st) == -1 ? -errno : 0;
	if (rc == -ELOOP && !s->followed)
		pzc_say(p, ON_LINK, s->path, NULL);
	else if (rc != 0)
		pzc_say(p, rc == -ENOENT ? ON_MISSING : ON_OPEN, s->path,
		    strerror(-rc));
	if (rc != 0 || !is_fit(p, s))
		return -1;
	/*
	 * A FIFO is opened without waiting, and until it has a writer, read(2)
	 * reports the end of the file; poll(2), however, waits for one.
	 */
	wait.fd = s->fd;
	if (S_ISFIFO(s->st.st_mode))
		while (poll(&wait, 1, -1) == -1 && errno == EINTR)
			;
	fcntl(s->fd, F_SETFL, 0);
	return 0;
}

/* Appends a suffix to the names, replacing a previous one. */
static void
put_suffix(struct source *s, const char *path, const char *suffix)
{
	size_t len = strlen(path), dir = (size_t)(s->base - s->path);

	strcpy(s->found, path);
	strcpy(s->found + len, suffix);
	s->path = s->found;
	s->base = s->found + dir;
}

static bool
is_missing(const struct source *s)
{
	struct stat st;

	return fstatat(s->dirfd, s->base, &st, AT_SYMLINK_NOFOLLOW) == -1 &&
	    errno == ENOENT;
}

/*
 * Looks up an operand, which may lack the suffix of a compressed file.  If no
 * such file exists, the error message contains the operand as given.
 */
static void
look_up(const struct pzc *p, struct source *s)
{
	const char *const *suffix = p->style->look_up, *path = s->path;
	const char *first = p->suffix != NULL ? p->suffix : "";

	if (suffix == NULL || p->mode == PZC_COMPRESS || !is_missing(s) ||
	    (!p->style->look_up_all && pzc_is_packed(p, path)))
		return;
	s->found = sys_malloc(strlen(path) + strlen(first) + SUFFIX_MAX);
	if (s->found == NULL)
		return;
	put_suffix(s, path, first);
	while (is_missing(s) && *suffix != NULL)
		put_suffix(s, path, *suffix++);
	if (is_missing(s))
		put_suffix(s, path, p->style->look_up_all ? "" :
		    p->suffix != NULL ? first : ".gz");
}

/*
 * A path that ends with a slash is not split, because it can only be a
 * directory.
 */
int
pzc_source_locate(struct pzc *p, struct source *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	*s = (struct source){ .path = path, .base = path, .fd = -1,
	    .dirfd = AT_FDCWD };
	if (slash != NULL && slash[1] != '\0') {
		s->base = slash + 1;
		dir = strcopy_part(path, (size_t)(s->base - path));
		s->dirfd = dir == NULL ? -ENOMEM : sys_openat(AT_FDCWD, dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		sys_free(dir);
		if (s->dirfd < 0) {
			pzc_say(p, s->dirfd == -ENOENT ? ON_MISSING : ON_OPEN,
			    path, strerror(-s->dirfd));
			s->dirfd = AT_FDCWD;
			return -1;
		}
	}
	look_up(p, s);
	return 0;
}

void
pzc_source_close(struct source *s)
{
	if (s->fd >= 0 && !s->is_stdin)
		sys_close(s->fd);
	if (s->dirfd >= 0 && !s->in_tree)
		sys_close(s->dirfd);
	sys_free(s->found);
	s->found = NULL;
	s->fd = -1;
	s->dirfd = AT_FDCWD;
}

/* Choosing the format */

static bool
goes_to_stdout(const struct file *f)
{
	return f->p->to_stdout || (f->src->is_stdin && f->p->output == NULL);
}

/*
 * Returns whether data in an unknown format is copied unchanged: with -dcf, and
 * in some styles with -df for standard input, but never when testing.
 */
static bool
copies_unknown(const struct file *f)
{
	const struct pzc *p = f->p;

	if (p->pass_through != 0)
		return p->pass_through > 0 && p->mode == PZC_DECOMPRESS;
	return p->force && p->mode == PZC_DECOMPRESS && (p->to_stdout ||
	    (p->style->stdin_copies && goes_to_stdout(f)));
}

const struct codec *
pzc_codec_of(const struct pzc *p, const uint8_t *head, size_t len)
{
	const char *const *name = p->formats;
	const struct codec *found;

	if (p->codec != NULL && p->codec->magic(head, len))
		return p->codec;
	found = codec_by_magic(head, len);
	if (found == NULL && p->codec != NULL && p->codec->magic_is_guess &&
	    len > 0)
		found = p->codec;
	if (!p->style->formats_only || name == NULL || found == NULL)
		return found;
	for (size_t i = 0; name[i] != NULL; i++)
		if (strcmp(name[i], found->name) == 0)
			return found;
	/* skippable frames belong to two formats */
	for (; *name != NULL; name++) {
		const struct codec *c = codec_by_name(*name);

		if (!c->magic_is_guess && c->magic(head, len))
			return c;
	}
	return NULL;
}

/*
 * Chooses the format.  When data in an unknown format is copied, so is data in
 * a format that the program being imitated does not support, because text may
 * look like zlib data.
 */
static int
choose_codec(struct file *f)
{
	struct pzc *p = f->p;
	const char *const *name = p->style->formats;
	bool copies = copies_unknown(f);
	const uint8_t *head = NULL;
	ssize_t n;

	f->decompress = p->mode != PZC_COMPRESS;
	f->codec = p->codec;
	if (!f->decompress)
		return 0;
	/* data to be copied must remain complete */
	n = copies && name != NULL ? 0 : skippable_shorten(&f->in);
	if (n == 0)
		n = input_peek(&f->in, CODEC_MAGIC_MAX, &head);
	if (n < 0) {
		pzc_say(p, ON_ERROR, f->src->path, strerror((int)-n));
		return -1;
	}
	f->codec = pzc_codec_of(p, head, (size_t)n);
	if (copies && f->codec != NULL && name != NULL) {
		while (*name != NULL && strcmp(*name, f->codec->name) != 0)
			name++;
		if (*name == NULL)
			f->codec = NULL;
	}
	if (n == 0 && p->style->empty_is_right)
		return 0;
	if (f->codec == NULL && !copies) {
		pzc_say(p, n == 0 ? ON_EMPTY : ON_NO_FORMAT, f->src->path,
		    NULL);
		return -1;
	}
	/*
	 * The header is parsed only if it is needed, because reading a pipe may
	 * block.
	 */
	if (f->codec != NULL && f->codec->stored != NULL &&
	    (p->restore_name || p->restore_time || p->msg.verbose > 0)) {
		n = input_peek(&f->in, INPUT_PEEK, &head);
		if (n > 0)
			f->codec->stored(head, (size_t)n, &f->stored);
	}
	return 0;
}

/* Creating the output */

/* On a terminal, asks the user, as gzip does. */
static bool
may_overwrite(struct file *f)
{
	const char *o = f->p->out_dir != NULL ? f->target : f->p->output;
	int c, first;

	if (f->p->force)
		return true;
	if (f->p->style->never_asks || faccessat(o != NULL ? AT_FDCWD : f->src->dirfd, o != NULL ? o :
	    path_name(f->target), F_OK, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (!f->p->presume_tty &&
	    !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO))))
		return false;
	msg_ask(&f->p->msg, "%s already exists; overwrite it (y or n)?",
	    f->target);
	first = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	return first == 'y' || first == 'Y';
}

static int
create_target(struct file *f)
{
	struct pzc *p = f->p;
	const char *why = NULL;
	bool replace;
	int rc;

	f->target = pzc_target_name(p, f->src->path,
	    f->decompress ? NULL : f->codec,
	    p->restore_name ? f->stored.name : "");
	if (f->target == NULL)
		return -1;
	replace = may_overwrite(f);
	rc = p->output != NULL || p->out_dir != NULL ?
	    output_create(&f->out, f->target, replace) :
	    output_create_at(&f->out, f->src->dirfd, path_name(f->target),
	    replace);
	if (rc == -EEXIST && !replace)
		pzc_say(p, ON_EXISTS, f->target, NULL);
	else if (rc == -EEXIST)
		msg_warn(&p->msg, "%s is not a regular file -- not "
		    "overwritten", f->target);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", f->target, strerror(-rc));
	if (rc != 0)
		return rc;
	if (output_is(&f->out, &f->src->st))
		why = "is the input -- not overwritten";
	else if (f->out.direct && p->verify && !f->decompress)
		why = "cannot be read back, which --verify requires";
	if (why != NULL) {
		msg_error(&p->msg, "%s %s", f->target, why);
		output_abort(&f->out);
		return -EEXIST;
	}
	f->out_fd = f->out.fd;
	return 0;
}

/* Checks that standard output can take the result. */
static int
use_stdout(struct file *f)
{
	struct msg *msg = &f->p->msg;
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (!f->decompress && !f->p->force &&
	    pzc_is_console(f->p, STDOUT_FILENO)) {
		pzc_say(f->p, ON_TERMINAL_OUT, "", NULL);
		return -1;
	}
	if (!f->decompress && f->p->verify &&
	    ((flags & O_ACCMODE) != O_RDWR || lseek(STDOUT_FILENO, 0,
	    SEEK_CUR) != 0)) {
		msg_error(msg, "--verify needs a file: standard "
		    "output cannot be read back (-o)");
		return -1;
	}
	if ((flags & O_ACCMODE) == O_RDONLY) {
		msg_error(msg, "standard output: %s", strerror(EBADF));
		return -1;
	}
	f->out_fd = STDOUT_FILENO;
	return 0;
}

/* Converting */

/* Returns the file named by PZC_STATS, or NULL. */
static const char *
stats_of_environment(void)
{
	const char *env = getenv("PZC_STATS");

	return env != NULL && *env != '\0' ? env : NULL;
}

void
pzc_confine(struct pzc *p, const struct source *s, const struct output *out)
{
	const char *why = "statistics will be written to a file";
	bool writes_stats = stats_of_environment() != NULL ||
	    (p->stats != NULL && strcmp(p->stats, "-") != 0);
	bool confined;
	int rc;

	if (p->file_count != 1 || p->recursive || p->names_files.count > 0)
		return;
	if (p->mode == PZC_LIST || !writes_stats) {
		/* the input is removed from the same directory */
		rc = out != NULL && out->fd >= 0 && !out->direct ?
		    sandbox_enter_naming(out->dirfd, &confined) :
		    sandbox_enter(&confined);
		why = rc != 0 ? strerror(-rc) : confined ? NULL :
		    "the kernel has no Landlock";
	}
	if (why != NULL && p->msg.verbose > 0 && p->style->talks)
		msg_note(&p->msg, "%s: not confined: %s", s->path, why);
}

/* Returns the message for a stream error; why takes precedence, unless NULL. */
static const char *
reason_for(int rc, const char *why)
{
	if (why != NULL)
		return why;
	return rc == -EFBIG ?
	    "the window is larger than allowed (--long, --memory)" :
	    convert_reason(rc);
}

/*
 * Returns whether to copy data like cat: gzip -cdf does so for data that is not
 * in gzip format, and for data after it.
 */
static bool
copies_rest(const struct file *f)
{
	return f->p->style->copy_rest && copies_unknown(f);
}

/*
 * Returns whether there is a time to store, if the format has a field for it.
 */
static bool
has_time(const struct file *f)
{
	return f->p->store_time && !f->decompress &&
	    S_ISREG(f->src->st.st_mode) &&
	    (!f->src->is_stdin || f->p->style->stdin_time);
}

/* Returns whether the header's 32 bits can hold the time; 0 means none. */
static bool
fits_header(int64_t t)
{
	return t > 0 && t <= UINT32_MAX;
}

/*
 * Returns whether zeros become holes: in a new file, and in one that is standard
 * output, at its end, if this is asked for.
 */
static bool
makes_holes(const struct file *f)
{
	const struct pzc_style *style = f->p->style;
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct stat st;

	if (!f->decompress || f->p->sparse < 0 || f->out_fd < 0)
		return false;
	if (f->out_fd != STDOUT_FILENO)
		return !f->out.direct && (style->sparse || f->p->sparse > 0);
	return (style->sparse_stdout || f->p->sparse > 0) && flags != -1 &&
	    !(flags & O_APPEND) && fstat(STDOUT_FILENO, &st) == 0 &&
	    S_ISREG(st.st_mode) &&
	    lseek(STDOUT_FILENO, 0, SEEK_CUR) == st.st_size;
}

/*
 * Limits the input to the slice that was asked for, whole blocks, of which the
 * first slice has at least one.  Only the first has a name.  Returns 1 if there
 * is nothing to compress, 0, or -errno.
 */
static int
cut_slice(struct file *f, struct convert *c)
{
	const struct pzc *p = f->p;
	uint64_t size = (uint64_t)f->src->st.st_size, units, from, to, bytes;
	struct memory_plan plan;
	int rc;

	if (!S_ISREG(f->src->st.st_mode)) {
		f->result.why = "--slice needs a regular file";
		return -ESPIPE;
	}
	rc = convert_plan(c, &plan, &bytes, &f->result.why);
	if (rc != 0)
		return rc;
	units = (size + plan.block - 1) / plan.block;
	from = (units * (p->slice - 1) + p->slices - 1) / p->slices *
	    plan.block;
	to = (units * p->slice + p->slices - 1) / p->slices * plan.block;
	if (to > size)
		to = size;
	if (p->slice > 1) {
		c->options.name = NULL;
		rc = codec_set(&c->options, "comment", 0, NULL);
	}
	if (rc == 0 && p->slice > 1 && from >= to)
		return 1;
	return rc != 0 ? rc : input_limit(&f->in, from, to - from);
}

static int
convert_timed(struct file *f, struct pzc_run *run, struct adapt *adapt)
{
	const struct pzc *p = f->p;
	const struct source *s = f->src;
	const struct stat *st = &s->st;
	struct convert c = { .codec = f->codec, .decompress = f->decompress,
	    .options = p->codec_options, .memory = p->memory };
	/* files in /proc report a size of 0 */
	bool has_size = p->store_size && S_ISREG(st->st_mode) &&
	    (!s->is_stdin || (p->style->stdin_size &&
	    lseek(s->fd, 0, SEEK_CUR) == 0));
	struct progress progress;
	struct rusage a, b;
	uint64_t t0 = sys_now_ns();
	int rc;

	/*
	 * Standard input has no name and, by default, no time, so that "cat x
	 * |" and "<x" produce the same output.
	 */
	if (!s->is_stdin && p->store_name)
		c.options.name = path_name(s->path);
	else if (s->is_stdin)
		c.options.name = p->alias;
	if (has_time(f) && fits_header(st->st_mtime))
		c.options.mtime = (uint32_t)st->st_mtime;
	rc = codec_set(&c.options, "size", has_size ? (uint64_t)st->st_size :
	    s->is_stdin && !f->decompress ? p->stream_B : 0, NULL);
	if (rc == 0)
		rc = codec_set(&c.options, "copy-rest", copies_rest(f), NULL);
	if (rc != 0)
		return rc;
	if (p->adapt && !f->decompress) {
		adapt_start(adapt, p->level, p->adapt_min, p->adapt_max);
		c.options.adapt = adapt;
		run->adapt = adapt;
	}

	if (p->slices != 0 && !f->decompress)
		rc = cut_slice(f, &c);
	f->empty = rc > 0;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	c.sparse = makes_holes(f);
	progress_start(&progress, STDERR_FILENO, f->in.limited ? f->in.left :
	    S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
	    p->msg.quiet || !p->style->talks);
	c.progress = &progress;
	getrusage(RUSAGE_SELF, &a);
	rc = convert_run(&c, &f->in, f->out_fd, &f->result);
	getrusage(RUSAGE_SELF, &b);
	progress_erase(&progress);
	run->wall_ns = sys_now_ns() - t0;
	run->user_us = utc_span_us(b.ru_utime) - utc_span_us(a.ru_utime);
	run->sys_us = utc_span_us(b.ru_stime) - utc_span_us(a.ru_stime);
	return rc;
}

/* Decompresses the output, and compares its length. */
static int
verify_output(struct file *f)
{
	struct convert c = { .codec = f->codec, .decompress = true,
	    .options = f->p->codec_options, .memory = f->p->memory };
	struct convert_result r;
	struct input in;
	int rc;

	if (lseek(f->out_fd, 0, SEEK_SET) == -1)
		return -errno;
	rc = input_open(&in, f->out_fd);
	if (rc == 0)
		rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	return rc != 0 ? rc : r.stats.out_bytes == f->in.bytes ? 0 : -EBADMSG;
}

void
pzc_say_failure(struct pzc *p, const char *path, int rc, const char *why)
{
	static const struct {
		int rc;
		enum pzc_event on;
	} own[] = {
		{ -ENOTSUP, ON_UNSUPPORTED }, { -EFBIG, ON_MEMORY },
		{ -ESTALE, ON_RESIZED },
	};
	enum pzc_event on = why != NULL ? ON_ERROR : rc == -ENODATA ? ON_CUT :
	    rc == -EBADMSG ? ON_CORRUPT : ON_ERROR;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (rc == own[i].rc &&
		    p->style->sayings[own[i].on].as != SAY_NOTHING)
			on = own[i].on;
	pzc_say(p, on, path, reason_for(rc, why));
}

int
pzc_judge_rest(struct pzc *p, const char *path, const struct codec_notes *n)
{
	static const uint8_t second[] = { 0x1e, 0x9d, 0x9e, 0xa0 };
	/* it begins like a stream that gzip itself can read */
	bool other = p->style->rest_is_read && (n->trailing_B == 1 ||
	    (n->trailing[0] == 0x1f &&
	    memchr(second, n->trailing[1], sizeof(second)) != NULL));

	if (n->trailing_B > 0 && !n->trailing_garbage)
		pzc_say(p, ON_TRAILING_ZEROS, path, NULL);
	if (!n->trailing_garbage)
		return 0;
	other |= p->style->rest_is_error;
	pzc_say(p, other ? ON_TRAILING_OTHER : ON_TRAILING, path, NULL);
	return other ? -ENODATA : 0;
}

/*
 * Converts, and decides whether the data is complete and right.  Returns 0 or
 * -errno, after reporting the error.
 */
static int
convert_file(struct file *f)
{
	struct pzc *p = f->p;
	const char *path = f->src->path, *env = stats_of_environment();
	struct adapt adapt;
	struct pzc_run run = { .name = path,
	    .target = f->target != NULL ? f->target : p->style->stdout_name,
	    .is_stdin = f->src->is_stdin, .codec = f->codec,
	    .result = &f->result, .decompress = f->decompress,
	    .level = p->level, .in_size = -1 };
	int rc;

	if (f->decompress)
		run.around_B = f->stored.head_B + GZIP_TRAILER;
	else
		run.around_B = GZIP_FIXED + GZIP_TRAILER + (f->src->is_stdin ||
		    !p->store_name ? 0 : strlen(path_name(path)) + 1);
	pzc_confine(p, f->src, &f->out);
	if (S_ISREG(f->src->st.st_mode) && !f->src->is_stdin)
		run.in_size = f->src->st.st_size;
	if ((p->msg.verbose > 0 || p->shows_parameters || p->patch != NULL) &&
	    p->style->begin != NULL)
		p->style->begin(p, &run);
	if (has_time(f) && !fits_header(f->src->st.st_mtime))
		pzc_say(p, ON_TIME, path, NULL);
	rc = convert_timed(f, &run, &adapt);
	if (rc != 0 && f->result.stats.failed == PIPELINE_OUT) {
		pzc_say(p, ON_WRITE, run.target, reason_for(rc, f->result.why));
		p->ended = p->style->write_error_ends;
		if (p->style->errno_is_status)
			p->msg.status = -rc;
		return rc;
	}
	if (rc != 0) {
		pzc_say_failure(p, path, rc, f->result.why);
		return rc;
	}
	/* copied data is part of the output */
	if (!copies_rest(f))
		rc = pzc_judge_rest(p, path, &f->result.notes);
	if (f->result.notes.unchecked)
		pzc_say(p, ON_UNCHECKED, path, NULL);
	if (rc == 0 && p->verify && !f->decompress && !f->empty) {
		rc = verify_output(f);
		if (rc != 0)
			msg_error(&p->msg, "%s: verification of the output "
			    "failed: %s", path, reason_for(rc, NULL));
	}
	if (rc != 0)
		return rc;
	if (p->stats != NULL)
		pzc_write_stats(p, p->stats, &run);
	if (env != NULL)
		pzc_write_stats(p, env, &run);
	if (p->msg.verbose > 0 || (p->style->says_done &&
	    (!p->msg.quiet || p->progress)))
		p->style->done(p, &run);
	return 0;
}

/* Finishing the output */

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Returns whether the name still refers to the file that was read, unchanged.
 */
static bool
unchanged(const struct source *s)
{
	struct stat now, open_now;

	return fstatat(s->dirfd, s->base, &now,
	    s->followed ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(s->fd, &open_now) == 0 &&
	    now.st_dev == s->st.st_dev && now.st_ino == s->st.st_ino &&
	    open_now.st_size == s->st.st_size &&
	    same_time(&open_now.st_mtim, &s->st.st_mtim) &&
	    same_time(&open_now.st_ctim, &s->st.st_ctim);
}

/*
 * Sets the attributes of the output.  If the input is standard input, the
 * output is an ordinary new file, because the mode and owner of a pipe are
 * irrelevant.  If the input is a device or a named FIFO, the output is no more
 * accessible than the input.
 */
static int
set_meta(struct file *f)
{
	const struct source *s = f->src;
	mode_t mask;
	int rc;

	if (!s->is_stdin && S_ISREG(s->st.st_mode)) {
		rc = fdio_copy_meta(s->fd, f->out.fd);
		/* use the access time from before the input was read */
		futimens(f->out.fd, (struct timespec[2]){ s->st.st_atim,
		    s->st.st_mtim });
		return rc;
	}
	mask = umask(0);
	umask(mask);
	if (!s->is_stdin)
		mask |= ~s->st.st_mode;
	return fchmod(f->out.fd, 0666 & ~mask) == -1 ? -errno : 0;
}

/*
 * Completes the output, and removes the input.  Syncing may take a long time,
 * so it is done before the last check of the input.  If the input has changed,
 * no output is created.
 */
static void
finish_target(struct file *f)
{
	struct pzc *p = f->p;
	const struct source *s = f->src;
	/* whether the input is to be removed once the output exists */
	bool replaces = !p->keep && !s->is_stdin && S_ISREG(s->st.st_mode) &&
	    (p->output == NULL || p->style->keeps);
	bool sync = p->sync || replaces;
	int rc = f->out.direct ? 0 : set_meta(f);

	if (rc != 0)
		msg_warn(&p->msg, "%s: attributes not preserved: %s",
		    f->target, strerror(-rc));
	if (!f->out.direct && p->restore_time && f->stored.mtime != 0)
		futimens(f->out.fd, (struct timespec[2]){ s->st.st_atim,
		    { .tv_sec = f->stored.mtime } });
	rc = sync ? output_sync(&f->out) : 0;
	if (rc == 0 && replaces && !unchanged(s)) {
		msg_error(&p->msg, "%s changed while it was being read -- kept",
		    s->path);
		output_abort(&f->out);
		return;
	}
	if (rc != 0)
		output_abort(&f->out);
	else
		rc = output_commit(&f->out, sync);
	if (rc == -EEXIST)
		pzc_say(p, ON_EXISTS, f->target, NULL);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", f->target, strerror(-rc));
	if (rc != 0 || !replaces)
		return;
	if (!unchanged(s)) {
		msg_error(&p->msg, "%s changed after it was read -- kept in "
		    "addition to %s", s->path, f->target);
		return;
	}
	/* -f follows links: the link itself is removed, as in gzip */
	rc = sys_unlinkat(s->dirfd, s->base, 0);
	if (rc != 0)
		msg_error(&p->msg, "%s: not removed: %s", s->path,
		    strerror(-rc));
}

/* Converts the open file, to its target, to standard output or to nowhere. */
static void
process(struct pzc *p, struct source *s)
{
	struct file f = { .p = p, .src = s, .out_fd = -1,
	    .out = { .fd = -1, .dirfd = -1 } };
	bool to_stdout = goes_to_stdout(&f);
	int rc;

	if (p->blob != NULL && p->style->blob_apart &&
	    s->st.st_dev == p->blob_dev &&
	    s->st.st_ino == p->blob_ino) {
		msg_error(&p->msg, "cannot use %s as an input file and "
		    "dictionary", s->path);
		return;
	}
	/* decompressing in place requires a suffix, or a stored name */
	if (!p->style->suffix_last && p->mode == PZC_DECOMPRESS &&
	    p->output == NULL && !to_stdout &&
	    (!p->restore_name || p->recursive || p->style->suffix_needed) &&
	    !pzc_has_suffix(p, s->path))
		return;
	rc = input_open(&f.in, s->fd);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", s->path, strerror(-rc));
		goto out;
	}
	if (p->codec_options.flush_ms > 0)
		f.in.flush_ms = p->codec_options.flush_ms;
	if (choose_codec(&f) != 0)
		goto out;
	if (p->mode == PZC_TEST) {
		convert_file(&f);
		goto out;
	}
	if ((to_stdout ? use_stdout(&f) : create_target(&f)) != 0)
		goto out;
	rc = convert_file(&f);
	if (!to_stdout && rc != 0)
		output_abort(&f.out);
	else if (!to_stdout)
		finish_target(&f);
	if (!to_stdout || rc != 0 || !p->sync)
		goto out;
	rc = fdio_sync(STDOUT_FILENO);
	if (rc != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
out:
	input_close(&f.in);
	sys_free(f.target);
}

void
pzc_source_run(struct pzc *p, struct source *s)
{
	bool skips = p->recursive && p->mode >= PZC_TEST &&
	    p->style->test_skips_plain && !s->is_stdin;

	if (p->ended || (skips && !pzc_has_suffix(p, s->path)))
		return;
	if (p->trains != NULL)
		p->style->sample(p, s);
	else if (p->mode == PZC_LIST)
		pzc_list(p, s);
	else
		process(p, s);
}

void
pzc_operand(struct pzc *p, const char *path)
{
	struct source s = { .path = p->style->stdin_name, .fd = STDIN_FILENO,
	    .dirfd = AT_FDCWD, .is_stdin = true };

	if (strcmp(path, "-") != 0) {
		if (pzc_source_locate(p, &s, path) == 0 &&
		    pzc_source_open(p, &s) == 0)
			pzc_source_run(p, &s);
		pzc_source_close(&s);
	} else if (fstat(s.fd, &s.st) == -1) {
		msg_error(&p->msg, "%s: %s", s.path, strerror(errno));
	} else if (p->mode != PZC_COMPRESS && !p->force &&
	    pzc_is_console(p, s.fd)) {
		pzc_say(p, ON_TERMINAL_IN, "", NULL);
	} else {
		pzc_source_run(p, &s);
	}
}

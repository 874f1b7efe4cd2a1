/*
 * pzc_xz_list.c - xz -l, for people and for programs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/sys.h"
#include "format/xz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The version that wrote a file first, as xz encodes it. */
enum { XZ_5_0_0 = 50000002, XZ_5_0_2 = 50000022, XZ_5_4_0 = 50040002 };

enum { CHECK_NAMES_MAX = 128 };

/* What -lvv says about a block, from its header. */
struct block_facts {
	uint32_t header_size;
	char flags[3];
	uint64_t packed, memory;
	char value[2 * LZMA_CHECK_SIZE_MAX + 1];
	char *filters;			/* liblzma's; freed with free() */
};

static void
put_checks(char *s, uint32_t checks, bool tight)
{
	static const char *const names[16] = {
		"None", "CRC32", "Unknown-2", "Unknown-3", "CRC64",
		"Unknown-5", "Unknown-6", "Unknown-7", "Unknown-8",
		"Unknown-9", "SHA-256", "Unknown-11", "Unknown-12",
		"Unknown-13", "Unknown-14", "Unknown-15"
	};

	*s = '\0';
	for (size_t i = 0; i < 16; i++)
		if (checks >> i & 1)
			sprintf(s + strlen(s), "%s%s", *s == '\0' ? "" :
			    tight ? "," : ", ", names[i]);
}

static const char *
ratio_text(char to[16], uint64_t packed, uint64_t plain)
{
	double r = plain == 0 ? 16 : (double)packed / (double)plain;

	if (r > 9.999)
		return "---";
	snprintf(to, 16, "%.3f", r);
	return to;
}

/* Reads a block's header and check.  Returns 0 or -errno. */
static int
read_block(int fd, const lzma_index_iter *i, struct block_facts *f)
{
	uint8_t head[LZMA_BLOCK_HEADER_SIZE_MAX], check[LZMA_CHECK_SIZE_MAX];
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block b = { .version = 1, .filters = filters,
	    .check = i->stream.flags->check };
	size_t check_size = lzma_check_size(b.check);
	off_t at = (off_t)i->block.compressed_file_offset;
	char *text = NULL;
	lzma_ret r;

	*f = (struct block_facts){ .flags = "--" };
	if (pread(fd, head, 1, at) != 1 || head[0] == 0)
		return -EBADMSG;
	b.header_size = lzma_block_header_size_decode(head[0]);
	if (pread(fd, head, b.header_size, at) != (ssize_t)b.header_size)
		return -ENODATA;
	r = lzma_block_header_decode(&b, NULL, head);
	if (r != LZMA_OK)
		return r == LZMA_OPTIONS_ERROR ? -ENOTSUP : -EBADMSG;
	f->header_size = b.header_size;
	if (b.compressed_size != LZMA_VLI_UNKNOWN)
		f->flags[0] = 'c';
	if (b.uncompressed_size != LZMA_VLI_UNKNOWN)
		f->flags[1] = 'u';
	f->memory = lzma_raw_decoder_memusage(filters);
	r = lzma_str_from_filters(&text, filters,
	    LZMA_STR_DECODER | LZMA_STR_GETOPT_LONG, NULL);
	f->filters = text;
	lzma_filters_free(filters, NULL);
	if (i->block.unpadded_size < b.header_size + check_size ||
	    r != LZMA_OK || (b.compressed_size != LZMA_VLI_UNKNOWN &&
	    lzma_block_compressed_size(&b, i->block.unpadded_size) !=
	    LZMA_OK)) {
		free(text);
		return -EBADMSG;
	}
	f->packed = i->block.unpadded_size - b.header_size - check_size;
	at += (off_t)(i->block.total_size - check_size);
	if (pread(fd, check, check_size, at) != (ssize_t)check_size) {
		free(text);
		return -ENODATA;
	}
	/* a CRC is a number, whose lowest byte comes first */
	for (size_t k = 0; k < check_size; k++)
		sprintf(f->value + 2 * k, "%02x", check[check_size > 8 ? k :
		    check_size - 1 - k]);
	if (check_size == 0)
		strcpy(f->value, "---");
	return 0;
}

/* Prints the lines about streams: a line is "stream" and nine fields. */
static void
print_streams(const lzma_index *index, bool robot)
{
	lzma_index_iter i;
	char ratio[16], check[CHECK_NAMES_MAX];

	if (!robot)
		printf("  Streams:\n    %6s %9s %15s %15s %15s %15s  %5s  "
		    "%-10s %7s\n", "Stream", "Blocks", "CompOffset",
		    "UncompOffset", "CompSize", "UncompSize", "Ratio", "Check",
		    "Padding");
	lzma_index_iter_init(&i, index);
	while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_STREAM)) {
		put_checks(check, (uint32_t)1 << i.stream.flags->check, robot);
		printf(robot ? "stream\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		    "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%" PRIu64
		    "\n" : "    %6" PRIu64 " %9" PRIu64 " %15" PRIu64 " %15"
		    PRIu64 " %15" PRIu64 " %15" PRIu64 "  %5s  %-10s %7" PRIu64
		    "\n", i.stream.number, i.stream.block_count,
		    i.stream.compressed_offset, i.stream.uncompressed_offset,
		    i.stream.compressed_size, i.stream.uncompressed_size,
		    ratio_text(ratio, i.stream.compressed_size,
		    i.stream.uncompressed_size), check, i.stream.padding);
	}
}

/* Notes a block's needs in the sums. */
static void
add_block(struct pzc_xz_sum *sum, const struct block_facts *f, uint64_t plain)
{
	if (f->memory > sum->memory)
		sum->memory = f->memory;
	sum->sizes &= strcmp(f->flags, "cu") == 0;
	if (strstr(f->filters, "--arm64") != NULL && sum->version < XZ_5_4_0)
		sum->version = XZ_5_4_0;
	/* xz 5.0.1 and older refuse an empty block of LZMA2 */
	if (plain == 0 && strstr(f->filters, "--lzma2") != NULL &&
	    sum->version < XZ_5_0_2)
		sum->version = XZ_5_0_2;
}

/* Prints the lines about blocks, of which -lvv reads the headers. */
static int
print_blocks(const struct pzc *p, const struct pzc_entry *e,
    const lzma_index *index, struct pzc_xz_sum *sum)
{
	bool details = p->msg.verbose > 1, robot = p->robot;
	char ratio[16], check[CHECK_NAMES_MAX];
	int width = 8, rc;
	lzma_index_iter i;

	if (lzma_index_block_count(index) == 0)
		return 0;
	lzma_index_iter_init(&i, index);
	while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_STREAM)) {
		int w = 2 * (int)lzma_check_size(i.stream.flags->check);

		width = w > width ? w : width;
	}
	if (!robot)
		printf("  Blocks:\n    %6s %9s %15s %15s %15s %15s  %5s  ",
		    "Stream", "Block", "CompOffset", "UncompOffset",
		    "TotalSize", "UncompSize", "Ratio");
	if (!robot && !details)
		puts("Check");
	else if (!robot)
		printf("%-10s %-*s  %6s  %-5s %15s %11s  Filters\n", "Check",
		    width, "CheckVal", "Header", "Flags", "CompSize",
		    "MemUsage");
	lzma_index_iter_init(&i, index);
	while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_BLOCK)) {
		struct block_facts f = { .filters = NULL };

		rc = details ? read_block(e->src->fd, &i, &f) : 0;
		if (rc != 0)
			return rc;
		put_checks(check, (uint32_t)1 << i.stream.flags->check, robot);
		ratio_text(ratio, i.block.total_size,
		    i.block.uncompressed_size);
		if (robot)
			printf("block\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%"
			    PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			    "\t%s\t%s", i.stream.number,
			    i.block.number_in_stream, i.block.number_in_file,
			    i.block.compressed_file_offset,
			    i.block.uncompressed_file_offset,
			    i.block.total_size, i.block.uncompressed_size,
			    ratio_text(ratio, i.block.total_size,
			    i.block.uncompressed_size), check);
		else
			printf("    %6" PRIu64 " %9" PRIu64 " %15" PRIu64 " %15"
			    PRIu64 " %15" PRIu64 " %15" PRIu64 "  %5s  %-*s",
			    i.stream.number, i.block.number_in_stream,
			    i.block.compressed_file_offset,
			    i.block.uncompressed_file_offset,
			    i.block.total_size, i.block.uncompressed_size,
			    ratio_text(ratio, i.block.total_size,
			    i.block.uncompressed_size), details ? 10 : 1,
			    check);
		if (details && robot)
			printf("\t%s\t%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64
			    "\t%s", f.value, f.header_size, f.flags, f.packed,
			    f.memory, f.filters);
		else if (details)
			printf(" %-*s  %6" PRIu32 "  %-5s %15" PRIu64 " %7"
			    PRIu64 " MiB  %s", width, f.value, f.header_size,
			    f.flags, f.packed, (f.memory + (1 << 20) - 1) >> 20,
			    f.filters);
		putchar('\n');
		if (details)
			add_block(sum, &f, i.block.uncompressed_size);
		free(f.filters);
	}
	return 0;
}

/* Prints the indented lines of -lv. */
static void
print_fields(const struct pzc_xz_sum *s)
{
	char ratio[16], check[CHECK_NAMES_MAX];

	put_checks(check, s->checks, false);
	printf("  Streams:           %" PRIu64 "\n"
	    "  Blocks:            %" PRIu64 "\n"
	    "  Compressed size:   %s", s->streams, s->blocks,
	    pzc_nice_size(s->packed).s);
	if (s->packed >= 10000)
		printf(" (%" PRIu64 " B)", s->packed);
	printf("\n  Uncompressed size: %s", pzc_nice_size(s->plain).s);
	if (s->plain >= 10000)
		printf(" (%" PRIu64 " B)", s->plain);
	printf("\n  Ratio:             %s\n"
	    "  Check:             %s\n"
	    "  Stream Padding:    %s", ratio_text(ratio, s->packed, s->plain),
	    check, pzc_nice_size(s->padding).s);
	if (s->padding >= 10000)
		printf(" (%" PRIu64 " B)", s->padding);
	putchar('\n');
}

static void
print_needs(const struct pzc_xz_sum *s)
{
	printf("  Memory needed:     %" PRIu64 " MiB\n"
	    "  Sizes in headers:  %s\n"
	    "  Minimum XZ Utils version: %u.%u.%u\n",
	    (s->memory + (1 << 20) - 1) >> 20, s->sizes ? "Yes" : "No",
	    s->version / 10000000, s->version / 10000 % 1000,
	    s->version / 10 % 1000);
}

static void
print_robot(const char *head, const struct pzc_xz_sum *s)
{
	char ratio[16], check[CHECK_NAMES_MAX];

	put_checks(check, s->checks, true);
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s"
	    "\t%" PRIu64, head, s->streams, s->blocks, s->packed, s->plain,
	    ratio_text(ratio, s->packed, s->plain), check, s->padding);
}

static void
print_robot_needs(const char *head, const struct pzc_xz_sum *s)
{
	printf("%s\t%" PRIu64 "\t%s\t%u", head, s->memory,
	    s->sizes ? "yes" : "no", s->version);
}

/* Prints a line of the table of -l, up to the name. */
static void
print_row(const struct pzc_xz_sum *s)
{
	char ratio[16], check[CHECK_NAMES_MAX];

	put_checks(check, s->checks, true);
	printf("%5" PRIu64 " %7" PRIu64 "  %11s  %11s  %5s  %-7s ",
	    s->streams, s->blocks, pzc_nice_size(s->packed).s,
	    pzc_nice_size(s->plain).s, ratio_text(ratio, s->packed, s->plain),
	    check);
}

static void
add_sum(struct pzc_xz_sum *to, const struct pzc_xz_sum *s)
{
	if (to->streams == 0) {
		*to = *s;
		return;
	}
	to->streams += s->streams;
	to->blocks += s->blocks;
	to->packed += s->packed;
	to->plain += s->plain;
	to->padding += s->padding;
	to->checks |= s->checks;
	to->memory = s->memory > to->memory ? s->memory : to->memory;
	to->sizes &= s->sizes;
	to->version = s->version > to->version ? s->version : to->version;
}

/* Reports why an index cannot be read. */
static void
say_unlisted(struct pzc *p, const struct pzc_entry *e, int rc)
{
	uint8_t magic[6] = { 0 };
	uint64_t size = (uint64_t)e->src->st.st_size;

	if (size == 0)
		msg_error(&p->msg, "%s: File is empty", e->src->path);
	else if (size < 2 * LZMA_STREAM_HEADER_SIZE)
		msg_error(&p->msg, "%s: Too small to be a valid .xz file",
		    e->src->path);
	else if (pread(e->src->fd, magic, sizeof(magic), 0) !=
	    sizeof(magic) || memcmp(magic, "\3757zXZ", 6) != 0)
		pzc_say(p, ON_NO_FORMAT, e->src->path, NULL);
	else
		pzc_say_failure(p, e->src->path, rc, NULL);
}

void
pzc_xz_list(struct pzc *p, const struct pzc_entry *e)
{
	struct pzc_xz_sum s = { .sizes = true, .version = XZ_5_0_0 };
	uint64_t number = p->totals.files + 1;
	lzma_index *index = NULL;
	lzma_index_iter i;
	int rc;

	if (e->src->is_stdin) {
		msg_error(&p->msg, "--list does not support reading from "
		    "standard input");
		return;
	}
	if (!S_ISREG(e->src->st.st_mode)) {
		pzc_say(p, ON_SPECIAL, e->src->path, NULL);
		return;
	}
	rc = e->src->st.st_size == 0 ? -ENODATA :
	    xz_index(e->src->fd, (uint64_t)e->src->st.st_size, &index);
	if (rc != 0) {
		say_unlisted(p, e, rc);
		return;
	}
	s.streams = lzma_index_stream_count(index);
	s.blocks = lzma_index_block_count(index);
	s.packed = lzma_index_file_size(index);
	s.plain = lzma_index_uncompressed_size(index);
	s.checks = lzma_index_checks(index);
	lzma_index_iter_init(&i, index);
	while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_STREAM))
		s.padding += i.stream.padding;
	if (p->robot) {
		printf("name\t");
		pzc_put_name(e->src->path);
		print_robot("file", &s);
		putchar('\n');
	} else if (p->msg.verbose == 0) {
		if (number == 1)
			puts("Strms  Blocks   Compressed Uncompressed  Ratio  "
			    "Check   Filename");
		print_row(&s);
		pzc_put_name(e->src->path);
	} else {
		printf("%s", number == 1 ? "" : "\n");
		pzc_put_text(e->src->path);
		printf(" (%" PRIu64 "/%d)\n", number, p->file_count);
		print_fields(&s);
	}
	if (p->msg.verbose > 0) {
		print_streams(index, p->robot);
		rc = print_blocks(p, e, index, &s);
	}
	lzma_index_end(index, NULL);
	if (rc != 0) {
		pzc_say_failure(p, e->src->path, rc, NULL);
		return;
	}
	if (p->msg.verbose > 1 && p->robot) {
		print_robot_needs("summary", &s);
		putchar('\n');
	} else if (p->msg.verbose > 1) {
		print_needs(&s);
	}
	p->totals.files++;
	add_sum(&p->totals.xz, &s);
}

void
pzc_xz_list_sum(const struct pzc *p)
{
	const struct pzc_xz_sum *s = &p->totals.xz;
	uint64_t files = p->totals.files;

	if (p->robot) {
		print_robot("totals", s);
		printf("\t%" PRIu64, files);
		if (p->msg.verbose > 1)
			print_robot_needs("", s);
		putchar('\n');
	} else if (files > 1 && p->msg.verbose == 0) {
		puts("--------------------------------------------------------"
		    "-----------------------");
		print_row(s);
		printf("%" PRIu64 " files\n", files);
	} else if (files > 1) {
		printf("\nTotals:\n  Number of files:   %" PRIu64 "\n", files);
		print_fields(s);
		if (p->msg.verbose > 1)
			print_needs(s);
	}
}

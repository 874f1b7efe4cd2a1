/*
 * advise_kind.c - what a file contains, told from its first bytes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Magic numbers come first, and decide; a suffix decides only where text could
 * be several things, or where nothing could be read.
 */
#include "advise/advise.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *words;
} kinds[ADVISE_KINDS] = {
	[ADVISE_LOG] = { "log", "plain logs" },
	[ADVISE_TEXT] = { "text", "text files" },
	[ADVISE_SOURCE] = { "source", "source files" },
	[ADVISE_MAIL] = { "mail", "mails" },
	[ADVISE_PROGRAM] = { "program", "programs" },
	[ADVISE_TAR] = { "tar", "plain tarballs" },
	[ADVISE_GZIP] = { "gzip", "gzip or bzip2 files" },
	[ADVISE_PACKED] = { "packed", "compressed files" },
	[ADVISE_IMAGE] = { "image", "squashfs images" },
	[ADVISE_LAYER] = { "layer", "image layers" },
	[ADVISE_DATABASE] = { "database", "databases" },
	[ADVISE_MEDIA] = { "media", "media files" },
	[ADVISE_OTHER] = { "other", "other files" },
};

const char *
advise_kind_name(enum advise_kind kind)
{
	return kind < ADVISE_KINDS ? kinds[kind].name : "tree";
}

const char *
advise_kind_words(enum advise_kind kind)
{
	return kind < ADVISE_KINDS ? kinds[kind].words : "files";
}

enum advise_kind
advise_kind_by_name(const char *name)
{
	enum advise_kind k = 0;

	while (k < ADVISE_KINDS && strcmp(kinds[k].name, name) != 0)
		k++;
	return k;
}

/* A magic number at an offset; from file(1)'s descriptions of the formats. */
static const struct {
	unsigned at, len;
	const char *magic;
	enum advise_kind kind;
} magics[] = {
	{ 0, 3, "\x1f\x8b\x08", ADVISE_GZIP },
	{ 0, 2, "\x1f\x9d", ADVISE_GZIP },
	{ 0, 3, "BZh", ADVISE_GZIP },
	{ 0, 4, "\x28\xb5\x2f\xfd", ADVISE_PACKED },
	{ 0, 6, "\xfd" "7zXZ", ADVISE_PACKED },
	{ 0, 4, "\x04\x22\x4d\x18", ADVISE_PACKED },
	{ 0, 4, "PK\x03\x04", ADVISE_PACKED },
	{ 0, 6, "7z\xbc\xaf\x27\x1c", ADVISE_PACKED },
	{ 0, 4, "Rar!", ADVISE_PACKED },
	{ 0, 4, "\xed\xab\xee\xdb", ADVISE_PACKED },	/* RPM */
	{ 257, 5, "ustar", ADVISE_TAR },
	{ 0, 4, "hsqs", ADVISE_IMAGE },
	{ 32, 9, "SIF_MAGIC", ADVISE_IMAGE },
	{ 8, 3, "AI\x02", ADVISE_IMAGE },		/* AppImage, in ELF */
	{ 0, 4, "\x7f" "ELF", ADVISE_PROGRAM },
	{ 0, 2, "MZ", ADVISE_PROGRAM },
	{ 0, 4, "\0asm", ADVISE_PROGRAM },
	{ 0, 4, "\xca\xfe\xba\xbe", ADVISE_PROGRAM },	/* Java, Mach-O */
	{ 0, 15, "SQLite format 3", ADVISE_DATABASE },
	{ 12, 4, "\x61\x15\x06\x00", ADVISE_DATABASE },	/* Berkeley DB hash */
	{ 12, 4, "\x62\x31\x05\x00", ADVISE_DATABASE },	/* and btree */
	{ 0, 4, "\xfe\x01\x00\x00", ADVISE_DATABASE },	/* MySQL .frm */
	{ 16, 4, "\xde\xc0\xef\xbe", ADVISE_DATABASE },	/* LMDB */
	{ 0, 3, "\xff\xd8\xff", ADVISE_MEDIA },		/* JPEG */
	{ 0, 4, "\x89PNG", ADVISE_MEDIA },
	{ 0, 4, "GIF8", ADVISE_MEDIA },
	{ 8, 4, "WEBP", ADVISE_MEDIA },
	{ 4, 4, "ftyp", ADVISE_MEDIA },			/* MP4, HEIF, AVIF */
	{ 0, 4, "\x1a\x45\xdf\xa3", ADVISE_MEDIA },	/* Matroska, WebM */
	{ 0, 4, "OggS", ADVISE_MEDIA },
	{ 0, 4, "fLaC", ADVISE_MEDIA },
	{ 0, 3, "ID3", ADVISE_MEDIA },
	{ 0, 2, "\xff\xfb", ADVISE_MEDIA },		/* MP3 without ID3 */
	{ 8, 4, "AVI ", ADVISE_MEDIA },
	{ 0, 4, "wOF2", ADVISE_MEDIA },
	{ 0, 4, "wOFF", ADVISE_MEDIA },
};

static const struct {
	const char *suffix;
	enum advise_kind kind;
} suffixes[] = {
	{ ".log", ADVISE_LOG }, { ".c", ADVISE_SOURCE },
	{ ".h", ADVISE_SOURCE }, { ".cc", ADVISE_SOURCE },
	{ ".cpp", ADVISE_SOURCE }, { ".hpp", ADVISE_SOURCE },
	{ ".py", ADVISE_SOURCE }, { ".pl", ADVISE_SOURCE },
	{ ".pm", ADVISE_SOURCE }, { ".go", ADVISE_SOURCE },
	{ ".rs", ADVISE_SOURCE }, { ".js", ADVISE_SOURCE },
	{ ".ts", ADVISE_SOURCE }, { ".java", ADVISE_SOURCE },
	{ ".sh", ADVISE_SOURCE }, { ".rb", ADVISE_SOURCE },
	{ ".S", ADVISE_SOURCE }, { ".el", ADVISE_SOURCE },
	{ ".lua", ADVISE_SOURCE }, { ".cmake", ADVISE_SOURCE },
	{ ".eml", ADVISE_MAIL }, { ".mbox", ADVISE_MAIL },
};

/* What a suffix suggests where there is nothing to read. */
static const struct {
	const char *suffix;
	enum advise_kind kind;
} unread[] = {
	{ ".gz", ADVISE_GZIP }, { ".tgz", ADVISE_GZIP },
	{ ".bz2", ADVISE_GZIP }, { ".xz", ADVISE_PACKED },
	{ ".zst", ADVISE_PACKED }, { ".zip", ADVISE_PACKED },
	{ ".jar", ADVISE_PACKED }, { ".tar", ADVISE_TAR },
	{ ".so", ADVISE_PROGRAM }, { ".o", ADVISE_PROGRAM },
	{ ".squashfs", ADVISE_IMAGE }, { ".sif", ADVISE_IMAGE },
	{ ".snap", ADVISE_IMAGE }, { ".jpg", ADVISE_MEDIA },
	{ ".png", ADVISE_MEDIA }, { ".mp4", ADVISE_MEDIA },
	{ ".mp3", ADVISE_MEDIA }, { ".txt", ADVISE_TEXT },
	{ ".csv", ADVISE_TEXT }, { ".json", ADVISE_TEXT },
	{ ".sqlite", ADVISE_DATABASE }, { ".db", ADVISE_DATABASE },
};

static bool
ends_with(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && strcmp(path + n - m, suffix) == 0;
}

/* Text has no control characters but white space, and hardly any beyond. */
static bool
is_text(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((p[i] < ' ' && !(p[i] >= '\t' && p[i] <= '\r') &&
		    p[i] != 0x1b) || p[i] == 0x7f)
			return false;
	return true;
}

/* Returns whether a line begins with a header field that only mail has. */
static bool
is_mail(const char *text, size_t len)
{
	static const char *const fields[] = { "Return-Path:", "Received:",
	    "Delivered-To:", "Message-ID:", "X-Original-To:", "MIME-Version:" };
	unsigned hits = 0;

	if (len > 5 && strncmp(text, "From ", 5) == 0)
		hits++;
	for (size_t at = 0; at < len && hits < 2;) {
		const char *end = memchr(text + at, '\n', len - at);

		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			if (len - at >= strlen(fields[i]) &&
			    strncasecmp(text + at, fields[i],
			    strlen(fields[i])) == 0)
				hits++;
		if (end == NULL || end == text + at)
			break;
		at = (size_t)(end - text) + 1;
	}
	return hits >= 2;
}

/*
 * Returns whether the first lines contain a time of day in their first half:
 * "Nov 25 22:37:33 host", "2026-11-25T22:37:33", "[25/Nov/2026:22:37:33".
 */
static bool
is_log(const char *text, size_t len)
{
	unsigned lines = 0, timed = 0;

	for (size_t at = 0; at < len && lines < 5; lines++) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t end = nl == NULL ? len : (size_t)(nl - text);
		bool found = false;

		/* the cut line at the end of what was read does not count */
		if (nl == NULL && lines > 0)
			break;
		for (size_t i = at; i + 8 <= end && i < at + 80; i++)
			found |= isdigit((unsigned char)text[i]) &&
			    isdigit((unsigned char)text[i + 1]) &&
			    text[i + 2] == ':' &&
			    isdigit((unsigned char)text[i + 3]) &&
			    isdigit((unsigned char)text[i + 4]) &&
			    text[i + 5] == ':' &&
			    isdigit((unsigned char)text[i + 6]);
		timed += found;
		at = end + 1;
	}
	return lines >= 2 && 2 * timed > lines;
}

enum advise_kind
advise_kind_of(const char *path, const uint8_t *head, size_t len)
{
	enum advise_kind by_name = ADVISE_OTHER;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (ends_with(path, suffixes[i].suffix))
			by_name = suffixes[i].kind;
	if (len == 0) {
		for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++)
			if (ends_with(path, unread[i].suffix))
				by_name = unread[i].kind;
		return by_name;
	}
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		if (magics[i].at + magics[i].len > len ||
		    memcmp(head + magics[i].at, magics[i].magic,
		    magics[i].len) != 0)
			continue;
		if ((magics[i].kind == ADVISE_GZIP ||
		    magics[i].kind == ADVISE_PACKED) &&
		    strstr(path, "/blobs/sha256/") != NULL)
			return ADVISE_LAYER;
		return magics[i].kind;
	}
	if (!is_text(head, len))
		return ADVISE_OTHER;
	if (is_mail((const char *)head, len))
		return ADVISE_MAIL;
	/* a text may begin like a log: what names itself a source is one */
	if (by_name == ADVISE_SOURCE || memcmp(head, "#!", len < 2 ? len : 2)
	    == 0)
		return ADVISE_SOURCE;
	return is_log((const char *)head, len) ? ADVISE_LOG : ADVISE_TEXT;
}

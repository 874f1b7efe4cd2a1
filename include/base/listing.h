/*
 * listing.h - code shared by the listings of archives and images
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LISTING_H
#define COLDPRESS_LISTING_H

#include <stdio.h>
#include <sys/types.h>

/* Formats type and permissions as ls(1) does.  Thread-safe. */
enum { LISTING_MODE_B = 11 };
void listing_mode(char text[LISTING_MODE_B], mode_t mode);

/*
 * Prints len bytes, with control characters written as \ooo and backslashes as
 * \\.
 */
void listing_print(FILE *f, const char *text, size_t len);

#endif

/*
 * boot_init.c - the first process of the system that root_boot.sh boots
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints "unpacked BYTES ADLER" for /payload, as unpacked by the kernel from
 * the initramfs, and powers off.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

int
main(void)
{
	static uint8_t buf[64 << 10];
	uint64_t total = 0;
	uint32_t a = 1, b = 0;
	int fd = open("/payload", O_RDONLY);
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			a = (a + buf[i]) % 65521;
			b = (b + a) % 65521;
		}
		total += (uint64_t)n;
	}
	printf("unpacked %llu %u\n", (unsigned long long)total, b << 16 | a);
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

void close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

int open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	/* EAGAIN: the kernel saw a rename or mount somewhere while it walked and could not be sure. */
	for (int i = 0; i < 16; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

ssize_t read_beneath(int dir, const char *path, char *buf, size_t cap)
{
	fd_auto int fd = open_beneath(dir, path, O_RDONLY);
	size_t len = 0;

	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t n = read(fd, buf + len, cap - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len == cap - 1) {
			errno = EFBIG;
			return -1;
		}
	}
	buf[len] = '\0';
	return (ssize_t)len;
}

int write_beneath(int dir, const char *path, const char *text)
{
	fd_auto int fd = open_beneath(dir, path, O_WRONLY);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -1;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n != len) {
		errno = EIO;
		return -1;
	}
	return n < 0 ? -1 : 0;
}

bool exists_beneath(int dir, const char *path)
{
	fd_auto int fd = open_beneath(dir, path, O_PATH);

	return fd >= 0;
}

int mkdirs_beneath(int dir, const char *path)
{
	char part[512];
	size_t len = strlen(path);

	if (len >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (exists_beneath(dir, part))
			continue;
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

bool text_field(const char *text, const char *key, uint64_t *out)
{
	size_t n = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return text_number(line + n + 1, out);
	}
	return false;
}

bool text_number(const char *text, uint64_t *out)
{
	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

static int64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int64_t wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

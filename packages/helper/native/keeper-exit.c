#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "keeper.h"

static const char *cause(void)
{
	if (!keeper.ended)
		return "init_lost";
	if (keeper.expired)
		return "timeout_wall";
	return keeper.stop_asked ? "stop" : "exit";
}

/* `oom_kill N` of memory.events (v2) or memory.oom_control (v1); false when there is no such file. */
static bool oom_kills(uint64_t *out)
{
	char text[1024];
	const char *line = text;
	ssize_t n;

	if (keeper.oom < 0)
		return false;
	n = pread(keeper.oom, text, sizeof text - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	while (line && strncmp(line, "oom_kill ", 9) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return false;
	*out = strtoull(line + 9, NULL, 10);
	return true;
}

static void put_fields(struct record_writer *w)
{
	uint64_t kills;

	if (keeper.signal >= 0)
		put_u64(w, "signal", (uint64_t)keeper.signal);
	else if (keeper.code >= 0)
		put_u64(w, "code", (uint64_t)keeper.code);
	put_str(w, "cause", cause());
	put_u64(w, "started_ms", keeper.started_wall_ms);
	put_u64(w, "ended_ms", keeper.ended_wall_ms);
	put_u64(w, "duration_ms", keeper.ran);
	put_u64(w, "utime_us", keeper.utime_us);
	put_u64(w, "stime_us", keeper.stime_us);
	put_u64(w, "maxrss_kb", keeper.maxrss_kb);
	/* Read now and not at the signal: the kernel may count an OOM kill after the victim was seen to die. */
	if (oom_kills(&kills))
		put_u64(w, "oom_kills", kills);
	put_u64(w, "stdout_bytes", keeper.out.bytes);
	put_u64(w, "stderr_bytes", keeper.err.bytes);
	put_u64(w, "dropped_bytes", keeper.out.dropped + keeper.err.dropped);
	if (keeper.stalled_ms > 0)
		put_u64(w, "stalled_ms", keeper.stalled_ms);
}

static int write_file(const char *name, const char *text, size_t len)
{
	int fd = openat(keeper.dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int result = -1, saved;

	if (fd < 0)
		return -1;
	if (write_all(fd, text, len) == 0 && fsync(fd) == 0)
		result = 0;
	saved = errno;
	close(fd);
	errno = saved;
	return result;
}

int write_exit_record(void)
{
	char text[sizeof keeper.exit_fields];
	struct record_writer w = { .buf = keeper.exit_fields, .cap = sizeof keeper.exit_fields };

	put_fields(&w);
	keeper.exit_len = w.len;
	/* The same records, one a line: a file that a person can read. */
	for (size_t i = 0; i < w.len; i++)
		text[i] = w.buf[i] == '\0' ? '\n' : w.buf[i];
	/* Whole or not at all, also over a power cut. */
	if (write_file("exit.new", text, w.len) < 0 || renameat(keeper.dir, "exit.new", keeper.dir, "exit") < 0) {
		keeper.exit_len = 0;
		return -1;
	}
	(void)fsync(keeper.dir);
	return 0;
}

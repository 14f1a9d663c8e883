#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "keeper.h"

/* How soon, and at last how seldom, a disk that took nothing is asked again. */
#define FIRST_RETRY_MS 100
#define LAST_RETRY_MS 3200

static int open_log(const char *name)
{
	int fd = openat(keeper.dir, name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		fail_start("spawn_failed", "%s/%s cannot be written: %s", keeper.spec.dir, name, strerror(errno));
	return fd;
}

void open_logs(void)
{
	keeper.out.log = open_log("stdout.log");
	if (!keeper.spec.merge)
		keeper.err.log = open_log("stderr.log");
}

void output_open(struct output *out, int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		fail_start("spawn_failed", "output: %s", strerror(errno));
	port_set(&out->port, fd, out == &keeper.out ? SRC_OUT : SRC_ERR, 0);
	output_arm(out);
}

bool output_stalled(const struct output *out)
{
	return out->pending > 0;
}

/* After `retry_ms` once more, each time later. */
static void retry_later(struct output *out)
{
	out->retry_ms = out->retry_ms == 0 ? FIRST_RETRY_MS : out->retry_ms * 2 > LAST_RETRY_MS ? LAST_RETRY_MS : out->retry_ms * 2;
	out->retry_at = now_ms() + out->retry_ms;
}

void output_arm(struct output *out)
{
	uint32_t events = (output_stalled(out) ? 0 : EPOLLIN) | (out == &keeper.out && terminal_input_waits() ? EPOLLOUT : 0);

	if (events == 0)
		port_rest(&out->port);
	else if (port_arm(&out->port, events) < 0)
		retry_later(out);
}

void output_close(struct output *out)
{
	port_close(&out->port);
}

static void drop_pending(struct output *out)
{
	out->dropped += out->pending;
	out->pending = 0;
}

static void stall(struct output *out, int error)
{
	out->error = error;
	if (out->stalled_since == 0)
		out->stalled_since = now_ms();
	retry_later(out);
}

static void stall_over(struct output *out)
{
	if (out->stalled_since != 0)
		keeper.stalled_ms += now_ms() - out->stalled_since;
	out->stalled_since = out->retry_ms = 0;
	out->retry_at = NEVER;
}

/*
 * Writes what waits in the buffer. While the disk takes nothing the source is not read, so the agent waits in its write:
 * it is slowed down, but no byte is lost. Past log_max, or the limit that the user has set for a file, bytes are counted and dropped.
 */
static void flush(struct output *out)
{
	while (out->pending > 0) {
		uint64_t room = out->bytes < keeper.spec.log_max ? keeper.spec.log_max - out->bytes : 0;
		ssize_t n = room == 0 ? 0 : write(out->log, out->buf + out->pending_at, out->pending < room ? out->pending : (size_t)room);

		if (room == 0 || (n < 0 && errno == EFBIG)) {
			drop_pending(out);
			break;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			stall(out, n < 0 ? errno : ENOSPC);
			break;
		}
		out->pending_at += (size_t)n;
		out->pending -= (size_t)n;
		out->bytes += (uint64_t)n;
	}
	if (out->pending == 0)
		stall_over(out);
	output_arm(out);
	if (out == &keeper.out)
		serve_viewers();
}

static void read_output(struct output *out)
{
	ssize_t n = read(out->port.fd, out->buf, sizeof out->buf);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A terminal that no process holds any more answers EIO: that is its end of file. */
	if (n <= 0)
		return output_close(out);
	job0_output_came();
	out->pending_at = 0;
	out->pending = (size_t)n;
	flush(out);
}

void output_ready(struct output *out, uint32_t events)
{
	if (events & ~(uint32_t)EPOLLIN && out == &keeper.out && terminal_input_waits())
		resume_terminal_input();
	if (out->port.fd >= 0 && !output_stalled(out))
		read_output(out);
}

void output_retry(struct output *out, uint64_t now)
{
	if (now >= out->retry_at)
		flush(out);
}

void output_give_up(struct output *out)
{
	int unread;

	if (out->port.fd >= 0 && ioctl(out->port.fd, FIONREAD, &unread) == 0 && unread > 0)
		out->dropped += (uint64_t)unread;
	drop_pending(out);
	stall_over(out);
	output_close(out);
}

bool output_drained(const struct output *out)
{
	return out->port.fd < 0 && out->pending == 0;
}

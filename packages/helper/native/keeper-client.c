#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "keeper.h"

#define SOCKET_NAME "keeper.sock"
/* How long a connection may stay without a request, and after its last answer. */
#define REQUEST_MS 5000
#define LINGER_MS 2000
/* Buffers in a row for one client, so that a fast reader does not keep the loop. */
#define ROUNDS 16

size_t client_index(const struct client *c)
{
	return (size_t)(c - keeper.clients);
}

void open_socket(void)
{
	/* Relative to the directory we stand in: a long path does not fit into an address. */
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET_NAME };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0177);

	/* The directory is locked: whose socket this was is gone. */
	unlink(SOCKET_NAME);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
		fail_start("spawn_failed", "%s/" SOCKET_NAME ": %s", keeper.spec.dir, strerror(errno));
	umask(before);
	port_set(&keeper.listener, fd, SRC_LISTEN, 0);
	if (listen(fd, CLIENTS_MAX) < 0 || port_arm(&keeper.listener, EPOLLIN) < 0)
		fail_start("spawn_failed", "%s/" SOCKET_NAME ": %s", keeper.spec.dir, strerror(errno));
}

static struct client *free_slot(void)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].port.fd < 0 && !keeper.clients[i].exec.kill_unsent)
			return &keeper.clients[i];
	return NULL;
}

/* The socket's mode keeps other users out; this keeps out whom the file system let in by mistake. */
static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void open_client(struct client *c, int fd)
{
	port_set(&c->port, fd, SRC_CLIENT, client_index(c));
	c->kind = CLIENT_NEW;
	c->closing = c->lingering = c->tell_exit = c->tell_resize = c->writable = c->from_log = c->in_waits = false;
	c->until = now_ms() + REQUEST_MS;
	c->in_at = c->in_len = c->in_done = c->out_at = c->out_len = 0;
	if (port_arm(&c->port, EPOLLIN) < 0)
		port_close(&c->port);
}

void accept_clients(void)
{
	struct client *c;

	while ((c = free_slot())) {
		int fd = accept4(keeper.listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (is_ours(fd))
			open_client(c, fd);
		else
			close(fd);
	}
	/* No slot: who comes now waits in the queue until one of the short requests is done. */
	port_rest(&keeper.listener);
}

void client_drop(struct client *c)
{
	bool waited = c->in_waits;

	if (c->port.fd < 0)
		return;
	if (c->kind == CLIENT_EXEC)
		exec_close(c);
	port_close(&c->port);
	c->in_waits = false;
	if (waited && c->kind == CLIENT_ATTACH)
		output_arm(&keeper.out);
	if (!c->exec.kill_unsent)
		(void)port_arm(&keeper.listener, EPOLLIN);
}

bool queue_frame(struct client *c, char type, const char *payload, size_t len)
{
	uint32_t size = (uint32_t)len + 1;

	if (c->out_len > 0 || len > CHUNK)
		return false;
	for (int i = 0; i < 4; i++)
		c->out[i] = (char)(size >> (8 * i));
	c->out[4] = type;
	if (payload)
		memcpy(c->out + FRAME_HEADER, payload, len);
	c->out_len = FRAME_HEADER + len;
	c->out_at = 0;
	return true;
}

void queue_records(struct client *c, char type, const struct record_writer *w)
{
	queue_frame(c, type, w->buf, w->len);
}

void answer_ok(struct client *c)
{
	queue_frame(c, 'A', "ok=1", 5);
	c->closing = true;
}

void answer_error(struct client *c, const char *code, const char *text)
{
	char buf[512];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_str(&w, "error", code);
	put_str(&w, "message", text);
	queue_records(c, 'A', &w);
	c->closing = true;
}

/* Sends what waits. Returns false when the client is gone. */
static bool send_out(struct client *c)
{
	while (c->out_at < c->out_len) {
		ssize_t n = send(c->port.fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		c->out_at += (size_t)n;
	}
	c->out_len = c->out_at = 0;
	return true;
}

static bool queue_exit(struct client *c)
{
	char buf[sizeof keeper.exit_fields + 32];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_str(&w, "event", "exit");
	memcpy(buf + w.len, keeper.exit_fields, keeper.exit_len);
	c->closing = true;
	return queue_frame(c, 'V', buf, w.len + keeper.exit_len);
}

static bool queue_size(struct client *c)
{
	char buf[64];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	c->tell_resize = false;
	put_str(&w, "event", "resize");
	put_u64(&w, "rows", keeper.spec.rows);
	put_u64(&w, "cols", keeper.spec.cols);
	return queue_frame(c, 'V', w.buf, w.len);
}

/* The next piece of the log for a viewer. Returns false when it has everything there is. */
static bool queue_log(struct client *c)
{
	ssize_t n;

	if (!c->from_log || c->offset >= keeper.out.bytes)
		return false;
	n = pread(keeper.out.log, c->out + FRAME_HEADER, CHUNK, (off_t)c->offset);
	if (n <= 0) {
		/* Somebody cut the log: these bytes are gone, waiting for them would never end. */
		c->offset = keeper.out.bytes;
		return false;
	}
	c->offset += (uint64_t)n;
	return queue_frame(c, 'O', NULL, (size_t)n);
}

/* Fills the empty buffer from whatever this client waits for. Returns false when there is nothing. */
static bool queue_more(struct client *c)
{
	if (c->tell_resize)
		return queue_size(c);
	if (queue_log(c))
		return true;
	if (c->tell_exit && keeper.state >= SETTLING && keeper.exit_len > 0)
		return queue_exit(c);
	if (c->kind == CLIENT_EXEC)
		exec_pump(c);
	return c->out_len > 0;
}

/*
 * All is said. The connection is not closed at once: while the client still writes, a close would reach it as an error of that
 * write, before it has read the end.
 */
static void linger(struct client *c)
{
	if (c->kind == CLIENT_EXEC)
		exec_close(c);
	c->kind = CLIENT_PLAIN;
	c->lingering = true;
	c->in_waits = false;
	c->in_len = 0;
	c->until = now_ms() + LINGER_MS;
	shutdown(c->port.fd, SHUT_WR);
	(void)port_arm(&c->port, EPOLLIN);
}

static void arm_client(struct client *c)
{
	uint32_t events = (c->out_len > 0 ? EPOLLOUT : 0) | (c->in_waits || c->in_len == sizeof c->in ? 0 : EPOLLIN);

	if (port_arm(&c->port, events) < 0)
		return client_drop(c);
	if (c->kind == CLIENT_EXEC)
		exec_arm(c);
}

void client_update(struct client *c)
{
	if (c->port.fd < 0 || c->lingering)
		return;
	for (int round = 0; round < ROUNDS; round++) {
		if (!send_out(c))
			return client_drop(c);
		if (c->out_len > 0)
			break;
		if (c->closing)
			return linger(c);
		if (!queue_more(c))
			break;
	}
	arm_client(c);
}

void serve_viewers(void)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		/* One whose socket is full is woken by the socket. */
		if (c->port.fd >= 0 && c->out_len == 0 && (c->from_log || c->tell_exit))
			client_update(c);
	}
}

/* Input for the terminal. Returns how much was taken; 0 when it is full, -1 when nobody reads it any more. */
static ssize_t terminal_input(const char *bytes, size_t len)
{
	ssize_t n;

	if (keeper.out.port.fd < 0)
		return -1;
	n = write(keeper.out.port.fd, bytes, len);
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

static ssize_t pass_on(struct client *c, const char *bytes, size_t len)
{
	if (c->kind == CLIENT_EXEC)
		return exec_input(c, bytes, len);
	/* An empty frame is no end of a terminal: that is a character, which its reader defines. */
	return c->writable && len > 0 ? terminal_input(bytes, len) : -1;
}

/* Hands on an I frame, perhaps in parts. Returns true when all of it is gone. */
static bool handle_input(struct client *c, const char *payload, size_t len)
{
	if (c->kind == CLIENT_EXEC && !c->exec.started)
		return false;
	if (len == 0)
		(void)pass_on(c, NULL, 0);
	while (c->in_done < len) {
		ssize_t n = pass_on(c, payload + c->in_done, len - c->in_done);

		if (n == 0)
			return false;
		if (n < 0)
			break; /* nobody reads it any more */
		c->in_done += (size_t)n;
	}
	c->in_done = 0;
	return true;
}

static uint32_t frame_size(const char *p)
{
	uint32_t size = 0;

	for (int i = 0; i < 4; i++)
		size |= (uint32_t)(unsigned char)p[i] << (8 * i);
	return size;
}

/* A first frame that is no request is answered; after that there is nothing to say to one who does not keep to the protocol. */
static void refuse_frame(struct client *c)
{
	if (c->kind != CLIENT_NEW)
		return client_drop(c);
	c->in_at = c->in_len = 0;
	answer_error(c, "bad_frame", "a connection begins with one R frame of at most 65537 bytes");
}

static bool takes_input(const struct client *c)
{
	return c->kind == CLIENT_EXEC || c->kind == CLIENT_ATTACH;
}

/* Handles the first frame of the buffer. Returns false when it is not whole, has to wait, or the client is done. */
static bool handle_frame(struct client *c)
{
	const char *frame = c->in + c->in_at;
	size_t have = c->in_len - c->in_at;
	uint32_t size;
	bool wrong;

	if (have < FRAME_HEADER)
		return false;
	size = frame_size(frame);
	wrong = c->kind == CLIENT_NEW ? frame[4] != 'R' : frame[4] != 'I' || !takes_input(c);
	if (size < 1 || size > FRAME_MAX + 1 || wrong) {
		refuse_frame(c);
		return false;
	}
	if (have < 4 + (size_t)size)
		return false;
	if (c->kind == CLIENT_NEW) {
		c->until = NEVER;
		handle_request(c, frame + FRAME_HEADER, size - 1);
	} else if (!handle_input(c, frame + FRAME_HEADER, size - 1)) {
		c->in_waits = true;
		return false;
	}
	c->in_at += 4 + (size_t)size;
	return c->port.fd >= 0 && !c->closing;
}

/* Handles all whole frames of the buffer, then moves the rest to its front. */
static void process_input(struct client *c)
{
	bool waited = c->in_waits;

	c->in_waits = false;
	while (handle_frame(c))
		;
	if (c->port.fd < 0)
		return;
	memmove(c->in, c->in + c->in_at, c->in_len - c->in_at);
	c->in_len -= c->in_at;
	c->in_at = 0;
	if (c->closing)
		c->in_len = 0;
	if (c->kind == CLIENT_ATTACH && waited != c->in_waits)
		output_arm(&keeper.out);
}

static void receive(struct client *c)
{
	ssize_t n = recv(c->port.fd, c->in + c->in_len, sizeof c->in - c->in_len, 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return client_drop(c);
	if (n < 0 || c->lingering || c->closing)
		return;
	c->in_len += (size_t)n;
	process_input(c);
}

void client_event(struct client *c, uint32_t events)
{
	if (events & EPOLLIN)
		receive(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		client_drop(c);
	client_update(c);
}

void client_resume_input(struct client *c)
{
	process_input(c);
	client_update(c);
}

bool terminal_input_waits(void)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].port.fd >= 0 && keeper.clients[i].kind == CLIENT_ATTACH && keeper.clients[i].in_waits)
			return true;
	return false;
}

void resume_terminal_input(void)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].port.fd >= 0 && keeper.clients[i].kind == CLIENT_ATTACH && keeper.clients[i].in_waits)
			client_resume_input(&keeper.clients[i]);
}

uint64_t clients_deadline(void)
{
	uint64_t at = NEVER;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &keeper.clients[i];
		uint64_t exec = exec_deadline(c);

		if (c->port.fd >= 0 && c->until < at)
			at = c->until;
		if (exec < at)
			at = exec;
	}
	return at;
}

/* A client that is slow to read its last frames is no reason to take them from it. */
static bool still_reads(const struct client *c)
{
	int unread = 0;

	return c->lingering && ioctl(c->port.fd, SIOCOUTQ, &unread) == 0 && unread > 0;
}

void clients_timers(uint64_t now)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		if (c->port.fd >= 0 && now >= c->until) {
			if (still_reads(c))
				c->until = now + LINGER_MS;
			else
				client_drop(c);
		}
		exec_timers(c, now);
	}
}

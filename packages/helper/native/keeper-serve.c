#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "keeper.h"

#define SOCKET_NAME "keeper.sock"
#define HEADER 5u
/* How long a peer that was told everything may take to leave. */
#define LINGER_MS 10000

static struct records request;

size_t client_index(const struct client *c)
{
	return (size_t)(c - keeper.clients);
}

/* True when another keeper answers at the socket of this directory. */
static bool somebody_answers(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool yes = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

void open_socket(void)
{
	/* Relative to the directory we stand in: a long path does not fit into an address. */
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET_NAME };
	mode_t before = umask(0177);

	if (somebody_answers(&address))
		fail_start("busy", "another keeper serves %s", keeper.spec.dir);
	unlink(SOCKET_NAME);
	keeper.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (keeper.listener < 0 || bind(keeper.listener, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(keeper.listener, CLIENTS_MAX) < 0 || watch_fd(keeper.listener, EPOLLIN, SRC_LISTEN, 0) < 0)
		fail_start("spawn_failed", "%s/" SOCKET_NAME ": %s", keeper.spec.dir, strerror(errno));
	umask(before);
}

void accept_client(void)
{
	int fd = accept4(keeper.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c = NULL;

	if (fd < 0)
		return;
	for (size_t i = 0; i < CLIENTS_MAX && !c; i++)
		if (keeper.clients[i].fd < 0)
			c = &keeper.clients[i];
	if (!c || watch_fd(fd, EPOLLIN, SRC_CLIENT, client_index(c)) < 0) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->kind = CLIENT_NEW;
	c->closing = c->tell_exit = c->writable = c->from_log = false;
	c->in_len = c->in_done = c->out_len = c->out_at = 0;
	c->linger_until = NEVER;
	c->interest = EPOLLIN;
	c->exec.in = c->exec.out = c->exec.err = -1;
	c->exec.deadline = c->exec.drain_until = NEVER;
}

void client_drop(struct client *c)
{
	if (c->fd < 0)
		return;
	if (c->kind == CLIENT_EXEC)
		exec_close(c);
	unwatch_fd(c->fd);
	close(c->fd);
	c->fd = -1;
}

/* Puts a frame into the client's buffer; false when the one before it was not sent yet. */
bool queue_frame(struct client *c, char type, const char *payload, size_t len)
{
	uint32_t size = (uint32_t)len + 1;

	if (c->out_len > 0 || len > CHUNK)
		return false;
	for (int i = 0; i < 4; i++)
		c->out[i] = (char)(size >> (8 * i));
	c->out[4] = type;
	if (payload)
		memcpy(c->out + HEADER, payload, len);
	c->out_len = HEADER + len;
	c->out_at = 0;
	return true;
}

static void queue_records(struct client *c, char type, const struct record_writer *w)
{
	queue_frame(c, type, w->buf, w->len);
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

static void answer_ok(struct client *c)
{
	queue_frame(c, 'A', "ok=1", 5);
	c->closing = true;
}

/* Sends what waits. Returns false when the client is gone. */
static bool send_out(struct client *c)
{
	while (c->out_at < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);

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
	char buf[1024];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_str(&w, "event", "exit");
	put_exit(&w);
	return queue_frame(c, 'V', w.buf, w.len);
}

/* The next piece of the log for a viewer. Returns false when it has everything there is. */
static bool queue_log(struct client *c)
{
	ssize_t n;

	if (!c->from_log || c->offset >= keeper.out.bytes)
		return false;
	n = pread(keeper.out.log, c->out + HEADER, CHUNK, (off_t)c->offset);
	if (n <= 0)
		return false;
	c->offset += (uint64_t)n;
	return queue_frame(c, 'O', NULL, (size_t)n);
}

/* Fills the buffer from whatever this client waits for. Returns false when there is nothing. */
static bool queue_more(struct client *c)
{
	if (queue_log(c))
		return true;
	if (c->tell_exit && keeper.state == SETTLING && !(c->from_log && c->offset < keeper.out.bytes)) {
		c->tell_exit = false;
		c->closing = true;
		return queue_exit(c);
	}
	if (c->kind == CLIENT_EXEC)
		exec_pump(c);
	return c->out_len > 0;
}

static void process_input(struct client *c);

/*
 * Everything is said. The peer may still be writing: were the socket closed now, its next write would fail and it would throw
 * away what it had not yet read. So only our half is closed, and what still comes is dropped until the peer leaves.
 */
static void linger(struct client *c)
{
	if (c->linger_until != NEVER)
		return;
	if (c->kind == CLIENT_EXEC)
		exec_close(c);
	c->kind = CLIENT_PLAIN;
	c->tell_exit = c->from_log = false;
	c->in_len = c->in_done = 0;
	c->linger_until = now_ms() + LINGER_MS;
	shutdown(c->fd, SHUT_WR);
	if (c->interest != EPOLLIN && change_fd(c->fd, EPOLLIN, SRC_CLIENT, client_index(c)) == 0)
		c->interest = EPOLLIN;
}

uint64_t linger_deadline(void)
{
	uint64_t first = NEVER;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].fd >= 0 && keeper.clients[i].linger_until < first)
			first = keeper.clients[i].linger_until;
	return first;
}

void linger_timers(uint64_t now)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].fd >= 0 && now >= keeper.clients[i].linger_until)
			client_drop(&keeper.clients[i]);
}

/* Moves a client as far as it goes, then waits for the right events. */
void client_update(struct client *c)
{
	uint32_t want = 0;

	if (c->fd < 0 || c->linger_until != NEVER)
		return;
	/* One buffer after the other until the socket is full; bounded, so that one fast reader does not keep the loop. */
	for (int round = 0; round < 16; round++) {
		if (!send_out(c))
			return client_drop(c);
		if (c->out_len > 0)
			break;
		if (c->closing)
			return linger(c);
		if (!queue_more(c))
			break;
	}
	if (c->fd < 0)
		return;
	if (c->out_len > 0)
		want |= EPOLLOUT;
	if (c->in_len < sizeof c->in && c->in_done == 0)
		want |= EPOLLIN;
	if (want != c->interest && change_fd(c->fd, want, SRC_CLIENT, client_index(c)) == 0)
		c->interest = want;
}

void serve_viewers(void)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].fd >= 0 && (keeper.clients[i].from_log || keeper.clients[i].tell_exit))
			client_update(&keeper.clients[i]);
}

void tell_exit(void)
{
	serve_viewers();
}

static void queue_status(struct client *c)
{
	static const char *const names[] = { "running", "running", "running", "running", "settling" };
	char buf[512];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_str(&w, "state", names[keeper.state]);
	put_u64(&w, "pid", (uint64_t)keeper.job0);
	put_u64(&w, "init_pid", (uint64_t)keeper.init);
	put_u64(&w, "started_ms", keeper.started_wall_ms);
	put_u64(&w, "duration_ms", run_time());
	put_u64(&w, "stdout_bytes", keeper.out.bytes);
	put_u64(&w, "stderr_bytes", keeper.err.bytes);
	put_u64(&w, "paused", keeper.paused);
	if (keeper.out.retry_at != NEVER || keeper.err.retry_at != NEVER)
		put_str(&w, "stalled", "disk_full");
	queue_records(c, 'A', &w);
}

static void op_status(struct client *c)
{
	queue_status(c);
	c->closing = true;
}

static void op_watch(struct client *c)
{
	c->kind = CLIENT_WATCH;
	c->tell_exit = true;
	queue_status(c);
}

/* A number of the request. Returns -1 when it is there and wrong. */
static int number(const char *key, uint64_t max, uint64_t *out)
{
	const char *text = records_get(&request, key);

	return text && parse_u64(text, 0, max, out) < 0 ? -1 : 0;
}

static int set_size(void)
{
	struct winsize size = { 0 };
	uint64_t rows = 0, cols = 0;

	if (number("rows", 9999, &rows) < 0 || number("cols", 9999, &cols) < 0)
		return -1;
	size.ws_row = (unsigned short)rows;
	size.ws_col = (unsigned short)cols;
	if (rows > 0 && cols > 0 && keeper.spec.tty && keeper.out.source >= 0)
		ioctl(keeper.out.source, TIOCSWINSZ, &size);
	return 0;
}

static void op_attach(struct client *c)
{
	const char *mode = records_get(&request, "mode");

	c->offset = keeper.out.bytes;
	if (!mode || (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0))
		return answer_error(c, "bad_request", "mode is ro or rw");
	if (number("offset", UINT64_MAX, &c->offset) < 0 || set_size() < 0)
		return answer_error(c, "bad_request", "offset, rows and cols are numbers");
	if (strcmp(mode, "rw") == 0 && !keeper.spec.tty)
		return answer_error(c, "unsupported", "the agent has no terminal to write to; attach with mode ro");
	c->kind = CLIENT_ATTACH;
	c->writable = strcmp(mode, "rw") == 0;
	c->from_log = c->tell_exit = true;
	queue_status(c);
}

static void op_resize(struct client *c)
{
	if (set_size() < 0 || !keeper.spec.tty)
		return answer_error(c, "bad_request", "resize needs rows and cols, and an agent with a terminal");
	answer_ok(c);
}

static void op_stop(struct client *c)
{
	uint64_t grace = keeper.spec.grace_ms;

	if (number("grace_ms", 3600000, &grace) < 0)
		return answer_error(c, "bad_request", "grace_ms is a number up to 3600000");
	if (keeper.state == RUNNING || keeper.state == STOPPING) {
		keeper.stop_asked = true;
		stop_job0(grace);
	}
	answer_ok(c);
}

static void set_paused(struct client *c, bool paused)
{
	if (keeper.state == RUNNING && keeper.paused != paused) {
		if (paused)
			keeper.ran = run_time();
		else
			keeper.run_since = now_ms();
		keeper.paused = paused;
	}
	answer_ok(c);
}

static void op_pause(struct client *c)
{
	set_paused(c, true);
}

static void op_unpause(struct client *c)
{
	set_paused(c, false);
}

/* Closing the channel ends init; the answer goes when it is gone. */
static void op_end(struct client *c)
{
	if (keeper.state != SETTLING)
		return answer_error(c, "busy", "the agent still runs; stop it first");
	c->kind = CLIENT_END;
	shutdown(keeper.ctl, SHUT_WR);
}

static void op_exec(struct client *c)
{
	if (keeper.state == STARTING || keeper.init_gone)
		return answer_error(c, "busy", "the sandbox is not ready for a command");
	exec_begin(c, &request);
}

static const struct {
	const char *name;
	void (*run)(struct client *c);
} OPS[] = {
	{ "status", op_status }, { "watch", op_watch }, { "attach", op_attach },   { "resize", op_resize }, { "exec", op_exec },
	{ "stop", op_stop },	 { "pause", op_pause }, { "unpause", op_unpause }, { "end", op_end },
};

static void handle_request(struct client *c, const char *payload, size_t len)
{
	const char *op;

	if (records_parse(payload, len, &request) < 0)
		return answer_error(c, "bad_frame", "a request is a record list");
	op = records_get(&request, "op");
	for (size_t i = 0; op && i < sizeof OPS / sizeof OPS[0]; i++)
		if (strcmp(op, OPS[i].name) == 0)
			return OPS[i].run(c);
	answer_error(c, "unknown_op", "op is one of status, watch, attach, resize, exec, stop, pause, unpause, end");
}

static uint32_t frame_size(const struct client *c)
{
	uint32_t size = 0;

	for (int i = 0; i < 4; i++)
		size |= (uint32_t)(unsigned char)c->in[i] << (8 * i);
	return size;
}

/* Input for the terminal. Returns how much was taken; 0 when it is full. */
static ssize_t terminal_input(const char *bytes, size_t len)
{
	ssize_t n;

	if (keeper.out.source < 0)
		return -1;
	n = write(keeper.out.source, bytes, len);
	return n < 0 && errno == EAGAIN ? 0 : n;
}

/* Hands on an I frame, perhaps in parts. Returns true when all of it is gone. */
static bool handle_input(struct client *c, const char *payload, size_t len)
{
	if (c->kind == CLIENT_EXEC && !c->exec.started && !c->exec.ended)
		return false;
	if (c->kind == CLIENT_EXEC && len == 0) {
		(void)exec_input(c, NULL, 0);
		return true;
	}
	while (c->in_done < len) {
		ssize_t n = c->kind == CLIENT_EXEC ? exec_input(c, payload + c->in_done, len - c->in_done) :
			    c->writable	   ? terminal_input(payload + c->in_done, len - c->in_done) :
					     -1;

		if (n == 0)
			return false;
		if (n < 0)
			break; /* nobody reads it any more */
		c->in_done += (size_t)n;
	}
	c->in_done = 0;
	return true;
}

/* Handles all whole frames in the buffer. */
static void process_input(struct client *c)
{
	while (c->fd >= 0 && c->in_len >= HEADER) {
		uint32_t size = frame_size(c);
		size_t whole = 4 + (size_t)size;
		bool first = c->kind == CLIENT_NEW;
		char type = c->in[4];

		if (size < 1 || size > FRAME_MAX + 1 || (first ? type != 'R' : type != 'I'))
			return client_drop(c);
		if (c->in_len < whole)
			return;
		if (type == 'R')
			handle_request(c, c->in + HEADER, size - 1);
		else if (!handle_input(c, c->in + HEADER, size - 1))
			return;
		if (c->fd < 0)
			return;
		memmove(c->in, c->in + whole, c->in_len - whole);
		c->in_len -= whole;
		/* A request that was answered for good: what follows it is not ours to read. */
		if (c->closing || c->kind == CLIENT_END) {
			c->in_len = 0;
			return;
		}
	}
}

void client_event(size_t index, uint32_t events)
{
	struct client *c = &keeper.clients[index];

	if (c->fd < 0)
		return;
	if (events & EPOLLIN) {
		ssize_t n = recv(c->fd, c->in + c->in_len, sizeof c->in - c->in_len, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return client_drop(c);
		if (n > 0 && c->linger_until == NEVER) {
			c->in_len += (size_t)n;
			process_input(c);
		}
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		return client_drop(c);
	}
	client_update(c);
}

/* A pipe has room again: go on with the frame that waits. */
void client_resume_input(struct client *c)
{
	process_input(c);
	client_update(c);
}

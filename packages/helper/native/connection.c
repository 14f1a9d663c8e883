#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "helper.h"

/* ---- listening ---- */

static int take_passed_socket(struct helper *h)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t number;

	if (!pid || !count || parse_u64(pid, 1, INT32_MAX, &number) < 0 || (pid_t)number != getpid() || strcmp(count, "1") != 0)
		return -1;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	fcntl(3, F_SETFD, FD_CLOEXEC);
	fcntl(3, F_SETFL, O_NONBLOCK);
	h->listener = 3;
	return 0;
}

/* A directory that somebody else can write would let him put his own socket at our name. */
static int check_directory(const char *path, struct error *err)
{
	struct stat st;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "internal", "%s", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return fail(err, "internal", "%s must be a directory that only root can write", path);
	return 0;
}

/* Two helpers on one socket path would steal each other's clients. A stale socket refuses connections and is replaced. */
static int check_not_served(const struct sockaddr_un *address, struct error *err)
{
	fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
		return fail(err, "busy", "another helper serves %s", address->sun_path);
	return 0;
}

static int set_access(const struct helper *h, const char *path, struct error *err)
{
	gid_t gid = 0;

	if (h->config.group[0] && !account_group(h->config.group, &gid))
		return fail(err, "internal", "there is no group '%s'", h->config.group);
	if (h->config.group[0] && chown(path, 0, gid) < 0)
		return fail_errno(err, "internal", "%s", path);
	/* With a list of uids the file mode cannot tell them apart; SO_PEERCRED at accept does. */
	if (chmod(path, h->config.allowed_count ? 0666 : h->config.group[0] ? 0660 : 0600) < 0)
		return fail_errno(err, "internal", "%s", path);
	return 0;
}

int connections_listen(struct helper *h, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *slash = strrchr(h->config.socket, '/');

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		h->connections[i].fd = -1;
	snprintf(h->socket_dir, sizeof h->socket_dir, "%.*s", (int)(slash - h->config.socket), h->config.socket);
	if (h->socket_dir[0] == '\0')
		return fail(err, "internal", "the socket cannot be in /");
	if (take_passed_socket(h) == 0)
		return 0;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", h->config.socket);
	if (check_directory(h->socket_dir, err) < 0 || check_not_served(&address, err) < 0)
		return -1;
	h->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return fail_errno(err, "internal", "%s", address.sun_path);
	if (h->listener < 0 || bind(h->listener, (struct sockaddr *)&address, sizeof address) < 0)
		return fail_errno(err, "internal", "%s", address.sun_path);
	h->own_socket = true;
	if (set_access(h, address.sun_path, err) < 0)
		return -1;
	return listen(h->listener, 64) < 0 ? fail_errno(err, "internal", "%s", address.sun_path) : 0;
}

/* ---- accepting ---- */

static bool allowed(const struct helper *h, const struct peer *peer)
{
	gid_t gid;

	if (peer->uid == 0)
		return true;
	for (size_t i = 0; i < h->config.allowed_count; i++)
		if (h->config.allowed[i] == peer->uid)
			return true;
	if (!h->config.group[0] || !account_group(h->config.group, &gid))
		return false;
	for (size_t i = 0; i < peer->group_count; i++)
		if (peer->groups[i] == gid)
			return true;
	return peer->gid == gid || account_in_group(peer->uid, gid);
}

/* Who is it? By the kernel's word alone, as it was at connect(). */
static int identify(int fd, struct peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || len != sizeof cred)
		return -1;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	len = sizeof peer->groups;
	/* More groups than fit: none are used, which only takes rights away. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &len) < 0)
		len = 0;
	peer->group_count = len / sizeof peer->groups[0];
	return 0;
}

static size_t count_of(const struct helper *h, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		n += h->connections[i].fd >= 0 && !h->connections[i].refusal && h->connections[i].peer.uid == uid;
	return n;
}

size_t connections_count(const struct helper *h)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		n += h->connections[i].fd >= 0;
	return n;
}

bool connections_subscribed(const struct helper *h)
{
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (h->connections[i].fd >= 0 && h->connections[i].subscribed)
			return true;
	return false;
}

static struct connection *free_connection(struct helper *h)
{
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (h->connections[i].fd < 0)
			return &h->connections[i];
	return NULL;
}

static void put_length(char *frame, size_t len)
{
	for (int i = 0; i < 4; i++)
		frame[i] = (char)(len >> (8 * i) & 0xff);
}

/* Why a peer is not served; NULL when he is. */
static const char *refusal_of(const struct helper *h, const struct peer *peer)
{
	if (!allowed(h, peer))
		return "not_permitted";
	return count_of(h, peer->uid) >= MAX_CONNECTIONS_PER_UID ? "too_many" : NULL;
}

static size_t refused_count(const struct helper *h)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		n += h->connections[i].fd >= 0 && h->connections[i].refusal;
	return n;
}

void connection_accept(struct helper *h)
{
	fd_auto int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c = free_connection(h);
	static struct peer peer;
	const char *refusal;

	if (fd < 0 || identify(fd, &peer) < 0)
		return;
	refusal = refusal_of(h, &peer);
	/* A refused peer is told so in the answer to his hello; a few at a time, or strangers could fill the table. */
	if (!c || (refusal && refused_count(h) >= MAX_REFUSED))
		return;
	c->generation++;
	c->peer = peer;
	c->refusal = refusal;
	c->greeted = c->subscribed = c->closing = false;
	c->pending = 0;
	c->in_len = c->out_len = c->out_sent = 0;
	c->opened_ms = now_ms();
	if (loop_add(h, fd, EPOLL_CONNECTION, (int)(c - h->connections), EPOLLIN | EPOLLRDHUP) == 0)
		c->fd = take_fd(&fd);
}

static void close_connection(struct connection *c)
{
	close_fd(&c->fd);
	c->generation++;
}

int64_t connections_expire(struct helper *h, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		struct connection *c = &h->connections[i];

		if (c->fd < 0 || c->greeted)
			continue;
		if (now >= c->opened_ms + HELLO_TIMEOUT_MS)
			close_connection(c);
		else if (c->opened_ms + HELLO_TIMEOUT_MS < next)
			next = c->opened_ms + HELLO_TIMEOUT_MS;
	}
	return next;
}

/* ---- output ---- */

static void flush(struct connection *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			c->closing |= errno != EAGAIN;
			return;
		}
		c->out_sent += (size_t)n;
	}
	c->out_sent = c->out_len = 0;
}

/* Input stops while too many answers are due: a client cannot make us queue without end. */
static void update_interest(struct helper *h, struct connection *c)
{
	uint32_t events = c->pending < MAX_PENDING_PER_CONNECTION && !c->closing ? EPOLLIN | EPOLLRDHUP : 0;

	if (c->out_sent < c->out_len)
		events |= EPOLLOUT;
	loop_change(h, c->fd, EPOLL_CONNECTION, (int)(c - h->connections), events);
}

static void queue(struct helper *h, struct connection *c, const char *frame, size_t len)
{
	memmove(c->out, c->out + c->out_sent, c->out_len - c->out_sent);
	c->out_len -= c->out_sent;
	c->out_sent = 0;
	if (len > sizeof c->out - c->out_len) {
		/* It does not read. What it is owed would fill the memory of everybody. */
		close_connection(c);
		return;
	}
	memcpy(c->out + c->out_len, frame, len);
	c->out_len += len;
	flush(c);
	if (c->closing && c->out_sent < c->out_len)
		close_connection(c);
	else
		update_interest(h, c);
}

static struct connection *target(struct helper *h, const struct reply_to *to)
{
	struct connection *c = &h->connections[to->connection];

	return c->fd >= 0 && c->generation == to->generation ? c : NULL;
}

struct record_writer *answer_begin(struct helper *h, const struct reply_to *to)
{
	h->writer = (struct record_writer){ .buf = h->answer + 4, .cap = FRAME_MAX };
	put_u64(&h->writer, "id", to->id);
	return &h->writer;
}

void answer_finish(struct helper *h, const struct reply_to *to)
{
	struct connection *c = target(h, to);

	if (h->writer.full) {
		answer_begin(h, to);
		put_str(&h->writer, "error", "internal");
		put_str(&h->writer, "message", "the answer does not fit a frame");
	}
	if (!c)
		return;
	if (c->pending > 0)
		c->pending--;
	put_length(h->answer, h->writer.len);
	queue(h, c, h->answer, 4 + h->writer.len);
}

void answer_error(struct helper *h, const struct reply_to *to, const struct error *err)
{
	struct record_writer *w = answer_begin(h, to);

	put_str(w, "error", err->code);
	put_str(w, "message", err->text);
	answer_finish(h, to);
}

void event_send(struct helper *h, const struct sandbox *s, const char *name)
{
	char frame[256];
	struct record_writer w = { .buf = frame + 4, .cap = sizeof frame - 4 };

	put_str(&w, "event", name);
	put_str(&w, "sandbox", s->id);
	put_str(&w, "tag", s->tag);
	put_length(frame, w.len);
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		struct connection *c = &h->connections[i];

		if (c->fd >= 0 && c->subscribed && c->peer.uid == s->uid)
			queue(h, c, frame, 4 + w.len);
	}
}

/* ---- input ---- */

static size_t frame_length(const char *in)
{
	const unsigned char *b = (const unsigned char *)in;

	return (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* Serves the frames that are complete. */
static void serve_frames(struct helper *h, struct connection *c)
{
	size_t at = 0;
	uint32_t generation = c->generation;

	while (!c->closing && c->in_len - at >= 4 && c->pending < MAX_PENDING_PER_CONNECTION) {
		size_t len = frame_length(c->in + at);

		if (len == 0 || len > FRAME_MAX) {
			c->closing = true;
			break;
		}
		if (c->in_len - at - 4 < len)
			break;
		protocol_serve(h, c, (int)(c - h->connections), c->in + at + 4, len);
		if (c->fd < 0 || c->generation != generation)
			return;
		at += 4 + len;
	}
	memmove(c->in, c->in + at, c->in_len - at);
	c->in_len -= at;
}

/* False when the other side has gone. */
static bool receive(struct connection *c)
{
	ssize_t n;

	if (c->in_len == sizeof c->in)
		return true;
	n = recv(c->fd, c->in + c->in_len, sizeof c->in - c->in_len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->in_len += (size_t)n;
	return n > 0;
}

void connections_resume(struct helper *h)
{
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		struct connection *c = &h->connections[i];

		if (c->fd >= 0 && c->in_len >= 4 && c->pending < MAX_PENDING_PER_CONNECTION)
			connection_serve(h, (int)i, 0);
	}
}

void connection_serve(struct helper *h, int index, uint32_t events)
{
	struct connection *c = &h->connections[index];
	uint32_t generation = c->generation;

	if (c->fd < 0)
		return;
	if (events & EPOLLOUT)
		flush(c);
	if ((events & (EPOLLIN | EPOLLRDHUP)) && !c->closing && !receive(c))
		c->closing = true;
	else
		serve_frames(h, c);
	if (c->fd < 0 || c->generation != generation)
		return;
	if (c->closing || (events & (EPOLLHUP | EPOLLERR)))
		close_connection(c);
	else
		update_interest(h, c);
}

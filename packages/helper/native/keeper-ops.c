#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "keeper.h"

/* From when on processes that no kill has ended are told of. */
#define STUBBORN_MS 5000

static struct records request;

/* Why nothing moves, or NULL. */
static const char *stalled(void)
{
	const struct output *out = output_stalled(&keeper.out) ? &keeper.out : &keeper.err;

	if (keeper.record_at != NEVER)
		return "exit_record";
	if (keeper.killing_since != NEVER && now_ms() - keeper.killing_since > STUBBORN_MS)
		return "processes_left";
	if (!output_stalled(out))
		return NULL;
	return out->error == ENOSPC || out->error == EDQUOT ? "disk_full" : "disk_error";
}

static void queue_status(struct client *c)
{
	char buf[512];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };
	const char *why = stalled();

	put_str(&w, "state", keeper.state >= SETTLING ? "settling" : "running");
	put_u64(&w, "pid", (uint64_t)keeper.job0);
	put_u64(&w, "init_pid", (uint64_t)keeper.init);
	put_u64(&w, "started_ms", keeper.started_wall_ms);
	put_u64(&w, "duration_ms", job0_run_time());
	put_u64(&w, "stdout_bytes", keeper.out.bytes);
	put_u64(&w, "stderr_bytes", keeper.err.bytes);
	put_u64(&w, "paused", keeper.paused);
	if (keeper.spec.tty) {
		put_u64(&w, "rows", keeper.spec.rows);
		put_u64(&w, "cols", keeper.spec.cols);
	}
	if (why)
		put_str(&w, "stalled", why);
	queue_records(c, 'A', &w);
}

/* A number of the request; `out` stays when there is none. Returns -1 when it is wrong. */
static int number(const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *text = records_get(&request, key);

	return text && parse_u64(text, min, max, out) < 0 ? -1 : 0;
}

/* True for a connection that lasts when there are too many of them. */
static bool too_many(struct client *c)
{
	const size_t most = CLIENTS_MAX - CLIENTS_RESERVED;
	size_t lasting = 0;
	char text[96];

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *other = &keeper.clients[i];
		bool lasts = other->kind == CLIENT_WATCH || other->kind == CLIENT_ATTACH || other->kind == CLIENT_EXEC || other->lingering;

		lasting += other->port.fd >= 0 && lasts;
	}
	if (lasting < most)
		return false;
	snprintf(text, sizeof text, "this keeper serves no more than %zu watchers, viewers and commands at a time", most);
	answer_error(c, "too_many", text);
	return true;
}

static void op_status(struct client *c)
{
	queue_status(c);
	c->closing = true;
}

static void op_watch(struct client *c)
{
	if (too_many(c))
		return;
	c->kind = CLIENT_WATCH;
	c->tell_exit = true;
	queue_status(c);
}

/* Sets the terminal's size when the request has one, and tells the viewers. Returns -1 when it is wrong. */
static int set_size(void)
{
	uint64_t rows = keeper.spec.rows, cols = keeper.spec.cols;
	struct winsize size;

	if (number("rows", 1, 9999, &rows) < 0 || number("cols", 1, 9999, &cols) < 0)
		return -1;
	if (!keeper.spec.tty || keeper.out.port.fd < 0 || (rows == keeper.spec.rows && cols == keeper.spec.cols))
		return 0;
	size = (struct winsize){ .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };
	keeper.spec.rows = (unsigned)rows;
	keeper.spec.cols = (unsigned)cols;
	(void)ioctl(keeper.out.port.fd, TIOCSWINSZ, &size);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (keeper.clients[i].kind == CLIENT_ATTACH)
			keeper.clients[i].tell_resize = true;
	serve_viewers();
	return 0;
}

static void op_attach(struct client *c)
{
	const char *mode = records_get(&request, "mode");
	uint64_t offset = keeper.out.bytes;

	if (too_many(c))
		return;
	if (!mode || (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0))
		return answer_error(c, "bad_request", "mode is ro or rw");
	if (number("offset", 0, INT64_MAX, &offset) < 0)
		return answer_error(c, "bad_request", "offset is a number of bytes");
	if (strcmp(mode, "rw") == 0 && !keeper.spec.tty)
		return answer_error(c, "unsupported", "the agent has no terminal to write to; attach with mode ro");
	if (set_size() < 0)
		return answer_error(c, "bad_request", "rows and cols are numbers from 1 to 9999");
	c->kind = CLIENT_ATTACH;
	c->writable = strcmp(mode, "rw") == 0;
	c->from_log = c->tell_exit = true;
	c->offset = offset;
	queue_status(c);
}

static void op_resize(struct client *c)
{
	if (!keeper.spec.tty)
		return answer_error(c, "unsupported", "the agent has no terminal");
	if (records_count(&request, "rows") == 0 || records_count(&request, "cols") == 0 || set_size() < 0)
		return answer_error(c, "bad_request", "resize needs rows and cols, from 1 to 9999");
	answer_ok(c);
}

static void op_exec(struct client *c)
{
	const char *group = records_get(&request, "group");

	if (too_many(c))
		return;
	if (keeper.state == STARTING || keeper.state == LEAVING || keeper.init_gone)
		return answer_error(c, "busy", "the sandbox is starting or ending");
	if (keeper.state == KILLING && group && strcmp(group, "agent") == 0)
		return answer_error(c, "busy", "the agent's group is being ended; try again");
	exec_begin(c, &request);
}

static void op_stop(struct client *c)
{
	uint64_t grace = keeper.spec.grace_ms;

	if (number("grace_ms", 0, 3600000, &grace) < 0)
		return answer_error(c, "bad_request", "grace_ms is a number up to 3600000");
	if (keeper.state == RUNNING) {
		keeper.stop_asked = true;
		job0_stop(grace);
	}
	answer_ok(c);
}

static void op_pause(struct client *c)
{
	job0_pause(true);
	answer_ok(c);
}

static void op_unpause(struct client *c)
{
	job0_pause(false);
	answer_ok(c);
}

/* Answered when init is gone. */
static void op_end(struct client *c)
{
	if (keeper.state < SETTLING)
		return answer_error(c, "busy", "the agent still runs; stop it first");
	c->kind = CLIENT_END;
	if (keeper.state == SETTLING)
		begin_leaving();
}

static const struct op {
	const char *name;
	void (*run)(struct client *c);
	const char *const keys[5]; /* at most once each */
	bool command;              /* has arg and env */
} OPS[] = {
	{ "status", op_status, { NULL }, false },
	{ "watch", op_watch, { NULL }, false },
	{ "attach", op_attach, { "mode", "offset", "rows", "cols" }, false },
	{ "resize", op_resize, { "rows", "cols" }, false },
	{ "exec", op_exec, { "cwd", "group", "timeout_ms" }, true },
	{ "stop", op_stop, { "grace_ms" }, false },
	{ "pause", op_pause, { NULL }, false },
	{ "unpause", op_unpause, { NULL }, false },
	{ "end", op_end, { NULL }, false },
};

static bool knows(const struct op *op, const struct record *r)
{
	if (op->command && (record_is(r, "arg") || record_is(r, "env")))
		return true;
	if (!record_is(r, "op")) {
		size_t i = 0;

		while (op->keys[i] && !record_is(r, op->keys[i]))
			i++;
		if (!op->keys[i])
			return false;
	}
	/* The first of its kind, or it is there twice. */
	for (const struct record *before = request.at; before < r; before++)
		if (before->key_len == r->key_len && memcmp(before->key, r->key, r->key_len) == 0)
			return false;
	return true;
}

static void run(const struct op *op, struct client *c)
{
	char text[128];

	for (size_t i = 0; i < request.count; i++)
		if (!knows(op, &request.at[i])) {
			snprintf(text, sizeof text, "%s: key '%.*s' is unknown, or given twice", op->name, request.at[i].key_len, request.at[i].key);
			return answer_error(c, "bad_request", text);
		}
	op->run(c);
}

void handle_request(struct client *c, const char *payload, size_t len)
{
	const char *name;

	c->kind = CLIENT_PLAIN;
	if (records_parse(payload, len, &request) < 0)
		return answer_error(c, "bad_frame", "a request is a record list");
	name = records_get(&request, "op");
	for (size_t i = 0; name && i < sizeof OPS / sizeof OPS[0]; i++)
		if (strcmp(name, OPS[i].name) == 0)
			return run(&OPS[i], c);
	answer_error(c, "unknown_op", "op is one of status, watch, attach, resize, exec, stop, pause, unpause, end");
}

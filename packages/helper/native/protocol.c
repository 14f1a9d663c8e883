/*
 * The table of operations: which keys a request may have, of which type, how often. It alone decides what reaches a handler;
 * what it does not name is refused. `--print-protocol` prints it, and a test holds the client's schemas against it.
 */
#include <stdio.h>
#include <string.h>

#include "helper.h"

enum type { TYPE_NUMBER, TYPE_LIMIT, TYPE_CPUS, TYPE_WORD, TYPE_ID, TYPE_TAG, TYPE_PATH, TYPE_TEXT, TYPE_ENV, TYPE_HOST };
enum { REQUIRED = 1, REPEAT = 2 };

static const char *const type_names[] = { "number", "limit", "cpus", "word", "id", "tag", "path", "text", "env", "host" };

struct field {
	const char *name;
	enum type type;
	uint64_t min, max; /* of a number; of the length of a text */
	unsigned flags;
	const char *words; /* of a word, separated by '|' */
};

struct operation {
	const char *name;
	handler *run;
	const struct field *fields;
	bool limits; /* takes the limits too */
};

#define END { .name = NULL }
#define SANDBOX { "sandbox", TYPE_ID, ID_LENGTH, ID_LENGTH, REQUIRED, NULL }
#define PATH_LENGTH 4095
#define TEXT_LENGTH 60000
#define BYTES_MAX (UINT64_C(1) << 50)
#define MILLISECONDS_MAX UINT64_C(31622400000) /* a year */

static const struct field limit_fields[] = {
	{ "cpu_quota_us", TYPE_LIMIT, 0, 0, 0, NULL }, { "cpu_weight", TYPE_LIMIT, 0, 0, 0, NULL },
	{ "cpuset", TYPE_CPUS, 1, CPUSET_MAX - 1, 0, NULL }, { "memory_max", TYPE_LIMIT, 0, 0, 0, NULL },
	{ "swap_max", TYPE_LIMIT, 0, 0, 0, NULL }, { "swappiness", TYPE_LIMIT, 0, 0, 0, NULL },
	{ "pids_max", TYPE_LIMIT, 0, 0, 0, NULL }, { "io_rbps", TYPE_LIMIT, 0, 0, 0, NULL },
	{ "io_wbps", TYPE_LIMIT, 0, 0, 0, NULL }, { "io_riops", TYPE_LIMIT, 0, 0, 0, NULL },
	{ "io_wiops", TYPE_LIMIT, 0, 0, 0, NULL }, END,
};

static const struct field hello_fields[] = { { "version", TYPE_NUMBER, 1, UINT32_MAX, REQUIRED, NULL }, END };
static const struct field none[] = { END };
static const struct field sandbox_field[] = { SANDBOX, END };
static const struct field create_fields[] = {
	{ "tag", TYPE_TAG, 1, TAG_MAX, REQUIRED, NULL },
	{ "level", TYPE_WORD, 0, 0, REQUIRED, "enhanced|full" },
	{ "oom", TYPE_WORD, 0, 0, 0, "kill|tolerate" },
	{ "io_path", TYPE_PATH, 1, PATH_LENGTH, 0, NULL },
	END,
};
static const struct field kill_fields[] = { SANDBOX, { "group", TYPE_WORD, 0, 0, REQUIRED, "agent|all" }, END };
static const struct field stats_fields[] = { { "sandbox", TYPE_ID, ID_LENGTH, ID_LENGTH, 0, NULL }, END };
static const struct field spawn_fields[] = {
	SANDBOX,
	{ "dir", TYPE_PATH, 1, PATH_LENGTH, REQUIRED, NULL },
	{ "cwd", TYPE_PATH, 1, PATH_LENGTH, REQUIRED, NULL },
	{ "arg", TYPE_TEXT, 0, TEXT_LENGTH, REQUIRED | REPEAT, NULL },
	{ "env", TYPE_ENV, 1, TEXT_LENGTH, REPEAT, NULL },
	{ "hostname", TYPE_HOST, 1, 64, 0, NULL },
	{ "tty", TYPE_NUMBER, 0, 1, 0, NULL },
	{ "rows", TYPE_NUMBER, 1, 65535, 0, NULL },
	{ "cols", TYPE_NUMBER, 1, 65535, 0, NULL },
	{ "stderr", TYPE_WORD, 0, 0, 0, "split|merge" },
	{ "stdin", TYPE_PATH, 1, PATH_LENGTH, 0, NULL },
	{ "deadline_ms", TYPE_NUMBER, 1, MILLISECONDS_MAX, 0, NULL },
	{ "grace_ms", TYPE_NUMBER, 0, MILLISECONDS_MAX, 0, NULL },
	{ "settle_ms", TYPE_NUMBER, 0, MILLISECONDS_MAX, 0, NULL },
	{ "log_max", TYPE_NUMBER, 0, BYTES_MAX, 0, NULL },
	{ "tmp_size", TYPE_NUMBER, 4096, BYTES_MAX, 0, NULL },
	{ "shm_size", TYPE_NUMBER, 4096, BYTES_MAX, 0, NULL },
	{ "mount", TYPE_WORD, 0, 0, REPEAT, "ro|rw|tmpfs" },
	{ "src", TYPE_PATH, 1, PATH_LENGTH, REPEAT, NULL },
	{ "dst", TYPE_PATH, 1, PATH_LENGTH, REPEAT, NULL },
	{ "size", TYPE_NUMBER, 4096, BYTES_MAX, REPEAT, NULL },
	END,
};

static const struct operation operations[] = {
	{ "hello", op_hello, hello_fields, false },
	{ "create", op_create, create_fields, true },
	{ "spawn", op_spawn, spawn_fields, false },
	{ "update", op_update, sandbox_field, true },
	{ "freeze", op_freeze, sandbox_field, false },
	{ "thaw", op_thaw, sandbox_field, false },
	{ "kill", op_kill, kill_fields, false },
	{ "stats", op_stats, stats_fields, false },
	{ "list", op_list, none, false },
	{ "remove", op_remove, sandbox_field, false },
	{ "subscribe", op_subscribe, none, false },
	{ "shutdown", op_shutdown, none, false },
};

static const struct field *field_in(const struct field *fields, const struct record *r)
{
	for (; fields->name; fields++)
		if (record_is(r, fields->name))
			return fields;
	return NULL;
}

static const struct field *find_field(const struct operation *op, const struct record *r)
{
	const struct field *f = field_in(op->fields, r);

	return f || !op->limits ? f : field_in(limit_fields, r);
}

static bool word_of(const char *words, const char *value)
{
	size_t n = strlen(value);

	for (const char *p = words; p; p = strchr(p, '|')) {
		p += *p == '|';
		if (n > 0 && strncmp(p, value, n) == 0 && (p[n] == '|' || p[n] == '\0'))
			return true;
	}
	return false;
}

static bool only(const char *value, const char *first, const char *rest)
{
	return value[0] && strchr(first, value[0]) && strspn(value, rest) == strlen(value);
}

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool right_form(const struct field *f, const char *value)
{
	uint64_t number;

	switch (f->type) {
	case TYPE_NUMBER:
		return parse_u64(value, f->min, f->max, &number) == 0;
	case TYPE_WORD:
		return word_of(f->words, value);
	case TYPE_ID:
		return valid_id(value);
	case TYPE_TAG:
		return only(value, ALNUM, ALNUM "._:-");
	case TYPE_HOST:
		return only(value, ALNUM, ALNUM ".-");
	case TYPE_PATH:
		return value[0] == '/';
	case TYPE_ENV:
		return value[0] != '=' && strchr(value, '=');
	default:
		return true; /* limits have an error code of their own: limits.c */
	}
}

static bool right_length(const struct field *f, const char *value)
{
	size_t n = strlen(value);

	return f->type == TYPE_NUMBER || f->type == TYPE_WORD || f->type == TYPE_LIMIT || f->type == TYPE_CPUS || (n >= f->min && n <= f->max);
}

static int check_record(const struct operation *op, const struct records *list, const struct record *r, struct error *err)
{
	const struct field *f;

	if (record_is(r, "id") || record_is(r, "op"))
		return 0;
	f = find_field(op, r);
	if (!f)
		return fail(err, "bad_request", "%s: there is no key '%.*s'", op->name, (int)r->key_len, r->key);
	if (!(f->flags & REPEAT) && records_count(list, f->name) > 1)
		return fail(err, "bad_request", "%s: '%s' is given more than once", op->name, f->name);
	if (!right_length(f, r->value) || !right_form(f, r->value))
		return fail(err, "bad_request", "%s: '%.64s' is not a valid %s", op->name, r->value, f->name);
	return 0;
}

static int check_request(const struct operation *op, const struct records *list, struct error *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (check_record(op, list, &list->at[i], err) < 0)
			return -1;
	for (const struct field *f = op->fields; f->name; f++)
		if ((f->flags & REQUIRED) && !records_get(list, f->name))
			return fail(err, "bad_request", "%s: '%s' is missing", op->name, f->name);
	return 0;
}

static const struct operation *find_operation(const char *name)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

/* A peer who may not use the helper, or has too many connections, is told so whatever he asks. */
static enum outcome refuse(struct connection *from, struct error *err)
{
	from->closing = true;
	if (strcmp(from->refusal, "too_many") == 0)
		return fail(err, "too_many", "this user has %d connections, which is the most", MAX_CONNECTIONS_PER_UID);
	return fail(err, from->refusal, "this user may not use the helper; root's configuration names the group or the uids that may");
}

static enum outcome dispatch(struct helper *h, const struct request *rq, const char *name, struct error *err)
{
	const struct operation *op = find_operation(name);

	if (rq->from->refusal)
		return refuse(rq->from, err);
	if (!op)
		return fail(err, "unknown_op", "there is no operation '%.32s'", name);
	if (!rq->from->greeted && op->run != op_hello)
		return fail(err, "hello_first", "the first request of a connection is hello");
	if (check_request(op, rq->list, err) < 0)
		return FAILED;
	return op->run(h, rq, err);
}

void protocol_serve(struct helper *h, struct connection *from, int index, const char *bytes, size_t len)
{
	struct request rq = { .from = from, .to = { .connection = index, .generation = from->generation }, .list = &h->parsed,
			      .bytes = bytes, .len = len };
	const char *op, *id;
	uint64_t number;
	struct error err;

	if (records_parse(bytes, len, &h->parsed) < 0) {
		from->closing = true;
		return;
	}
	id = records_get(&h->parsed, "id");
	op = records_get(&h->parsed, "op");
	if (!id || records_count(&h->parsed, "id") > 1 || parse_u64(id, 0, UINT32_MAX, &number) < 0) {
		from->closing = true;
		return;
	}
	rq.to.id = (uint32_t)number;
	from->pending++;
	if (!op || records_count(&h->parsed, "op") > 1) {
		fail(&err, "bad_frame", "a request has one `op`");
		answer_error(h, &rq.to, &err);
		from->closing = true;
		return;
	}
	if (dispatch(h, &rq, op, &err) == FAILED)
		answer_error(h, &rq.to, &err);
}

static void print_field(const struct field *f)
{
	printf("{\"name\":\"%s\",\"type\":\"%s\",\"min\":%llu,\"max\":%llu,\"required\":%s,\"repeat\":%s,\"words\":\"%s\"}", f->name,
	       type_names[f->type], (unsigned long long)f->min, (unsigned long long)f->max, f->flags & REQUIRED ? "true" : "false",
	       f->flags & REPEAT ? "true" : "false", f->words ? f->words : "");
}

void protocol_print(void)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		const struct operation *op = &operations[i];
		const char *comma = "";

		printf("{\"op\":\"%s\",\"fields\":[", op->name);
		for (const struct field *f = op->fields; f->name; f++, comma = ",") {
			fputs(comma, stdout);
			print_field(f);
		}
		for (const struct field *f = op->limits ? limit_fields : none; f->name; f++, comma = ",") {
			fputs(comma, stdout);
			print_field(f);
		}
		puts("]}");
	}
}

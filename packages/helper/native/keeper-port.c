#include <sys/epoll.h>
#include <unistd.h>

#include "keeper.h"

static uint64_t key_of(const struct port *p)
{
	return (uint64_t)p->serial << 16 | (uint64_t)p->source << 8 | p->index;
}

void port_set(struct port *p, int fd, enum source source, size_t index)
{
	static uint32_t serials;

	*p = (struct port){ .fd = fd, .serial = ++serials, .source = (uint8_t)source, .index = (uint8_t)index };
}

int port_arm(struct port *p, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = key_of(p) };

	if (p->fd < 0 || (p->in_set && p->events == events))
		return 0;
	if (epoll_ctl(keeper.epoll, p->in_set ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, p->fd, &event) < 0)
		return -1;
	p->in_set = true;
	p->events = events;
	return 0;
}

void port_rest(struct port *p)
{
	if (p->fd < 0 || !p->in_set)
		return;
	epoll_ctl(keeper.epoll, EPOLL_CTL_DEL, p->fd, NULL);
	p->in_set = false;
}

void port_close(struct port *p)
{
	if (p->fd < 0)
		return;
	/* Closing alone would leave it in the set while another process holds a copy. */
	port_rest(p);
	close(p->fd);
	p->fd = -1;
}

static struct port *port_at(enum source source, size_t index)
{
	struct client *c = &keeper.clients[index % CLIENTS_MAX];

	switch (source) {
	case SRC_CTL:
		return &keeper.ctl;
	case SRC_SIGNALS:
		return &keeper.signals;
	case SRC_LISTEN:
		return &keeper.listener;
	case SRC_OUT:
		return &keeper.out.port;
	case SRC_ERR:
		return &keeper.err.port;
	case SRC_CLIENT:
		return &c->port;
	case SRC_JOB_IN:
		return &c->exec.in;
	case SRC_JOB_OUT:
		return &c->exec.out;
	case SRC_JOB_ERR:
		return &c->exec.err;
	}
	return NULL;
}

struct port *port_of(uint64_t key)
{
	struct port *p = port_at((enum source)(key >> 8 & 0xff), key & 0xff);

	return p && p->fd >= 0 && key_of(p) == (key & ((1ull << 48) - 1)) ? p : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The network gate's pure parts: addresses, rules, DNS, TLS hellos, HTTP requests, packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/net/credential.h"
#include "sandbox/net/dns.h"
#include "sandbox/net/gate/gate.h"
#include "sandbox/net/gate/packet.h"
#include "sandbox/net/http.h"
#include "sandbox/net/netlink.h"
#include "sandbox/net/noway.h"
#include "sandbox/net/rule.h"
#include "sandbox/net/tls.h"

static void address_classes(void **state)
{
	static const struct {
		const char *text;
		enum rein_addr_class is;
	} cases[] = {
		{"93.184.216.34", REIN_ADDR_GLOBAL},	  {"8.8.8.8", REIN_ADDR_GLOBAL},
		{"127.0.0.1", REIN_ADDR_LOOPBACK},	  {"127.255.255.254", REIN_ADDR_LOOPBACK},
		{"0.0.0.0", REIN_ADDR_RESERVED},	  {"0.1.2.3", REIN_ADDR_RESERVED},
		{"10.0.0.1", REIN_ADDR_PRIVATE},	  {"11.0.0.1", REIN_ADDR_GLOBAL},
		{"172.15.255.255", REIN_ADDR_GLOBAL},	  {"172.16.0.1", REIN_ADDR_PRIVATE},
		{"172.31.255.255", REIN_ADDR_PRIVATE},	  {"172.32.0.0", REIN_ADDR_GLOBAL},
		{"192.168.1.1", REIN_ADDR_PRIVATE},	  {"100.63.255.255", REIN_ADDR_GLOBAL},
		{"100.64.0.1", REIN_ADDR_PRIVATE},	  {"100.128.0.0", REIN_ADDR_GLOBAL},
		{"169.254.1.1", REIN_ADDR_LINKLOCAL},	  {"169.254.169.254", REIN_ADDR_METADATA},
		{"168.63.129.16", REIN_ADDR_METADATA},	  {"224.0.0.1", REIN_ADDR_MULTICAST},
		{"239.255.255.255", REIN_ADDR_MULTICAST}, {"255.255.255.255", REIN_ADDR_RESERVED},
		{"240.0.0.1", REIN_ADDR_RESERVED},	  {"198.18.0.1", REIN_ADDR_RESERVED},
		{"192.0.2.1", REIN_ADDR_RESERVED},	  {"::", REIN_ADDR_LOOPBACK},
		{"::1", REIN_ADDR_LOOPBACK},		  {"::2", REIN_ADDR_RESERVED},
		{"::ffff:127.0.0.1", REIN_ADDR_LOOPBACK}, {"::ffff:8.8.8.8", REIN_ADDR_GLOBAL},
		{"64:ff9b::7f00:1", REIN_ADDR_LOOPBACK},  {"64:ff9b::808:808", REIN_ADDR_GLOBAL},
		{"2002:7f00:1::", REIN_ADDR_LOOPBACK},	  {"2002:a00:1::1", REIN_ADDR_PRIVATE},
		{"2001::1", REIN_ADDR_RESERVED},	  {"2001:db8::1", REIN_ADDR_RESERVED},
		{"2606:4700::1", REIN_ADDR_GLOBAL},	  {"fe80::1", REIN_ADDR_LINKLOCAL},
		{"fc00::1", REIN_ADDR_PRIVATE},		  {"fd12::1", REIN_ADDR_PRIVATE},
		{"fd00:ec2::254", REIN_ADDR_METADATA},	  {"ff02::1", REIN_ADDR_MULTICAST},
		{"4000::1", REIN_ADDR_RESERVED},	  {"::7f00:1", REIN_ADDR_RESERVED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_addr a;

		assert_true(rein_addr_parse(cases[i].text, &a));
		if (rein_addr_class(&a) != cases[i].is)
			fail_msg("%s is %s", cases[i].text, rein_addr_class_text(rein_addr_class(&a)));
	}
}

static void rule_texts(void **state)
{
	static const char *const good[] = {
		"example.org", "EXAMPLE.org.", "*.example.org", "*", "a-b_c.d:22", "x:*", "x:1-65535",
		"10.0.0.0/8", "10.1.2.3", "10.1.2.3:5432", "::1", "fd00::/8", "[fd00::]/8:443",
		"[::1]:80", "x,ro", "x:8080,raw", "x,inspect", "x,inspect,methods=GET+PROP-FIND,path=/a/*,path=/b", "x,up=1M,max=10M/1h", "host.rein.internal:5432", "0.0.0.0/0",
		"1.example.org", "3com", "0xyz", "a.b1", "10-0-0-1.nodes",
	};
	static const char *const bad[] = {
		"", ".", "a..b", "a b", "*x.org", "*.*.org", "x:0", "x:65536", "x:", "x:2-1", "x:a", "x,",
		"x,rw", "x,up=", "x,max=0", "x,ro,raw", "x,raw,inspect", "x,raw,path=/a", "x,methods=", "x,methods=get", "x,methods=GET+", "x,methods=+GET",
		"x,methods=GET,methods=PUT", "x,path=", "x,path=a", "x,path=/a?b", "x,path=/a b", "10.0.0.1,inspect", "10.0.0.1/8", "10.0.0.0/33", "[::1", "[::1]x",
		"fd00::1/8", "ex\xc3\xa4mple.org", "host.rein.internal", "x/y", "http://x", "x:80:90", "x:0000000000000080",
		"a23456789012345678901234567890123456789012345678901234567890123x.org", "[::1]8:80", "x,path=/a\x7f", "x,path=/\xc3",
		"10.0.0.1-10.0.0.9", "10.0.0", "127.1", "2130706433", "0X7f000001", "10.0.0.1.", "10.0.0.256", "*.0.1",
	};
	struct rein_net_rule r;
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (rein_rule_parse(good[i], &r, &err) < 0)
			fail_msg("'%s' was not taken: %s", good[i], err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_rule_parse(bad[i], &r, &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
	/* longer than there is room for */
	for (size_t i = 0; i < 4; i++) {
		static const char *const begins[] = {"x,methods=", "x,path=/", "", "*."};
		char text[2048] = "";
		size_t n = strlen(begins[i]);

		memset(text, i ? 'a' : 'A', sizeof(text) - 1);
		memcpy(text, begins[i], n);
		for (size_t k = n + 30; i > 1 && k < sizeof(text); k += 30)
			text[k] = '.';
		for (size_t k = n; k < 600; k++) {
			char begin[600];

			memcpy(begin, text, k);
			begin[k] = 0;
			if (rein_rule_parse(begin, &r, &err) < 0)
				continue;
			assert_true(strnlen(r.methods, sizeof(r.methods)) < sizeof(r.methods));
			assert_true(strnlen(r.paths, sizeof(r.paths)) < sizeof(r.paths));
			assert_true(strnlen(r.name, sizeof(r.name)) <= 253 + 2);
		}
		text[1024] = 0;
		assert_true(rein_rule_parse(text, &r, &err) < 0);
	}
	assert_int_equal(rein_rule_parse("x:8080,ro,up=1M,max=10M/1h", &r, &err), 0);
	assert_int_equal(r.first, 8080);
	assert_true(r.flags & REIN_RULE_READONLY);
	assert_int_equal(r.sent.bytes, 1 << 20);
	assert_int_equal(r.all.bytes, 10 << 20);
	assert_true(r.all.window_ns == 3600ull * 1000000000ull);
}

static void publish_texts(void **state)
{
	static const char *const bad[] = {"", "0", "x", "80:", ":80", "80:0", "0:80", "65536", "80:90:100", "80-90", "000000000000000080"};
	struct rein_net_publish p;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_publish_parse("80", &p, &err), 0);
	assert_true(p.host == 80 && p.inside == 80);
	assert_int_equal(rein_publish_parse("8080:80", &p, &err), 0);
	assert_true(p.host == 8080 && p.inside == 80);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_publish_parse(bad[i], &p, &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
}

static size_t parse_rules(const char *const *texts, size_t n, struct rein_net_rule *to)
{
	struct rein_err err = {0};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(rein_rule_parse(texts[i], &to[i], &err), 0);
	return n;
}

static void rule_denies(void **state)
{
	static const char *const texts[] = {"a.example.org:*", "b.example.org:22", "93.184.216.0/24:*", "*.example.org", "*:*",
					    "0.0.0.0/0:*"};
	struct rein_net_rule v[ARRAY_SIZE(texts)];
	size_t n = parse_rules(texts, ARRAY_SIZE(texts), v);
	struct rein_addr a;
	uint32_t why;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		v[i].flags |= REIN_RULE_DENY;
	assert_int_equal(rein_rules_name(v, n, "a.example.org", 443, &why), -1);
	assert_int_equal(why, REIN_WHY_DENIED);
	assert_int_equal(rein_rules_name(v, n, "a.example.org", 0, &why), -1);
	assert_int_equal(rein_rules_name(v, n, "b.example.org", 443, &why), 3);
	assert_int_equal(rein_rules_name(v, n, "b.example.org", 0, &why), 3); /* at some port it may be */
	assert_int_equal(rein_rules_name(v, n, "b.example.org", 22, &why), -1);
	assert_true(rein_rules_deny_name(v, n, "b.example.org", 22));
	assert_false(rein_rules_deny_name(v, n, "c.example.org", 22));
	assert_true(rein_addr_parse("93.184.216.34", &a));
	assert_int_equal(rein_rules_address(v, n, &a, 80, &why), -1);
	assert_int_equal(why, REIN_WHY_DENIED);
	assert_true(rein_rules_deny_address(v, n, &a, 80));
	assert_false(rein_rules_named(v, n, &a, 80)); /* to deny a place is not to name it */
	assert_true(rein_addr_parse("93.184.217.1", &a));
	assert_int_equal(rein_rules_address(v, n, &a, 80, &why), 5);
	assert_false(rein_rules_deny_address(v, n, &a, 80));
	assert_true(rein_addr_parse("64:ff9b::93.184.216.34", &a)); /* the same host, by NAT64 and by 6to4 */
	assert_true(rein_rules_deny_address(v, n, &a, 80));
	assert_int_equal(rein_rules_address(v, n, &a, 80, &why), -1);
	assert_int_equal(why, REIN_WHY_DENIED);
	assert_true(rein_addr_parse("2002:5db8:d822::1", &a));
	assert_true(rein_rules_deny_address(v, n, &a, 80));
	assert_true(rein_addr_parse("64:ff9b::93.184.217.1", &a));
	assert_false(rein_rules_deny_address(v, n, &a, 80));
	assert_int_equal(rein_rules_address(v, n, &a, 80, &why), -1); /* to allow one spelling is not to allow all */
	/* denied at one port, or at some, is not denied at others */
	n = parse_rules((const char *const[]){"93.184.216.0/24:22", "c.org:1-1000", "0.0.0.0/0:*", "*:*"}, 4, v);
	v[0].flags |= REIN_RULE_DENY;
	v[1].flags |= REIN_RULE_DENY;
	assert_true(rein_addr_parse("93.184.216.34", &a));
	assert_int_equal(rein_rules_address(v, n, &a, 80, &why), 2);
	assert_int_equal(rein_rules_address(v, n, &a, 22, &why), -1);
	assert_int_equal(rein_rules_address(v, n, &a, 0, &why), 2);
	assert_true(rein_rules_deny_address(v, n, &a, 22));
	assert_false(rein_rules_deny_address(v, n, &a, 80));
	assert_int_equal(rein_rules_name(v, n, "c.org", 0, &why), 3);
	assert_true(rein_rules_deny_name(v, n, "c.org", 1000));
	assert_false(rein_rules_deny_name(v, n, "c.org", 1001));
	assert_false(rein_rules_deny_name(v, n, "c.org", 0));
}

/* What is not global is reached only where somebody named it, and half the world is no name. */
static void rule_places(void **state)
{
	static const struct {
		const char *rule, *address;
		bool covers;
	} cases[] = {
		{"10.0.0.0/8", "10.1.2.3", true},     {"8.0.0.0/5", "10.1.2.3", false}, {"fd12::/16", "fd12::1", true},
		{"fd00::/15", "fd01::1", false},      {"::/0", "fd12::1", false},	{"::/0", "2606:4700::1", true},
		{"2000::/3", "2606:4700::1", true},   {"0.0.0.0/0", "127.0.0.1", false}, {"::/16", "::1", false},
		{"169.254.169.254", "169.254.169.254", true}, {"::1", "::1", false}, {"::/0", "93.184.216.34", false},
		{"::/1", "93.184.216.34", false}, {"::ffff:0:0/96", "93.184.216.34", true}, {"0.0.0.0/0", "2606:4700::1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_net_rule r;
		struct rein_addr a;
		uint32_t why;

		parse_rules(&cases[i].rule, 1, &r);
		assert_true(rein_addr_parse(cases[i].address, &a));
		if ((rein_rules_address(&r, 1, &a, 443, &why) == 0) != cases[i].covers)
			fail_msg("%s, %s", cases[i].rule, cases[i].address);
		if (rein_addr_class(&a) != REIN_ADDR_GLOBAL)
			assert_int_equal(rein_rules_named(&r, 1, &a, 443), cases[i].covers);
		assert_int_equal(rein_rules_named(&r, 1, &a, 0), rein_rules_named(&r, 1, &a, 443));
	}
}

static void rule_matches(void **state)
{
	static const char *const texts[] = {"example.org", "*.wild.org:8000-8010", "10.1.0.0/16:22", "0.0.0.0/0",
					    "host.rein.internal:99"};
	static const struct {
		const char *name;
		uint16_t port;
		int rule;
		uint32_t why;
	} names[] = {
		{"example.org", 443, 0, 0},	     {"example.org", 80, 0, 0},
		{"example.org", 22, -1, REIN_WHY_PORT}, {"a.example.org", 443, -1, REIN_WHY_NO_RULE},
		{"xexample.org", 443, -1, REIN_WHY_NO_RULE}, {"a.wild.org", 8005, 1, 0},
		{"a.b.wild.org", 8010, 1, 0},	     {"wild.org", 8005, -1, REIN_WHY_NO_RULE},
		{"a.wild.org", 8011, -1, REIN_WHY_PORT},     {"a.wild.org", 0, 1, 0},
		{"host.rein.internal", 99, 4, 0},
	};
	static const struct {
		const char *address;
		uint16_t port;
		int rule;
		bool named;
	} addresses[] = {
		{"10.1.2.3", 22, 2, true},    {"10.1.2.3", 23, -1, false}, {"10.2.0.1", 80, -1, false},
		{"8.8.8.8", 443, 3, false},   {"8.8.8.8", 22, -1, false},  {"127.0.0.1", 80, -1, false},
		{"169.254.169.254", 80, -1, false},
	};
	struct rein_net_rule v[8];
	size_t n = parse_rules(texts, ARRAY_SIZE(texts), v);
	uint32_t why;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int rule = rein_rules_name(v, n, names[i].name, names[i].port, &why);

		if (rule != names[i].rule || (rule < 0 && why != names[i].why))
			fail_msg("%s:%u: rule %d, why %u", names[i].name, names[i].port, rule, why);
	}
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct rein_addr a;

		assert_true(rein_addr_parse(addresses[i].address, &a));
		assert_int_equal(rein_rules_address(v, n, &a, addresses[i].port, &why), addresses[i].rule);
		assert_int_equal(rein_rules_named(v, n, &a, addresses[i].port), addresses[i].named);
	}
	/* any host is not this machine */
	n = parse_rules((const char *const[]){"*:*"}, 1, v);
	assert_int_equal(rein_rules_name(v, n, "host.rein.internal", 99, &why), -1);
	assert_int_equal(rein_rules_name(v, n, "anything.org", 99, &why), 0);
}

static void dns_question_and_answer(void **state)
{
	uint8_t m[512], out[1024];
	struct rein_dns_question q;
	struct rein_dns_reply r;
	struct rein_addr a = rein_addr_v4(0x01020304);
	struct rein_dns_answer answer = {.address = &a, .ttl = 9};
	size_t n = rein_dns_write_question("www.example.org", REIN_DNS_A, 77, m, sizeof(m)), k;

	(void)state;
	assert_true(n > 0);
	assert_int_equal(rein_dns_read_question(m, n, &q), 0);
	assert_string_equal(q.name, "www.example.org");
	assert_true(q.edns);
	k = rein_dns_write_answer(m, n, &q, &answer, out, sizeof(out));
	assert_true(k > 0);
	assert_true(rein_dns_read_reply(out, k, "www.example.org", REIN_DNS_A, 77, &r));
	assert_int_equal(r.n, 1);
	assert_true(rein_addr_eq(&r.v[0], &a));
	assert_int_equal(r.ttl, 9);
	/* another number, another name, another type: somebody else's answer */
	assert_false(rein_dns_read_reply(out, k, "www.example.org", REIN_DNS_A, 78, &r));
	assert_false(rein_dns_read_reply(out, k, "example.org", REIN_DNS_A, 77, &r));
	assert_false(rein_dns_read_reply(out, k, "www.example.org", REIN_DNS_AAAA, 77, &r));
	/* every cut of it is no answer, or an empty one */
	for (size_t i = 0; i < k; i++)
		if (rein_dns_read_reply(out, i, "www.example.org", REIN_DNS_A, 77, &r))
			assert_true(i > 12);
	/* an answer is no question */
	assert_int_equal(rein_dns_read_question(out, k, &q), -1);
}

static void put(uint8_t *m, size_t *n, const void *p, size_t k)
{
	memcpy(m + *n, p, k);
	*n += k;
}

/* One more record; the name and what it holds as on the wire. */
static void put_rr(uint8_t *m, size_t *n, const char *owner, size_t owner_n, uint8_t type, uint8_t class, const void *data,
		   uint8_t k)
{
	put(m, n, owner, owner_n);
	put(m, n, (const uint8_t[]){0, type, 0, class, 0, 0, 0, 9, 0, k}, 10);
	put(m, n, data, k);
	m[7]++;
}

/* Of a reply only what belongs to the question counts. */
static void dns_foreign_records(void **state)
{
	static const uint8_t four[4] = {1, 2, 3, 4}, sixteen[16] = {1};
	static const struct {
		const char *owner;
		size_t owner_n;
		uint8_t type, class;
		const void *data;
		uint8_t n;
		size_t taken;
	} cases[] = {
		{"\xc0\x0c", 2, 1, 1, four, 4, 1},	     {"\1b\3org\0", 7, 1, 1, four, 4, 0}, /* another's */
		{"\xc0\x0c", 2, 1, 3, four, 4, 0},	     {"\xc0\x0c", 2, 16, 1, four, 4, 0}, /* class, type */
		{"\xc0\x0c", 2, 1, 1, sixteen, 16, 0}, {"\xc0\x0c", 2, 28, 1, sixteen, 16, 0},
		{"\5a.org\0", 7, 1, 1, four, 4, 0}, /* a dot in a label is no end of it */
		{"\0", 1, 1, 1, four, 4, 0},
	};
	struct rein_dns_reply r;
	uint8_t m[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = rein_dns_write_question("a.org", 1, 5, m, sizeof(m)) - 11;

		m[2] |= 0x80, m[11] = 0;
		put_rr(m, &n, cases[i].owner, cases[i].owner_n, cases[i].type, cases[i].class, cases[i].data, cases[i].n);
		assert_true(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
		if (r.n != cases[i].taken)
			fail_msg("%zu: %zu", i, (size_t)r.n);
		/* of another name it leads to, yes; of one it cannot lead to, no */
		put_rr(m, &n, "\xc0\x0c", 2, 5, 1, "\1c\3org\0", 7);
		put_rr(m, &n, "\1c\3org\0", 7, 1, 1, four, 4);
		put_rr(m, &n, "\1d\3org\0", 7, 1, 1, four, 4);
		assert_true(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
		assert_int_equal(r.n, cases[i].taken + 1);
		for (int k = 0; k < 2; k++) { /* somebody's question; two questions */
			uint8_t was = m[k ? 5 : 2];

			m[k ? 5 : 2] = k ? 2 : 1;
			assert_false(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
			m[k ? 5 : 2] = was;
		}
		m[22] = 3; /* the question's class */
		assert_false(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
	}
	for (int many = 0; many < 2; many++) {
		size_t n = rein_dns_write_question("a.org", 1, 5, m, sizeof(m)) - 11;

		m[2] |= 0x80, m[11] = 0;
		for (int i = 0; i < 40; i++)
			put_rr(m, &n, "\xc0\x0c", 2, 1, 1, four, 4);
		assert_true(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
		assert_int_equal(r.n, REIN_DNS_ADDRESSES);
		/* and a name with something else in it is not followed */
		n = rein_dns_write_question("a.org", 1, 5, m, sizeof(m)) - 11;
		m[2] |= 0x80, m[11] = 0;
		put_rr(m, &n, "\xc0\x0c", 2, 5, 1, many ? "\5c.org\0" : "\1 \3org\0", 7);
		put_rr(m, &n, "\1c\3org\0", 7, 1, 1, four, 4);
		assert_true(rein_dns_read_reply(m, n, "a.org", 1, 5, &r));
		assert_int_equal(r.n, 0);
	}
}

static void dns_odd_questions(void **state)
{
	struct rein_dns_question q;
	uint8_t m[600];
	size_t n = rein_dns_write_question("a.org", 1, 5, m, sizeof(m));

	(void)state;
	assert_int_equal(rein_dns_read_question(m, 11, &q), -1);
	m[2] |= 0x28; /* an update */
	assert_int_equal(rein_dns_read_question(m, n, &q), REIN_DNS_NOTIMP);
	m[2] &= 0x87, m[5] = 2;
	assert_int_equal(rein_dns_read_question(m, n, &q), REIN_DNS_FORMERR);
	m[5] = 1;
	assert_int_equal(rein_dns_read_question(m, 22, &q), REIN_DNS_FORMERR);
	m[22] = 3;
	assert_int_equal(rein_dns_read_question(m, n, &q), REIN_DNS_NOTIMP);
	m[22] = 1, m[13] = '.';
	assert_int_equal(rein_dns_read_question(m, n, &q), 0);
	assert_string_equal(q.name, ""); /* no name any rule has */
	m[13] = '+';
	assert_int_equal(rein_dns_read_question(m, n, &q), 0);
	assert_string_equal(q.name, "");
	/* longer than a name may be */
	n = 12;
	for (int i = 0; i < 5; i++) {
		m[n] = 63;
		memset(m + n + 1, 'a', 63);
		n += 64;
	}
	memcpy(m + n, "\0\0\1\0\1", 5);
	assert_int_equal(rein_dns_read_question(m, n + 5, &q), REIN_DNS_FORMERR);
}

static void dns_pointers(void **state)
{
	/* a name that points at itself, forward, and beyond the end */
	static const uint8_t loops[][18] = {
		{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1},
		{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 16, 0, 1, 0, 1},
		{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 1, 0, 1},
		{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x3f, 'a', 0, 1, 0, 1},
		{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 1, 0, 1},
	};
	struct rein_dns_question q;
	struct rein_addr a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++)
		assert_int_equal(rein_dns_read_question(loops[i], sizeof(loops[i]), &q), REIN_DNS_FORMERR);
	assert_true(rein_dns_reverse("4.3.2.1.in-addr.arpa", &a));
	assert_int_equal(rein_addr_get4(&a), 0x01020304);
	assert_false(rein_dns_reverse("256.3.2.1.in-addr.arpa", &a));
	assert_false(rein_dns_reverse(".3.2.1.in-addr.arpa", &a));
	assert_false(rein_dns_reverse("4-3.2.1.in-addr.arpa", &a));
	assert_false(rein_dns_reverse("x.3.2.1.in-addr.arpa", &a));
	assert_false(rein_dns_reverse("4.3.2.1.in-addr.arpb", &a));
	assert_false(rein_dns_reverse("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.g.ip6.arpa", &a));
	assert_false(rein_dns_reverse("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d-f.ip6.arpa", &a));
	assert_false(rein_dns_reverse("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpb", &a));
	assert_true(rein_dns_reverse("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", &a));
	assert_int_equal(a.b[0], 0xfd);
	assert_int_equal(a.b[15], 1);
}

/* A hello with one name (or none), in records of `piece` bytes. */
static size_t hello(uint8_t *to, const char *name, size_t piece)
{
	uint8_t m[1024] = {1, 0, 0, 0, 3, 3};
	size_t n = 6 + 32, at = 0, k = strlen(name);

	m[n++] = 0;		       /* session */
	m[n++] = 0, m[n++] = 2, m[n++] = 0x13, m[n++] = 1; /* ciphers */
	m[n++] = 1, m[n++] = 0;	       /* compression */
	m[n++] = 0, m[n++] = (uint8_t)(k ? k + 9 : 0);
	if (k) {
		m[n++] = 0, m[n++] = 0, m[n++] = 0, m[n++] = (uint8_t)(k + 5);
		m[n++] = 0, m[n++] = (uint8_t)(k + 3), m[n++] = 0, m[n++] = 0, m[n++] = (uint8_t)k;
		memcpy(m + n, name, k);
		n += k;
	}
	m[3] = (uint8_t)(n - 4);
	for (size_t i = 0; i < n; i += piece) {
		size_t part = n - i < piece ? n - i : piece;

		to[at++] = 22, to[at++] = 3, to[at++] = 1, to[at++] = 0, to[at++] = (uint8_t)part;
		memcpy(to + at, m + i, part);
		at += part;
	}
	return at;
}

static void tls_hello(void **state)
{
	uint8_t m[4096];
	char name[REIN_NET_NAME];

	(void)state;
	for (size_t piece = 1; piece < 90; piece += 11) {
		size_t n = hello(m, "WWW.Example.org", piece);

		assert_int_equal(rein_tls_hello(m, n, name), REIN_TLS_NAMED);
		assert_string_equal(name, "www.example.org");
		for (size_t i = 0; i < n; i++)
			assert_int_equal(rein_tls_hello(m, i, name), REIN_TLS_MORE);
	}
	assert_int_equal(rein_tls_hello(m, hello(m, "", 100), name), REIN_TLS_NAMELESS);
	assert_int_equal(rein_tls_hello(m, hello(m, "a\0b.org", 100), name), REIN_TLS_NAMED);
	assert_int_equal(rein_tls_hello(m, hello(m, "a b", 100), name), REIN_TLS_BAD);
	assert_int_equal(rein_tls_hello((const uint8_t *)"GET / HTTP/1.1", 14, name), REIN_TLS_BAD);
	assert_int_equal(rein_tls_hello((const uint8_t *)"\x80\x2e\x01\x03\x01", 5, name), REIN_TLS_BAD);
}

/* Whatever could be read in two ways is no hello: the server might read it in the other. */
static void tls_odd_hellos(void **state)
{
	static const struct {
		size_t at;
		uint8_t now;
	} bytes[] = {
		{1, 2},	  {3, 0x41}, /* the record: version, length */
		{5, 2},	  {6, 1},    /* the message: type, length */
		{43, 255},	     /* session */
		{51, 0},  {51, 13}, {51, 15}, /* less and more than all extensions */
		{55, 9},  {55, 11},	     /* than the extension */
		{57, 7},  {57, 9},  {58, 1}, /* than the list; another kind of name */
		{60, 4},  {60, 6},	     /* than the name */
	};
	uint8_t m[512];
	char name[REIN_NET_NAME];
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		n = hello(m, "a.org", 200);
		assert_int_equal(rein_tls_hello(m, n, name), REIN_TLS_NAMED);
		assert_int_not_equal(m[bytes[i].at], bytes[i].now);
		m[bytes[i].at] = bytes[i].now;
		if (rein_tls_hello(m, n, name) != REIN_TLS_BAD)
			fail_msg("byte %zu", bytes[i].at);
	}
	/* less in the name and in its list, more in the extension */
	n = hello(m, "a.org", 200);
	m[57]--, m[60]--;
	assert_int_equal(rein_tls_hello(m, n, name), REIN_TLS_BAD);
	/* a record of nothing; one of another kind in the middle */
	n = hello(m, "a.org", 200);
	m[3] = m[4] = 0;
	assert_int_equal(rein_tls_hello(m, n, name), REIN_TLS_BAD);
	n = hello(m, "a.org", 20);
	m[25] = 23;
	assert_int_equal(rein_tls_hello(m, n, name), REIN_TLS_BAD);
	/* another extension before it, then the name twice, then none at all */
	n = hello(m, "a.org", 200);
	memmove(m + 56, m + 52, n - 52);
	memcpy(m + 52, "\0\x17\0\0", 4);
	m[4] += 4, m[8] += 4, m[51] += 4;
	assert_int_equal(rein_tls_hello(m, n + 4, name), REIN_TLS_NAMED);
	n = hello(m, "a.org", 200);
	memcpy(m + n, m + 52, 14);
	m[4] += 14, m[8] += 14, m[51] += 14;
	assert_int_equal(rein_tls_hello(m, n + 14, name), REIN_TLS_BAD);
	hello(m, "a.org", 200);
	m[4] = 45, m[8] = 41;
	assert_int_equal(rein_tls_hello(m, 50, name), REIN_TLS_NAMELESS);
}

static void http_heads(void **state)
{
	static const struct {
		const char *text;
		enum rein_http_result is;
		const char *host;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: A.org\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET / HTTP/1.1\r\nHost: a.org:80\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET http://a.org/x HTTP/1.1\r\nHost: a.org\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET / HTTP/1.0\r\n\r\n", REIN_HTTP_OK, ""},
		{"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", REIN_HTTP_OK, "[::1]"},
		{"GET / HTTP/1.1\r\nHost: a.o", REIN_HTTP_MORE, ""},
		{"GET / HTTP/1.1\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost : a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\nHost: a\n\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/2.0\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET x HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", REIN_HTTP_BAD, ""},
		{"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{" GET / HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a:4294967376\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: [::g]\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nX: a\1b\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET / HTTP/1.1\r\nHost:\t a\t \r\nX: a\tb\r\n\r\n", REIN_HTTP_OK, "a"},
		{"GET / HTTP/1.1\r\n\nHost: a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunkex\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1a\r\n\r\n", REIN_HTTP_BAD, ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET http://a.org?x HTTP/1.1\r\nHost: a.org\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET http://a.org#b.org HTTP/1.1\r\nHost: a.org\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET http://a.org HTTP/1.0\r\n\r\n", REIN_HTTP_OK, "a.org"},
		{"GET http://b.org@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", REIN_HTTP_BAD, ""},
		{"GET ftp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", REIN_HTTP_BAD, ""},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_OK, "a"},
		{"CONNECT b:1 HTTP/1.1\r\nHost: a\r\n\r\n", REIN_HTTP_OK, "a"},
	};
	static const struct {
		const char *field;
		bool another, upgrade;
	} fields[] = {
		{"X: y", false, false}, {"Upgrade: websocket", false, true}, {"X-HTTP-Method-Override: DELETE", true, false},
		{"x_http_method: DELETE", true, false}, {"X-Original-URL: /admin", true, false},
		{"X-A-Field-Whose-Name-Is-Longer-Than-Those: y", false, false},
	};
	char big[REIN_HTTP_HEAD + 1];
	struct rein_http_head one;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_http_head h;
		enum rein_http_result is = rein_http_head(cases[i].text, strlen(cases[i].text), &h);

		if (is != cases[i].is)
			fail_msg("%zu: %s is %d", i, cases[i].text, is);
		if (is == REIN_HTTP_OK) {
			assert_string_equal(h.host, cases[i].host);
			assert_int_equal(h.n, strlen(cases[i].text));
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", fields[i].field);
		assert_int_equal(rein_http_head(big, strlen(big), &one), REIN_HTTP_OK);
		assert_int_equal(one.another, fields[i].another);
		assert_int_equal(one.upgrade, fields[i].upgrade);
	}
	assert_int_equal(rein_http_head("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30, &one), REIN_HTTP_BAD);
	assert_int_equal(rein_http_head("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 47, &one), REIN_HTTP_OK);
	assert_int_equal(one.framing, REIN_HTTP_NO_BODY);
	memset(big, 'a', sizeof(big));
	memcpy(big, "GET / HTTP/1.1\r\nX: ", 19);
	assert_int_equal(rein_http_head(big, 1000, &one), REIN_HTTP_MORE);
	assert_int_equal(rein_http_head(big, REIN_HTTP_HEAD, &one), REIN_HTTP_BAD);
	memset(big, 'A', 30);
	assert_int_equal(rein_http_looks(big, 20), REIN_HTTP_MORE);
	assert_int_equal(rein_http_looks(big, 30), REIN_HTTP_BAD);
	memcpy(big, "GET /AAAAAAAAAAAAA", 18);
	assert_int_equal(rein_http_looks(big, 8191), REIN_HTTP_MORE);
	assert_int_equal(rein_http_looks(big, 8192), REIN_HTTP_BAD);
	assert_int_equal(rein_http_looks("GET \1", 5), REIN_HTTP_BAD);
	assert_int_equal(rein_http_looks("GET \x7f", 5), REIN_HTTP_BAD);
	assert_int_equal(rein_http_looks("GET a\r", 6), REIN_HTTP_MORE);
	assert_int_equal(rein_http_looks("GET /", 5), REIN_HTTP_MORE);
	assert_int_equal(rein_http_looks("GET key\r\n", 9), REIN_HTTP_BAD);
	assert_int_equal(rein_http_looks("EHLO\1", 5), REIN_HTTP_BAD);
	assert_int_equal(rein_http_looks("\0\0", 2), REIN_HTTP_BAD);
}

/* The body is all of the text but `rest`, however it is cut. */
static void body_case(const char *head, const char *text, const char *rest, bool good)
{
	struct rein_http_head h;

	assert_int_equal(rein_http_head(head, strlen(head), &h), REIN_HTTP_OK);
	for (size_t cut = 1; cut <= strlen(text); cut++) {
		struct rein_http_body b = rein_http_body(&h);
		size_t at = 0;

		while (at < strlen(text) && b.state != REIN_BODY_DONE && b.state != REIN_BODY_BAD) {
			size_t n = strlen(text) - at < cut ? strlen(text) - at : cut;

			at += rein_http_body_take(&b, text + at, n);
		}
		assert_int_equal(b.state == REIN_BODY_DONE, good);
		if (good)
			assert_string_equal(text + at, rest);
	}
}

static void http_paths(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/", "/a/b.c", "/a?x=../..", "/a?b#", "/.a/..b/c.", "/%41/%c3%a4", "/a%20b",
					   "/%e0%a4%85", "/%f0%9f%98%80", "/%e0/%80"};
	static const char *const bad[] = {"",	      "*",	   "a",	       "http://x/", "//",      "/a//b",	  "/.",	     "/..",
					  "/a/../b",  "/a/..",	   "/./a",     "/%2e%2e/a", "/.%2E/a", "/a%2fb",  "/a%5cb",  "/a\\b",
					  "/a;b/../", "/a%00",	   "/a%",      "/a%4",	    "/a%zz",   "/%252e/", "/a#b",    "/a%3bb",
					  "/a%0d%0a", "/a%3fb", "/a%7f",
					  "/%c0%ae%c0%ae/a", "/a%C1%afb", "/%e0%80%ae%e0%80%ae/a", "/%f0%80%80%ae/a"};
	struct rein_str path;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		bool fragment = strchr(good[i], '#');

		if (rein_http_path((struct rein_str){good[i], strlen(good[i])}, &path) == fragment)
			fail_msg("'%s'", good[i]);
		if (!fragment)
			assert_int_equal(path.n, strcspn(good[i], "?"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_http_path((struct rein_str){bad[i], strlen(bad[i])}, &path))
			fail_msg("'%s' was taken", bad[i]);
}

static void rule_requests(void **state)
{
	static const struct {
		const char *rule, *method, *path;
		bool sends, covers;
	} cases[] = {
		{"x", "DELETE", "", true, true},	      {"x,ro", "GET", "/a", false, true},
		{"x,ro", "GET", "/a", true, false},	      {"x,ro", "POST", "/a", false, false},
		{"x,methods=GET+PUT", "PUT", "/a", true, true}, {"x,methods=GET+PUT", "PU", "/a", true, false},
		{"x,methods=GET+PUT", "get", "/a", false, false}, {"x,methods=PUT", "PUT", "", true, true},
		{"x,path=/v1/*", "GET", "/v1/a/b", false, true}, {"x,path=/v1/*", "GET", "/v1/", false, true},
		{"x,path=/v1/*", "GET", "/v1", false, false}, {"x,path=/v1/*", "GET", "", false, false},
		{"x,path=/a,path=/b", "GET", "/b", false, true}, {"x,path=/a,path=/b", "GET", "/ab", false, false},
		{"x,path=/*/c*d", "GET", "/a/b/cxcd", false, true}, {"x,path=/*/c*d", "GET", "/a/b/cxcde", false, false},
		{"x,path=*", "GET", "/a", false, false},
	};
	struct rein_net_rule r;
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_str m = {cases[i].method, strlen(cases[i].method)}, p = {cases[i].path, strlen(cases[i].path)};

		if (rein_rule_parse(cases[i].rule, &r, &err) < 0) {
			assert_false(cases[i].covers);
			continue;
		}
		if (rein_rule_covers_request(&r, m, p, cases[i].sends) != cases[i].covers)
			fail_msg("%s: %s %s", cases[i].rule, cases[i].method, cases[i].path);
	}
}

static void credential_texts(void **state)
{
	static const char *const good[] = {
		"A=env:B,host=x", "A_1=env:A_1,host=x.org:8443,host=y.org,header=X-Api-Key,format=Bearer {},plain",
		"A=file:/etc/x y=z,host=x", "A=env:B,host=x,header=*", "A=env:B,host=x,format=\"a {} b\"",
	};
	static const char *const bad[] = {
		"",	       "A",		    "A=",		"=env:B,host=x",     "1A=env:B,host=x",	 "A-B=env:B,host=x",
		"A=B,host=x",  "A=env:,host=x",	    "A=env:B",		"A=env:B,host=",     "A=env:B,host=*.x", "A=env:B,host=*",
		"A=env:B-C,host=x", "A=env:B,host=x:1-2", "A=env:B,host=x:0", "A=env:B,host=x,header=", "A=env:B,host=x,header=a b",
		"A=env:B,host=x,header=Host", "A=env:B,host=x,header=content-length",
		"A=env:B,host=x,format=Bearer", "A=env:B,host=x,format={}{}", "A=env:B,host=x,plainly", "A=env:B,host=x,",
		"A=env:B,host=10.0.0.1/8", "A=env:B,host=x,format=a\r\n{}", "A=env:B,host=x,format=a\x7f{}",
		"A=env:B,host=x,header=**", "A=env:B,host=x,header=a*", "A=env:B,host=x,plaim", "A=env:B,host=:80",
		"A=env:B,host=a,host=a,host=a,host=a,host=a,host=a,host=a,host=a,host=a",
	};
	static struct rein_net_credential c;
	struct rein_credential_from from;
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (rein_credential_parse(good[i], &c, &from, &err) < 0)
			fail_msg("'%s' was not taken: %s", good[i], err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_credential_parse(bad[i], &c, &from, &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(rein_credential_parse(good[1], &c, &from, &err), 0);
	assert_true(rein_credential_is_for(&c, "x.org", 8443));
	assert_false(rein_credential_is_for(&c, "x.org", 443));
	assert_true(rein_credential_is_for(&c, "y.org", 443));
	assert_string_equal(c.format, "Bearer {}");
	assert_int_equal(rein_credential_set(&c, (struct rein_str){"tok_ABCdef123\n", 14}, &err), 0);
	assert_int_equal(c.n, 13);
	assert_true(c.placeholder[3] == '_' && c.placeholder[4] >= 'A' && c.placeholder[4] <= 'Z');
	assert_true(rein_credential_set(&c, (struct rein_str){"abc-123", 7}, &err) < 0);
	assert_true(rein_credential_set(&c, (struct rein_str){"abcdefgh\nijkl", 13}, &err) < 0);
	assert_null(strstr(err.msg, "abcdefgh"));
	assert_true(rein_credential_set(&c, (struct rein_str){"abcdefgh\x7fijkl", 13}, &err) < 0);
	assert_int_equal(rein_credential_set(&c, (struct rein_str){"tok_ABCdef123\r\n", 15}, &err), 0);
	assert_int_equal(c.n, 13);
	for (int i = 0; i < 2; i++) {
		char big[sizeof(c.secret) + 1];

		memset(big, 'k', sizeof(big));
		assert_int_equal(rein_credential_set(&c, (struct rein_str){big, sizeof(c.secret) - (size_t)i}, &err) == 0, i == 1);
	}
}

static void credential_heads(void **state)
{
	static const struct {
		const char *options, *head;
		bool may;
		enum rein_credential_result result;
		const char *after;
	} cases[] = {
		{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, REIN_CREDENTIAL_ABSENT, NULL},
		{"", "GET / HTTP/1.1\r\nauthorization: Bearer PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_PUT, "Bearer SSSSSSSS\r"},
		{"", "GET / HTTP/1.1\r\nAuthorization: PPPPPPPP PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_PUT, "SSSSSSSS SSSSSSSS"},
		{"", "GET / HTTP/1.1\r\nAuthorization: Bearer PPPPPPPP\r\n\r\n", false, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET /PPPPPPPP HTTP/1.1\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET /?PPPPPPPP HTTP/1.1\r\nAuthorization: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET / HTTP/1.1\r\nX-PPPPPPPP: a\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET / HTTP/1.1\r\nCookie: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",header=Cookie", "GET / HTTP/1.1\r\nCookie: a=PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_PUT, "a=SSSSSSSS"},
		{",format=Bearer {}", "GET / HTTP/1.1\r\nAuthorization:Bearer PPPPPPPP \r\n\r\n", true, REIN_CREDENTIAL_PUT, "Bearer SSSSSSSS"},
		{",format=Bearer {}", "GET / HTTP/1.1\r\nAuthorization: Bearer PPPPPPPP x\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",format=Bearer {}", "GET / HTTP/1.1\r\nAuthorization: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",header=*", "GET / HTTP/1.1\r\nX-Any: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_PUT, "X-Any: SSSSSSSS"},
		{",header=*", "GET / HTTP/1.1\r\nHost: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",header=*", "GET / HTTP/1.1\r\nCONTENT-length: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		/* u:PPPPPPPP, and the same in another spelling of its last bits */
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic dTpQUFBQUFBQUA==\r\n\r\n", true, REIN_CREDENTIAL_PUT, "Basic dTpTU1NTU1NTUw=="},
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic dTpQUFBQUFBQUB==\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic dTpQUFBQUFBQUA==\r\n\r\n", false, REIN_CREDENTIAL_MISPLACED, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic !!!!\r\n\r\n", true, REIN_CREDENTIAL_ABSENT, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic dTpQUFBQUFBQUA=\r\n\r\n", true, REIN_CREDENTIAL_ABSENT, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorization: basic   dTpQUFBQUFBQUA==\r\n\r\n", true, REIN_CREDENTIAL_PUT, "dTpTU1NTU1NTUw=="},
		{"", "GET / HTTP/1.1\r\nAuthorization: Token dTpQUFBQUFBQUA==\r\n\r\n", true, REIN_CREDENTIAL_ABSENT, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorization: Basic\r\n\r\n", true, REIN_CREDENTIAL_ABSENT, NULL},
		{"", "GET / HTTP/1.1\r\nAuthorizatixn: PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",format=Bearer {}", "GET / HTTP/1.1\r\nAuthorization: Basic dTpQUFBQUFBQUA==\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",format=Bearer {}", "GET / HTTP/1.1\r\nAuthorization: Bexrer PPPPPPPP\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",format=a {} b", "GET / HTTP/1.1\r\nAuthorization: a PPPPPPPP c\r\n\r\n", true, REIN_CREDENTIAL_MISPLACED, NULL},
		{",format=a {} b", "GET / HTTP/1.1\r\nAuthorization:\ta PPPPPPPP b\t\r\n\r\n", true, REIN_CREDENTIAL_PUT, "a SSSSSSSS b"},
	};
	static struct rein_net_credential c;
	struct rein_credential_from from;
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128], head[256];

		snprintf(text, sizeof(text), "A=env:B,host=x%s", cases[i].options);
		snprintf(head, sizeof(head), "%s", cases[i].head);
		assert_int_equal(rein_credential_parse(text, &c, &from, &err), 0);
		c.n = 8;
		memset(c.secret, 'S', 8);
		memset(c.placeholder, 'P', 8);
		if (rein_credential_put(&c, head, strlen(head), cases[i].may) != cases[i].result ||
		    (cases[i].after && !strstr(head, cases[i].after)))
			fail_msg("%zu: %s", i, head);
		if (cases[i].result == REIN_CREDENTIAL_ABSENT)
			assert_string_equal(head, cases[i].head);
	}
}

static void http_bodies(void **state)
{
	static const char chunked[] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n";
	static const char signed_[] = "1;signature=0123456789012345678901234567890123456789\r\nx\r\n";
	char many[100 * sizeof(signed_)] = "", line[5000] = "1;";

	(void)state;
	for (size_t i = 0; i < 99; i++)
		memcpy(many + i * (sizeof(signed_) - 1), signed_, sizeof(signed_));
	memcpy(many + strlen(many), "0\r\n\r\nGET", 9);
	body_case(chunked, many, "GET", true); /* what each chunk says is limited, not all of it together */
	memset(line + 2, 'x', 4200);
	body_case(chunked, line, "", false);
	body_case("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n", "abcGET", "GET", true);
	body_case(chunked, "3\r\nabc\r\n0\r\n\r\nGET", "GET", true);
	body_case(chunked, "A;x=y\r\n0123456789\r\n00\r\nX: y\r\n\r\nG", "G", true);
	body_case(chunked, "3\r\nabcd\r\n0\r\n\r\n", "", false);
	body_case(chunked, "\r\n", "", false);
	body_case(chunked, "3\nabc\n0\n\n", "", false);
	body_case(chunked, "-1\r\n", "", false);
	body_case(chunked, "fffffffffffffffff\r\n", "", false);
	body_case(chunked, "3;a\1b\r\nabc\r\n0\r\n\r\n", "", false);
	body_case(chunked, "3\rXabc\r\n0\r\n\r\n", "", false);
	body_case(chunked, "3\r\nabc\rX0\r\n\r\n", "", false);
	body_case(chunked, "0\r\n\rX", "", false);
	body_case(chunked, "0\r\n\1", "", false);
	body_case(chunked, "0\r\nX: a\1b\r\n\r\n", "", false);
	body_case(chunked, "0\r\nX: a\tb\r\n\r\n", "", true);
	body_case(chunked, "0\r\nX: y\rZ\r\n\r\n", "", false);
}

static void packets(void **state)
{
	static const uint8_t udp[] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 8, 8, 4, 4, 0x12, 0x34, 0, 53, 0, 8, 0, 0};
	struct packet p;

	(void)state;
	assert_true(packet_read(udp, sizeof(udp), &p));
	assert_int_equal(p.protocol, 17);
	assert_int_equal(p.to_port, 53);
	assert_int_equal(rein_addr_get4(&p.to), 0x08080404);
	assert_true(packet_read(udp, 20, &p));
	assert_int_equal(p.to_port, 0);
	for (size_t i = 0; i < 20; i++)
		assert_false(packet_read(udp, i, &p));
}

/* Every message says how long it is, and they fill the set. */
static void netlink_sets(void **state)
{
	(void)state;
	for (int set = 0; set < REIN_NETLINK__MAX; set++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);
		unsigned answers = rein_netlink_put(&b, (enum rein_netlink_set)set);
		size_t at = 0;

		assert_true(answers > 0);
		assert_false(b.failed);
		while (at < b.n) {
			uint32_t n;

			memcpy(&n, b.p + at, sizeof(n));
			assert_true(n >= 16 && n % 4 == 0 && n <= b.n - at);
			at += n;
		}
	}
}

static void names_and_addresses(void **state)
{
	struct names *t = rein_alloc(sizeof(*t));
	struct name *a, *b;
	struct rein_addr x, y;

	(void)state;
	assert_non_null(t);
	a = names_get(t, "a.org");
	b = names_get(t, "b.org");
	assert_ptr_equal(names_get(t, "a.org"), a);
	assert_ptr_not_equal(a, b);
	x = names_address(a, false);
	y = names_address(b, true);
	assert_ptr_equal(names_by_address(t, &x), a);
	assert_ptr_equal(names_by_address(t, &y), b);
	assert_true(names_is_ours(&x) && names_is_ours(&y));
	x.b[15] ^= 0x80;
	assert_null(names_by_address(t, &x));
	for (int i = 0; i < GATE_NAMES + 10; i++) {
		char text[32];

		snprintf(text, sizeof(text), "n%d.org", i);
		assert_int_equal(names_get(t, text) != NULL, i < GATE_NAMES - 2);
	}
	names_done(t);
	rein_free(t);
}

static void counters_of_no_way(void **state)
{
	(void)state;
	assert_int_equal(rein_noway_parse("Ip: Forwarding OutNoRoutes X\nIp: 2 4 9\n"
					  "Icmp: OutNoRoutes\nIcmp: 70\n"
					  "Udp: InDatagrams NoPorts\nUdp: 30 5\n"),
			 9);
	assert_int_equal(rein_noway_parse("Ip6InReceives\t 7\nIp6OutNoRoutes \t3\nUdp6NoPorts\t2\n"), 5);
	/* less than one expects */
	assert_int_equal(rein_noway_parse(""), 0);
	assert_int_equal(rein_noway_parse("Ip: A OutNoRoutes\n"), 0);
	assert_int_equal(rein_noway_parse("Ip: A OutNoRoutes\nIp: 1"), 0);
	assert_int_equal(rein_noway_parse("Ip: A OutNoRoutes\nIp: 1\n"), 0);
	assert_int_equal(rein_noway_parse("Ip: OutNoRoutes\nTcp: 5\n"), 0);
	assert_int_equal(rein_noway_parse("Ip6OutNoRoutes 99999999999999999999\n"), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_classes), cmocka_unit_test(rule_texts),
		cmocka_unit_test(rule_denies), cmocka_unit_test(rule_matches),	   cmocka_unit_test(dns_question_and_answer),
		cmocka_unit_test(publish_texts),   cmocka_unit_test(rule_places),
		cmocka_unit_test(dns_foreign_records), cmocka_unit_test(dns_odd_questions),
		cmocka_unit_test(tls_odd_hellos),
		cmocka_unit_test(dns_pointers),	   cmocka_unit_test(tls_hello),
		cmocka_unit_test(http_heads),	   cmocka_unit_test(http_paths),
		cmocka_unit_test(rule_requests),   cmocka_unit_test(credential_texts),
		cmocka_unit_test(credential_heads), cmocka_unit_test(http_bodies),
		cmocka_unit_test(packets),	   cmocka_unit_test(netlink_sets),
		cmocka_unit_test(names_and_addresses), cmocka_unit_test(counters_of_no_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

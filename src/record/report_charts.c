/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of a report: SVG that needs nothing from elsewhere and can be read aloud. */
#include "base/auto.h"
#include "base/clock.h"
#include "record/event.h"
#include "record/report_out.h"

#define CHART_W 860
#define CHART_H 200

static const struct {
	const char *name, *css;
} series[] = {
	{"went through", "ok"}, {"held", "held"}, {"failed", "failed"}, {"refused", "refused"}};

static uint64_t part(const struct rein_stats_day *d, unsigned k)
{
	uint64_t bad = d->held + d->failed + d->refused;

	return k == 0	? (d->actions > bad ? d->actions - bad : 0)
	       : k == 1 ? d->held
	       : k == 2 ? d->failed
			: d->refused;
}

static void day_name(uint64_t day, char out[11])
{
	char t[REIN_EVENT_TIME_LEN + 1];

	rein_event_time(day * 86400 * REIN_NS_PER_S, t);
	memcpy(out, t, 10);
	out[10] = '\0';
}

/* Days in a row, weeks when there are many; empty ones count too, or the picture would lie. */
void rein_report_chart_days(struct rein_report_out *o, const struct rein_stats *s)
{
	uint64_t from = s->day[0].day, to = s->day[s->ndays - 1].day, most = 1;
	uint64_t step = (to - from) / 60 + 1, n = (to - from) / step + 1;
	auto_free struct rein_stats_day *bar = rein_calloc(n, sizeof(*bar));
	double w = (double)(CHART_W - 60) / (double)n;

	if (!bar)
		return;
	for (size_t i = 0; i < s->ndays; i++) {
		struct rein_stats_day *b = &bar[(s->day[i].day - from) / step];

		b->actions += s->day[i].actions;
		b->held += s->day[i].held;
		b->failed += s->day[i].failed;
		b->refused += s->day[i].refused;
		most = b->actions > most ? b->actions : most;
	}
	if (w > 60)
		w = 60;
	rein_buf_printf(o->b,
			"<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Actions over time\">",
			CHART_W, CHART_H + 40);
	for (int k = 0; k <= 2; k++) {
		char label[32];
		double y = 10 + (CHART_H - 20) * (1 - k / 2.0);

		rein_buf_printf(o->b,
				"<line class=\"grid\" x1=\"55\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
				"<text x=\"50\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
				CHART_W, y, y, y + 4,
				rein_report_num(most * (uint64_t)k / 2, label));
	}
	for (uint64_t i = 0; i < n; i++) {
		double y = CHART_H - 10;
		char name[11];

		day_name(from + i * step, name);
		rein_buf_printf(o->b,
				"<g><title>%s: %llu actions, %llu held, %llu failed, %llu "
				"refused</title>",
				name, (unsigned long long)bar[i].actions,
				(unsigned long long)bar[i].held, (unsigned long long)bar[i].failed,
				(unsigned long long)bar[i].refused);
		for (unsigned k = 0; k < ARRAY_SIZE(series); k++) {
			double h = (CHART_H - 20) * (double)part(&bar[i], k) / (double)most;

			if (h <= 0)
				continue;
			y -= h;
			rein_buf_printf(o->b,
					"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
					"height=\"%.1f\"/>",
					series[k].css, 60 + (double)i * w, y,
					w > 4 ? w - 2 : w * 0.8, h);
		}
		rein_buf_cstr(o->b, "</g>");
		if (i % (n / 8 + 1) == 0)
			rein_buf_printf(o->b, "<text x=\"%.1f\" y=\"%d\">%s</text>",
					60 + (double)i * w, CHART_H + 8, name + (n > 1 ? 5 : 0));
	}
	for (unsigned k = 0; k < ARRAY_SIZE(series); k++)
		rein_buf_printf(o->b,
				"<rect class=\"%s\" x=\"%u\" y=\"%d\" width=\"11\" height=\"11\" "
				"rx=\"2\"/><text x=\"%u\" y=\"%d\">%s</text>",
				series[k].css, 60 + k * 130, CHART_H + 20, 76 + k * 130,
				CHART_H + 30, series[k].name);
	rein_buf_cstr(o->b, "</svg>\n");
}

void rein_report_chart_bars(struct rein_report_out *o, const struct rein_tally *t,
			    const char *title)
{
	unsigned n = t->n < 8 ? t->n : 8;
	char label[32];

	if (!n)
		return;
	rein_buf_printf(o->b,
			"<figure><figcaption>%s</figcaption><svg viewBox=\"0 0 400 %u\" "
			"role=\"img\" aria-label=\"%s\">",
			title, n * 26 + 6, title);
	for (unsigned i = 0; i < n; i++) {
		double w = 200.0 * (double)t->v[i].n / (double)t->v[0].n;

		rein_buf_printf(o->b, "<text x=\"118\" y=\"%u\" text-anchor=\"end\">", i * 26 + 19);
		rein_report_esc(o, t->v[i].name);
		rein_buf_printf(o->b,
				"</text><rect class=\"bar\" x=\"126\" y=\"%u\" width=\"%.1f\" "
				"height=\"16\" rx=\"3\"/><text x=\"%.1f\" y=\"%u\">%s</text>",
				i * 26 + 6, w > 2 ? w : 2, 132 + (w > 2 ? w : 2), i * 26 + 19,
				rein_report_num(t->v[i].n, label));
	}
	rein_buf_cstr(o->b, "</svg></figure>\n");
}

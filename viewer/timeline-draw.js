// SPDX-License-Identifier: MIT
// The picture of a timeline: one canvas with what is in view. Nothing here looks at what is not.
import { ink, isDark, nameColor, stateColor } from "./color.js";
import { lowerBound, rulerStep } from "./timeline.js";
import { cpuLoad } from "./load.js";
import { duration, instant, plain, count } from "./amount.js";

const SMALL = "11px system-ui, -apple-system, sans-serif",
	ARROWS_MOST = 80,
	FINE_BINS = 4096,
	TEXT_LEAST = 26,
	SLOT = 2; // pixels that things share which are narrower
export const RULER = 24;

export class Painter {
	constructor(tracks, labelWidth) {
		this.tracks = tracks;
		this.model = tracks.model;
		this.labelWidth = labelWidth;
		this.forgetColors();
	}

	forgetColors() {
		this.colors = new Map();
		this.stateFill = [];
		this.threadFill = [];
	}

	// scene: { list, from, to, top, width, height, sel, hover, chosen }
	draw(c, scene) {
		this.c = c;
		this.s = scene;
		this.dark = isDark();
		if (this.dark !== this.wasDark) this.forgetColors();
		this.wasDark = this.dark;
		this.ink = ink("--ink");
		this.dim = ink("--dim");
		this.line = ink("--line");
		this.bg = ink("--bg");
		this.card = ink("--card");
		this.accent = ink("--accent");
		this.plot = scene.width - this.labelWidth;
		this.pixel = (scene.to - scene.from) / this.plot;
		c.font = SMALL;
		c.textBaseline = "middle";
		this.drawTracks();
		this.drawArrows();
		this.drawSelection();
		this.drawRuler();
	}

	x(time) {
		return this.labelWidth + (time - this.s.from) / this.pixel;
	}

	y(track) {
		return RULER + track.y - this.s.top;
	}

	drawTracks() {
		const { c, s } = this;
		for (const track of s.list) {
			const y = this.y(track);
			if (y + track.height < RULER || y > s.height) continue;
			if (track.kind !== "head") this.background(track, y);
			if (track.kind === "load") this.drawLoad(y, track.height);
			else if (track.kind === "counter") this.drawCounter(track, y);
			else for (const lane of track.lanes ?? []) this.drawLane(lane, y);
			this.drawLabel(track, y);
		}
		c.fillStyle = this.line;
		c.fillRect(this.labelWidth - 1, 0, 1, s.height);
	}

	background(track, y) {
		const { c, s } = this;
		if (
			track.kind === "thread" &&
			s.sel.thread &&
			!s.sel.thread.split(",").includes(this.model.threadKey(track.thread))
		)
			c.globalAlpha = 0.4;
		c.fillStyle =
			track === s.hoverTrack || track === s.focusTrack ? this.line : this.card;
		c.globalAlpha *= track === s.focusTrack ? 0.9 : 0.5;
		c.fillRect(this.labelWidth, y, this.plot, track.height);
		c.globalAlpha = 1;
	}

	drawLabel(track, y) {
		const { c, s } = this;
		c.fillStyle = this.bg;
		c.fillRect(0, y - 1, this.labelWidth - 1, track.height + 3);
		const text = plain(track.label, 80),
			head = track.kind === "head";
		c.fillStyle = head ? this.ink : this.dim;
		c.font = head ? `600 ${SMALL}` : SMALL;
		if (
			track.kind === "thread" &&
			s.sel.thread?.split(",").includes(this.model.threadKey(track.thread))
		)
			c.fillStyle = this.accent;
		const mark = head ? (track.closed ? "▸ " : "▾ ") : "";
		c.fillText(
			fit(c, mark + text, this.labelWidth - (head ? 14 : 24)),
			head ? 8 : 18,
			y + Math.min(track.height, 18) / 2 + (head ? 3 : 0),
		);
		c.font = SMALL;
		if (head) {
			c.fillStyle = this.line;
			c.fillRect(0, y + track.height - 2, this.s.width, 1);
		}
	}

	drawLane(l, y) {
		const { s } = this,
			top = y + l.top,
			paint = this[`draw_${l.kind}`];
		l.lane.visible(s.from, s.to, this.pixel * SLOT, (id, begin, end, many) =>
			paint.call(
				this,
				id,
				this.x(begin),
				Math.max(this.x(end), this.x(begin) + 1),
				top,
				l.height,
				many,
			),
		);
	}

	bar(x0, x1, y, h, color, text) {
		const { c } = this,
			left = Math.max(x0, this.labelWidth),
			right = Math.min(x1, this.s.width);
		if (right <= left) return;
		c.fillStyle = color;
		c.fillRect(left, y, Math.max(1, right - left - (right - left > 3 ? 0.5 : 0)), h);
		if (text && right - left > TEXT_LEAST) {
			c.fillStyle = this.dark ? "#f4efe6" : "#241f18";
			c.fillText(fit(c, text, right - left - 7), left + 4, y + h / 2 + 0.5);
		}
	}

	draw_state(i, x0, x1, y, h) {
		const kind = this.model.stateKind[i];
		let color = this.stateFill[kind];
		if (!color)
			this.stateFill[kind] = color = stateColor(
				this.model.stateName(kind),
				this.dark,
			);
		this.bar(
			x0,
			x1,
			y,
			h,
			color,
			x1 - x0 > TEXT_LEAST ? this.model.stateName(kind) : "",
		);
		const { chosen } = this.s;
		if (chosen && chosen.kind === "state" && chosen.id === i) this.frame(x0, x1, y, h);
	}

	draw_run(i, x0, x1, y, h) {
		const thread = this.tracks.threadOfState[i];
		let color = this.threadFill[thread];
		if (!color)
			this.threadFill[thread] = color = nameColor(
				this.model.threadName(thread),
				this.dark,
			);
		const name = x1 - x0 > TEXT_LEAST ? plain(this.model.threadName(thread), 40) : "";
		this.bar(x0, x1, y, h, color, name);
	}

	draw_sample(i, x0, x1, y, h) {
		if (x0 < this.labelWidth || this.model.events[this.model.sEvent[i]].off_cpu) return;
		this.c.fillStyle = this.dark ? "#96704d" : "#cf9c74";
		this.c.fillRect(x0, y, 1, h);
	}

	nameFill(key) {
		let color = this.colors.get(key);
		if (!color) this.colors.set(key, (color = nameColor(key, this.dark)));
		return color;
	}

	slice(name, key, x0, x1, y, h, chosen) {
		this.bar(x0, x1, y, h, this.nameFill(key), plain(name, 60));
		this.whisker(x0, x1, y, h);
		if (chosen) this.frame(x0, x1, y, h);
	}

	// Tasks of a type have the color of the type, in three shades so that neighbors are apart.
	taskSlice(task, x0, x1, y, h) {
		const m = this.model,
			type = m.taskType[task],
			shade = m.taskLow[task] % 3;
		const key = `task ${type} ${shade}`,
			chosen = this.s.sel.task === task;
		if (!this.colors.has(key))
			this.colors.set(key, nameColor(m.typeName(type), this.dark, shade * 5 - 5));
		if (x1 - x0 < 2 && !chosen) this.bar(x0, x1, y, h, this.colors.get(key), "");
		else this.slice(`${m.typeName(type)} ${m.taskId(task)}`, key, x0, x1, y, h, chosen);
	}

	draw_span(i, x0, x1, y, h) {
		this.taskSlice(this.tracks.taskOfSpan[i], x0, x1, y, h);
	}

	draw_task(i, x0, x1, y, h) {
		this.taskSlice(i, x0, x1, y, h);
	}

	draw_region(i, x0, x1, y, h) {
		const name = this.model.texts[this.model.regionName[i]],
			chosen = this.s.chosen;
		if (x1 - x0 < 2) this.bar(x0, x1, y, h, this.nameFill(name), "");
		else
			this.slice(
				name,
				name,
				x0,
				x1,
				y,
				h,
				chosen?.kind === "region" && chosen.id === i,
			);
	}

	draw_resource(i, x0, x1, y, h) {
		const name = this.model.texts[this.model.stName[i]];
		this.slice(name, name, x0, x1, y, h, false);
	}

	draw_mark(i, x0, x1, y, h) {
		const { c } = this;
		if (x0 < this.labelWidth) return;
		c.fillStyle = this.accent;
		c.beginPath();
		c.moveTo(x0, y);
		c.lineTo(x0 + 4, y + h / 2);
		c.lineTo(x0, y + h);
		c.lineTo(x0 - 4, y + h / 2);
		c.fill();
	}

	frame(x0, x1, y, h) {
		this.c.strokeStyle = this.ink;
		this.c.lineWidth = 1.5;
		this.c.strokeRect(
			Math.max(x0, this.labelWidth) + 0.5,
			y + 0.5,
			Math.max(2, Math.min(x1, this.s.width) - Math.max(x0, this.labelWidth) - 1),
			h - 1,
		);
	}

	// By how much live events may be off against the kernel's, where that can be seen.
	whisker(x0, x1, y, h) {
		const error = (this.model.meta.timeline?.clock_error ?? 0) / this.pixel;
		if (error < 2 || x1 - x0 < 6) return;
		this.c.fillStyle = this.ink;
		this.c.globalAlpha = 0.14;
		for (const x of [x0, x1])
			if (x > this.labelWidth) this.c.fillRect(x - error, y, 2 * error, h);
		this.c.globalAlpha = 1;
	}

	drawLoad(y, h) {
		const { c, s, model } = this,
			n = Math.max(40, Math.round(this.plot / 3)),
			span = s.to - s.from;
		const key = `${Math.round(s.from)} ${Math.round(span)} ${n}`;
		if (this.loadKey !== key) {
			this.loadKey = key;
			this.load =
				span > (model.length * n) / FINE_BINS
					? coarse(model, s.from, s.to, n)
					: cpuLoad(model, s.from, s.to, n);
			this.loadMost ??= Math.max(
				1,
				Math.ceil((this.load ? Math.max(...this.load) : 1) - 0.05),
				model.meta.timeline?.cpus ?? 1,
			);
		}
		if (!this.load) return;
		c.fillStyle = stateColor("running", this.dark);
		const step = this.plot / this.load.length;
		c.beginPath();
		c.moveTo(this.labelWidth, y + h);
		this.load.forEach((v, i) => {
			const top = y + h - (Math.min(v, this.loadMost) / this.loadMost) * (h - 4);
			c.lineTo(this.labelWidth + i * step, top);
			c.lineTo(this.labelWidth + (i + 1) * step, top);
		});
		c.lineTo(s.width, y + h);
		c.fill();
		c.fillStyle = this.dim;
		c.fillText(
			`${this.loadMost} CPU${this.loadMost > 1 ? "s" : ""}`,
			this.labelWidth + 4,
			y + 8,
		);
	}

	drawCounter(track, y) {
		const { c, s, model } = this,
			list = track.points,
			value = i => model.counterValue[list[i]];
		if (track.most === undefined) {
			track.most = -Infinity;
			track.least = 0;
			for (let i = 0; i < list.length; i++) {
				track.most = Math.max(track.most, value(i));
				track.least = Math.min(track.least, value(i));
			}
		}
		const h = track.height,
			scale = v =>
				y +
				h -
				2 -
				((v - track.least) / (track.most - track.least || 1)) * (h - 15);
		let i = Math.max(
				0,
				lowerBound(list.length, s.from, k => model.counterTime[list[k]]) -
					1,
			),
			last = scale(value(i)),
			px = -1;
		c.beginPath();
		c.moveTo(Math.max(this.labelWidth, this.x(model.counterTime[list[i]])), last);
		for (; i < list.length && model.counterTime[list[i]] <= s.to; i++) {
			const x = Math.max(this.labelWidth, this.x(model.counterTime[list[i]])),
				top = scale(value(i));
			if (Math.floor(x * 2) === px && i + 1 < list.length) continue;
			px = Math.floor(x * 2);
			c.lineTo(x, last);
			c.lineTo(x, top);
			last = top;
		}
		c.lineTo(s.width, last);
		c.strokeStyle = nameColor(track.label, this.dark, 12);
		c.lineWidth = 1.25;
		c.stroke();
		c.fillStyle = this.dim;
		c.fillText(
			`max ${count(track.most)}${track.unit ? " " + track.unit : ""}`,
			this.labelWidth + 4,
			y + 8,
		);
	}

	threadY(thread) {
		this.trackOf ??= new WeakMap();
		let map = this.trackOf.get(this.s.list);
		if (!map) {
			map = new Map(
				this.s.list
					.filter(t => t.kind === "thread")
					.map(t => [t.thread, t]),
			);
			this.trackOf.set(this.s.list, map);
		}
		const track = map.get(thread);
		return track ? this.y(track) + 6 : null;
	}

	// Who woke whom, and flows, where they are few enough to be told apart.
	drawArrows() {
		const { model, s } = this,
			time = i => model.wakeTime[i],
			n = model.wakeTime.length;
		const first = lowerBound(n, s.from, time),
			last = lowerBound(n, s.to, time),
			chosen = s.chosen?.wake;
		if (last - first <= ARROWS_MOST)
			for (let i = first; i < last; i++) this.wakeArrow(i, i === chosen);
		else if (chosen !== undefined && chosen >= 0) this.wakeArrow(chosen, true);
		const flows = this.tracks.flows,
			f0 = Math.max(0, lowerBound(flows.length, s.from, i => flows[i][0]) - 50);
		const f1 = lowerBound(flows.length, s.to, i => flows[i][0]);
		if (f1 - f0 <= ARROWS_MOST + 50)
			for (let i = f0; i < f1; i++) {
				const [t0, a, t1, b] = flows[i];
				if (t1 >= s.from)
					this.arrow(
						t0,
						a,
						t1,
						b,
						stateColor("nobody", this.dark),
						1.5,
					);
			}
	}

	wakeArrow(i, strong) {
		const { model } = this;
		if (!model.waker[i] || !model.woken[i]) return;
		this.arrow(
			model.wakeTime[i],
			model.waker[i] - 1,
			model.wakeTime[i],
			model.woken[i] - 1,
			strong ? this.accent : this.dim,
			strong ? 1.75 : 0.75,
		);
	}

	arrow(t0, a, t1, b, color, width) {
		const { c } = this,
			y0 = this.threadY(a),
			y1 = this.threadY(b),
			x0 = this.x(t0),
			x1 = this.x(t1);
		if (y0 === null || y1 === null || a === b || Math.min(x0, x1) < this.labelWidth)
			return;
		const bend = Math.min(26, Math.abs(y1 - y0) / 3 + 4),
			way = y1 > y0 ? 1 : -1;
		c.strokeStyle = c.fillStyle = color;
		c.lineWidth = width;
		c.globalAlpha = width > 1.6 ? 1 : 0.65;
		c.beginPath();
		c.moveTo(x0, y0);
		c.bezierCurveTo(
			x0 + bend,
			y0 + way * 4,
			x1 + (t0 === t1 ? bend : -bend),
			y1 - way * 4,
			x1,
			y1,
		);
		c.stroke();
		c.beginPath();
		c.moveTo(x1, y1);
		c.lineTo(x1 + 5, y1 - way * 6);
		c.lineTo(x1 - 1, y1 - way * 7);
		c.fill();
		c.globalAlpha = 1;
	}

	drawSelection() {
		const { c, s } = this,
			range =
				s.drag ??
				(s.sel.from !== null || s.sel.to !== null
					? [s.sel.from ?? 0, s.sel.to ?? this.model.length]
					: null);
		if (!range) return;
		const a = Math.max(this.labelWidth, this.x(range[0])),
			b = Math.max(this.labelWidth, Math.min(s.width, this.x(range[1])));
		c.fillStyle = this.bg;
		c.globalAlpha = 0.55;
		c.fillRect(this.labelWidth, RULER, a - this.labelWidth, s.height);
		c.fillRect(b, RULER, s.width - b, s.height);
		c.globalAlpha = 1;
		c.fillStyle = this.accent;
		if (a > this.labelWidth) c.fillRect(a - 1, 0, 1.5, s.height);
		if (b < s.width) c.fillRect(b, 0, 1.5, s.height);
	}

	drawRuler() {
		const { c, s } = this,
			step = rulerStep(s.to - s.from, this.plot / 110);
		c.fillStyle = this.bg;
		c.fillRect(0, 0, s.width, RULER);
		c.fillStyle = this.line;
		c.fillRect(0, RULER - 1, s.width, 1);
		for (let t = Math.ceil(s.from / step) * step; t <= s.to; t += step) {
			const x = this.x(t);
			c.fillStyle = this.line;
			c.fillRect(x, RULER - 7, 1, 7);
			c.fillStyle = this.dim;
			c.fillText(instant(t, step), x + 4, RULER / 2);
		}
		c.fillStyle = this.bg;
		c.fillRect(0, 0, this.labelWidth, RULER - 1);
		c.fillStyle = this.dim;
		c.fillText(`${duration(s.to - s.from)} in view`, 8, RULER / 2);
		for (const [time, , kind] of this.model.meta.losses) {
			const x = this.x(time);
			if (x < this.labelWidth || x > s.width) continue;
			c.fillStyle = kind === 2 ? this.dim : ink("--poor");
			c.fillRect(x, RULER - 5, 2, 5);
		}
		if (s.cursor !== null && s.cursor !== undefined && !s.drag) {
			c.fillStyle = this.dim;
			c.globalAlpha = 0.5;
			c.fillRect(this.x(s.cursor), RULER, 1, s.height);
			c.globalAlpha = 1;
		}
	}
}

// The whole recording once, in fine steps; wide windows take theirs from it.
function coarse(model, from, to, n) {
	const fine = model.once("fine load", () => cpuLoad(model, 0, model.length, FINE_BINS));
	if (!fine) return null;
	const out = new Float64Array(n),
		step = (to - from) / n,
		unit = model.length / fine.length;
	for (let i = 0; i < n; i++) {
		const a = Math.floor((from + i * step) / unit),
			b = Math.max(a + 1, Math.floor((from + (i + 1) * step) / unit));
		let sum = 0;
		for (let k = a; k < b && k < fine.length; k++) sum += fine[k];
		out[i] = sum / (b - a);
	}
	return out;
}

// As much of a text as there is room for; measuring is dear, so letters are taken as equal.
function fit(c, text, room) {
	const most = Math.floor(room / 5.9);
	if (text.length <= most) return text;
	return most > 3 ? text.slice(0, most - 1) + "…" : most > 1 ? text.slice(0, most) : "";
}

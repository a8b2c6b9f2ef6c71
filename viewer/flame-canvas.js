// SPDX-License-Identifier: MIT
// A flame graph on a canvas: boxes in, picture and events out. What the boxes are is the business
// of a graph: { boxes(least), label(i), color(i), text(i), marks(i), isMatch(i), tip(i) }.
import { h, paint } from "./dom.js";
import { hitTest, neighbor } from "./flame.js";
import { ink, isDark } from "./color.js";
import { FRAME } from "./model.js";

const ROW = 20,
	FONT = '11.5px ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace';

export class FlameCanvas {
	constructor(app, { label, grows = "down", onPick, onHover, most = 0 }) {
		this.app = app;
		this.grows = grows;
		this.onPick = onPick;
		this.onHover = onHover;
		this.most = most;
		this.at = -1;
		this.canvas = h("canvas", {
			tabindex: "0",
			role: "img",
			"aria-label": label,
			class: "flame-canvas",
		});
		this.spacer = h("div", { class: "flame-spacer" }, this.canvas);
		this.root = h("div", { class: "flame-scroll" }, this.spacer);
		this.root.onscroll = () => this.draw();
		this.canvas.onmousemove = e => this.hover(e);
		this.canvas.onmouseleave = () => {
			this.app.tip.hide();
			this.setAt(-1, false);
		};
		this.canvas.onclick = e => {
			const i = this.find(e);
			if (i >= 0) this.onPick(i, this.graph);
		};
		this.canvas.onkeydown = e => this.key(e);
		this.canvas.onblur = () => this.setAt(-1, false);
	}

	show(graph) {
		this.graph = graph;
		this.at = -1;
		this.fit();
	}

	fit() {
		if (!this.graph) return;
		this.width = Math.max(120, this.root.clientWidth);
		this.boxes = this.graph.boxes(0.4 / this.width);
		const full = this.boxes.rows * ROW + 2;
		this.height = this.most
			? Math.min(full, this.most)
			: Math.max(60, Math.min(full, this.roomBelow()));
		this.full = full;
		this.root.style.setProperty("height", `${this.height}px`);
		this.spacer.style.setProperty("height", `${full}px`);
		if (this.grows === "up") this.root.scrollTop = full;
		this.draw();
	}

	roomBelow() {
		const top = this.root.getBoundingClientRect().top + window.scrollY;
		return Math.max(240, window.innerHeight - top - 104);
	}

	rowTop(row) {
		return this.grows === "up" ? this.full - (row + 1) * ROW : row * ROW;
	}

	draw() {
		paint(this.canvas, this.width, this.height, c => {
			const b = this.boxes,
				top = this.root.scrollTop,
				dark = isDark();
			c.font = FONT;
			c.textBaseline = "middle";
			this.letter ??= c.measureText("m").width;
			const text = dark ? "#f4efe6" : "#241f18",
				edge = ink("--bg");
			for (let i = 0; i < b.node.length; i++) {
				const y = this.rowTop(b.row[i]) - top;
				if (y > this.height || y < -ROW) continue;
				this.box(
					c,
					i,
					b.x[i] * this.width,
					y,
					b.w[i] * this.width,
					text,
					edge,
				);
			}
			if (this.at >= 0) this.outline(c, this.at, top);
		});
	}

	box(c, i, x, y, w, text, edge) {
		const g = this.graph,
			marks = g.marks(i),
			inner = Math.max(0.5, w - (w > 3 ? 1 : 0));
		c.globalAlpha = this.boxes.row[i] < this.boxes.above ? 0.55 : 1;
		c.fillStyle = g.isMatch(i) ? ink("--match") : g.color(i);
		c.fillRect(x, y, inner, ROW - 1);
		if ((w > 4 && marks & (FRAME.TRUNCATED | FRAME.OFF_CPU)) || g.isAlone?.(i))
			hatch(c, x, y, inner, edge);
		if (w > 10 && marks & FRAME.INLINE) {
			c.fillStyle = text;
			c.globalAlpha *= 0.45;
			for (let at = x + 1; at < x + inner; at += 6)
				c.fillRect(at, y + ROW - 2.5, 3, 1);
			c.globalAlpha = this.boxes.row[i] < this.boxes.above ? 0.55 : 1;
		}
		const room = Math.floor((w - 8) / this.letter);
		if (room >= 3) {
			const name = g.label(i);
			c.fillStyle = g.isMatch(i) ? "#fff" : text;
			c.fillText(
				name.length > room ? name.slice(0, room - 1) + "…" : name,
				x + 4,
				y + ROW / 2,
			);
		}
		c.globalAlpha = 1;
	}

	outline(c, i, top) {
		const b = this.boxes;
		c.strokeStyle = ink("--ink");
		c.lineWidth = 1.5;
		c.strokeRect(
			b.x[i] * this.width + 0.75,
			this.rowTop(b.row[i]) - top + 0.75,
			Math.max(2, b.w[i] * this.width - 2.5),
			ROW - 2.5,
		);
	}

	find(e) {
		const r = this.canvas.getBoundingClientRect(),
			y = e.clientY - r.top + this.root.scrollTop;
		const row =
			this.grows === "up"
				? Math.floor((this.full - y) / ROW)
				: Math.floor(y / ROW);
		return hitTest(this.boxes, (e.clientX - r.left) / this.width, row);
	}

	hover(e) {
		const i = this.find(e);
		if (i !== this.at) this.setAt(i, false);
		if (i < 0) this.app.tip.hide();
		else this.app.tip.show(e.clientX, e.clientY, ...this.graph.tip(i));
	}

	setAt(i, speak) {
		if (i === this.at) return;
		this.at = i;
		this.draw();
		if (i >= 0) this.onHover?.(i, this.graph);
		if (speak && i >= 0) this.app.say(this.graph.text(i));
	}

	// Arrows as they point: toward the callees is down in an icicle and up in a flame.
	key(e) {
		const down = this.grows === "up" ? "out" : "in",
			up = this.grows === "up" ? "in" : "out";
		const to = { ArrowDown: down, ArrowUp: up, ArrowLeft: "left", ArrowRight: "right" }[
			e.key
		];
		if (to && !e.altKey && !e.ctrlKey && !e.metaKey) {
			e.preventDefault();
			const next = neighbor(this.boxes, this.at, to);
			if (next >= 0) {
				this.setAt(next, true);
				this.reveal(next);
			}
		} else if (e.key === "Enter" && this.at >= 0) {
			e.preventDefault();
			this.onPick(this.at, this.graph);
			this.canvas.focus();
		}
	}

	reveal(i) {
		const y = this.rowTop(this.boxes.row[i]);
		if (y < this.root.scrollTop) this.root.scrollTop = y;
		else if (y + ROW > this.root.scrollTop + this.height)
			this.root.scrollTop = y + ROW - this.height;
	}
}

function hatch(c, x, y, w, color) {
	c.save();
	c.beginPath();
	c.rect(x, y, w, ROW - 1);
	c.clip();
	c.strokeStyle = color;
	c.globalAlpha = 0.5;
	c.lineWidth = 1.5;
	c.beginPath();
	for (let at = x - ROW; at < x + w; at += 7) {
		c.moveTo(at, y + ROW);
		c.lineTo(at + ROW, y);
	}
	c.stroke();
	c.restore();
}

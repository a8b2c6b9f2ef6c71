// SPDX-License-Identifier: MIT
// Two recordings compared: a tree for each side whose nodes know their partner's weight.
import { kids } from "./tree.js";

// Verdicts of coati diff about a function.
export const VERDICTS = ["too few samples", "not distinguishable", "more", "less", "cannot judge"];
const MORE = 2,
	LESS = 3;

export class DiffSide {
	constructor(data, side) {
		const g = data.graphs[side],
			n = g.nodes.length;
		this.title = g.title;
		this.side = g.side;
		this.count = n;
		this.parent = Uint32Array.from(g.nodes, v => Math.max(0, v[0]));
		this.fn = Int32Array.from(g.nodes, (v, i) => (i ? v[1] : -1));
		this.image = Uint32Array.from(g.nodes, v => v[2]);
		this.self = Float64Array.from(g.nodes, v => v[3]);
		this.total = Float64Array.from(g.nodes, v => v[4]);
		this.kernel = Uint8Array.from(g.nodes, v => v[5]);
		this.otherTotal = Float64Array.from(g.nodes, v => v[6]);
		this.row = Int32Array.from(g.nodes, v => v[7]);
		Object.assign(this, kids(this.parent, this.total));
	}

	get whole() {
		return this.count ? this.total[0] : 0;
	}
}

export class Diff {
	constructor(data) {
		this.data = data;
		this.names = data.names;
		this.images = data.images;
		this.sides = data.graphs.map((_, i) => new DiffSide(data, i));
	}

	// How much larger a part of its side the frame is than before, from 0 to 1.
	change(side, node) {
		const here = this.sides[side],
			there = this.sides[1 - side];
		const a = here.whole ? here.total[node] / here.whole : 0,
			b = there.whole ? here.otherTotal[node] / there.whole : 0;
		return here.side === "after" ? a - b : b - a;
	}

	// Is anything about its function more than chance?
	isCertain(side, node) {
		const f = this.data.functions[this.sides[side].row[node]];
		return !!f && f.some(v => v[4] === MORE || v[4] === LESS);
	}

	// The node of the other side that the same names lead to, or the nearest one above it.
	partner(side, node) {
		const here = this.sides[side],
			there = this.sides[1 - side],
			path = [];
		for (let i = node; i > 0; i = here.parent[i]) path.unshift(here.fn[i]);
		let at = 0;
		for (const fn of path) {
			let next = -1;
			for (let k = there.firstKid[at]; k < there.firstKid[at + 1]; k++)
				if (there.fn[there.kid[k]] === fn) next = there.kid[k];
			if (next < 0) break;
			at = next;
		}
		return at;
	}

	// A row for each function, what changed most first.
	rows() {
		const name = new Map();
		for (const s of this.sides)
			for (let i = 1; i < s.count; i++)
				if (s.row[i] >= 0) name.set(s.row[i], s.fn[i]);
		return this.data.functions
			.map((f, i) => ({
				name: name.has(i) ? this.names[name.get(i)] : "",
				self: f[0],
				total: f[1],
			}))
			.filter(r => r.name && (r.self[0] || r.self[1] || r.total[0] || r.total[1]))
			.sort(
				(a, b) =>
					certain(b) - certain(a) ||
					Math.abs(b.self[1] - b.self[0]) -
						Math.abs(a.self[1] - a.self[0]),
			);
	}
}

function certain(row) {
	return [row.self, row.total].some(v => v[4] === MORE || v[4] === LESS) ? 1 : 0;
}

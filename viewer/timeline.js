// SPDX-License-Identifier: MIT
// The arithmetic of a timeline: where things lie that are sorted by time, and a window on them.

// The first index of idx (or of 0..n) for which value(i) >= x; values never fall.
export function lowerBound(n, x, value) {
	let lo = 0,
		hi = n;
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		if (value(mid) < x) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

// Where a sorted column reaches a value, from `at` on, where the answer is likely near.
function reach(column, at, end, x) {
	let step = 1;
	while (at + step < end && column[at + step] < x) step *= 2;
	let lo = at + (step >> 1),
		hi = Math.min(end, at + step + 1);
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		if (column[mid] < x) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

// Things of one row: they are sorted by begin and do not overlap. Their begins and ends are a part
// of two columns, from `first` on; ids has their numbers, or their place in the columns is it.
export class Lane {
	constructor(begins, ends, { ids = null, first = 0, count = begins.length } = {}) {
		this.begins = begins;
		this.ends = ends;
		this.ids = ids;
		this.first = first;
		this.count = count;
	}

	id(at) {
		return this.ids ? this.ids[at] : at;
	}

	// The place of the first that begins at a time or later.
	place(time) {
		if (!this.count || this.begins[this.first] >= time) return this.first;
		return reach(this.begins, this.first, this.first + this.count, time);
	}

	// Calls fn(id, begin, end, many): what is narrower than a pixel stands for its neighbors too.
	visible(from, to, pixel, fn) {
		const { begins, ends } = this,
			stop = this.first + this.count;
		let i = Math.max(this.first, this.place(from) - 1);
		while (i < stop) {
			const begin = begins[i],
				end = ends[i];
			if (begin > to) return;
			if (end < from) {
				i++;
				continue;
			}
			if (end - begin >= pixel) {
				fn(this.id(i), begin, end, 1);
				i++;
				continue;
			}
			// the longest of the next few stands for all of this pixel
			const slot = Math.floor(begin / pixel) * pixel,
				next = Math.max(i + 1, reach(begins, i, stop, slot + pixel));
			let best = i;
			for (let k = i + 1; k < next && k < i + 6; k++)
				if (ends[k] - begins[k] > ends[best] - begins[best]) best = k;
			fn(this.id(best), slot, slot + pixel, next - i);
			// only the last of them can reach beyond the pixel
			const last = next - 1;
			i = last > i && ends[last] - begins[last] >= pixel ? last : next;
		}
	}

	// What lies at a time, or near it; -1.
	at(time, near = 0) {
		const i = this.place(time),
			stop = this.first + this.count;
		for (const margin of [0, near])
			for (const k of [i - 1, i])
				if (
					k >= this.first &&
					k < stop &&
					this.begins[k] - margin <= time &&
					this.ends[k] + margin >= time
				)
					return this.id(k);
		return -1;
	}

	// The one after or before a time.
	next(time, back) {
		const i = back ? this.place(time) - 1 : this.place(time + 1);
		return i >= this.first && i < this.first + this.count ? this.id(i) : -1;
	}
}

// A lane over a list of numbers of things.
export function laneOf(list, begin, length) {
	const begins = Float64Array.from(list, i => begin[i]);
	const ends = Float64Array.from(list, i => begin[i] + (length ? length[i] : 0));
	return new Lane(begins, ends, { ids: list });
}

// Things that overlap, on as few rows as there is room for: lists of their numbers. What finds no
// row is counted.
export function spread(order, begin, length, rows) {
	const ends = [],
		out = [];
	let left = 0;
	for (const i of order) {
		let row = ends.findIndex(e => e <= begin[i]);
		if (row < 0 && ends.length < rows) {
			row = ends.length;
			ends.push(0);
			out.push([]);
		}
		if (row < 0) {
			left++;
			continue;
		}
		ends[row] = begin[i] + length[i];
		out[row].push(i);
	}
	return { lists: out.map(l => Uint32Array.from(l)), left };
}

// Steps of a ruler: 1, 2 or 5 times a power of ten, so that about n fit.
export function rulerStep(span, n) {
	const raw = span / Math.max(1, n),
		power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
	for (const f of [1, 2, 5, 10]) if (power * f >= raw) return Math.max(1, power * f);
	return Math.max(1, power * 10);
}

// A window on a length of time: never narrower than 20 ns, never outside.
export function clampWindow(from, to, length) {
	const span = Math.min(Math.max(20, to - from), Math.max(length, 20));
	const begin = Math.max(0, Math.min(from, length - span));
	return [begin, begin + span];
}

export function zoomWindow(from, to, center, factor, length) {
	const span = Math.min(Math.max(20, (to - from) * factor), Math.max(length, 20));
	const share = (center - from) / Math.max(1, to - from);
	return clampWindow(center - share * span, center - share * span + span, length);
}

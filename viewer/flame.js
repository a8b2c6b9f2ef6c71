// SPDX-License-Identifier: MIT
// Where the frames of a flame graph lie, and what is under a point. Widths are of 0 to 1; what is
// narrower than `least` is left out with all that is inside it.

// isWhole: with the frames above the one that is zoomed to.
export function layout(tree, top, least, isWhole = true) {
	const node = [],
		x = [],
		w = [],
		row = [];
	const put = (n, left, width, depth) => {
		node.push(n);
		x.push(left);
		w.push(width);
		row.push(depth);
	};
	const above = [];
	for (let i = top; isWhole && i !== 0; i = tree.parent[i]) above.unshift(tree.parent[i]);
	above.forEach((n, depth) => put(n, 0, 1, depth));
	const whole = tree.total[top];
	const todo = whole > 0 ? [[top, 0, 1, above.length]] : [];
	while (todo.length) {
		const [n, left, width, depth] = todo.pop();
		put(n, left, width, depth);
		let at = left;
		for (let k = tree.firstKid[n]; k < tree.firstKid[n + 1]; k++) {
			const kid = tree.kid[k],
				kidWidth = tree.total[kid] / whole;
			if (kidWidth >= least) todo.push([kid, at, kidWidth, depth + 1]);
			else if (kidWidth < least) break;
			at += kidWidth;
		}
	}
	let rows = 0;
	for (const r of row) rows = Math.max(rows, r + 1);
	return { node, x, w, row, rows, above: above.length };
}

// The samples of one thread in order of time: neighbors with the same callers are one box.
export function timeLayout(model, samples, from, to, least) {
	const node = [],
		x = [],
		w = [],
		row = [],
		span = Math.max(1, to - from);
	let open = [],
		rows = 0;
	const path = n => {
		const out = [];
		for (; n > 0; n = model.ndParent[n]) out.unshift(n);
		return out;
	};
	const close = keep => {
		for (; open.length > keep;) {
			const [n, begin, end] = open.pop(),
				width = (end - begin) / span;
			if (width < least) continue;
			node.push(n);
			x.push((begin - from) / span);
			w.push(width);
			row.push(open.length);
			rows = Math.max(rows, open.length + 1);
		}
	};
	let last = -1,
		lastEnd = -Infinity,
		lastPath = [];
	for (const [n, begin, length] of samples) {
		const p = n === last ? lastPath : path(n),
			gap = begin - lastEnd > length * 1.5;
		let same = 0;
		if (!gap)
			while (
				same < p.length &&
				same < open.length &&
				model.nodeFn[p[same]] === model.nodeFn[open[same][0]]
			)
				same++;
		close(same);
		const start = gap ? begin : Math.max(begin, lastEnd);
		for (let i = same; i < p.length; i++) open.push([p[i], start, begin + length]);
		for (const o of open) o[2] = begin + length;
		last = n;
		lastPath = p;
		lastEnd = begin + length;
	}
	close(0);
	return { node, x, w, row, rows, above: 0 };
}

export function hitTest(boxes, x, row) {
	for (let i = boxes.node.length - 1; i >= 0; i--)
		if (boxes.row[i] === row && x >= boxes.x[i] && x < boxes.x[i] + boxes.w[i])
			return i;
	return -1;
}

// The box to which a key leads: the heaviest child, the parent, a neighbor of the same row.
export function neighbor(boxes, at, key) {
	const inRow = (row, test) => {
		let best = -1;
		for (let i = 0; i < boxes.node.length; i++)
			if (boxes.row[i] === row && test(i) && (best < 0 || better(i, best)))
				best = i;
		return best;
	};
	let better = (a, b) => boxes.w[a] > boxes.w[b];
	if (at < 0) return inRow(boxes.above, () => true);
	const left = boxes.x[at],
		right = left + boxes.w[at],
		mid = (left + right) / 2;
	if (key === "in")
		return inRow(
			boxes.row[at] + 1,
			i => boxes.x[i] >= left - 1e-9 && boxes.x[i] < right,
		);
	if (key === "out")
		return inRow(
			boxes.row[at] - 1,
			i => boxes.x[i] <= mid && mid < boxes.x[i] + boxes.w[i] + 1e-12,
		);
	better =
		key === "left"
			? (a, b) => boxes.x[a] > boxes.x[b]
			: (a, b) => boxes.x[a] < boxes.x[b];
	return key === "left"
		? inRow(boxes.row[at], i => boxes.x[i] < left - 1e-12)
		: inRow(boxes.row[at], i => boxes.x[i] > left + 1e-12);
}

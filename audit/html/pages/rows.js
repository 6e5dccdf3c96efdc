'use strict';
// The rows of a timeline: which calls stand under which headline, and which share a row.

// kinds are what a call did in a span of time, by number as the data has it.
const held = 0, person = 1, queue = 2, tried = 3, runs = 4;

// packedFrom is the number of calls from which on they share rows at first.
const packedFrom = 80;

// itemsOf returns what can be drawn: calls, model steps, marks. from and to are when it ran, start is when it was asked for.
function itemsOf(data) {
	const list = [];
	const add = (type, of, label, spans, end) => {
		const ran = spans.findLast((s) => s[0] === runs);
		const whole = spans.length ? [spans[0][1], Math.max(...spans.map((s) => s[2]))] : [end, end];
		list.push({type, of, label, spans, start: whole[0], end: Math.max(end, whole[1]), from: ran ? ran[1] : end, to: ran ? ran[2] : end, ran: !!ran, index: list.length});
	};
	for (const call of data.calls) add('call', call, call.id + ' ' + call.tool, call.spans, call.end);
	for (const step of data.steps) add('step', step, step.id, step.spans, step.spans[0][2]);
	for (const mark of data.marks) add('mark', mark, mark.label, [[runs, mark.from, mark.to]], mark.to);
	return list;
}

// pack puts items into as few rows as possible, so that no two of a row overlap; gap is the least time between them.
function pack(items, gap) {
	const rows = [], ends = [];
	for (const item of items.toSorted((a, b) => a.from - b.from)) {
		let at = ends.findIndex((end) => end <= item.from);
		if (at < 0) { at = rows.length; rows.push([]); }
		rows[at].push(item);
		ends[at] = Math.max(item.to, item.from) + gap;
	}
	return rows;
}

// groupsOf returns headlines with their rows. each says whether every call has a row, by whether lanes or runs are headlines.
function groupsOf(data, items, each, by) {
	const groups = [], gap = (data.to || 1) / 2000;
	const calls = items.filter((i) => i.type === 'call'), steps = items.filter((i) => i.type === 'step'), marks = items.filter((i) => i.type === 'mark');
	const runName = (n) => [data.runs[n].path, data.runs[n].name].filter(Boolean).join(' · ');
	if (marks.length) groups.push({title: 'people and events', rows: pack(marks, gap * 30), thin: true});
	const laid = (list) => each ? list.toSorted((a, b) => a.of.run - b.of.run || a.index - b.index).map((i) => [i]) : pack(list, 0);
	if (by === 'run') {
		data.runs.forEach((_, n) => {
			const of = calls.filter((i) => i.of.run === n);
			groups.push({title: runName(n), count: of.length, rows: [...pack(steps.filter((i) => i.of.run === n), 0), ...laid(of)], calls: of});
		});
		return groups.filter((g) => g.rows.length);
	}
	if (steps.length) groups.push({title: 'model steps', count: steps.length, rows: pack(steps, 0)});
	const lanes = Map.groupBy(calls, (i) => i.of.lane);
	for (const [lane, of] of lanes) groups.push({title: lane, lane: true, count: of.length, rows: laid(of), calls: of});
	return groups;
}

// waits and works tell which spans are before a call ran, and which are its own.
const waits = (kind, from, item) => kind < tried && (from < item.from || !item.ran), works = (kind) => kind === runs || kind === tried;

// depths returns how many of the items are in such a span, as steps: [time, number from then on].
function depths(items, which) {
	const changes = [];
	for (const item of items) {
		for (const [kind, from, to] of item.spans) {
			if (to > from && which(kind, from, item)) changes.push([from, 1], [to, -1]);
		}
	}
	changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	const steps = [];
	let n = 0;
	for (const [time, by] of changes) {
		n += by;
		if (steps.length && steps.at(-1)[0] === time) steps.at(-1)[1] = n;
		else steps.push([time, n]);
	}
	return steps;
}

// corners returns steps as the points of a line.
function corners(steps, end) {
	const points = [[0, 0]];
	for (const [time, n] of [...steps, [end, 0]]) points.push([time, points.at(-1)[1]], [time, n]);
	return points;
}

// even returns the most of each of so many even parts of the time.
function even(steps, whole, parts) {
	const points = [];
	for (let part = 0, at = 0, n = 0; part < parts; part++) {
		let most = n;
		for (; at < steps.length && steps[at][0] < (part + 1) * whole / parts; at++) most = Math.max(most, n = steps[at][1]);
		points.push([part * whole / (parts - 1), most]);
	}
	return points;
}

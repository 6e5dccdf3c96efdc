'use strict';
// How calls, steps and marks look on the chart.

// words say what a kind of span is.
const words = {[held]: 'waits in the run', [person]: 'waits for a person', [queue]: 'waits for a worker', [tried]: 'earlier attempts'};

// tone is the colour of what an item did when it ran.
function tone(item) {
	if (item.type === 'step') return colour('model');
	if (item.type === 'mark') return colour({approval: 'person', question: 'person', pause: 'cancelled', refused: 'failed', end: 'failed', part: 'quiet'}[item.of.kind] || 'sum');
	return colour({failed: 'failed', refused: 'failed', cancelled: 'cancelled', withheld: 'withheld'}[item.of.status] || 'runs');
}

const spanColour = (kind, item) => kind === runs ? tone(item) : colour({[held]: 'held', [person]: 'person', [queue]: 'queue', [tried]: 'tried'}[kind]);

// legend lists what is on the page, and nothing that is not.
function legend(items) {
	const list = document.getElementById('legend'), calls = items.filter((i) => i.type === 'call');
	const entry = (name, text, className) => {
		const li = make('li'), swatch = make('i', undefined, className);
		swatch.style.background = swatch.style.borderColor = colour(name);
		li.append(swatch, text);
		list.append(li);
	};
	list.replaceChildren();
	for (const [kind, name, className] of [[held, 'held', 'thin'], [person, 'person'], [queue, 'queue'], [tried, 'tried']]) {
		if (items.some((i) => i.spans.some((s) => s[0] === kind))) entry(name, words[kind], className);
	}
	for (const [status, name, text] of [['completed', 'runs', 'runs'], ['failed', 'failed', 'failed'], ['cancelled', 'cancelled', 'cancelled'], ['withheld', 'withheld', 'withheld (dry run)']]) {
		if (calls.some((i) => i.of.status === status && (i.ran || status !== 'failed')) || status === 'completed' && calls.some((i) => i.of.status === 'running')) entry(name, text);
	}
	if (calls.some((i) => i.of.status === 'running')) entry('runs', 'running (▸)', 'hollow');
	if (calls.some((i) => i.of.status === 'refused')) entry('failed', 'refused, never ran (×)', 'hollow');
	if (items.some((i) => i.type === 'step')) entry('model', 'model step');
}

// note is what stands behind a call's bar.
function note(item) {
	if (item.type !== 'call') return '';
	const call = item.of, parts = [];
	if (item.ran) parts.push(lasting(item.to - item.from));
	if (call.attempts > 1) parts.push(call.attempts + ' attempts');
	if (call.error) parts.push(call.error);
	else if (call.status === 'cancelled' || call.status === 'withheld') parts.push(call.status);
	if (call.status === 'running') parts.push(item.ran ? 'so far ▸' : 'waiting ▸');
	return parts.join(' · ');
}

// hint is what is said of an item under the pointer.
function hint(item) {
	const of = item.of;
	if (item.type === 'mark') {
		return tip(of.label, ['at ' + lasting(of.from) + (of.to > of.from ? ', for ' + lasting(of.to - of.from) : ''), of.open ? 'still open' : '']);
	}
	const lines = item.spans.map(([kind, from, to]) => (kind === runs ? 'ran for ' : words[kind] + ' for ') + lasting(to - from));
	if (item.type === 'step') return tip(of.id, [of.open ? 'running' : thousands(of.in) + ' tokens in, ' + thousands(of.out) + ' out', ...lines]);
	return tip(of.id + ' ' + of.tool, [of.status + (of.error ? ': ' + of.error : ''), 'lane ' + of.lane, of.attempts > 1 ? of.attempts + ' attempts' : '', ...lines, 'click for details']);
}

const rect = (x, y, width, height, fill, more) => ({type: 'rect', shape: {x, y, width, height, r: Math.min(2, height / 4)}, style: {fill, ...more}});
const written = (x, y, text, style) => ({type: 'text', silent: true, style: {x, y, text, font: '12px ' + font, verticalAlign: 'middle', ...style}});
const textWidth = (text) => text.length * 6.6 + 6;

// bar draws an item at a height y of the chart, in the frame of the grid. only says to draw it without its waits, as rows that
// calls share need it.
function bar(item, y, height, frame, toX, {only, dim, chosen}) {
	const children = [], right = frame.x + frame.width, least = item.type === 'mark' ? 0 : 2;
	const put = (kind, from, to) => {
		const x0 = Math.max(toX(from), frame.x - 2), x1 = Math.min(toX(to), right + 2);
		if (x1 < frame.x || x0 > right) return;
		const thin = kind === held, inset = thin ? height / 2 - 1.5 : kind === tried ? height * .22 : 0;
		children.push(rect(x0, y + inset, Math.max(x1 - x0, least), height - 2 * inset, spanColour(kind, item), {opacity: dim ? .15 : 1}));
	};
	for (const [kind, from, to] of item.spans) {
		if (!only || kind === runs || kind === person && from >= item.from) put(kind, from, to);
	}
	const end = toX(item.type === 'mark' ? item.from : item.end), opacity = dim ? .15 : 1;
	if (item.type === 'mark' && item.end === item.start || item.of.status === 'refused') {
		const arm = Math.min(height / 2, 5), x = end, middle = y + height / 2;
		const refused = item.of.status === 'refused' || item.of.kind === 'refused' || item.of.kind === 'end';
		const points = refused ? null : [[x - arm, middle], [x, middle - arm], [x + arm, middle], [x, middle + arm]];
		if (x >= frame.x - 1 && x <= right + 1) {
			children.push(points ? {type: 'polygon', shape: {points}, style: {fill: tone(item), opacity}}
				: {type: 'path', shape: {pathData: `M${x - arm} ${middle - arm}L${x + arm} ${middle + arm}M${x + arm} ${middle - arm}L${x - arm} ${middle + arm}`}, style: {stroke: tone(item), fill: 'none', lineWidth: 2, opacity}});
			children.push({type: 'rect', shape: {x: x - 7, y, width: 14, height}, style: {fill: 'transparent'}});
		}
	}
	if (chosen && children.length) {
		const x0 = Math.max(toX(only ? item.from : item.start), frame.x) - 3, x1 = Math.min(Math.max(end, toX(item.end)), right) + 3;
		children.push({type: 'rect', silent: true, shape: {x: x0, y: y - 1.5, width: x1 - x0, height: height + 3, r: 3}, style: {fill: 'none', stroke: colour('ink'), lineWidth: 2}});
	}
	return children;
}

// inside writes a text into a bar where it has room.
function inside(item, text, y, height, frame, toX) {
	const x0 = Math.max(toX(item.from), frame.x), x1 = Math.min(toX(item.to), frame.x + frame.width);
	if (height < 12 || x1 - x0 < 34) return [];
	return [written(x0 + 4, y + height / 2, text, {fill: colour('on'), font: '11px ' + font, width: x1 - x0 - 8, overflow: 'truncate', ellipsis: '…'})];
}

// behind writes a text after an item's end, or before its start where there is no room.
function behind(item, text, y, height, frame, toX) {
	const right = frame.x + frame.width, x1 = toX(item.end) + (item.ran || item.type === 'mark' ? 6 : 10), x0 = toX(item.start) - 6, wide = textWidth(text);
	const style = {fill: colour(item.of.error ? 'bad' : 'quiet'), font: '11.5px ' + font};
	if (!text || x1 < frame.x || x0 > right) return [];
	if (x1 + wide <= right) return [written(x1, y + height / 2, text, style)];
	if (x0 - wide >= frame.x) return [written(x0, y + height / 2, text, {...style, align: 'right'})];
	return inside(item, text, y, height, frame, toX);
}

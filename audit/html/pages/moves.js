'use strict';
// What a reader can do with a timeline: zoom, choose a call, find some, change the rows.

const byId = (id) => document.getElementById(id);

// show tells all of an item beside the chart.
function show(item) {
	view.chosen = item;
	byId('details').hidden = !item;
	for (const row of tableRows) row.removeAttribute('aria-current');
	if (item) {
		byId('details-name').textContent = item.type === 'mark' ? item.label : item.type === 'step' ? item.label : item.of.id + ' ' + item.of.tool;
		const list = byId('details-list');
		list.replaceChildren();
		for (const [name, text] of item.of.details) list.append(make('dt', name), make('dd', text, name === 'arguments' || name === 'text' ? 'code' : ''));
		list.append(make('dt', 'at'), make('dd', lasting(item.start) + ' after the start'));
		linkBelow(item);
		if (item.type === 'call') {
			tableRows[item.index]?.setAttribute('aria-current', 'true');
			const hash = '#call-' + item.index;
			if (location.hash !== hash) history.replaceState(null, '', hash);
		}
	}
	reveal(item);
	draw();
}

// reveal moves the rows and the time that are seen so far that an item is among it.
function reveal(item) {
	if (!item) return;
	const {rows, height} = placed(), row = rows.find((r) => r.list?.includes(item)), top = view.top || 0;
	if (row && height > mostHeight && (row.y < top || row.y + row.height > top + mostHeight)) view.top = Math.min(Math.max(row.y - mostHeight / 2, 0), height - mostHeight);
	if (view.window && (item.end < view.window[0] || item.start > view.window[1])) {
		const span = view.window[1] - view.window[0], from = Math.min(Math.max(item.start - span / 4, 0), whole - span);
		view.window = [from, from + span];
	}
}

// linkBelow offers the calls of the sub-agent that worked for a call, where they are on the page.
function linkBelow(item) {
	const links = byId('details-links'), below = item.of.below;
	links.replaceChildren();
	if (!below || !data.runs.some((r) => r.path === below)) return;
	const button = make('button', 'find its sub-agent’s calls');
	button.type = 'button';
	button.onclick = () => { search.value = below + '/'; find(); };
	links.append(button);
}

// find dims all calls but those that have the text somewhere.
function find() {
	const text = search.value.trim().toLowerCase();
	const hit = (i) => [i.of.id, i.of.tool, i.of.lane, i.of.status, i.of.error].some((t) => t && t.toLowerCase().includes(text));
	view.found = text ? new Set(callItems.filter(hit).map((i) => i.index)) : null;
	tableRows.forEach((row, n) => { row.hidden = view.found !== null && !view.found.has(n); });
	draw();
}

// zoom makes what is seen so many times as long, about its middle, and moves it by a part of that; nothing shows all.
function zoom(by, move = 0) {
	const [from, to] = view.window || [0, whole];
	const span = Math.min(whole, Math.max((to - from) * by, whole / 50000)), start = Math.min(Math.max((from + to - span) / 2 + move * span, 0), whole - span);
	view.window = by === undefined ? null : [start, start + span];
	draw();
}

// step chooses the call before or after the chosen one.
function next(by) {
	const shown = callItems.filter((i) => !view.found || view.found.has(i.index));
	const at = shown.indexOf(view.chosen);
	const item = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by];
	if (item) show(item);
}

const keys = {ArrowLeft: () => zoom(1, -.2), ArrowRight: () => zoom(1, .2), '+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2), 0: () => zoom(), ArrowDown: () => next(1), ArrowUp: () => next(-1), Escape: () => show(null)};
element.addEventListener('keydown', (event) => {
	if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); keys[event.key](); }
});

chart.on('datazoom', () => {
	const zooms = chart.getOption().dataZoom, {startValue, endValue} = zooms[0], rows = zooms.find((z) => z.id === 'rows');
	view.window = endValue - startValue > whole * .9999 ? null : [startValue, endValue];
	if (rows) view.top = rows.startValue;
});
chart.on('click', {seriesName: 'items'}, (event) => {
	const [start, end, y] = event.value;
	show(placed().rows.find((r) => r.y === y && r.list).list.find((i) => i.start === start && i.end === end));
});

// fromHash chooses the call that the address names.
function fromHash() {
	const n = /^#call-(\d+)$/.exec(location.hash);
	if (n && callItems[n[1]]) show(callItems[n[1]]);
}

byId('tools').hidden = false;
byId('by-label').hidden = !manyRuns;
byId('rows').value = view.each ? 'each' : 'packed';
byId('by').value = view.by;
byId('rows').onchange = (event) => { view.each = event.target.value === 'each'; view.top = 0; draw(); };
byId('by').onchange = (event) => { view.by = event.target.value; view.top = 0; draw(); };
byId('in').onclick = () => zoom(.5);
byId('out').onclick = () => zoom(2);
byId('all').onclick = () => zoom();
byId('close').onclick = () => { show(null); element.focus(); };
search.oninput = find;
addEventListener('hashchange', fromHash);
onLook(draw);
fromHash();
document.documentElement.dataset.ready = 'timeline';

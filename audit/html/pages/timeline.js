'use strict';
// The timeline of a run: rows of calls, tokens below them, and how much went on at once.

const data = pageData, items = itemsOf(data), callItems = items.filter((i) => i.type === 'call');
const element = document.getElementById('chart'), search = document.getElementById('search');
const tableRows = [...document.querySelectorAll('#table tbody tr')];
const manyRuns = data.runs.length > 1;
const view = {each: callItems.length <= packedFrom, by: manyRuns && data.runs.length <= 12 ? 'run' : 'lane', window: null, chosen: null, found: null};
const whole = Math.max(data.to, .001) * (callItems.length <= packedFrom ? 1.06 : 1.01);
const chart = echarts.init(element, null, {renderer: callItems.length > 600 ? 'canvas' : 'svg', width: 800, height: 300, devicePixelRatio: Math.max(2, devicePixelRatio)});
const mostHeight = callItems.length <= packedFrom ? 2200 : 860, paperHeight = 480, headHeight = 26;

// mark writes a time on the axis, as exact as the part of the run that is seen needs it.
function axisTime(ms) {
	const span = view.window ? view.window[1] - view.window[0] : whole, s = ms / 1000;
	if (ms === 0) return '0';
	if (span < 1000) return +ms.toFixed(span < 30 ? 2 : 0) + ' ms';
	if (span < 120e3) return +s.toFixed(2) + ' s';
	if (span < 2 * 3600e3) return Math.floor(s / 60) + ':' + two(s % 60) + ' min';
	if (span < 48 * 3600e3) return Math.floor(s / 3600) + ':' + two(s % 3600 / 60) + ' h';
	return +(s / 86400).toFixed(1) + ' d';
}

// layout gives every row its place: y and height in pixels from the top of the first row.
function layout(groups) {
	const rows = [];
	let y = 0;
	const packedRows = groups.reduce((n, g) => n + g.rows.length, 0);
	const packedHeight = Math.max(7, Math.min(19, Math.floor(560 / Math.max(packedRows, 1))));
	for (const group of groups) {
		const waiting = view.each || !group.calls ? [] : depths(group.calls, waits);
		rows.push({head: group, y, height: headHeight});
		y += headHeight;
		if (waiting.length) {
			rows.push({waits: waiting, most: waiting.reduce((n, w) => Math.max(n, w[1]), 0), y, height: 30});
			y += 32;
		}
		for (const list of group.rows) {
			const each = view.each && list[0].type === 'call', height = view.each || group.thin ? 22 : packedHeight;
			rows.push({list, each, y, height});
			y += height;
		}
		y += 4;
	}
	return {rows, height: y};
}

// placed gives all rows their places. Paper has no room for many rows, and cannot be scrolled.
function placed() {
	const all = layout(groupsOf(data, items, view.each, view.by));
	if (!onPaper() || !view.each || all.height <= paperHeight) return all;
	view.each = false;
	const packed = layout(groupsOf(data, items, false, view.by));
	view.unpack = true;
	return packed;
}

const seen = (frame, y, height) => y + height > frame.y && y < frame.y + frame.height;

// draw draws all of it anew.
function draw() {
	if (view.unpack && !onPaper()) { view.each = true; view.unpack = false; }
	const wide = onPaper() ? paperWidth : element.clientWidth, narrow = wide < 640;
	const {rows, height} = placed();
	const shown = Math.max(Math.min(height, onPaper() ? paperHeight : mostHeight), 30), left = narrow ? 104 : wide < 1100 ? 200 : 250, right = narrow ? 40 : 62, scrolls = height > shown;
	const tokens = data.uses.length > 0, top = 34, tokenTop = top + shown + 34, onceTop = tokens ? tokenTop + 96 + 36 : top + shown + 34, total = onceTop + 44 + (onPaper() ? 12 : 58);
	legend(items);
	const grids = [{top, height: shown}, {top: onceTop, height: 44}, ...(tokens ? [{top: tokenTop, height: 96}] : [])];
	const axes = grids.map((_, i) => i);
	chart.resize({width: wide, height: total});
	chart.setOption({
		animation: false, useUTC: true, backgroundColor: colour('ground'), textStyle: {fontFamily: font, color: colour('ink')}, tooltip: tooltip(),
		grid: grids.map((g) => ({left, right, ...g})),
		xAxis: axes.map((i) => ({type: 'time', gridIndex: i, min: 0, max: whole, position: i ? 'bottom' : 'top', axisLine: {show: true, onZero: false, lineStyle: {color: colour('line')}}, axisTick: {show: i === 0, lineStyle: {color: colour('line')}},
			axisLabel: {show: i === 0, formatter: axisTime, color: colour('quiet'), hideOverlap: true, fontSize: 11}, splitLine: {show: true, lineStyle: {color: colour('line'), opacity: .55}}, axisPointer: {show: false}})),
		yAxis: [{type: 'value', gridIndex: 0, min: 0, max: Math.max(height, 30), inverse: true, show: false}, ...ownAxes(tokens)],
		dataZoom: zooms(axes, total, left, right, scrolls, shown, height),
		series: [...rowSeries(rows, left, narrow), ...onceSeries(), ...(tokens ? tokenSeries() : [])],
	}, {notMerge: true});
	document.documentElement.dataset.drawn = rows.reduce((n, r) => n + (r.list ? r.list.filter((i) => i.type === 'call').length : 0), 0);
}

const valueAxis = (gridIndex, more) => ({type: 'value', gridIndex, min: 0, splitNumber: 2, minInterval: 1, axisLabel: {color: colour('quiet'), fontSize: 11, formatter: short}, splitLine: {show: false},
	nameTextStyle: {color: colour('quiet'), fontSize: 11, align: 'left'}, ...more});

const ownAxes = (tokens) => [valueAxis(1, {name: 'calls at once', nameGap: 8, position: 'left'}), ...(tokens ? [valueAxis(2, {name: 'tokens of a step', nameGap: 8}),
	valueAxis(2, {name: 'in all', nameGap: 8, position: 'right', nameTextStyle: {color: colour('sum'), fontSize: 11, align: 'right'}, axisLabel: {color: colour('sum'), fontSize: 11, formatter: short}})] : [])];

function zooms(axes, total, left, right, scrolls, shown, height) {
	const at = view.window ? {startValue: view.window[0], endValue: view.window[1]} : {start: 0, end: 100};
	const x = {xAxisIndex: axes, filterMode: 'none', minValueSpan: Math.min(whole, Math.max(.05, whole / 50000)), ...at};
	const list = [{type: 'slider', ...x, top: total - 46, left, right, height: 26, brushSelect: false, labelFormatter: axisTime, borderColor: colour('line'), textStyle: {color: colour('quiet'), fontSize: 11},
		fillerColor: 'rgba(110,140,190,.18)', dataBackground: {lineStyle: {color: colour('runs')}, areaStyle: {color: colour('runs'), opacity: .3}}, selectedDataBackground: {lineStyle: {color: colour('runs')}, areaStyle: {color: colour('runs'), opacity: .3}}},
		{type: 'inside', ...x, zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true, moveOnMouseWheel: 'shift', preventDefaultMouseMove: false}];
	if (onPaper()) return list.slice(1);
	if (scrolls) {
		const y = {yAxisIndex: 0, filterMode: 'none', startValue: view.top || 0, endValue: (view.top || 0) + shown, zoomLock: true};
		list.push({type: 'slider', ...y, id: 'rows', right: 4, top: 34, width: 14, height: shown, showDetail: false, showDataShadow: false, brushSelect: false, borderColor: colour('line'), fillerColor: 'rgba(110,140,190,.3)'},
			{type: 'inside', ...y, zoomOnMouseWheel: false, moveOnMouseMove: false, moveOnMouseWheel: true});
	}
	return list;
}

// rowSeries draw headlines and row labels, what happened to whole runs, and the items.
function rowSeries(rows, left, narrow) {
	// What failed is drawn last, so that nothing lies over it where thousands of calls share the pixels.
	const entries = rows.flatMap((row) => (row.list || []).map((item) => ({item, row}))).toSorted((a, b) => !!a.item.of.error - !!b.item.of.error);
	const base = {type: 'custom', progressive: 0, xAxisIndex: 0, yAxisIndex: 0, encode: {x: [0, 1], y: 2}};
	return [
		{...base, name: 'rows', clip: false, silent: true, z: 1, data: rows.map((r) => [0, 0, r.y]), renderItem: (params, api) => rowFrame(rows[params.dataIndex], params.coordSys, api, left, narrow)},
		{...base, name: 'whole', silent: true, z: 1, clip: true, data: data.marks.map((m) => [m.from, m.to, 0]), renderItem: (params, api) => wholeHeight(data.marks[params.dataIndex], params.coordSys, api)},
		{...base, name: 'items', z: 3, clip: true, data: entries.map(({item, row}) => [item.start, item.end, row.y]), tooltip: {formatter: (p) => hint(entries[p.dataIndex].item)},
			renderItem: (params, api) => {
				const {item, row} = entries[params.dataIndex], frame = params.coordSys, y = api.coord([0, row.y])[1];
				if (!seen(frame, y, row.height)) return null;
				const toX = (time) => api.coord([time, 0])[0], height = row.each ? 14 : Math.max(row.height - 4, row.height * .7), at = y + (row.height - height) / 2;
				const only = !view.each && item.type === 'call', dim = view.found && item.type === 'call' && !view.found.has(item.index);
				if (toX(item.end) < frame.x - 8 || toX(only ? item.from : item.start) > frame.x + frame.width + 8) return null;
				const children = bar(item, at, height, frame, toX, {only, dim, chosen: view.chosen === item});
				if (row.each) children.push(...behind(item, note(item), at, height, frame, toX));
				else if (item.type === 'mark' && item.start === item.end && row.list.length < 12) children.push(...behind(item, item.label, at, height, frame, toX));
				else children.push(...inside(item, item.type === 'call' ? item.of.tool : item.label, at, height, frame, toX));
				return {type: 'group', children};
			}},
	];
}

// rowFrame draws a headline, the label of a call's row, or how many calls of a lane wait.
function rowFrame(row, frame, api, left, narrow) {
	const y = api.coord([0, row.y])[1], right = frame.x + frame.width;
	if (y < frame.y - 1 || y + row.height > frame.y + frame.height + 1) return null;
	const label = (text, style) => written(10, y + row.height / 2, text, {width: left - 20, overflow: 'truncate', ellipsis: '…', ...style});
	if (row.head) {
		const count = row.head.count && !narrow ? '  ' + thousands(row.head.count) : '';
		return {type: 'group', children: [{type: 'rect', shape: {x: 0, y: y + 2, width: right, height: row.height - 4}, style: {fill: colour('band')}},
			label(row.head.title + count, {font: '600 12px ' + font, fill: colour('ink')})]};
	}
	if (row.waits) {
		const points = [], toX = (t) => Math.min(Math.max(api.coord([t, 0])[0], frame.x), right), toY = (n) => y + row.height - n / row.most * (row.height - 3);
		points.push([toX(row.waits[0][0]), toY(0)]);
		let last = 0;
		for (const [time, n] of row.waits) { points.push([toX(time), toY(last)], [toX(time), toY(n)]); last = n; }
		return {type: 'group', children: [{type: 'polygon', shape: {points}, style: {fill: colour('queue')}}, label('wait: up to ' + thousands(row.most), {fill: colour('quiet'), font: '11.5px ' + font, align: 'left'})]};
	}
	if (!row.each) return null;
	return {type: 'group', children: [label(row.list[0].label, {fill: colour('ink')}), {type: 'line', shape: {x1: frame.x, x2: right, y1: y + row.height, y2: y + row.height}, style: {stroke: colour('line'), opacity: .35}}]};
}

// wholeHeight draws over all rows what happened to a run: a pause, and where it went on in a new execution.
function wholeHeight(mark, frame, api) {
	const x0 = api.coord([mark.from, 0])[0], x1 = api.coord([mark.to, 0])[0], y1 = frame.y, y2 = frame.y + frame.height;
	if (mark.kind === 'pause') return {type: 'rect', shape: {x: x0, y: y1, width: x1 - x0, height: y2 - y1}, style: {fill: colour('cancelled'), opacity: .14}};
	if (mark.kind === 'part') return {type: 'line', shape: {x1: x0, x2: x0, y1, y2}, style: {stroke: colour('quiet'), lineDash: [4, 3], lineWidth: 1}};
	return null;
}

function onceSeries() {
	const line = (name, tint, points) => ({name, type: 'line', xAxisIndex: 1, yAxisIndex: 1, showSymbol: false, silent: true, lineStyle: {width: 1, color: colour(tint)}, areaStyle: {color: colour(tint), opacity: .45}, data: points});
	// The slider draws the first line in even steps, whatever its times are.
	const ran = depths(callItems, works);
	return [{name: 'overview', type: 'line', xAxisIndex: 1, yAxisIndex: 1, silent: true, showSymbol: false, lineStyle: {opacity: 0}, data: even(ran, whole, 400)},
		line('run', 'runs', corners(ran, data.to)), line('wait', 'held', corners(depths(callItems, waits), data.to))];
}

function tokenSeries() {
	let sum = 0;
	const all = data.uses.map((u) => [u.at, sum += u.in + u.out]);
	return [
		{name: 'tokens', type: 'custom', progressive: 0, xAxisIndex: 2, yAxisIndex: 2, clip: true, encode: {x: 0, y: 1}, data: data.uses.map((u) => [u.at, u.in + u.out]),
			tooltip: {formatter: ({dataIndex}) => { const u = data.uses[dataIndex]; return tip(u.label, [thousands(u.in) + ' tokens in, ' + thousands(u.out) + ' out', u.cost ? '$' + u.cost.toFixed(4) : '', thousands(all[dataIndex][1]) + ' in all by then']); }},
			renderItem: (params, api) => {
				const u = data.uses[params.dataIndex], wide = Math.max(2, Math.min(10, params.coordSys.width / data.uses.length * .6)), [x, y0] = api.coord([u.at, 0]);
				const y1 = api.coord([0, u.in])[1], y2 = api.coord([0, u.in + u.out])[1];
				return {type: 'group', children: [rect(x - wide / 2, y1, wide, y0 - y1, colour('in')), rect(x - wide / 2, y2, wide, y1 - y2, colour('out'))]};
			}},
		{name: 'in all', type: 'line', step: 'end', xAxisIndex: 2, yAxisIndex: 3, showSymbol: false, silent: true, lineStyle: {color: colour('sum'), width: 1.5}, data: [[0, 0], ...all, [data.to, sum]]},
	];
}

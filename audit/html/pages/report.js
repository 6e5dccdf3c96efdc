'use strict';
// The charts of a report: bars that lie below each other, or stand in the order of time.

// mostBars is how many names a chart shows; the table has all.
const mostBars = 24;

const units = {count: short, ms: lasting, usd: (n) => '$' + +n.toPrecision(3), percent: (n) => short(n) + ' %'};
const exact = {...units, count: thousands};

const plots = [...document.querySelectorAll('.plot')].map((element) => ({element, of: pageData[element.dataset.chart], chart: echarts.init(element, null, {renderer: 'svg', width: 500, height: 200})}));

function options(of, wide) {
	const names = of.names.slice(0, of.upright ? undefined : mostBars), unit = units[of.unit], used = of.series.filter((s) => s.values.some((v) => v !== 0));
	const text = {color: colour('quiet'), fontSize: 11};
	const left = wide < 420 ? 110 : 170;
	// Beside the longest bar is room for the longest text, at some 6 pixels for each character.
	const beside = of.behind ? Math.min(Math.max(92, 14 + 6 * Math.max(...of.behind.map((t) => t.length))), wide / 3) : 64;
	const category = {type: 'category', data: names, inverse: !of.upright, axisTick: {show: false}, axisLine: {lineStyle: {color: colour('line')}},
		axisLabel: of.upright ? {...text, hideOverlap: true} : {color: colour('ink'), fontSize: 12, width: left - 14, overflow: 'truncate', interval: 0}};
	const value = {type: 'value', minInterval: of.unit === 'count' ? 1 : 0, splitNumber: 4, axisLabel: {...text, formatter: unit, hideOverlap: true}, splitLine: {lineStyle: {color: colour('line'), opacity: .6}}};
	const bars = used.map((s, n) => ({name: s.name, type: 'bar', stack: of.apart ? undefined : 'all', barMaxWidth: of.apart ? 11 : 18, barGap: '15%', itemStyle: {color: colour(s.tone), borderRadius: of.apart ? 2 : 0}, data: s.values.slice(0, names.length), emphasis: {disabled: true},
		label: of.apart && !of.upright ? {show: true, position: 'right', color: colour('quiet'), fontSize: 10.5, formatter: ({value, dataIndex}) => [value ? unit(value) : '', n === used.length - 1 ? of.behind?.[dataIndex] : ''].filter(Boolean).join(' · ')} : {show: false}}));
	const behind = of.behind && !of.apart && {name: '', type: 'bar', stack: 'all', silent: true, data: names.map(() => 0), tooltip: {show: false}, label: {show: true, position: 'right', color: colour('quiet'), fontSize: 11, formatter: ({dataIndex}) => of.behind[dataIndex]}};
	return {
		animation: false, backgroundColor: colour('ground'), textStyle: {fontFamily: font, color: colour('ink')},
		grid: {left: of.upright ? 52 : left, right: of.upright ? 16 : beside, top: 10, bottom: used.length > 1 ? 52 : 28},
		legend: {show: used.length > 1, bottom: 0, itemWidth: 14, itemHeight: 9, textStyle: {color: colour('quiet'), fontSize: 12}, data: used.map((s) => s.name)},
		tooltip: {...tooltip(), trigger: 'axis', axisPointer: {type: 'shadow', shadowStyle: {opacity: .5}}, formatter: (list) => {
			const n = list[0].dataIndex;
			return tip(of.names[n], [...used.map((s) => s.name + ': ' + exact[of.unit](s.values[n])), of.behind?.[n]]);
		}},
		xAxis: of.upright ? category : value, yAxis: of.upright ? value : category,
		series: behind ? [...bars, behind] : bars,
	};
}

onLook(() => {
	for (const {element, of, chart} of plots) {
		const shown = Math.min(of.names.length, mostBars), wide = onPaper() ? 310 : element.clientWidth;
		chart.resize({width: wide, height: of.upright ? 230 : shown * (of.apart ? 34 : 26) + 66});
		chart.setOption(options(of, wide), {notMerge: true});
		if (!of.upright && of.names.length > mostBars && !element.nextElementSibling.matches('.more')) {
			element.after(make('small', 'The first ' + mostBars + ' of ' + of.names.length + '; the table has all.', 'more empty'));
		}
	}
});
document.documentElement.dataset.drawn = plots.length;
document.documentElement.dataset.ready = 'report';

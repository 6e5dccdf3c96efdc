'use strict';
// What all pages use. Texts of runs reach the page by textContent and the canvas alone, never as HTML.

// A fault of the page is told on it: nobody looks at a console.
addEventListener('error', (event) => {
	document.documentElement.dataset.fault = event.message;
	const told = make('p', 'A script of this page failed: ' + event.message + '. The tables are complete.');
	told.className = 'failure';
	document.querySelector('main').prepend(told);
});

// make returns an element with a text.
function make(name, text, className) {
	const element = document.createElement(name);
	if (text !== undefined) element.textContent = text;
	if (className) element.className = className;
	return element;
}

const pageData = JSON.parse(document.getElementById('data').textContent);

// colour returns the colour that the style sheet gives a name, as it is now: light, dark or on paper.
let styles;
const colour = (name) => styles.getPropertyValue('--' + name).trim();
function readColours() {
	styles = getComputedStyle(document.documentElement);
}
readColours();

const font = 'system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif';

// thousands writes a number with a comma after every three digits.
const thousands = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

// short writes a large number in a few characters: 950, 12k, 3.4M.
function short(n) {
	for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]]) {
		if (Math.abs(n) >= size) return +(n / size).toPrecision(3) + unit;
	}
	return String(+n.toPrecision(3));
}

const two = (n) => String(Math.floor(n)).padStart(2, '0');

// lasting writes a duration in milliseconds with about three digits.
function lasting(ms) {
	const seconds = ms / 1000;
	if (ms <= 0) return '0 s';
	if (ms < 1) return Math.round(ms * 1000) + ' µs';
	if (ms < 1000) return +ms.toPrecision(3) + ' ms';
	if (seconds < 60) return +seconds.toPrecision(3) + ' s';
	if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + two(seconds % 60) + ' s';
	if (seconds < 48 * 3600) return Math.floor(seconds / 3600) + ' h ' + two(seconds % 3600 / 60) + ' min';
	return Math.floor(seconds / 86400) + ' d ' + Math.floor(seconds % 86400 / 3600) + ' h';
}

// tip builds what stands beside the pointer: a headline and lines.
function tip(headline, lines) {
	const box = make('div', undefined, 'tip');
	box.append(make('b', headline));
	for (const line of lines) {
		if (line) box.append(make('span', line));
	}
	return box;
}

const tooltip = () => ({backgroundColor: colour('card'), borderColor: colour('line'), textStyle: {color: colour('ink')}, confine: true,
	transitionDuration: 0, extraCssText: 'white-space: normal'});

// onLook calls draw when the page's look changes: light or dark, its width, or that it is printed, on paper and thus light.
function onLook(draw) {
	const again = () => { readColours(); draw(); };
	const paper = (on) => { document.documentElement.classList.toggle('paper', on); again(); };
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
	addEventListener('beforeprint', () => paper(true));
	addEventListener('afterprint', () => paper(false));
	let width = innerWidth;
	addEventListener('resize', () => {
		if (innerWidth !== width) { width = innerWidth; again(); }
	});
	again();
}

// paperWidth is the width of a chart on paper, in pixels: A4.
const onPaper = () => document.documentElement.classList.contains('paper');
const paperWidth = 700;

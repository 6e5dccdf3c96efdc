'use strict';
// Filters the chart and the list, and opens the entry of a row of the chart. The page works without it.
const list = [...document.querySelectorAll('#list > details')], rows = [...document.querySelectorAll('.chart g')];
const filter = document.getElementById('filter');
filter.hidden = false;
filter.addEventListener('input', () => {
	const words = filter.value.toLowerCase().split(/\s+/);
	for (const entry of list) {
		const text = entry.textContent.toLowerCase();
		entry.hidden = !words.every((word) => text.includes(word));
	}
	for (const row of rows) row.classList.toggle('dim', list[row.dataset.row].hidden);
});
for (const row of rows) {
	row.addEventListener('click', () => {
		list[row.dataset.row].open = true;
		location.hash = 'row-' + row.dataset.row;
	});
}

'use strict';
// Keeps a page up to date, and offers its actions on the keyboard. Pages work without it.

const byId = (id) => document.getElementById(id);
const entries = () => [...document.querySelectorAll('[data-entry]')];
let chosen = null;

// dirty reports whether somebody works in an element: what was typed or focused must not be lost.
function dirty(element) {
	if (element.contains(document.activeElement)) return true;
	return [...element.querySelectorAll('input:not([type=hidden]), textarea, select')].some((field) => field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.tagName === 'SELECT' ? [...field.options].some((o) => o.selected !== o.defaultSelected) : field.value !== field.defaultValue);
}

// gone marks an entry that no longer waits and that somebody works in.
function gone(element, text) {
	if (element.querySelector('.gone')) return;
	const note = document.createElement('p');
	note.className = 'away gone';
	note.setAttribute('role', 'alert');
	note.textContent = text;
	element.prepend(note);
	for (const button of element.querySelectorAll('button')) button.disabled = true;
}

// merge makes the children of an element those of another, by their ids, and keeps the ones that somebody works in.
function merge(now, next) {
	const wanted = new Map([...next.children].filter((c) => c.id).map((c) => [c.id, c]));
	for (const child of [...now.children]) {
		if (wanted.has(child.id)) continue;
		if (child.matches('[data-entry]') && dirty(child)) gone(child, 'This no longer waits: somebody else has decided, or the call has ended.');
		else child.remove();
	}
	let before = null;
	for (const child of [...next.children].reverse()) {
		const old = byId(child.id);
		let placed = old;
		if (!old) placed = document.importNode(child, true);
		else if (old.innerHTML !== child.innerHTML && !dirty(old)) {
			placed = document.importNode(child, true);
			keepOpen(old, placed);
			placed.classList.toggle('chosen', old.classList.contains('chosen'));
			if (chosen === old) chosen = placed;
			old.replaceWith(placed);
		}
		if (!old || placed.nextElementSibling !== before && !placed.contains(document.activeElement)) now.insertBefore(placed, before);
		before = placed;
	}
}

// keepOpen opens what was open in an element that is replaced.
function keepOpen(old, next) {
	const from = [...old.querySelectorAll('details')], to = [...next.querySelectorAll('details')];
	if (from.length === to.length) to.forEach((d, i) => { d.open = from[i].open; });
}

const soon = 2000, seldom = 3000; // milliseconds between two readings, while the page changes and while it does not
let last = '', pause = soon;

// refresh reads the page again and takes over what has changed.
async function refresh() {
	const began = Date.now();
	try {
		const address = new URL(location.href);
		for (const name of ['done', 'seal']) address.searchParams.delete(name);
		const answer = await fetch(address, {headers: {Accept: 'text/html'}, redirect: 'error'});
		const text = await answer.text();
		const next = new DOMParser().parseFromString(text, 'text/html');
		const state = [...next.querySelectorAll('[data-live]')].map((e) => e.innerHTML).join();
		pause = state === last ? Math.min(1.2 * pause, seldom) : soon;
		last = state;
		take(next, answer.ok);
		byId('live').hidden = true;
	} catch (e) {
		byId('live').hidden = false;
	}
	pause = Math.max(pause, 4 * (Date.now() - began)); // the server works for this page a fifth of the time at most
}

// follow reads the page again and again while somebody can see it.
async function follow() {
	if (!document.hidden) await refresh();
	setTimeout(follow, pause);
}

// take takes over the live parts of a page that was read again.
function take(next, ok) {
	const badge = next.querySelector('.top nav'), mine = document.querySelector('.top nav');
	if (badge && mine && badge.innerHTML !== mine.innerHTML && !mine.contains(document.activeElement)) mine.replaceChildren(...badge.cloneNode(true).childNodes);
	if (ok) {
		for (const live of document.querySelectorAll('[data-live]')) {
			const other = next.getElementById(live.id);
			if (other) merge(live, other);
		}
		const open = document.querySelector('[data-gone]');
		if (open && !next.getElementById(open.id)) {
			gone(open, open.dataset.gone);
			for (const button of document.querySelectorAll('main button[name=decision]')) button.disabled = true;
		}
	}
	const away = document.querySelector('main > .away'), isAway = next.querySelector('main > .away');
	if (away && !isAway) away.remove();
	if (!away && isAway) byId('status').after(document.importNode(isAway, true));
}

// choose marks the entry that keys act on.
function choose(by) {
	const all = entries();
	if (!all.length) return;
	const at = all.indexOf(chosen);
	chosen?.classList.remove('chosen');
	chosen = all[Math.min(Math.max(at < 0 ? 0 : at + by, 0), all.length - 1)];
	chosen.classList.add('chosen');
	chosen.scrollIntoView({block: 'nearest'});
	chosen.querySelector('[data-open]')?.focus();
}

const focusIn = (selector) => ((chosen && document.contains(chosen) ? chosen : document).querySelector(selector))?.focus();
const keys = {
	j: () => choose(1), k: () => choose(-1),
	a: () => focusIn('[data-approve]'), d: () => focusIn('[data-reason]'),
	e: () => (chosen || document).querySelector('[data-edit]')?.click(),
	i: () => { location.href = '/console/inbox'; }, r: () => { location.href = '/console/runs'; },
	'/': () => document.querySelector('[data-filter]')?.focus(), '?': () => byId('keys').showModal(),
};
addEventListener('keydown', (event) => {
	const typing = event.target.closest?.('input, textarea, select, dialog');
	if (typing || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
	event.preventDefault();
	keys[event.key]();
});

const help = byId('help');
help.hidden = false;
help.addEventListener('click', () => byId('keys').showModal());
if ('refresh' in document.body.dataset) setTimeout(follow, pause);
// A page that could not be read tries again.
else if ('away' in document.body.dataset) setTimeout(() => location.reload(), 5000);

// Opens the pages of the console in Chromium and checks them.
//
//   node console.mjs CONSOLE RUN [FOLDER]
//
// CONSOLE is the address of the console of a gateway on which three calls of the tool refund and a question of the tool ask_person wait;
// RUN is a run that has ended. Every page is checked in light and dark, 360 and 1,440 pixels wide: axe-core finds no violation, nothing is
// wider than the window, and the browser reports no error, such as a violation of the content policy. Then people decide: on a phone with
// an edit, with the keyboard alone, and with a second page open that sees it. FOLDER gets screenshots.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [base, run, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const faults = [];
process.on('exit', () => faults.forEach((fault) => console.error(fault)));

// open opens a page of the console and collects what the browser reports.
async function open(path, width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  page.on('console', (m) => { if (m.type() === 'error' && !m.text().includes('status of 4')) faults.push(`${path}: ${m.text()}`); });
  page.on('pageerror', (e) => faults.push(`${path}: ${e}`));
  const answer = await page.goto(base + path, { waitUntil: 'load' });
  if (!answer.ok() && !path.endsWith('missing')) faults.push(`${path}: status ${answer.status()}`);
  return page;
}

// check checks one page as it is.
async function check(page, name) {
  await page.evaluate(() => new Promise(requestAnimationFrame));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) faults.push(`${name}: ${wide} pixels wider than the window`);
  const world = await page.context().newCDPSession(page);
  await world.send('Runtime.evaluate', { expression: axe, allowUnsafeEvalBlockedByCSP: true });
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  for (const v of found.violations) {
    faults.push(`${name}: ${v.id}: ${v.help}\n    ${v.nodes.slice(0, 3).map((n) => n.target + ' ' + (n.any[0]?.message || '')).join('\n    ')}`);
  }
}

const first = await open('inbox', 1440, 'light');
const href = (text) => first.getByRole('link', { name: text, exact: true }).first().getAttribute('href');
const call = (await href('refund')).replace('/console/', ''), question = (await href('ask_person asks')).replace('/console/', '');
const pages = { inbox: 'inbox', call, question, runs: 'runs', run: `run?id=${run}`, report: 'report', lanes: 'lanes', tools: 'tools', missing: 'run?id=missing' };
for (const [name, path] of Object.entries(pages)) {
  for (const width of [360, 1440]) {
    for (const scheme of ['light', 'dark']) {
      const page = await open(path, width, scheme);
      await check(page, `${name} ${width} ${scheme}`);
      if (folder) await page.screenshot({ path: `${folder}/console-${name}-${width}-${scheme}.png` });
      await page.context().close();
    }
  }
}

const expect = (holds, text) => { if (!holds) faults.push(text); };
const count = (page) => page.locator('[data-entry]').count();

// On a phone, with an edit that breaks the schema first. Another page sees the decision.
const before = await count(first), phone = await open(call, 360, 'light');
await phone.getByRole('textbox', { name: 'amount' }).fill('9000');
await phone.getByRole('button', { name: 'Approve as changed' }).click();
expect(await phone.getByText('must be at most 500').isVisible(), 'the fault of an edit is not shown at its field');
await check(phone, 'call with a fault 360 light');
await phone.getByRole('textbox', { name: 'amount' }).fill('80');
await phone.getByRole('button', { name: 'Approve as changed' }).click();
await phone.getByText('is approved with changed arguments').waitFor({ timeout: 15000 });
await first.waitForFunction((n) => document.querySelectorAll('[data-entry]').length === n, before - 1, { timeout: 15000 });

// With the keyboard alone.
await first.keyboard.press('?');
expect(await first.getByRole('dialog').isVisible(), 'the key ? shows no list of keys');
await check(first, 'keys 1440 light');
await first.keyboard.press('Escape');
await first.keyboard.press('j');
await first.keyboard.press('a');
await first.keyboard.press('Enter');
await first.getByText('is approved.').waitFor({ timeout: 15000 });

// Somebody types a reason while another decides: the text stays, and the page says what happened.
const slow = await open('inbox', 1440, 'dark'), other = await open('inbox', 1440, 'dark');
await slow.getByPlaceholder('reason').first().fill('not today');
await other.getByRole('button', { name: /^Deny/ }).first().click();
await slow.getByText('This no longer waits').waitFor({ timeout: 15000 });
expect(await slow.getByPlaceholder('reason').first().inputValue() === 'not today', 'what was typed is lost');
await check(slow, 'inbox with a decided entry 1440 dark');

await browser.close();
if (faults.length) process.exit(1);
console.log('the pages of the console are in order');

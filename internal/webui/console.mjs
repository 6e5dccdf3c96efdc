// Uses the console of a gateway in Chromium as people do, and checks every page.
//
// Started by internal/test/e2e/console_browser_test.go, which makes the runs and the faults. The first line of standard input is the
// settings as JSON; later lines answer the steps that this script asks for. It fails if a page violates axe-core's rules, is wider than
// the window, runs a script of a tool's output, or shows a sensitive value, and if the browser reports an error, such as a violation
// of the content policy.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url); // finds packages by NODE_PATH
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const told = async () => JSON.parse((await lines.next()).value);
const settings = await told();
const patience = 60000;
const faults = [];
const expect = (holds, text) => { if (!holds) faults.push(text); };

// step has the test do something, and returns what it says about it.
async function step(name, data) {
  console.log(JSON.stringify({ step: name, data }));
  return told();
}

const browser = await chromium.launch({
  executablePath: settings.chromium,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});

// login returns what keeps a person logged in, after a login with an API key.
async function login(name) {
  const context = await browser.newContext(), page = await context.newPage();
  await page.goto(settings.console + 'runs');
  await page.getByLabel('API key').fill(settings.keys[name]);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Runs' }).waitFor({ timeout: patience });
  const state = await context.storageState();
  await context.close();
  return state;
}

// open opens a page as a person, or without a login, and collects what the browser reports.
async function open(storageState, path, { width = 1440, scheme = 'light', allow = false, javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, storageState, javaScriptEnabled });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.on('console', (m) => { if (m.type() === 'error' && !allow && !m.text().includes('status of 4')) faults.push(`${path}: ${m.text()}`); });
  page.on('pageerror', (e) => faults.push(`${path}: ${e}`));
  page.on('dialog', (d) => { faults.push(`${path}: a dialog opened`); d.dismiss(); });
  await page.goto(path.startsWith('http') ? path : settings.console + path, { waitUntil: 'load' });
  return page;
}

// check checks one page as it is.
async function check(page, name) {
  await page.evaluate(() => new Promise(requestAnimationFrame));
  const found = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth - document.documentElement.clientWidth, owned: window.owned, images: document.querySelectorAll('img, iframe, object').length, inline: document.querySelectorAll('style, [style], script:not([src])').length }));
  expect(found.wide <= 0, `${name}: ${found.wide} pixels wider than the window`);
  expect(!found.owned && !found.images && !found.inline, `${name}: a text became markup: ${JSON.stringify(found)}`);
  expect(!(await page.content()).includes('planted-'), `${name}: shows a sensitive value`);
  const world = await page.context().newCDPSession(page);
  await world.send('Runtime.evaluate', { expression: axe, allowUnsafeEvalBlockedByCSP: true });
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  for (const v of violations) faults.push(`${name}: ${v.id}: ${v.help}\n    ${v.nodes.slice(0, 3).map((n) => n.target + ' ' + (n.any[0]?.message || '')).join('\n    ')}`);
}

// distinct checks that each control of the inbox has a name of its own, as lists of screen readers and voice control need it.
async function distinct(page) {
  const names = await page.locator('.actions').locator('a, button, input:not([type=hidden])').evaluateAll((all) => all.map((e) => e.ariaLabel || e.textContent));
  expect(names.length > 3 && new Set(names).size === names.length, `controls of the inbox have the same name: ${names}`);
}

const entry = (page, text) => page.locator('[data-entry]').filter({ hasText: text });
const refund = (page, amount) => page.locator('[data-entry]').filter({ has: page.locator('dl.arguments dd').getByText(String(amount), { exact: true }) });
const gone = (page, text) => entry(page, text).waitFor({ state: 'detached' });
const shoot = async (page, name) => { if (settings.pictures) await page.screenshot({ path: `${settings.pictures}/${name}.png`, caret: 'initial' }); };

const scenarios = {
  // people checks every page, and has people decide in all ways.
  async people() {
    const [ada, grace, ben, olga] = [await login('ada'), await login('grace'), await login('ben'), await login('olga')];
    const desk = await open(grace, 'inbox');
    expect(await desk.getByText('Nothing waits for a person.').isVisible(), 'the empty inbox does not say so');
    await check(desk, 'empty inbox');
    const runs = await step('ask'); // calls, a question and a run of an agent
    await entry(desk, 'amount').nth(3).waitFor(); // they appear by themselves
    await entry(desk, 'ask_person asks').waitFor();
    await distinct(desk);

    const call = await refund(desk, 120).getByRole('link', { name: 'refund', exact: true }).getAttribute('href');
    const question = await entry(desk, 'ask_person asks').getByRole('link', { name: 'ask_person asks', exact: true }).getAttribute('href');
    const offer = await entry(desk, 'send_offer').getByRole('link', { name: 'send_offer', exact: true }).getAttribute('href');
    const base = new URL(settings.console).origin;
    const pages = { inbox: 'inbox', call: base + call, edit: base + call + '&edit=1', offer: base + offer + '&edit=1', question: base + question, runs: 'runs', 'no runs': 'runs?agent=nobody', 'wrong filter': 'runs?since=soon',
      run: `run?id=${runs.ended}`, 'open run': `run?id=${encodeURIComponent(runs.agent)}`, report: 'report', lanes: 'lanes', tools: 'tools', missing: 'run?id=missing', login: 'login' };
    for (const [name, path] of Object.entries(pages)) {
      for (const [width, scheme] of settings.short ? [[360, 'dark'], [1440, 'light']] : [[360, 'light'], [360, 'dark'], [1440, 'light'], [1440, 'dark']]) {
        const page = await open(name === 'login' ? undefined : grace, path, { width, scheme });
        await check(page, `${name} ${width} ${scheme}`);
        await page.context().close();
      }
    }
    const raw = await open(grace, `run/result?id=${runs.ended}&call=${runs.endedCall}`);
    expect((await raw.content()).includes('&lt;script&gt;'), 'the result as text is not a text');
    await raw.context().close();

    // The caller may not decide, a viewer cannot, and another person approves with an edit on a phone: first one that breaks the schema.
    const own = await open(olga, base + call), viewer = await open(ada, base + call), late = await open(ben, base + call, { javaScriptEnabled: false });
    await own.getByRole('button', { name: 'Approve', exact: true }).click();
    await own.getByText('another person has to decide').first().waitFor();
    expect(await viewer.getByRole('button', { name: 'Approve', exact: true }).count() === 0, 'a viewer has a button to approve');
    const phone = await open(grace, base + call, { width: 360 });
    await phone.getByRole('link', { name: 'Edit…' }).click();
    await phone.getByRole('textbox', { name: 'amount' }).fill('9000');
    await phone.getByRole('button', { name: 'Approve as changed' }).click();
    await phone.getByText('must be at most 500').waitFor();
    await check(phone, 'call with a fault');
    await phone.getByRole('textbox', { name: 'amount' }).fill('80');
    await phone.getByRole('button', { name: 'Approve as changed' }).click();
    await phone.getByText('is approved with changed arguments').waitFor();
    await refund(desk, 120).waitFor({ state: 'detached' });
    await viewer.getByText('This call no longer waits.').waitFor();
    await late.getByRole('button', { name: 'Approve', exact: true }).click(); // somebody was faster
    await late.getByText('approved with changed arguments by key:grace').first().waitFor();

    const edited = await open(grace, base + call, { width: 360 });
    await edited.locator('pre').getByText('"amount": 80').waitFor();
    await check(edited, 'edited call');

    // An object within is edited as JSON.
    const mail = await open(grace, base + offer + '&edit=1', { width: 360 });
    const message = (subject) => JSON.stringify({ to: ['dora@customer.example'], subject, by: ['mail', 'letter'] });
    await mail.getByRole('textbox', { name: 'message' }).fill(message('a subject that is too long'));
    await mail.getByRole('button', { name: 'Approve as changed' }).click();
    await mail.locator('[aria-invalid=true][name="f.message"]').waitFor();
    await check(mail, 'offer with a fault');
    await mail.getByRole('textbox', { name: 'message' }).fill(message('Our offer'));
    await mail.getByRole('button', { name: 'Approve as changed' }).click();
    await mail.getByText('is approved with changed arguments').waitFor();

    // With the keyboard alone.
    await desk.keyboard.press('?');
    await desk.getByRole('dialog').waitFor();
    await check(desk, 'keys');
    await desk.keyboard.press('Escape');
    await refund(desk, 101).waitFor();
    for (let i = 0; i < 12 && !(await desk.evaluate(() => document.querySelector('.chosen')?.textContent.includes('amount101'))); i++) await desk.keyboard.press('j');
    await desk.keyboard.press('a');
    await desk.keyboard.press('Enter');
    await desk.getByText('is approved.').waitFor();

    // Somebody types a reason while another decides: the text stays, and the page says what happened.
    const slow = await open(grace, 'inbox', { scheme: 'dark' }), other = await open(ben, 'inbox');
    await refund(slow, 102).getByPlaceholder('reason').fill('not today');
    await refund(other, 102).getByRole('button', { name: /^Deny/ }).click();
    await slow.getByText('This no longer waits').waitFor();
    expect(await refund(slow, 102).getByPlaceholder('reason').inputValue() === 'not today', 'what was typed is lost');
    await check(slow, 'inbox with a decided entry');

    // A call that ends while its page is open.
    const href = await refund(other, 103).getByRole('link', { name: 'refund', exact: true }).getAttribute('href');
    const ends = await open(ben, base + href), plain = await open(ben, base + href, { javaScriptEnabled: false });
    await step('cancel');
    await ends.getByText('This call no longer waits.').waitFor();
    await plain.getByRole('button', { name: 'Deny' }).click();
    await plain.getByText(/ended|does not wait/).first().waitFor();

    // The agent asks for more than its limit; an answer has a fault first.
    const limit = entry(desk, 'more than the limit of calls');
    await limit.getByRole('link', { name: `Grant more… the limit of calls, call limit of run ${runs.agent}` }).waitFor();
    await distinct(desk);
    await limit.getByRole('link', { name: 'Grant more…' }).click();
    await desk.getByRole('textbox', { name: 'calls' }).fill('soon');
    await desk.getByRole('button', { name: 'Grant' }).click();
    await desk.getByText('enter a number').waitFor();
    await check(desk, 'grant with a fault');
    await desk.getByRole('textbox', { name: 'calls' }).fill('5');
    await desk.getByRole('button', { name: 'Grant' }).click();
    await desk.getByText('may use more').waitFor();
    const limited = await open(grace, `run?id=${encodeURIComponent(runs.agent)}`);
    await limited.locator('.talk').getByText('approved with 5 more calls by key:grace').first().waitFor();
    const tools = await open(grace, 'tools');
    for (let i = 0; i < 20 && !(await tools.getByText('same on 1 worker').count()); i++) await tools.reload(); // the workers are asked
    await check(tools, 'tools on workers');
    await tools.getByText('same on 1 worker').first().waitFor();
    const asked = await open(grace, base + question, { width: 360 });
    await asked.getByRole('textbox', { name: 'sum' }).fill('much');
    await asked.getByRole('button', { name: 'Answer' }).click();
    await asked.locator('[aria-invalid=true]').first().waitFor();
    await check(asked, 'question with a fault');
    await asked.getByRole('textbox', { name: 'sum' }).fill('12');
    await asked.getByRole('button', { name: 'Answer' }).click();
    await asked.getByText('is answered').waitFor();
    await step('record');
  },

  // links decides by the links of a notice, on a phone and without a login.
  async links() {
    const { approve, deny } = await step('notice');
    const page = await open(undefined, approve, { width: 360 });
    await check(page, 'link');
    await page.getByLabel('Reason').fill('read it').catch(() => {});
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('The call is approved, and runs.').waitFor();
    for (const [link, text] of [[approve, 'A link can be used once'], [deny, 'A link can be used once'], [approve.replace('/link/', '/link/A'), 'This link is not valid']]) {
      const again = await open(undefined, link, { width: 360, scheme: 'dark' });
      await again.getByText(text).waitFor();
      await check(again, text);
    }
    await step('record');
  },

  // sizes measures how long pages take, in ms: until the browser has painted something, and until the text at the end of the list shows.
  async sizes() {
    const grace = await login('grace'), measured = {};
    for (const [name, { path, text }] of Object.entries(settings.pages)) {
      const page = await open(grace, 'tools'), rounds = [];
      for (let i = 0; i < settings.rounds; i++) {
        await page.goto('about:blank');
        const began = Date.now();
        await page.goto(path.startsWith('http') ? path : settings.console + path, { waitUntil: 'commit' });
        const painted = await page.evaluate(() => new Promise((done) => new PerformanceObserver((l) => { const e = l.getEntriesByName('first-contentful-paint')[0]; if (e) done(e.startTime); }).observe({ type: 'paint', buffered: true }))).catch(() => Date.now() - began); // the page has gone on
        await page.getByText(text).first().waitFor();
        const shown = Date.now() - began;
        rounds.push({ painted: Math.round(painted), shown });
      }
      const median = (key) => rounds.map((r) => r[key]).sort((a, b) => a - b)[rounds.length >> 1];
      measured[name] = { first: rounds[0], painted: median('painted'), shown: median('shown') };
      await page.context().close();
    }
    await step('measured', measured);
  },

  // pictures draws the pages for the documentation.
  async pictures() {
    const ada = await login('grace'), desk = await open(ada, 'inbox', { width: 1240 });
    await entry(desk, 'accountant asks').waitFor();
    await shoot(desk, 'console-inbox');
    await desk.goto(settings.console + 'run?id=done');
    await desk.getByRole('heading', { name: 'Over time' }).waitFor();
    await shoot(desk, 'console-run');
    const phone = await open(ada, 'inbox', { width: 400, scheme: 'dark' });
    await phone.getByRole('link', { name: 'Edit…' }).first().click();
    await phone.getByRole('textbox', { name: 'amount' }).fill('80');
    await shoot(phone, 'console-edit');
  },

  // faults has pages open while the gateway and Temporal are away.
  async faults() {
    const grace = await login('grace');
    const inbox = await open(grace, 'inbox', { allow: true }), runs = await open(grace, 'run?id=waits', { allow: true });
    await refund(inbox, 101).waitFor();
    await step('kill gateway');
    await inbox.getByText('Disconnected. Trying again…').waitFor();
    await check(inbox, 'disconnected');
    await step('start gateway');
    await inbox.locator('#live').waitFor({ state: 'hidden' });
    await runs.locator('#live').waitFor({ state: 'hidden' });
    await step('call'); // with the amount 102
    await refund(inbox, 102).waitFor();

    await step('kill server');
    await inbox.getByText('Temporal cannot be reached since').waitFor();
    await check(inbox, 'without Temporal');
    const fresh = await open(grace, 'runs', { allow: true });
    await fresh.getByText('Temporal cannot be reached').first().waitFor();
    await check(fresh, 'runs without Temporal');
    await step('start server');
    await inbox.getByText('Temporal cannot be reached since').waitFor({ state: 'detached' });
    await fresh.getByRole('columnheader', { name: 'caller' }).waitFor();
    await refund(inbox, 102).getByRole('button', { name: /^Approve/ }).click();
    await inbox.getByText('is approved.').waitFor();

    await step('freeze server'); // a gateway that has read nothing yet
    const loading = await open(grace, settings.second + 'inbox', { allow: true });
    await loading.getByText('Reading the runs…').waitFor();
    await check(loading, 'loading');
    await step('thaw server');
    await refund(loading, 101).waitFor();
  },
};

try {
  await scenarios[settings.scenario]();
} catch (e) {
  for (const context of browser.contexts()) for (const page of context.pages()) faults.push(`open: ${page.url()}\n${(await page.locator('body').innerText({ timeout: 2000 }).catch(() => '')).slice(0, 700)}`);
  faults.push(String(e.stack));
}
await browser.close();
faults.forEach((fault) => console.error(fault));
process.exit(faults.length ? 1 : 0);

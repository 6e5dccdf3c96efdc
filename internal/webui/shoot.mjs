// Opens Temporal's Web UI on the runs of scene/ in Chromium and draws it.
//
//   node shoot.mjs UI CODEC FOLDER
//
// UI and CODEC are the addresses of the Web UI and of the codec server; the payloads are encrypted. It fails where the page does not show
// what it has to, with the codec server and without it.
import { createRequire } from 'node:module';

const { chromium } = createRequire(import.meta.url)('playwright-core'); // found by NODE_PATH

const [ui, codec, folder] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const columns = ['Status', 'Workflow ID', 'SwitchyardAgent', 'SwitchyardCaller', 'SwitchyardKind'];
const runs = '?query=' + encodeURIComponent('SwitchyardKind IS NOT NULL'); // hides the workflows of lanes

// page opens a path of the default namespace, with settings in the page's store, and waits for a text.
async function page(path, settings, text, height = 900) {
  const context = await browser.newContext({ viewport: { width: 1280, height } });
  await context.addInitScript((s) => Object.entries(s).forEach(([k, v]) => localStorage.setItem(k, JSON.stringify(v))), settings);
  const page = await context.newPage();
  await page.goto(`${ui}/namespaces/default/workflows${path}`, { waitUntil: 'load' });
  if (text) await find(page, text);
  return page;
}

// find waits for a text on the page or in one of its frames.
async function find(page, text) {
  for (const end = Date.now() + 15000; Date.now() < end; await page.waitForTimeout(200)) {
    for (const frame of page.frames()) {
      const found = frame.getByText(text).first();
      if (await found.isVisible().catch(() => false)) return;
    }
  }
  await page.screenshot({ path: `${folder}/missing.png` });
  throw new Error(`${page.url()} does not show ${text}; see missing.png`);
}

// tab opens the tab of a run's page of that name.
async function tab(page, name, text) {
  await page.getByText(name).first().click();
  await find(page, text);
}

const decoded = { endpoint: codec, overrideRemoteCodecConfiguration: true };

const sealed = await page('/waits', {}, 'accountant');
await sealed.waitForTimeout(1000);
if ((await sealed.content()).includes('bookkeeper')) throw new Error('without the codec server the run is readable: it was not encrypted');

const waits = await page('/waits', decoded, 'Pays what is due.', 1150);
await tab(waits, 'User Metadata', 'Waits for approval');
await find(waits, 'starter approve waits 2.1');
await waits.mouse.move(0, 0);
await waits.screenshot({ path: `${folder}/ui-approval.png` });

const done = await page('/done', decoded, 'number=4711', 1330);
await done.screenshot({ path: `${folder}/ui-timeline.png`, clip: { x: 257, y: 712, width: 1023, height: 618 } });
await tab(done, 'User Metadata', 'Answered');

const failed = await page('/failed', decoded, 'month-end');
await tab(failed, 'User Metadata', 'calls_failed');
await tab(failed, /Event History/, 'Workflow Execution Failed');

const list = await page(runs, { ...decoded, 'namespace-workflow-table-columns': { default: columns.map((label) => ({ label })) } }, 'bookkeeper', 560);
await list.screenshot({ path: `${folder}/ui-runs.png` });
await browser.close();

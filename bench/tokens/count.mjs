// Counts the tokens of the texts and of the calibration texts with the published vocabularies, and
// writes counts.json: folder, family and text to the number of tokens. Run by ./count.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [modules, here] = process.argv.slice(2)
const require = createRequire(join(modules, 'package.json'))
const load = async name => await import(require.resolve(name))
const o200k = await load('gpt-tokenizer/encoding/o200k_base')
const cl100k = await load('gpt-tokenizer/encoding/cl100k_base')
const claude = require('@anthropic-ai/tokenizer')
const llama2 = (await load('llama-tokenizer-js')).default
const llama3 = (await load('llama3-tokenizer-js')).default
const mistral = (await load('mistral-tokenizer-js')).default

const families = {
  o200k: text => o200k.encode(text).length,
  cl100k: text => cl100k.encode(text).length,
  claude: text => claude.countTokens(text),
  llama2: text => llama2.encode(text, false, false).length,
  llama3: text => llama3.encode(text, { bos: false, eos: false }).length,
  mistral: text => mistral.encode(text, false, false).length,
}
const counts = {}
for (const folder of ['calibration', 'texts']) {
  counts[folder] = {}
  for (const [family, count] of Object.entries(families)) {
    counts[folder][family] = {}
    for (const file of readdirSync(join(here, folder)).sort()) {
      const text = readFileSync(join(here, folder, file), 'utf8')
      counts[folder][family][file.replace('.txt', '')] = count(text)
    }
  }
}
writeFileSync(join(here, 'counts.json'), JSON.stringify(counts, null, 2) + '\n')

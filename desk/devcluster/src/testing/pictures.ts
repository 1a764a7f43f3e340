// Usage: npm exec -- node desk/devcluster/src/testing/pictures.ts [FOLDER]
// Takes screenshots of the page. FOLDER gets a screenshot of each state of the page. Without FOLDER, only the light and
// the dark picture in docs/pictures are written.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { findBrowser, startBrowser } from './browser.ts'
import { inOpenPage, PAGE_STATES, type PageState } from './page-states.ts'

const DOCS = join(import.meta.dirname, '../../../../docs/pictures')
const SIZE = { width: 1280, height: 800 }

const command = findBrowser()
if (command === undefined) throw new Error('There is no chromium here: "apt-get install chromium" brings one.')
const [folder] = process.argv.slice(2)
mkdirSync(folder ?? DOCS, { recursive: true })
await using browser = await startBrowser(command)
for (const state of folder === undefined ? forDocs() : PAGE_STATES) {
  await inOpenPage(browser.open, state, async ({ page }) => {
    await page.untilStill()
    writeFileSync(join(folder ?? DOCS, `${state.name}.png`), await page.screenshot())
  })
}

function forDocs(): readonly PageState[] {
  const troubles = PAGE_STATES.find(({ name }) => name === 'troubles')
  if (troubles === undefined) throw new Error('the page has no state of that name')
  const { make } = troubles
  return (['light', 'dark'] as const).map((scheme) => ({ name: `page-${scheme}`, like: { ...SIZE, scheme }, make }))
}

// Writes the parts of the chart and of the documents that are generated from the code:
// `npm exec -- node tools/docs/main.ts`. Tests fail if a generated part is outdated.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeChart } from '../../charts/tools/generated.ts'
import { sectionNames, withSection } from './markdown.ts'
import { DOCUMENTS, SECTIONS, sectionText, withMissingSections } from './sections.ts'
import { ROOT } from './source-texts.ts'

writeChart()
for (const name of DOCUMENTS) {
  const file = join(ROOT, name)
  const before = readFileSync(file, 'utf8')
  let after = withMissingSections(before)
  const unknown = sectionNames(after).find((section) => SECTIONS[section] === undefined)
  if (unknown !== undefined) {
    process.stderr.write(
      `${name}: no code makes the section ${unknown}; known are ${Object.keys(SECTIONS).join(', ')}\n`,
    )
    process.exitCode = 1
    continue
  }
  for (const section of sectionNames(after)) after = withSection(after, section, await sectionText(section))
  if (after !== before) writeFileSync(file, after)
  process.stdout.write(`${name}: ${after === before ? 'as it was' : 'written'}\n`)
}

// Whether every published advisory about what is bundled here is assessed, and what the assessments say today:
//   npm exec -- node images/vex/check.ts --node-advisories FOLDER
// FOLDER has the list of the Node.js project (vuln/core of nodejs/security-wg). Exit 1: one has no assessment.
import { readArguments } from '@csi-sidecars/command'
import { readPublished } from '../patch/published.ts'
import { PROGRAMS, ROOT, releaseVersion, SIDECARS } from '../tools/bundle.ts'
import { committedAt } from '../tools/commit.ts'
import { homeOf } from '../tools/fill.ts'
import { ASSESSMENTS } from './assessments.ts'
import { loadedFeatures } from './features.ts'
import { openVex, unassessed } from './openvex.ts'

const usage = 'npm exec -- node images/vex/check.ts --node-advisories FOLDER'
const { values } = readArguments(usage, { options: { 'node-advisories': { type: 'string' } } })
const folder = values['node-advisories']
if (folder === undefined) throw new Error(`usage: ${usage}`)

const { advisories } = await readPublished(folder)
const place = {
  home: homeOf(ROOT),
  version: releaseVersion(),
  createdAt: committedAt(),
  images: SIDECARS,
  names: PROGRAMS,
}
const document = openVex({ assessments: ASSESSMENTS, loaded: loadedFeatures(), ...place })
process.stdout.write(`${document === undefined ? 'no assessment' : JSON.stringify(document, null, 2)}\n`)
for (const line of unassessed(advisories, ASSESSMENTS)) {
  process.stderr.write(`${line}\n`)
  process.exitCode = 1
}

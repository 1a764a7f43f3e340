// Prints what the changelogs of the sidecars say about a version: `node images/tools/release-notes.mjs 1.2.3`
import { existsSync, readFileSync } from 'node:fs'

const [version] = process.argv.slice(2)
if (version === undefined) throw new Error('usage: release-notes.mjs VERSION')

for (const app of ['attacher', 'resizer']) {
  const file = `apps/${app}/CHANGELOG.md`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const section = text.split(/^## /m).find((part) => part.startsWith(`${version}\n`))
  const notes = section === undefined ? '' : section.slice(version.length).trim()
  process.stdout.write(`## csi-${app}\n\n${notes === '' ? 'No changes.' : notes}\n\n`)
}

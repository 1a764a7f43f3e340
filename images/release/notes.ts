import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where `npm run version-packages` writes what has changed. */
const CHANGELOGS = { 'csi-attacher': 'apps/attacher/CHANGELOG.md', 'csi-resizer': 'apps/resizer/CHANGELOG.md' }

export type Changelogs = Readonly<Record<string, string>>

export function readChangelogs(root: string): Changelogs {
  const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  return Object.fromEntries(Object.entries(CHANGELOGS).map(([name, file]) => [name, read(join(root, file))]))
}

/** What a changelog says about a version; undefined without a section for it. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const section = changelog.split(/^## /m).find((part) => part.startsWith(`${version}\n`))
  return section?.slice(version.length).trim()
}

/** The text of the release page. */
export function releaseNotes(changelogs: Changelogs, version: string): string {
  return Object.entries(changelogs)
    .map(([name, text]) => `## ${name}\n\n${sectionOf(text, version) || 'No changes.'}\n`)
    .join('\n')
}
